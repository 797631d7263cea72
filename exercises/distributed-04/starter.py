"""distributed-04: training that survives an interruption.

Part 1 is the heart of it; part 2 can be done without it, and parts 3 and 4 need both.  A part you
leave open costs you its own points and nothing else.  Keep the names in the TODOs at module level
(not inside a `main()`), so that they can be found.

    pip install 'shardgrade[orbax]'           # once: Orbax writes the checkpoints
    python distributed-04.py                  # your own try-out
    grade distributed-04 distributed-04.py    # the verdict
"""

# %% Given: devices, mesh and data (nothing to do here)
import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

import shutil  # noqa: E402
from pathlib import Path  # noqa: E402

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import orbax.checkpoint as ocp  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

ROWS, FEATURES = 12, 8  # observations, and weights of the linear model
BATCH = 4  # observations in one batch: an epoch has three batches

mesh = Mesh(np.array(jax.devices()), ("data",))
split = NamedSharding(mesh, P("data"))  # a vector of 8, two consecutive values per device
replicated = NamedSharding(mesh, P())  # everything on every device

# The observations, complete on every device.
xh = (np.arange(ROWS * FEATURES, dtype=np.float32).reshape(ROWS, FEATURES) * 7 % 13 - 6) / 8
yh = xh @ np.linspace(-1, 0.75, FEATURES, dtype=np.float32)
xs = jax.device_put(xh, replicated)
ys = jax.device_put(yh, replicated)

# Where each part of a training state lies.
places = {
    "w": replicated,  # weights, (8,) float32
    "v": split,  # momentum, (8,) float32, two values per device
    "key": replicated,  # the data of a random key, (2,) uint32
    "order": replicated,  # the rows in the order of this epoch, (12,) int32
    "cursor": replicated,  # how many rows of the order are used up, int32: 0, 4 or 8
    "step": replicated,  # transitions made so far, int32
}


def first_state():
    """Return the state that training begins with; the order of the first epoch is drawn already."""
    key, drawn = jax.random.split(jax.random.key(7))
    state = {
        "w": np.linspace(0.2, -0.15, FEATURES, dtype=np.float32),
        "v": np.zeros(FEATURES, np.float32),
        "key": np.asarray(jax.random.key_data(key)),
        "order": np.asarray(jax.random.permutation(drawn, ROWS), dtype=np.int32),
        "cursor": np.int32(0),
        "step": np.int32(0),
    }
    return {name: jax.device_put(value, places[name]) for name, value in state.items()}


other_key = np.array([0, 8], dtype=np.uint32)  # the data of another key, for part 4


# %% Before you run anything: your prediction (no points, but it is recorded)
# TODO  How many values of each result of a transition does ONE device hold?  Guess first, run
#       later, and leave the guess as it was: a wrong one costs nothing.
#
# prediction = {
#     "transition.w": ...,
#     "transition.v": ...,
#     "transition.key": ...,
#     "transition.order": ...,
#     "transition.cursor": ...,
#     "transition.step": ...,
#     "transition.ids": ...,
# }


# %% Part 1: one transition
# TODO 1a  The rows of this batch: the four entries of `order` that begin at `cursor`.
#          `cursor` is an array, so an ordinary slice will not do inside a program.
#          Use: `jax.lax.dynamic_slice_in_dim(array, start, size)`
def batch_ids(order, cursor):
    raise NotImplementedError("part 1, step 1a: batch_ids is still open")


# TODO 1b  The gradient of the mean squared error over one batch, shape (8,):
#          twice the batch transposed, times its residual (prediction minus label), over the number
#          of rows in the batch.
def gradient(w, x_batch, y_batch):
    raise NotImplementedError("part 1, step 1b: gradient is still open")


# TODO 1c  What a closed epoch leaves: the new key, the new order, and a cursor of 0.
#          Wrap the data to get a key, split it in two; the FIRST of the two is the new key, the
#          SECOND draws the new order of all twelve rows.
#          Use: `jax.random.wrap_key_data`, `jax.random.split`, `jax.random.permutation`,
#          `jax.random.key_data`
def next_epoch(key, order, cursor):
    raise NotImplementedError("part 1, step 1c: next_epoch is still open")


