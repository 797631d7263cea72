"""The programs are bare `jax.shard_map` results: nothing is jitted by the learner."""

import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

import numpy as np  # noqa: E402
from jax import lax, shard_map  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

mesh = Mesh(np.array(jax.devices()), ("data",))
specs = P("data", None), P("data"), P()


def partial_sum(a, b, u):
    return lax.dot_general(a, a @ u - b, (((0,), (0,)), ((), ()))) / 8


all_gradient = shard_map(
    lambda *batch: lax.psum(partial_sum(*batch), "data"), mesh=mesh, in_specs=specs, out_specs=P()
)
shard_gradient = shard_map(
    lambda *batch: lax.psum_scatter(partial_sum(*batch), "data", tiled=True),
    mesh=mesh,
    in_specs=specs,
    out_specs=P("data"),
)
# Every device gathers the same pieces in the same order, so nothing is hidden by leaving this out.
gather = shard_map(
    lambda piece: lax.all_gather(piece, "data", tiled=True),
    mesh=mesh,
    in_specs=P("data"),
    out_specs=P(),
    check_vma=False,
)

xh = np.linspace(-64, 63, 128, dtype=np.float32).reshape(16, 8) / 128
yh = np.matmul(xh, np.linspace(-0.4, 0.3, num=8, dtype="f4"))
wh = np.linspace(start=0.1, stop=-0.2, num=8, dtype="f4")
v_host = np.linspace(start=-0.02, stop=0.03, num=8, dtype="f4")
rows, vector, everywhere = (NamedSharding(mesh, s) for s in specs)
x, y, w = (jax.device_put(h, s) for h, s in ((xh, rows), (yh, vector), (wh, everywhere)))

new_v = shard_gradient(x, y, w) + 0.9 * jax.device_put(v_host, vector)
new_w = jax.device_put(wh, vector) - 0.1 * new_v
updated = gather(new_w)

order = np.arange(15, -1, -1)
x2, y2 = jax.device_put(xh[order], rows), jax.device_put(yh[order], vector)
w2h = wh[::-1].copy()
w2 = jax.device_put(w2h, everywhere)
r2 = 2 / 16 * xh.T @ (xh @ w2h - yh)
wrong_labels = 2 / 16 * xh.T @ (xh @ w2h - yh[order])

G, p = 8 * 4, 4
ring_scatter_bytes = (p - 1) * (G // p)
ring_all_bytes = 2 * (p - 1) * (G // p)
budget = []
for p in 2, 4, 8:
    chunk = 1024 * 1024 // p
    row = dict.fromkeys(("all_reduce_bytes", "scatter_gather_bytes"), 2 * (p - 1) * chunk)
    budget.append(row | {"ranks": p, "shard_storage_bytes": chunk})
