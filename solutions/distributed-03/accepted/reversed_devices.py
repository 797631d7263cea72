"""Another axis name, and the devices in reverse order: slice 0 lives on the last device."""

import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

AXIS = "workers"
mesh = Mesh(np.asarray(jax.devices())[::-1], (AXIS,))
SPLIT, ROWS, FULL = P(AXIS), P(AXIS, None), P()


def put(value, spec):
    return jax.device_put(value, NamedSharding(mesh, spec))


def share(a, b, weights):
    count = a.shape[0] * jax.lax.axis_size(AXIS)  # rows over all workers
    return a.T @ (a @ weights - b) * (2 / count)


def total(a, b, weights):
    return jax.lax.psum(share(a, b, weights), AXIS)


def portion(a, b, weights):
    return jax.lax.psum_scatter(share(a, b, weights), AXIS, tiled=True)


def whole(piece):
    return jax.lax.all_gather(piece, AXIS, tiled=True)


ins = (ROWS, SPLIT, FULL)
all_gradient = jax.jit(jax.shard_map(total, mesh=mesh, in_specs=ins, out_specs=FULL))
shard_gradient = jax.jit(jax.shard_map(portion, mesh=mesh, in_specs=ins, out_specs=SPLIT))
gather = jax.jit(
    jax.shard_map(whole, mesh=mesh, in_specs=SPLIT, out_specs=FULL, check_vma=False),
)

xh = np.linspace(-0.5, 0.5, 128, endpoint=False, dtype=np.float32).reshape(16, 8)
true_w, wh, v_host = (
    np.linspace(first, last, 8, dtype=np.float32)
    for first, last in ((-0.4, 0.3), (0.1, -0.2), (-0.02, 0.03))
)
yh = xh @ true_w

new_v = 0.9 * put(v_host, SPLIT) + shard_gradient(put(xh, ROWS), put(yh, SPLIT), put(wh, FULL))
new_w = put(wh, SPLIT) - 0.1 * new_v
updated = gather(new_w)

x2, y2 = put(np.flipud(xh), ROWS), put(np.flipud(yh), SPLIT)
w2h = wh + np.linspace(0.0, 0.4, 8, dtype=np.float32)
w2 = put(w2h, FULL)
r2 = np.asarray(all_gradient(put(xh, ROWS), put(yh, SPLIT), w2))
wrong_labels = np.asarray(gather(shard_gradient(put(xh, ROWS), y2, w2)))


def ring(phases, size, ranks):
    return phases * size * (ranks - 1) / ranks


ring_all_bytes, ring_scatter_bytes = ring(2, wh.nbytes, 4), ring(1, wh.nbytes, 4)
budget = [
    {
        "ranks": ranks,
        "all_reduce_bytes": ring(2, 2**20, ranks),
        "scatter_gather_bytes": ring(1, 2**20, ranks) + ring(1, 2**20, ranks),
        "shard_storage_bytes": 2**20 / ranks,
    }
    for ranks in (2, 4, 8)
]
