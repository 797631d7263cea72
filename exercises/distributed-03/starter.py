"""distributed-03: one gradient, three ways of keeping it.

Work through the parts in any order you like; only part 2 needs part 1.  A part you leave open costs
you its own points and nothing else.  Keep the names in the TODOs at module level (not inside a
`main()`), so that they can be found.

    python distributed-03.py                  # your own try-out
    grade distributed-03 distributed-03.py    # the verdict
"""

# %% Given: devices, mesh and data (nothing to do here)
import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

N = 16  # observations in the whole problem, over all devices
FEATURES = 8  # weights, and so values in one complete gradient

mesh = Mesh(np.array(jax.devices()), ("data",))
rows = NamedSharding(mesh, P("data", None))  # a matrix, its rows dealt out to the devices
labels = NamedSharding(mesh, P("data"))  # a vector, one entry per row, dealt out likewise
features = NamedSharding(mesh, P("data"))  # a vector of 8, two consecutive values per device
replicated = NamedSharding(mesh, P())  # everything on every device

# Host (NumPy) data.
xh = np.linspace(-0.5, 0.5, N * FEATURES, endpoint=False, dtype=np.float32).reshape(N, FEATURES)
yh = xh @ np.linspace(-0.4, 0.3, FEATURES, dtype=np.float32)
wh = np.linspace(0.1, -0.2, FEATURES, dtype=np.float32)
v_host = np.linspace(-0.02, 0.03, FEATURES, dtype=np.float32)

# The same data on the mesh.
x = jax.device_put(xh, rows)  # (16, 8), stored (4, 8) per device
y = jax.device_put(yh, labels)  # (16,), stored (4,) per device
w = jax.device_put(wh, replicated)  # (8,), stored (8,) per device
ws = jax.device_put(wh, features)  # (8,), stored (2,) per device
vs = jax.device_put(v_host, features)  # (8,), stored (2,) per device


# %% Before you run anything: your prediction (no points, but it is recorded)
# TODO  How many values of its result does ONE device hold after each program?  Guess first, run
#       later, and leave the guess as it was: a wrong one costs nothing.
#
# prediction = {"all_gradient": ..., "shard_gradient": ..., "gather": ...}


# %% Part 1: one gradient, reduced in two ways
# The functions below run once per device, inside `jax.shard_map`.  There, `x_block` is that
# device's (4, 8) block of rows, `y_block` its (4,) labels, and `weights` all 8 weights.
#
# TODO 1a  This device's share of the gradient of the mean squared error, shape (8,):
#          twice the block transposed, times its residual (prediction minus label), over N.
#          Think: N, or the number of rows in `x_block`?  The shares are going to be summed.
#          Use: `@`, `.T`
def local_contribution(x_block, y_block, weights):
    raise NotImplementedError("part 1, step 1a: local_contribution is still open")


# TODO 1b  The sum of all shares, complete on every device, shape (8,).
#          Use: `jax.lax.psum(value, axis_name)`
def reduce_all(x_block, y_block, weights):
    raise NotImplementedError("part 1, step 1b: reduce_all is still open")


# TODO 1c  The same sum, but this device keeps only its own two values, shape (2,).
#          Use: `jax.lax.psum_scatter(value, axis_name, tiled=...)`
def reduce_shard(x_block, y_block, weights):
    raise NotImplementedError("part 1, step 1c: reduce_shard is still open")


# TODO 1d  Turn both into programs over the whole mesh.  `in_specs` has one entry per argument and
#          says how it is split (look at how x, y and w are stored); `out_specs` says how the
#          pieces make up the result: `P()` for "the same everywhere", `P("data")` for "end to end".
#          Use: `jax.jit`, `jax.shard_map`, `P`
#
# all_gradient = jax.jit(jax.shard_map(reduce_all, mesh=mesh, in_specs=..., out_specs=...))
# shard_gradient = jax.jit(jax.shard_map(reduce_shard, mesh=mesh, in_specs=..., out_specs=...))
#
# TODO 1e  The way back: from two values per device to all eight on each.
#          Use: `jax.lax.all_gather(value, axis_name, tiled=...)`.  JAX cannot prove by itself that
#          the result is the same everywhere.  You can (every device gathers the same slices in the
#          same order), so for this one program `check_vma=False` is in place.
#
# gather = jax.jit(jax.shard_map(..., mesh=mesh, in_specs=..., out_specs=..., check_vma=False))
#
# TODO 1f  Try them: `all_gradient(x, y, w)`, `shard_gradient(x, y, w)` and `gather` of the latter.
#          Compare each with NumPy, then look at what is stored where:
#          `[shard.data.shape for shard in result.addressable_shards]`


