"""Lets `jax.grad` derive the gradient: once with its built-in sum, once of a device's own loss."""

import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

mesh = Mesh(np.asarray(jax.devices()), ("data",))
rows, slices, full = (NamedSharding(mesh, s) for s in (P("data", None), P("data"), P()))


def loss_share(weights, a, b):
    return jnp.sum(jnp.square(a @ weights - b)) / 16


def summed_by_grad(a, b, weights):
    # The weights are the same on all devices, so their cotangent is summed over the devices.
    return jax.grad(loss_share)(weights, a, b)


def scattered(a, b, weights):
    # A varying copy of the weights belongs to this device alone, and so does its cotangent.
    own = jax.lax.pcast(weights, "data", to="varying")
    return jax.lax.psum_scatter(jax.grad(loss_share)(own, a, b), "data", tiled=True)


specs = (P("data", None), P("data"), P())
all_gradient = jax.jit(jax.shard_map(summed_by_grad, mesh=mesh, in_specs=specs, out_specs=P()))
shard_gradient = jax.jit(jax.shard_map(scattered, mesh=mesh, in_specs=specs, out_specs=P("data")))
gather = jax.jit(
    jax.shard_map(
        lambda s: jax.lax.all_gather(s, "data", tiled=True),
        mesh=mesh,
        in_specs=P("data"),
        out_specs=P(),
        check_vma=False,
    )
)

xh = np.float32(np.arange(128).reshape(16, 8) / 128 - 0.5)
line = np.linspace((-0.4, 0.1, -0.02), (0.3, -0.2, 0.03), num=8, axis=1, dtype=np.float32)
yh, wh, v_host = xh @ line[0], line[1], line[2]
x, y, w = jax.device_put((xh, yh, wh), (rows, slices, full))

new_v = 0.9 * jax.device_put(v_host, slices) + shard_gradient(x, y, w)
new_w = jax.device_put(wh, slices) - 0.1 * new_v
updated = gather(new_w)

backwards = slice(None, None, -1)
x2, y2 = jax.device_put(xh[backwards], rows), jax.device_put(yh[backwards], slices)
w2h = wh + np.float32(0.4)
w2 = jax.device_put(w2h, full)
r2 = jax.grad(loss_share)(w2h, xh, yh)
wrong_labels = jax.grad(loss_share)(w2h, xh, yh[backwards].copy())

ring_scatter_bytes = wh.nbytes * 0.75
ring_all_bytes = wh.nbytes * 1.5
budget = [
    {
        "ranks": p,
        "all_reduce_bytes": 2 * 2**20 * (1 - 1 / p),
        "scatter_gather_bytes": 2**20 * (1 - 1 / p) + 2**20 * (1 - 1 / p),
        "shard_storage_bytes": 2**20 / p,
    }
    for p in (2, 4, 8)
]
