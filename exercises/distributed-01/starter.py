"""distributed-01: one array, two ways of placing it.

Work through the parts in any order you like.  No part builds on another; within part 3, `mean10` is
one call of the program before it.  A part you leave open costs you its own points and nothing else.
Keep the names in the TODOs at module level (not inside a `main()`), so that they can be found.

    python distributed-01.py                  # your own try-out
    grade distributed-01 distributed-01.py    # the verdict
"""

# %% Given: devices, mesh and data (nothing to do here)
import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

import contextlib  # noqa: E402
import traceback  # noqa: E402

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

mesh = Mesh(np.array(jax.devices()), ("data",))

# Host (NumPy) data.  A number of `host` tells its own place: row number // 8, column number % 8.
host = np.arange(96, dtype=np.float32).reshape(12, 8)
ten = np.arange(80, dtype=np.float32).reshape(10, 8) / 4 + 1  # ten rows, for part 3


def who_has_what(array):
    """Print what each device stores: the shape of its piece, and where the piece comes from."""
    for shard in array.addressable_shards:
        print(f"  device {shard.device.id} stores {shard.data.shape}, the part {shard.index}")


@contextlib.contextmanager
def attempt(what):
    """Go on below the `with` when something in it fails: the error is printed, the rest is kept."""
    try:
        yield
    except Exception:  # noqa: BLE001
        print(f"{what} does not work yet:")
        traceback.print_exc()


# %% Before you run anything: your prediction (no points, but it is recorded)
# TODO  How many values of its result does ONE device hold after each program?  Guess first, run
#       later, and leave the guess as it was: a wrong one costs nothing.
#
# prediction = {"column_sums": ..., "row_sums": ..., "to_columns": ..., "masked_mean": ...}


# %% Part 1: the same array, placed twice
# TODO 1a  Two placements on `mesh`.  A `PartitionSpec` has one entry for each dimension of the
#          array: the name of the mesh axis that cuts it, or None where it stays whole.
#          Use: `NamedSharding(mesh, P(..., ...))`
#
# rows = ...
# columns = ...
#
# TODO 1b  Put `host` on the four devices, once by rows and once by columns.
#          Use: `jax.device_put(array, sharding)`
#
# by_rows = ...
# by_columns = ...
#
# TODO 1c  Look at both with `who_has_what`, and hold every piece against the host:
#          Use: `np.testing.assert_array_equal(shard.data, host[shard.index])`


# %% Part 2: sums, and moving from rows to columns
# The argument `a` is always (12, 8) and placed by rows.  You write each of these for the WHOLE
# array; what has to travel for it is found by the compiler, from the shardings.
#
# TODO 2a  The sum of each column, shape (8,).
#          Think: over which axis of `a` do you add?  Use: `jnp.sum(array, axis=...)`
def add_up_columns(a):
    raise NotImplementedError("part 2, step 2a: add_up_columns is still open")


# TODO 2b  The sum of each row, shape (12,).
def add_up_rows(a):
    raise NotImplementedError("part 2, step 2b: add_up_rows is still open")


# TODO 2c  Programs of both, with a place for each result: the column sums complete on every
#          device, the row sums where their rows are, three on each device.
#          Use: `jax.jit(function, out_shardings=NamedSharding(mesh, P(...)))`
#
# column_sums = jax.jit(add_up_columns, out_shardings=...)
# row_sums = jax.jit(add_up_rows, out_shardings=...)
#
# TODO 2d  Same values, another place: `a` comes by rows and leaves by columns.
#          Think: what does the function compute, and which part of the line below moves anything?
#
# to_columns = jax.jit(..., out_shardings=...)
#
# TODO 2e  Try all three on `by_rows`.  Compare with `host.sum(axis=...)` and with `host`, then call
#          `who_has_what` on each result.  Inside `attempt` a slip is printed and part 3 still runs.
#
# with attempt("part 2"):
#     np.testing.assert_allclose(column_sums(by_rows), ...)


# %% Part 3: ten rows on four devices
# TODO 3a  Which numbers of rows can be placed by rows at all?  Try 8, 9, ... up to 16 rows of zeros
#          and write down, in this order, True where JAX takes them and False where it refuses.
#          Read what it says when it refuses.  Use: `try`, `except ValueError as error`
#
# fits = [...]
#
# TODO 3b  Twelve rows do fit: append two rows of zeros to `ten`, and place the result by rows.  And
#          because nobody can tell a padding row by its looks, a mask: float32, shape (12,), 1.0 for
#          each real row and 0.0 for each padding row, placed as the rows are.
#          Use: `np.concatenate`, `np.zeros`, `jax.device_put`
#
# padded = ...
# mask = ...
#
# TODO 3c  How many REAL rows has each of the four devices now?
#
# real_rows = [..., ..., ..., ...]
#
# TODO 3d  The mean of the real rows, one for each column, shape (8,).  It will be tried with other
#          rows, with another number of real ones, and with padding that is not zero.
#          Think: a mean is a sum over a count.  The sum of what?  The count of what?
#          Use: `mask[:, None]`
def mean_of_real_rows(a, mask):
    raise NotImplementedError("part 3, step 3d: mean_of_real_rows is still open")


# masked_mean = jax.jit(mean_of_real_rows, out_shardings=...)
#
# TODO 3e  For comparison, the plain mean of all twelve padded rows, (8,): `padded.mean(axis=0)`.
#          And the mean of the ten, (8,), by your program.  By which factor do they differ, and why?
#
# plain_mean = ...
# mean10 = ...


# %% In your own words (no points, but recorded)
# TODO  Your answer to the checkpoint question in the prompt: "a", "b", "c" or "d".
#
# checkpoint = ...
#
# TODO  A few sentences on each of the three questions.
#
# explanation = {
#     "prediction": "What did you expect, what happened, and why?",
#     "refusal": "What did JAX say about ten rows, and why can it not just give some device fewer?",
#     "mask": "Why is a mean of the padded rows wrong although the padding is zero?",
# }


# %% Where you stand (nothing to do here)
PARTS = {
    "part 1": ("by_rows", "by_columns"),
    "part 2": ("column_sums", "row_sums", "to_columns"),
    "part 3": ("fits", "padded", "mask", "real_rows", "masked_mean", "mean10", "plain_mean"),
    "no points": ("prediction", "checkpoint", "explanation"),
}
for part, names in PARTS.items():
    still_open = [name for name in names if name not in globals()]
    print(f"{part}:", "still open: " + ", ".join(still_open) if still_open else "defined")
