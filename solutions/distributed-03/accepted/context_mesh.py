"""No mesh is passed to `shard_map`: it is set once for the whole script with `jax.set_mesh`."""

import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

import numpy as np  # noqa: E402
from jax.sharding import AxisType  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

jax.set_mesh(jax.make_mesh((4,), ("data",), axis_types=(AxisType.Auto,)))


def share(a, b, weights):
    return (2 / 16) * (a.T @ (a @ weights - b))


@jax.jit
@jax.shard_map(in_specs=(P("data", None), P("data"), P()), out_specs=P())
def all_gradient(a, b, weights):
    return jax.lax.psum(share(a, b, weights), "data")


@jax.jit
@jax.shard_map(in_specs=(P("data", None), P("data"), P()), out_specs=P("data"))
def shard_gradient(a, b, weights):
    return jax.lax.psum_scatter(share(a, b, weights), "data", tiled=True)


@jax.jit
@jax.shard_map(in_specs=P("data"), out_specs=P(), check_vma=False)
def gather(piece):
    return jax.lax.all_gather(piece, "data", tiled=True)


xh = np.linspace(-64, 63, 128, dtype=np.float32).reshape(16, 8) / 128
wh = np.float32(np.linspace(0.1, -0.2, 8))
v_host = np.float32(np.linspace(-0.02, 0.03, 8))
yh = xh @ np.float32(np.linspace(-0.4, 0.3, 8))

# With a mesh in the context, a bare PartitionSpec says where to put an array.
x, y, w = jax.device_put((xh, yh, wh), (P("data", None), P("data"), P()))
ws, vs = jax.device_put((wh, v_host), (P("data"), P("data")))
new_v = 0.9 * vs + shard_gradient(x, y, w)
new_w = ws - 0.1 * new_v
updated = gather(new_w)

w2h = wh + np.float32(0.17)
x2, y2, w2 = jax.device_put((xh[::-1], yh[::-1], w2h), (P("data", None), P("data"), P()))
r2 = share(xh, yh, w2h)
wrong_labels = share(xh, yh[::-1], w2h)

ring_scatter_bytes = 24
ring_all_bytes = 48
budget = [
    {
        "ranks": p,
        "all_reduce_bytes": 2 * (p - 1) * (2**20 // p),
        "scatter_gather_bytes": 2 * (p - 1) * (2**20 // p),
        "shard_storage_bytes": 2**20 // p,
    }
    for p in (2, 4, 8)
]
