# ruff: noqa
# outcome: wall_limit
# verdict: error
# points: 0
# limits: wall_s=2
"""Stops its own process, so that nothing in it can notice that time passes."""

import os
import signal

os.kill(os.getpid(), signal.SIGSTOP)
