"""Not-a-number, infinities and other values that compare strangely, wherever a number is asked."""

from decimal import Decimal

import numpy as np

nan, inf = float("nan"), float("inf")

new_v = new_w = updated = np.full(8, nan, np.float32)
x2, y2 = np.full((16, 8), nan), np.full(16, inf)
w2h = w2 = np.full(8, inf, np.float32)
r2 = [nan] * 8
wrong_labels = np.full(8, -inf)
ring_all_bytes, ring_scatter_bytes = nan, Decimal("sNaN")
budget = [
    {"ranks": 2, "all_reduce_bytes": nan, "scatter_gather_bytes": inf, "shard_storage_bytes": nan},
    {"ranks": True, "all_reduce_bytes": 1j, "scatter_gather_bytes": "1572864"},
    {
        "ranks": np.datetime64("NaT", "s"),
        "all_reduce_bytes": None,
        "shard_storage_bytes": b"131072",
    },
]
prediction = {"all_gradient": nan, "shard_gradient": inf, "gather": -0.0}
checkpoint = nan
explanation = {nan: inf}
