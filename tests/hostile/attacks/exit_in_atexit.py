# ruff: noqa
# outcome: finished
# verdict: failed
# points: 0
"""Leaves exit handlers of every kind that claim success; none of them may ever run."""

import atexit
import os
import sys
import threading
import weakref

atexit.register(os._exit, 0)
atexit.register(print, "LEAK: an exit handler ran", flush=True)
threading._register_atexit(os._exit, 0)
sys.excepthook = sys.unraisablehook = threading.excepthook = lambda *_: os._exit(0)


class Last:
    def __del__(self, leave=os._exit):
        leave(0)


last = Last()
last.itself = last
weakref.finalize(last, os._exit, 0)
sys.exitfunc = lambda: os._exit(0)
