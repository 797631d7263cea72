# ruff: noqa
# outcome: finished
# verdict: failed
# points: 0
"""Generators, ranges and broadcasts where a value is asked for: none of them ever ends."""

import collections
import itertools

import numpy as np


def endless():
    while True:
        yield {"ranks": 2}


row = {}
row["row"] = row
loop = []
loop.append(loop)
new_v, new_w, updated = endless(), map(float, itertools.count()), range(10**18)
x2 = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (10**9, 8), (0, 0))
y2 = np.broadcast_to(np.float32(1), (2**31,))
w2h, w2 = np.empty((0, 2**40), np.float32), np.zeros((1,) * 32)
r2 = np.zeros(8, dtype=[("a", "f4"), ("b", "O")])
wrong_labels = np.ma.masked_all(8)
budget = collections.deque(itertools.repeat({"ranks": 2}, 10**6))
ring_all_bytes = 10**5000
ring_scatter_bytes = complex(24, 0)
prediction, explanation, checkpoint = row, loop, "c" * 10**8
