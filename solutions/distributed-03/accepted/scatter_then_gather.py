"""Its all-reduce is the two phases of a ring spelt out: a reduce-scatter, then an all-gather."""

import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

import numpy as np  # noqa: E402
from jax.lax import all_gather, psum_scatter  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

mesh = Mesh(np.asarray(jax.devices()), ("data",))


def first_phase(a, b, weights):
    return psum_scatter(2 * a.T @ (a @ weights - b) / 16, "data", tiled=True)


def second_phase(piece):
    return all_gather(piece, "data", tiled=True)


def both_phases(a, b, weights):
    return second_phase(first_phase(a, b, weights))


BATCH, SLICES, FULL = (P("data", None), P("data"), P()), P("data"), P()
all_gradient = jax.jit(
    # Replicated for the same reason as `gather`: everyone ends with the same four slices.
    jax.shard_map(both_phases, mesh=mesh, in_specs=BATCH, out_specs=FULL, check_vma=False)
)
shard_gradient = jax.jit(jax.shard_map(first_phase, mesh=mesh, in_specs=BATCH, out_specs=SLICES))
gather = jax.jit(
    jax.shard_map(second_phase, mesh=mesh, in_specs=SLICES, out_specs=FULL, check_vma=False)
)

xh = np.linspace(-0.5, 0.5, 128, endpoint=False, dtype=np.float32).reshape(16, 8)
line = np.linspace((-0.4, 0.1, -0.02), (0.3, -0.2, 0.03), num=8, axis=1, dtype=np.float32)
yh, wh, v_host = xh @ line[0], line[1], line[2]
shardings = tuple(NamedSharding(mesh, spec) for spec in BATCH)
in_slices = NamedSharding(mesh, SLICES)

gs = shard_gradient(*jax.device_put((xh, yh, wh), shardings))
ws, vs = jax.device_put((wh, v_host), in_slices)
new_v = jax.numpy.add(0.9 * vs, gs)
new_w = jax.numpy.subtract(ws, 0.1 * new_v)
updated = gather(new_w)

w2h = wh.astype(np.float32) + np.float32(0.05) * np.arange(8, dtype=np.float32)
x2, y2, w2 = jax.device_put((xh[::-1], yh[::-1], w2h), shardings)
r2 = 0.125 * xh.T @ (xh @ w2h - yh)
wrong_labels = 0.125 * xh.T @ (xh @ w2h - yh[::-1])

SIZE = 2**20
ring_scatter_bytes = 32 - 32 / 4
ring_all_bytes = 64 - 64 / 4
budget = [
    {
        "ranks": ranks,
        "all_reduce_bytes": 2 * SIZE - 2 * SIZE // ranks,
        "scatter_gather_bytes": (SIZE - SIZE // ranks) + (SIZE - SIZE // ranks),
        "shard_storage_bytes": SIZE // ranks,
    }
    for ranks in (2, 4, 8)
]
