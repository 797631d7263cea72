"""The mesh runs through the devices backwards; ten steps are one scan inside a jit."""

import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

mesh = Mesh(np.array(jax.devices()[::-1]), ("data",))
rows, labels, replicated = (NamedSharding(mesh, s) for s in (P("data", None), P("data"), P()))

xh = np.array([[1, 0], [0, 1], [1, 1], [2, 0], [0, 2], [2, 1], [1, 2], [2, 2]], dtype=np.float32)
yh = xh @ np.array([-1, 3], dtype=np.float32)
wh = np.array([0.2, -0.1], dtype=np.float32)
x, y, w = (jax.device_put(a, s) for a, s in ((xh, rows), (yh, labels), (wh, replicated)))


def row_loss(weights, row, label):
    return (row @ weights - label) ** 2


per_row = jax.vmap(jax.value_and_grad(row_loss), in_axes=(None, 0, 0))


@jax.jit
def train_step(weights, x, y):
    loss, gradient = (jnp.mean(part, axis=0) for part in per_row(weights, x, y))
    return weights - 0.05 * gradient, loss, gradient


@jax.jit
def ten_steps(weights):
    def body(carry, _):
        new, loss, _gradient = train_step(carry, x, y)
        return new, loss

    return jax.lax.scan(body, weights, length=10)


w10, losses = ten_steps(w)


def block_gradient(weights, x_block, y_block):
    _, gradients = per_row(jax.lax.pcast(weights, "data", to="varying"), x_block, y_block)
    return jax.lax.pmean(jnp.mean(gradients, axis=0), "data")


specs = (P(), P("data", None), P("data"))
global_gradient = jax.jit(jax.shard_map(block_gradient, mesh=mesh, in_specs=specs, out_specs=P()))
combine = jax.jit(
    lambda means, counts: jnp.tensordot(counts, means, 1) / jnp.sum(counts),
    out_shardings=replicated,
)

order = jnp.array([1, 0, 3, 2, 5, 4, 7, 6])
xp = jax.device_put(xh[np.asarray(order)], rows)
yp = jax.device_put(yh[np.asarray(order)], labels)
gp = train_step(w, xp, yp)[2]

small, large = (train_step(wh, xh[part], yh[part])[2] for part in (slice(3), slice(3, None)))
joined = small * (3 / 8) + large * (5 / 8)
