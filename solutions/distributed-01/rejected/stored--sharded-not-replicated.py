"""Leaves the column sums scattered, two on each device."""

import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

mesh = Mesh(np.array(jax.devices()), ("data",))
rows = NamedSharding(mesh, P("data", None))
columns = NamedSharding(mesh, P(None, "data"))
split = NamedSharding(mesh, P("data"))
whole = NamedSharding(mesh, P())

BY_ROWS, BY_COLUMNS, PIECES, WHOLE = P("data", None), P(None, "data"), P("data"), P()


def mapped(body, ins, out, **options):
    return jax.jit(jax.shard_map(body, mesh=mesh, in_specs=ins, out_specs=out, **options))


def columns_body(block):
    return jax.lax.psum_scatter(block.sum(axis=0), "data", tiled=True)


def rows_body(block):
    return block.sum(axis=1)


def move_body(block):
    return jax.lax.all_to_all(block, "data", split_axis=1, concat_axis=0, tiled=True)


def mean_body(block, mask):
    total = jax.lax.psum(mask @ block, "data")
    return total / jax.lax.psum(mask.sum(), "data")


column_sums = mapped(columns_body, BY_ROWS, PIECES)
row_sums = mapped(rows_body, BY_ROWS, PIECES)
to_columns = mapped(move_body, BY_ROWS, BY_COLUMNS)
masked_mean = mapped(mean_body, (BY_ROWS, PIECES), WHOLE)

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
