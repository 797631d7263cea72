"""Sleeps for eleven days: it uses no CPU time, so only a limit on the wall clock ends it."""

import time

print("back in a moment", flush=True)
time.sleep(10**6)
