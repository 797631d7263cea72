"""distributed-02: one training step on four devices.

Part 2 uses the program of part 1; everything else can be done in any order.  A part you leave open
costs you its own points and nothing else.  Keep the names in the TODOs at module level (not inside
a `main()`), so that they can be found.  An error ends the file, and what comes after it is not
there: `with attempt(...)` prints it and goes on.

    python distributed-02.py                  # your own try-out
    grade distributed-02 distributed-02.py    # the verdict
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

ROWS = 8  # observations in the whole batch, over all devices
RATE = 0.05  # the learning rate of this exercise

mesh = Mesh(np.array(jax.devices()), ("data",))
rows = NamedSharding(mesh, P("data", None))  # a matrix, its rows dealt out to the devices
labels = NamedSharding(mesh, P("data"))  # a vector, one entry per row, dealt out likewise
replicated = NamedSharding(mesh, P())  # everything on every device

# Host (NumPy) data: eight rows of two features, labels made with the weights (-1, 3).
xh = np.array([[1, 0], [0, 1], [1, 1], [2, 0], [0, 2], [2, 1], [1, 2], [2, 2]], dtype=np.float32)
yh = xh @ np.array([-1, 3], dtype=np.float32)
wh = np.array([0.2, -0.1], dtype=np.float32)  # where training starts

# Four means over parts of some other batch, and how many rows each part has.
means_h = np.array([[4, -2], [1, 0], [-3, 5], [2, 2]], dtype=np.float32)
counts_h = np.array([1, 3, 2, 2], dtype=np.float32)

# The same data on the mesh.
x = jax.device_put(xh, rows)  # (8, 2), stored (2, 2) per device
y = jax.device_put(yh, labels)  # (8,), stored (2,) per device
w = jax.device_put(wh, replicated)  # (2,), stored (2,) per device
means = jax.device_put(means_h, rows)  # (4, 2), stored (1, 2) per device
counts = jax.device_put(counts_h, labels)  # (4,), stored (1,) per device


@contextlib.contextmanager
def attempt(what):
    """Go on below the `with` when something in it fails: the error is printed, the rest is kept."""
    try:
        yield
    except Exception:  # noqa: BLE001
        print(f"{what} does not work yet:")
        traceback.print_exc()


# %% Before you run anything: your prediction (no points, but it is recorded)
# TODO  How many values of each result does ONE device hold?  The first three belong to
#       `train_step`.  Guess first, run later, and leave the guess as it was: a wrong one costs
#       nothing.
#
prediction = {
    "train_step.new_w": 2,
    "train_step.loss": 1,
    "train_step.gradient": 2,
    "global_gradient": 2,
    "combine": 2,
}


# %% Part 1: one step, and the compiler finds the communication
# TODO 1a  The mean squared error over all rows: the mean of (prediction minus label) squared.
#          Write it as you would for one device.  Nothing in it knows of four.
#          Use: `@`, `jnp.mean`
def mean_loss(weights, x, y):
    return jnp.mean((x @ weights - y) ** 2)


# TODO 1b  One step of gradient descent.  Three results, in this order: the new weights, the loss,
#          the gradient.  Loss and gradient are those at the weights that came in.
#          Use: `jax.value_and_grad(mean_loss)`, `RATE`
def step(weights, x, y):
    loss, gradient = jax.value_and_grad(mean_loss)(weights, x, y)
    return weights - RATE * gradient, loss, gradient


# TODO 1c  The step as a program on global arrays.  `in_shardings` has one entry per argument: how
#          are w, x and y stored?  `out_shardings` has one entry per result: where will the next
#          step want them?
#          Use: `jax.jit`, `rows`, `labels`, `replicated`
#
train_step = jax.jit(
    step,
    in_shardings=(replicated, rows, labels),
    out_shardings=(replicated, replicated, replicated),
)


#
# TODO 1d  Try it on the lesson's example: `try_step(train_step)`.  Then compare a step at
#          (w, x, y) with NumPy on the host, each of the three results by itself.  And where is the
#          communication?  You wrote no collective; the compiled program has one all the same.
#          Use: `np.testing.assert_allclose`
def try_step(program):
    """Print one step of the lesson's example, and the collectives of the compiled program."""
    inputs = [
        jax.device_put(np.zeros(2, np.float32), replicated),
        x,
        jax.device_put(xh @ np.array([2, -1], dtype=np.float32), labels),
    ]
    new_w, loss, gradient = program(*inputs)
    print("loss, should be 4.875:                  ", loss)
    print("gradient, should be (-5.25, -0.75):     ", gradient)
    print("new weights, should be (0.2625, 0.0375):", new_w, "(half the lesson's step)")
    compiled = jax.jit(program).lower(*inputs).compile().as_text()
    for line in compiled.splitlines():
        if "all-reduce(" in line or "all-gather(" in line:
            print("compiled:", line.strip().partition(", channel_id")[0])


with attempt("part 1"):
    try_step(train_step)
    new_w, loss, gradient = train_step(w, x, y)
    rest = xh @ wh - yh
    np.testing.assert_allclose(loss, np.mean(rest**2), rtol=1e-5)
    np.testing.assert_allclose(gradient, 2 / ROWS * xh.T @ rest, rtol=1e-5)
    np.testing.assert_allclose(new_w, wh - RATE * np.asarray(gradient), rtol=1e-5)


