"""Says that the devices' equal results lie end to end."""

import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

ROWS, RATE = 8, 0.05
mesh = Mesh(np.array(jax.devices()), ("data",))
rows, labels, replicated = (NamedSharding(mesh, s) for s in (P("data", None), P("data"), P()))

xh = np.array([[1, 0], [0, 1], [1, 1], [2, 0], [0, 2], [2, 1], [1, 2], [2, 2]], dtype=np.float32)
yh = xh @ np.array([-1, 3], dtype=np.float32)
wh = np.array([0.2, -0.1], dtype=np.float32)
x, y, w = (jax.device_put(a, s) for a, s in ((xh, rows), (yh, labels), (wh, replicated)))

step_specs = (P(), P("data", None), P("data"))


def mean_loss(weights, x, y):
    return jnp.mean((x @ weights - y) ** 2)


@jax.jit
def train_step(weights, x, y):
    loss, gradient = jax.value_and_grad(mean_loss)(weights, x, y)
    return weights - RATE * gradient, loss, gradient


def local_mean(weights, x_block, y_block):
    return 2 * x_block.T @ (x_block @ weights - y_block) / x_block.shape[0]


def averaged(weights, x_block, y_block):
    return jax.lax.pmean(local_mean(weights, x_block, y_block), "data")


global_gradient = jax.jit(
    jax.shard_map(averaged, mesh=mesh, in_specs=step_specs, out_specs=P("data"))
)


def weighted(mean_block, count_block):
    total = jax.lax.psum(count_block[0] * mean_block[0], "data")
    return total / jax.lax.psum(count_block[0], "data")


combine = jax.jit(
    jax.shard_map(weighted, mesh=mesh, in_specs=(P("data", None), P("data")), out_specs=P("data"))
)

w10, losses = w, []
for _ in range(10):
    w10, loss, _ = train_step(w10, x, y)
    losses.append(float(loss))

order = np.array([6, 2, 7, 0, 5, 1, 4, 3])
xp, yp = jax.device_put(xh[order], rows), jax.device_put(yh[order], labels)
gp = local_mean(wh, xh[order], yh[order])

first, second = local_mean(wh, xh[:3], yh[:3]), local_mean(wh, xh[3:], yh[3:])
joined = (3 * first + 5 * second) / 8
