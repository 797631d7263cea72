# ruff: noqa
# outcome: finished, no_result
# verdict: failed, error
# points: 0
"""Leaves threads behind that hold locks, change everything in sight and never come to an end."""

import random
import sys
import threading
import time

sys.setswitchinterval(1e-6)


def meddle():
    end = time.monotonic() + 20
    while time.monotonic() < end:
        for name in list(sys.modules):
            if name.startswith("grader"):
                for key, value in list(vars(sys.modules[name]).items()):
                    if isinstance(value, (str, int)) and not key.startswith("__"):
                        vars(sys.modules[name])[key] = "passed"
        random.random()
        time.sleep(0.01)


for number in range(4):
    threading.Thread(target=meddle, daemon=number % 2 == 0).start()
