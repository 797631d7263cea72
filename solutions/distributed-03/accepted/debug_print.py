"""A working submission in which `jax.debug.print` was left inside the programs."""

import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

mesh = Mesh(np.asarray(jax.devices()), ("data",))


def mine(a, b, weights):
    part = a.T @ (a @ weights - b) / 8
    jax.debug.print(
        "device {rank}: {n} rows, |g| = {size:.5f}",
        rank=jax.lax.axis_index("data"),
        n=a.shape[0],
        size=abs(part).sum(),
    )
    return part


def reduce_all(a, b, weights):
    total = jax.lax.psum(mine(a, b, weights), "data")
    jax.debug.print("total: {}", total)
    return total


def reduce_shard(a, b, weights):
    print("tracing reduce_shard:", a.shape, b.shape, weights.shape)
    return jax.lax.psum_scatter(mine(a, b, weights), "data", tiled=True)


def collect(piece):
    whole = jax.lax.all_gather(piece, "data", tiled=True)
    jax.debug.print("gathered {whole}", whole=whole)
    return whole


ins = P("data", None), P("data"), P()
all_gradient = jax.jit(jax.shard_map(reduce_all, mesh=mesh, in_specs=ins, out_specs=P()))
shard_gradient = jax.jit(jax.shard_map(reduce_shard, mesh=mesh, in_specs=ins, out_specs=P("data")))
gather = jax.jit(
    jax.shard_map(collect, mesh=mesh, in_specs=P("data"), out_specs=P(), check_vma=False)
)

xh = (np.arange(128, dtype=np.float32) - 64).reshape(16, 8) / 128
line = np.linspace((-0.4, 0.1, -0.02), (0.3, -0.2, 0.03), num=8, axis=1, dtype=np.float32)
yh, wh, v_host = xh @ line[0], line[1], line[2]
rows, split, full = (NamedSharding(mesh, spec) for spec in ins)
x, y, w = jax.device_put((xh, yh, wh), (rows, split, full))

gs = shard_gradient(x, y, w)
new_v = 0.9 * jax.device_put(v_host, split) + gs
new_w = jax.device_put(wh, split) - 0.1 * new_v
updated = gather(new_w)
print("updated:", updated)

x2, y2 = jax.device_put(xh[::-1], rows), jax.device_put(yh[::-1], split)
w2h = wh + np.float32(0.17)
w2 = jax.device_put(w2h, full)
r2 = xh.T @ (xh @ w2h - yh) / 8
wrong_labels = xh.T @ (xh @ w2h - yh[::-1]) / 8
print("paired:", r2, "unpaired:", wrong_labels)

ring_scatter_bytes = 3 * 8
ring_all_bytes = 2 * 3 * 8
budget = [
    {
        "ranks": p,
        "all_reduce_bytes": 2 * (p - 1) * 2**20 // p,
        "scatter_gather_bytes": 2 * ((p - 1) * 2**20 // p),
        "shard_storage_bytes": 2**20 // p,
    }
    for p in (2, 4, 8)
]
jax.effects_barrier()
