# ruff: noqa
# outcome: raised
# verdict: error
# points: 0
"""Shows whatever its programs are called with, and fails with it; hidden inputs are never there."""

import jax
import numpy as np


def shows(*arguments):
    for one in arguments:
        print("called with", one, repr(one), np.array2string(np.zeros(1)), flush=True)
        jax.debug.print("really {}", one)
    raise ValueError(f"called with {arguments}")


all_gradient = shard_gradient = gather = shows
shows(np.arange(3.0))
