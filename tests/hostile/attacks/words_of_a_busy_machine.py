# ruff: noqa
# outcome: no_result
# verdict: error
# points: 0
"""Says in the machine's own words that it is too busy, so that nobody shall be to blame."""

import os
import sys

print("pthread_create failed: Resource temporarily unavailable", file=sys.stderr)
print("RuntimeError: can't start new thread", file=sys.stderr, flush=True)
os._exit(1)
