"""Global-view code: `jit` with `out_shardings`, so the compiler chooses two of the collectives."""

import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

mesh = Mesh(np.asarray(jax.devices()), ("data",))
rows = NamedSharding(mesh, P("data", None))
slices = NamedSharding(mesh, P("data"))
full = NamedSharding(mesh, P())


def gradient(x, y, w):
    return 2 * x.T @ (x @ w - y) / y.size


all_gradient = jax.jit(gradient, in_shardings=(rows, slices, full), out_shardings=full)
gather = jax.jit(lambda g: g, out_shardings=full)


# On CPU `jit(gradient, out_shardings=slices)` becomes an all-reduce and a slice, so this one is
# spelt out.
def shard_body(a, b, weights):
    mine = a.T @ (a @ weights - b) * (2 / 16)
    return jax.lax.psum_scatter(mine, "data", tiled=True)


shard_gradient = jax.jit(
    jax.shard_map(
        shard_body,
        mesh=mesh,
        in_specs=(rows.spec, slices.spec, full.spec),
        out_specs=slices.spec,
    )
)

xh = np.linspace(-0.5, 0.5, 128, endpoint=False, dtype=np.float32).reshape(16, 8)
true_w, wh, v_host = (
    np.linspace(first, last, 8, dtype=np.float32)
    for first, last in ((-0.4, 0.3), (0.1, -0.2), (-0.02, 0.03))
)
yh = xh @ true_w
x, y, w = jax.device_put((xh, yh, wh), (rows, slices, full))


@jax.jit
def velocity(v, g):
    return jax.lax.with_sharding_constraint(0.9 * v + g, slices)


new_v = velocity(jax.device_put(v_host, slices), shard_gradient(x, y, w))
new_w = jax.device_put(wh, slices) - 0.1 * new_v
updated = gather(new_w)

x2, y2 = x[::-1], y[::-1]
w2h = wh + np.float32(0.17)
w2 = jax.device_put(w2h, full)
r2 = gradient(xh, yh, w2h)
wrong_labels = gradient(xh, yh[::-1], w2h)

PHASE = {p: 2**20 * (p - 1) // p for p in (2, 4, 8)}
ring_scatter_bytes = 32 * 3 // 4
ring_all_bytes = 32 * 3 // 4 + 32 * 3 // 4
budget = [
    {
        "ranks": p,
        "all_reduce_bytes": 2 * phase,
        "scatter_gather_bytes": phase + phase,
        "shard_storage_bytes": 2**20 - phase,
    }
    for p, phase in PHASE.items()
]
