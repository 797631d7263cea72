"""Host values in every guise: jnp arrays, NumPy float64, a list of Python floats, 0-d arrays."""

import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

mesh = Mesh(np.asarray(jax.devices()), ("data",))
rows, slices, full = (NamedSharding(mesh, s) for s in (P("data", None), P("data"), P()))


def spmd(body, ins, out, **kw):
    return jax.jit(jax.shard_map(body, mesh=mesh, in_specs=ins, out_specs=out, **kw))


def share(a, b, weights):
    return 2 / 16 * jnp.dot(a.T, jnp.dot(a, weights) - b)


ins = (P("data", None), P("data"), P())
all_gradient = spmd(lambda a, b, u: jax.lax.psum(share(a, b, u), "data"), ins, P())
shard_gradient = spmd(
    lambda a, b, u: jax.lax.psum_scatter(share(a, b, u), "data", tiled=True), ins, P("data")
)
gather = spmd(
    lambda s: jax.lax.all_gather(s, "data", tiled=True), (P("data"),), P(), check_vma=False
)

xh = jnp.arange(128, dtype=jnp.float32).reshape(16, 8) / 128 - 0.5
yh = xh @ np.linspace(-0.4, 0.3, 8, dtype=np.float32)
wh = jnp.array(np.linspace(0.1, -0.2, 8), dtype=jnp.float32)
v_host = [float(v) for v in np.linspace(-0.02, 0.03, 8)]
x, y, w = jax.device_put((xh, yh, wh), (rows, slices, full))

new_v = 0.9 * jax.device_put(jnp.array(v_host), slices) + shard_gradient(x, y, w)
new_w = jax.device_put(wh, slices) - 0.1 * new_v
updated = gather(new_w)

x2, y2 = jax.device_put(xh[::-1], rows), jax.device_put(yh[::-1], slices)
w2h = wh + 0.17  # a jnp array on one device
w2 = jax.device_put(w2h, full)
r2 = all_gradient(x, y, w2)  # stays on the mesh
exact_x, exact_y, exact_w = (np.asarray(v, dtype=np.float64) for v in (xh, yh, w2h))
wrong_labels = [
    sum(2 * row[k] * (row @ exact_w - label) for row, label in zip(exact_x, exact_y[::-1])) / 16
    for k in range(8)
]  # a list of Python-like floats

ring_scatter_bytes = jnp.float32(24)  # a 0-d jnp array
ring_all_bytes = np.array(48.0)  # a 0-d NumPy array
budget = [
    {
        "ranks": np.int32(p),
        "all_reduce_bytes": jnp.asarray(2 * (p - 1) * 2**20 // p),
        "scatter_gather_bytes": float(2 * (p - 1) * 2**20 / p),
        "shard_storage_bytes": 2**20 // p,
    }
    for p in (2, 4, 8)
]
