"""No jit and no shardings: plain functions of global arrays, which the grader may compile."""

import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402

mesh = Mesh(np.array(jax.devices()), ("data",))
by_rows = NamedSharding(mesh, PartitionSpec("data"))
everywhere = NamedSharding(mesh, PartitionSpec())

xh = np.array([[1, 0], [0, 1], [1, 1], [2, 0], [0, 2], [2, 1], [1, 2], [2, 2]], np.float32)
yh = xh @ np.array([-1, 3], np.float32)
wh = np.array([0.2, -0.1], np.float32)
x, y, w = jax.device_put(xh, by_rows), jax.device_put(yh, by_rows), jax.device_put(wh, everywhere)


def train_step(w, x, y):
    miss = jnp.matmul(x, w) - y
    gradient = jnp.einsum("nf,n->f", x, miss) / 4
    return [w - 0.05 * gradient, jnp.average(jnp.square(miss)), gradient]


def global_gradient(w, x, y):
    return jax.grad(lambda v: jnp.sum(jnp.square(x @ v - y)) / y.size)(w)


def combine(means, counts):
    return jnp.average(means, axis=0, weights=counts)


w10, losses = w, []
while len(losses) < 10:
    w10, loss, gradient = train_step(w10, x, y)
    losses += [loss.item()]

order = np.random.default_rng(3).permutation(8)
xp = jax.device_put(xh.take(order, axis=0), by_rows)
yp = jax.device_put(yh.take(order), by_rows)
gp = jax.device_get(global_gradient(w, xp, yp))

upper, lower = global_gradient(wh, xh[:3], yh[:3]), global_gradient(wh, xh[3:], yh[3:])
joined = np.average([upper, lower], axis=0, weights=[3, 5])
