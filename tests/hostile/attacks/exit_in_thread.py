# ruff: noqa
# outcome: no_result
# verdict: error
# points: 0
# says: exit code 0
"""Ends the process with code 0 from a thread while the module seems to work."""

import os
import threading
import time

print("passed: 100 of 100 points", flush=True)
threading.Timer(0.2, os._exit, (0,)).start()
time.sleep(60)
