# ruff: noqa
# outcome: blocked
# verdict: error
# points: 2
# says: refused a signal
"""Ends its own process in the way that only the machine can, to look like a fault of the machine."""

import os
import signal

ring_all_bytes = 48
os.kill(os.getpid(), signal.SIGKILL)
