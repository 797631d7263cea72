"""The reduction in its two phases, and gradients written with pmean of local value_and_grad."""

import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

mesh = Mesh(jax.devices(), ("data",))
rows = NamedSharding(mesh, P("data", None))
labels = NamedSharding(mesh, P("data"))
replicated = NamedSharding(mesh, P(None))

xh = np.array([[1, 0], [0, 1], [1, 1], [2, 0], [0, 2], [2, 1], [1, 2], [2, 2]], dtype=np.float32)
yh = -xh[:, 0] + 3 * xh[:, 1]
wh = np.array([0.2, -0.1], dtype=np.float32)
x, y, w = jax.device_put((xh, yh, wh), (rows, labels, replicated))


def local_loss(weights, a, b):
    return jnp.mean((a @ weights - b) ** 2)


def body(weights, a, b):
    loss, gradient = jax.value_and_grad(local_loss)(weights, a, b)
    loss, gradient = jax.lax.pmean((loss, gradient), "data")
    return weights - 0.05 * gradient, loss, gradient


specs = (P(), P("data", None), P("data"))
# With check_vma=False each device differentiates alone; the pmean makes all results equal.
train_step = jax.jit(
    jax.shard_map(body, mesh=mesh, in_specs=specs, out_specs=(P(), P(), P()), check_vma=False)
)


def two_phases(weights, a, b):
    share = 2 * a.T @ (a @ weights - b) / 8
    piece = jax.lax.psum_scatter(jnp.pad(share, (0, 2)), "data", tiled=True)
    return jax.lax.all_gather(piece, "data", tiled=True)[:2]


global_gradient = jax.jit(
    jax.shard_map(two_phases, mesh=mesh, in_specs=specs, out_specs=P(), check_vma=False)
)


def packed(mean, count):
    """Return the join with a single collective: the sums and the count in one vector."""
    mine = jnp.concatenate([mean[0] * count, count])
    total = jax.lax.psum(mine, "data")
    return total[:2] / total[2]


combine = jax.jit(
    jax.shard_map(packed, mesh=mesh, in_specs=(P("data", None), P("data")), out_specs=P())
)

w10, losses = w, jnp.zeros(0)
for _ in range(10):
    w10, loss, gradient = train_step(w10, x, y)
    losses = jnp.append(losses, loss)

order = np.array([7, 6, 5, 4, 3, 2, 1, 0])
xp, yp = jax.device_put((xh[order], yh[order]), (rows, labels))
gp = jax.grad(local_loss)(wh, xh[order], yh[order])
parts = [(xh[:3], yh[:3]), (xh[3:], yh[3:])]
joined = sum(len(b) * jax.grad(local_loss)(wh, a, b) for a, b in parts) / sum(
    len(b) for _, b in parts
)
checkpoint = "B"
explanation = "A sum of means is no mean."
