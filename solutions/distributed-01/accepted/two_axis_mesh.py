"""A 4 x 1 mesh with a second, idle axis, as code for data and model parallelism has."""

import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

mesh = Mesh(np.asarray(jax.devices()).reshape(4, 1), ("data", "model"))
rows, columns = NamedSharding(mesh, P("data", "model")), NamedSharding(mesh, P("model", "data"))
piece, full = NamedSharding(mesh, P("data")), NamedSharding(mesh, P())
host = np.arange(96, dtype=np.float32).reshape(12, 8)
ten = np.arange(80, dtype=np.float32).reshape(10, 8) / 4 + 1

by_rows = jax.make_array_from_callback(host.shape, rows, lambda index: host[index])
by_columns = jax.make_array_from_callback(host.shape, columns, lambda index: host[index])

spread = lambda body, ins, out: jax.jit(  # noqa: E731
    jax.shard_map(body, mesh=mesh, in_specs=ins, out_specs=out)
)
column_sums = spread(lambda b: jax.lax.psum(b.sum(0), "data"), P("data"), P())
row_sums = spread(lambda b: jnp.einsum("rc->r", b), P("data"), P("data"))
to_columns = jax.jit(lambda a: a, in_shardings=rows, out_shardings=columns)


def both(block, real):
    # One collective for sum and count: the count is one more column.
    wide = jnp.concatenate([block, jnp.ones((3, 1))], axis=1)
    total = jax.lax.psum(real @ wide, "data")
    return total[:8] / total[8]


masked_mean = spread(both, (P("data"), P("data")), P())

fits = (np.arange(8, 17) % 4 == 0).tolist()
zeros = np.zeros((2, 8), np.float32)
padded = jax.device_put(np.vstack([ten, zeros]), rows)
mask = jax.device_put(np.float32([1] * 10 + [0] * 2), piece)
real_rows = [int(shard.data.sum()) for shard in mask.addressable_shards]
mean10 = masked_mean(padded, mask)
plain_mean = jax.jit(lambda a: a.mean(axis=0), out_shardings=full)(padded)
