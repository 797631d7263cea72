"""The budget is a tuple of dicts with NumPy scalars and more keys than anyone asked for."""

import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

mesh = Mesh(np.asarray(jax.devices()), ("data",))


def spread(body, ins, outs, **options):
    return jax.jit(jax.shard_map(body, mesh=mesh, in_specs=ins, out_specs=outs, **options))


def contribution(a, b, weights):
    residual = a @ weights - b
    return 2 * a.T @ residual / 16


BATCH = (P("data", None), P("data"), P())
all_gradient = spread(lambda *args: jax.lax.psum(contribution(*args), "data"), BATCH, P())
shard_gradient = spread(
    lambda *args: jax.lax.psum_scatter(contribution(*args), "data", tiled=True), BATCH, P("data")
)
gather = spread(
    lambda part: jax.lax.all_gather(part, "data", tiled=True), P("data"), P(), check_vma=False
)

xh = np.linspace(-0.5, 0.5, 128, endpoint=False, dtype=np.float32).reshape(16, 8)
wh = np.float32(np.linspace(0.1, -0.2, 8))
v_host = np.float32(np.linspace(-0.02, 0.03, 8))
yh = xh @ np.float32(np.linspace(-0.4, 0.3, 8))
rows, slices, everywhere = (NamedSharding(mesh, spec) for spec in BATCH)

gs = shard_gradient(*jax.device_put((xh, yh, wh), (rows, slices, everywhere)))
new_v = 0.9 * jax.device_put(v_host, slices) + gs
new_w = jax.device_put(wh, slices) - 0.1 * new_v
updated = gather(new_w)

w2h = wh + np.float32(0.17)
x2, y2, w2 = jax.device_put((xh[::-1], yh[::-1], w2h), (rows, slices, everywhere))
r2 = contribution(xh, yh, w2h)
wrong_labels = contribution(xh, yh[::-1], w2h)

# All rows at once, as columns.
ranks = np.array([2, 4, 8], dtype=np.int64)
size = np.int64(2**20)
phase = size * (ranks - 1) // ranks
stored = size // ranks
assert (phase + stored == size).all()

ring_scatter_bytes = np.float32(24.0)
ring_all_bytes = np.int16(48)
budget = tuple(
    {
        "name": f"ring of {ranks[i]}",
        "shard_storage_bytes": stored[i],
        "scatter_gather_bytes": np.float64(2 * phase[i]),
        "reduce_scatter_bytes": phase[i],
        "all_reduce_bytes": np.uint32(2 * phase[i]),
        "ranks": ranks[i],
        "per_phase": [phase[i], phase[i]],
        "note": "idealised ring, per rank",
    }
    for i in range(3)
)
