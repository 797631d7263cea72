"""Compile what most submissions of this exercise compile, so that the cache holds it.

Run once per machine by the grader itself; it is no solution, only the same kinds of programs.
"""

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("data",))
rows, split, whole = (NamedSharding(mesh, s) for s in (P("data", None), P("data"), P()))
batch_host = np.zeros((16, 8), np.float32), np.zeros(16, np.float32), np.zeros(8, np.float32)
x, y, w = (jax.device_put(a, s) for a, s in zip(batch_host, (rows, split, whole), strict=True))
ws, vs = (jax.device_put(batch_host[2], split) for _ in range(2))


def share(a, b, weights):
    return 2 * a.T @ (a @ weights - b) / 16


def reduce_all(*batch):
    return jax.lax.psum(share(*batch), "data")


def reduce_shard(*batch):
    return jax.lax.psum_scatter(share(*batch), "data", tiled=True)


def on_mesh(function, specs, out, **options):
    return jax.jit(jax.shard_map(function, mesh=mesh, in_specs=specs, out_specs=out, **options))


batch = (P("data", None), P("data"), P())
all_gradient = on_mesh(reduce_all, batch, P())
shard_gradient = on_mesh(reduce_shard, batch, P("data"))
gather = on_mesh(
    lambda g: jax.lax.all_gather(g, "data", tiled=True), P("data"), P(), check_vma=False
)
g = shard_gradient(x, y, w)
all_gradient(x, y, w).block_until_ready()
gather(g).block_until_ready()
v = 0.9 * vs + g
gather(ws - 0.1 * v).block_until_ready()