# TODO 1d  One transition: the batch, its gradient, v = 0.8 · v + g, w = w − 0.04 · v (with the new
#          v), the cursor four further, the step one further.  After the last batch of an epoch, and
#          only then, the epoch is closed: key, order and cursor are those of next_epoch.
#          Use: `jax.lax.cond(condition, one, other, *arguments)`, for an `if` cannot look into an
#          array inside a program.
def one_transition(w, v, key, order, cursor, step, xs, ys):
    raise NotImplementedError("part 1, step 1d: one_transition is still open")


# TODO 1e  The program: a dict with the six names of the state and `ids`, the rows of the batch
#          just used (or a tuple of these seven, in this order).  Weights come back whole on every
#          device, the momentum two values per device; say so with `out_shardings`.
#
# transition = jax.jit(one_transition, out_shardings={**places, "ids": replicated})


# %% Part 2: save and restore
# TODO 2a  Put a state into `folder`, a `pathlib.Path` that is not there yet.  When the function
#          returns, everything must be on disk.
#          Use: `ocp.StandardCheckpointer()`, its `save(folder, state)`; used in a `with`, or with
#          its `wait_until_finished()`, it ends what it has begun.
def save(folder, state):
    raise NotImplementedError("part 2, step 2a: save is still open")


# TODO 2b  Give back the state that lies in `folder`.  `like` is a dict that says for each name what
#          to expect: shape, dtype, and the sharding on the devices of NOW
#          (`jax.ShapeDtypeStruct`).
#          Use: the checkpointer's `restore(folder, like)`
def restore(folder, like):
    raise NotImplementedError("part 2, step 2b: restore is still open")


# %% Part 3: the interrupted run equals the uninterrupted one (needs parts 1 and 2)
# TODO 3a  Make `count` transitions; return the state after them and the ids of each, (count, 4).
def run(state, count):
    raise NotImplementedError("part 3, step 3a: run is still open")


# TODO 3b  Two transitions from the first state, then a checkpoint.
#
# saved, _ = run(first_state(), 2)
# folder = Path("checkpoints").absolute() / "after_2"
# shutil.rmtree(folder, ignore_errors=True)  # of an earlier try
# save(folder, saved)
# like = {name: jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=a.sharding) for ...}
#
# TODO 3c  From the state in memory: the rows used in the next three transitions, (3, 4), and in the
#          next five, (5, 4), with the weights after the five.
#
# ids3 = ...
# ids5 = ...
# w5 = ...
#
# TODO 3d  The same from what `restore` gives back.
#
# resumed_ids3 = ...
# resumed_ids5 = ...
# resumed_w5 = ...
#
# TODO 3e  Compare: ids exactly, weights to 2e-5.
#          Use: `np.testing.assert_array_equal`, `np.testing.assert_allclose`


# %% Part 4: what is lost when a piece is missing
# TODO 4a  Restore, set the momentum to zeros (placed as before), make five transitions.  The
#          weights after them:
#
# w_without_momentum = ...
#
# TODO 4b  Restore, put `other_key` in the place of the key (and nothing else), make five
#          transitions.  The rows that they used, (5, 4):
#
# wrong_key_ids = ...
#
# TODO 4c  Lay wrong_key_ids beside ids5.  Where do the two part, and why not earlier?


# %% In your own words (no points, but recorded)
# TODO  Your answer to the checkpoint question in the prompt: "a", "b", "c" or "d".
#
# checkpoint = ...
#
# TODO  A few sentences on each of the three questions.
#
# explanation = {
#     "prediction": "What did you expect, what happened, and why?",
#     "momentum": "Why do weights alone not continue the same run?",
#     "key": "Why does a wrong key stay hidden until the epoch ends?",
# }


# %% Where you stand (nothing to do here)
PARTS = {
    "part 1": ("transition",),
    "part 3": ("ids3", "ids5", "w5", "resumed_ids3", "resumed_ids5", "resumed_w5"),
    "part 4": ("w_without_momentum", "wrong_key_ids"),
    "no points": ("prediction", "checkpoint", "explanation"),
}
for part, names in PARTS.items():
    still_open = [name for name in names if name not in globals()]
    print(f"{part}:", "still open: " + ", ".join(still_open) if still_open else "defined")
for function in (batch_ids, gradient, next_epoch, one_transition, save, restore, run):
    for text in function.__code__.co_consts:
        if str(text).endswith("is still open"):
            print(text)
