"""Sums in loops, and the move in three exchanges: each part goes straight to where it is needed."""

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


def on_blocks(body, ins, out, **options):
    return jax.jit(jax.shard_map(body, mesh=mesh, in_specs=ins, out_specs=out, **options))


def add_up(block):
    local, _ = jax.lax.scan(lambda total, row: (total + row, None), block[0], block[1:])
    return jax.lax.psum(local, "data")


def across(block):
    start = jax.lax.pcast(jnp.zeros(3), "data", to="varying")
    return jax.lax.fori_loop(0, 8, lambda c, total: total + block[:, c], start)


def around(block):
    me = jax.lax.axis_index("data")
    mine = jax.lax.dynamic_slice(block, (0, 2 * me), (3, 2))
    result = jax.lax.dynamic_update_slice(jnp.zeros_like(block, shape=(12, 2)), mine, (3 * me, 0))
    for step in (1, 2, 3):
        # What device me + step needs of these rows goes straight there.
        goes = jax.lax.dynamic_slice(block, (0, 2 * ((me + step) % 4)), (3, 2))
        came = jax.lax.ppermute(goes, "data", [(d, (d + step) % 4) for d in range(4)])
        result = jax.lax.dynamic_update_slice(result, came, (3 * ((me - step) % 4), 0))
    return result


def mean(block, mask):
    seen = jnp.where(mask[:, None] == 1, block, jnp.zeros_like(block))
    total, count = jax.lax.psum((seen.sum(axis=0), mask.sum()), "data")
    return total / count


column_sums = on_blocks(add_up, P("data"), P())
row_sums = on_blocks(across, P("data"), P("data"))
to_columns = on_blocks(around, P("data"), P(None, "data"))
masked_mean = on_blocks(mean, (P("data"), P("data")), P())

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
