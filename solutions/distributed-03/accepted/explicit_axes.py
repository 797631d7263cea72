"""A mesh from `jax.make_mesh` with Explicit axes: shardings are part of the array types."""

import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

import numpy as np  # noqa: E402
from jax.sharding import AxisType, NamedSharding, reshard  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

mesh = jax.make_mesh((4,), ("data",), axis_types=(AxisType.Explicit,))
rows = NamedSharding(mesh, P("data", None))
split = NamedSharding(mesh, P("data"))
full = NamedSharding(mesh, P(None))


def share(a, b, weights):
    return (a.T @ (a @ weights - b)) / 8.0


def everywhere(a, b, weights):
    return jax.lax.psum(share(a, b, weights), "data")


def in_slices(a, b, weights):
    return jax.lax.psum_scatter(share(a, b, weights), "data", tiled=True)


def reassemble(piece):
    return jax.lax.all_gather(piece, "data", tiled=True)


specs = (rows.spec, split.spec, full.spec)
all_gradient = jax.jit(jax.shard_map(everywhere, mesh=mesh, in_specs=specs, out_specs=full.spec))
shard_gradient = jax.jit(jax.shard_map(in_slices, mesh=mesh, in_specs=specs, out_specs=split.spec))
gather = jax.jit(
    jax.shard_map(reassemble, mesh=mesh, in_specs=split.spec, out_specs=full.spec, check_vma=False)
)

xh = (np.arange(128, dtype=np.float32) - 64).reshape(16, 8) / 128
wh = np.float32(np.linspace(0.1, -0.2, 8))
v_host = np.float32(np.linspace(-0.02, 0.03, 8))
yh = xh @ np.float32(np.linspace(-0.4, 0.3, 8))
x, y, w = jax.device_put((xh, yh, wh), (rows, split, full))
ws, vs = reshard(w, split), jax.device_put(v_host, split)

new_v = 0.9 * vs + shard_gradient(x, y, w)
new_w = ws - 0.1 * new_v
updated = gather(new_w)

x2 = jax.device_put(xh[::-1].copy(), rows)
y2 = jax.device_put(yh[::-1].copy(), split)
w2h = np.full(8, 0.3, dtype=np.float32)
w2 = jax.device_put(w2h, full)
r2 = share(xh, yh, w2h)
wrong_labels = all_gradient(x, y2, w2)

ring_scatter_bytes = np.divide(3 * wh.nbytes, 4)
ring_all_bytes = np.multiply(2, ring_scatter_bytes)
budget = [
    {
        "ranks": p,
        "all_reduce_bytes": (2 * (p - 1) << 20) // p,
        "scatter_gather_bytes": sum([((p - 1) << 20) // p] * 2),
        "shard_storage_bytes": (1 << 20) // p,
    }
    for p in (2, 4, 8)
]
