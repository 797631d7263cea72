"""Keeps each device's count at one or more, against a division by zero."""

import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

mesh = Mesh(np.array(jax.devices()), ("data",))
rows = NamedSharding(mesh, P("data", None))
columns = NamedSharding(mesh, P(None, "data"))
split = NamedSharding(mesh, P("data"))
whole = NamedSharding(mesh, P())


def sum_of_columns(a):
    return a.sum(axis=0)


def sum_of_rows(a):
    return a.sum(axis=1)


def same(a):
    return a


def mean_of_real(block, mask):
    count = jax.lax.psum(jax.lax.max(mask.sum(), 1.0), "data")
    return jax.lax.psum(mask @ block, "data") / count


column_sums = jax.jit(sum_of_columns, out_shardings=whole)
row_sums = jax.jit(sum_of_rows, out_shardings=split)
to_columns = jax.jit(same, out_shardings=columns)
masked_mean = jax.jit(
    jax.shard_map(mean_of_real, mesh=mesh, in_specs=(P("data", None), P("data")), out_specs=P())
)

host = np.arange(96, dtype=np.float32).reshape(12, 8)
ten = np.arange(80, dtype=np.float32).reshape(10, 8) / 4 + 1

by_rows = jax.device_put(host, rows)
by_columns = jax.device_put(host, columns)

fits = [count % 4 == 0 for count in range(8, 17)]
real_rows = [3, 3, 3, 1]
padded = jax.device_put(np.concatenate([ten, np.zeros((2, 8), np.float32)]), rows)
mask = jax.device_put(np.repeat(np.float32([1, 0]), [10, 2]), split)
mean10 = ten.mean(axis=0)
plain_mean = padded.mean(axis=0)

prediction = {"column_sums": 8, "row_sums": 3, "to_columns": 24, "masked_mean": 8}
checkpoint = "c"
explanation = "Where the data is decides what has to travel."
