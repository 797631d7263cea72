# ruff: noqa
# outcome: wall_limit
# verdict: error
# points: 2
# limits: wall_s=2
"""Ignores the clock that would wake it, then sleeps."""

import signal
import time

ring_all_bytes = 48
signal.setitimer(signal.ITIMER_REAL, 0)
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
while True:
    time.sleep(10**6)