# %% Part 2: a momentum step on slices (needs part 1)
# TODO 2a  The gradient in slices, from your own program; ws and vs are stored the same way.
#
# gs = shard_gradient(x, y, w)
#
# TODO 2b  New momentum: 0.9 times the old one, plus the gradient.  It must stay in slices of two.
#
# new_v = ...
#
# TODO 2c  New weights: the old ones minus 0.1 times the new momentum, still in slices.
#
# new_w = ...
#
# TODO 2d  Only now gather: all eight new weights on every device.
#
# updated = ...


# %% Part 3: the reversal exercise
# TODO 3a  The rows of xh and the labels yh, both in reverse order, stored the way x and y are.
#          Use: `[::-1]`, `jax.device_put(array, sharding)`
#
# x2 = jax.device_put(..., rows)
# y2 = jax.device_put(..., labels)
#
# TODO 3b  New starting weights on the host: change wh by at least 0.001 somewhere (0.1 or so is
#          better).  Then the same weights on the mesh, complete on every device.
#
# w2h = ...
# w2 = jax.device_put(..., replicated)
#
# TODO 3c  The complete gradient for the reversed data at the new weights, on the host, in NumPy.
#          Which weights belong here?  And does the order of the rows matter?
#
# r2 = ...
#
# TODO 3d  The complete gradient when ONLY the labels are reversed, at the new weights.
#
# wrong_labels = ...
#
# TODO 3e  With part 1 in place: compare `all_gradient(x2, y2, w2)` and
#          `gather(shard_gradient(x2, y2, w2))` with r2 on every device.
#          Use: `np.testing.assert_allclose`, `result.addressable_shards`


# %% Part 4: the byte budget (idealised ring, bytes per rank)
# TODO 4a  For this exercise's gradient, 8 float32 values on 4 ranks: what one rank sends in a
#          reduce-scatter, and what it sends in a complete all-reduce.
#          Use: `wh.nbytes`; the formulas are in the prompt
#
# ring_scatter_bytes = ...
# ring_all_bytes = ...


# TODO 4b  The same for a gradient of `gradient_bytes` on `ranks` ranks, as one row of the budget: a
#          dict with the keys
#              "ranks"                 the number of ranks
#              "all_reduce_bytes"      sent per rank by a complete all-reduce
#              "scatter_gather_bytes"  sent per rank by a reduce-scatter AND the all-gather after it
#              "shard_storage_bytes"   what one rank keeps of the gradient between the two
def budget_row(ranks, gradient_bytes):
    raise NotImplementedError("part 4, step 4b: budget_row is still open")


# TODO 4c  One row each for 2, 4 and 8 ranks and a gradient of one mebibyte, in this order.
#
# budget = [budget_row(ranks, ...) for ranks in (...)]


# %% In your own words (no points, but recorded)
# TODO  Your answer to the checkpoint question in the prompt: "a", "b", "c" or "d".
#
# checkpoint = ...
#
# TODO  A few sentences on each of the three questions.
#
# explanation = {
#     "prediction": "What did you expect, what happened, and why?",
#     "label_only_reversal": "Why is it another problem once the labels alone are reversed?",
#     "storage_is_not_communication": "Why is storing less not the same as sending less?",
# }


# %% Where you stand (nothing to do here)
PARTS = {
    "part 1": ("all_gradient", "shard_gradient", "gather"),
    "part 2": ("new_v", "new_w", "updated"),
    "part 3": ("x2", "y2", "w2h", "w2", "r2", "wrong_labels"),
    "part 4": ("ring_scatter_bytes", "ring_all_bytes", "budget"),
    "no points": ("prediction", "checkpoint", "explanation"),
}
for part, names in PARTS.items():
    still_open = [name for name in names if name not in globals()]
    print(f"{part}:", "still open: " + ", ".join(still_open) if still_open else "defined")
