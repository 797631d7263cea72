"""As plain.py, for the other usual way to write the contribution: the factor in front."""

import jax
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

N = 16
mesh = Mesh(np.array(jax.devices()), ("data",))


def local_contribution(x_block, y_block, weights):
    return (2 / N) * (x_block.T @ (x_block @ weights - y_block))


def reduce_all(x_block, y_block, weights):
    return jax.lax.psum(local_contribution(x_block, y_block, weights), "data")


def reduce_shard(x_block, y_block, weights):
    return jax.lax.psum_scatter(local_contribution(x_block, y_block, weights), "data", tiled=True)


batch = (P("data", None), P("data"), P())
all_gradient = jax.jit(jax.shard_map(reduce_all, mesh=mesh, in_specs=batch, out_specs=P()))
shard_gradient = jax.jit(
    jax.shard_map(reduce_shard, mesh=mesh, in_specs=batch, out_specs=P("data"))
)


def gathered(piece):
    return jax.lax.all_gather(piece, "data", tiled=True)


gather = jax.jit(
    jax.shard_map(gathered, mesh=mesh, in_specs=P("data"), out_specs=P(), check_vma=False)
)

rows = jax.device_put(np.zeros((N, 8), np.float32), jax.NamedSharding(mesh, P("data", None)))
values = jax.device_put(np.zeros(N, np.float32), jax.NamedSharding(mesh, P("data")))
weights = jax.device_put(np.zeros(8, np.float32), jax.NamedSharding(mesh, P()))
g = shard_gradient(rows, values, weights)
all_gradient(rows, values, weights).block_until_ready()
gather(g).block_until_ready()
old = jax.device_put(np.zeros(8, np.float32), jax.NamedSharding(mesh, P("data")))
(g + 0.9 * old).block_until_ready()
