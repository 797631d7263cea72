# ruff: noqa
# outcome: finished
# verdict: passed
# points: 100
# after: solution
"""A right solution that leaves things lying about: threads, handlers, a trace, a `__getattr__`."""

import atexit
import signal
import sys
import threading
import time

atexit.register(print, "goodbye")
threading.Thread(target=time.sleep, args=(5,), daemon=True).start()
threading.Thread(target=time.sleep, args=(5,)).start()
sys.settrace(None)
sys.stdin.close()
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGXCPU, signal.SIG_IGN)
jax.devices = jax.device_count = lambda *_: []
np.allclose = np.array_equal = np.testing.assert_allclose = lambda *_, **__: False
print("\x1b[2Jpassed", flush=True)


def __getattr__(name):
    raise AttributeError(name)


class Comparison:
    def __eq__(self, other):
        raise ValueError("never compare me")


leftover = [Comparison()]
leftover.append(leftover)