# %% Part 2: ten steps (needs part 1)
# TODO 2a  Begin with w and take ten steps, in a loop.  Keep the weights after the tenth in `w10`,
#          as the program returns them, and the ten losses in `losses`, a list of floats, in the
#          order of the calls.
with attempt("part 2"):
    w10, losses = w, []
    for _ in range(10):
        w10, loss, _ = train_step(w10, x, y)
        losses.append(float(loss))

# TODO 2b  The same ten steps in NumPy with xh, yh and wh, and compare.
#          Use: `np.testing.assert_allclose(w10, ..., rtol=1e-4)`
with attempt("part 2, on the host"):
    v = wh
    for _ in range(10):
        v = v - RATE * 2 / ROWS * xh.T @ (xh @ v - yh)
    np.testing.assert_allclose(w10, v, rtol=1e-4)


# %% Part 3: shuffle the batch
# TODO 3a  An order of the eight rows, other than the one they have: each of 0 to 7 once.
#
order = np.array([3, 0, 6, 1, 7, 4, 2, 5])
#
# TODO 3b  Rows and labels in this order, stored the way x and y are.
#          Use: `xh[order]`, `jax.device_put(array, sharding)`
#
xp = jax.device_put(xh[order], rows)
yp = jax.device_put(yh[order], labels)
#
# TODO 3c  The gradient over the shuffled batch at wh, on the host, in NumPy, shape (2,).  Before
#          you print it: what do you expect beside the gradient of part 1?
#
gp = 2 / ROWS * xh[order].T @ (xh[order] @ wh - yh[order])
#
# TODO 3d  With part 1 in place: does `train_step(w, xp, yp)` give this gradient on every device?
#          Use: `result.addressable_shards`, `np.testing.assert_allclose`
with attempt("part 3"):
    for shard in train_step(w, xp, yp)[2].addressable_shards:
        np.testing.assert_allclose(shard.data, gp, rtol=1e-5)


# %% Part 4: means of parts
# Somebody has written the gradient with `jax.shard_map`, where the code runs once per device and
# sees that device's block only.  `local_mean` is right for the rows it is given.
def local_mean(weights, x_block, y_block):
    return 2 * x_block.T @ (x_block @ weights - y_block) / x_block.shape[0]


def added_means(weights, x_block, y_block):
    return jax.lax.psum(local_mean(weights, x_block, y_block), "data")


step_specs = (P(), P("data", None), P("data"))
four_times = jax.jit(jax.shard_map(added_means, mesh=mesh, in_specs=step_specs, out_specs=P()))
print("over all rows, on the host:", local_mean(wh, xh, yh))
print("somebody's program gives:  ", np.asarray(four_times(w, x, y)))


# TODO 4a  Mend it: the gradient over all eight rows, in whichever of the two ways you like better
#          (another collective, or another divisor).
#          Use: `jax.shard_map`, `jax.lax.pmean` or `jax.lax.psum`
def averaged_means(weights, x_block, y_block):
    return jax.lax.pmean(local_mean(weights, x_block, y_block), "data")


global_gradient = jax.jit(
    jax.shard_map(averaged_means, mesh=mesh, in_specs=step_specs, out_specs=P())
)


# TODO 4b  Now the parts are unequal.  Each device holds one mean, `mean_block` of shape (1, 2), and
#          the number of rows it stands for, `count_block` of shape (1,).  Return the mean over all
#          rows of all devices, shape (2,).  Which two sums over the devices do you need?
def weighted(mean_block, count_block):
    total = jax.lax.psum(mean_block[0] * count_block[0], "data")
    return total / jax.lax.psum(count_block[0], "data")


#          And as a program.
combine = jax.jit(
    jax.shard_map(weighted, mesh=mesh, in_specs=(P("data", None), P("data")), out_specs=P())
)

# TODO 4c  By hand once more, on the host: cut the batch into rows 0 to 2 and rows 3 to 7, take the
#          `local_mean` of each part at wh, and join the two into the gradient over all eight rows.
#          What you print above as "over all rows" is what has to come out.
#
first = local_mean(wh, xh[:3], yh[:3])
second = local_mean(wh, xh[3:], yh[3:])
joined = (3 * first + 5 * second) / 8


# %% In your own words (no points, but recorded)
# TODO  Your answer to the checkpoint question in the prompt: "a", "b", "c" or "d".
#
checkpoint = "b"
#
# TODO  A few sentences on each of the three questions.
#
explanation = {
    "prediction": "Every device has all of each result, since the next step needs the weights.",
    "permutation": "A mean does not depend on the order of its terms, if each row keeps its label.",
    "unequal_parts": "It is right for equal parts; otherwise each mean has to count for its rows.",
}


# %% Where you stand (nothing to do here)
PARTS = {
    "part 1": ("train_step",),
    "part 2": ("w10", "losses"),
    "part 3": ("order", "xp", "yp", "gp"),
    "part 4": ("global_gradient", "combine", "joined"),
    "no points": ("prediction", "checkpoint", "explanation"),
}
for part, names in PARTS.items():
    still_open = [name for name in names if name not in globals()]
    print(f"{part}:", "still open: " + ", ".join(still_open) if still_open else "defined")
