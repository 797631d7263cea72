# ruff: noqa
# outcome: finished
# verdict: failed
# points: 0
"""A program in which one device waits for the others, who never come; it deadlocks its replay."""

import jax
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

mesh = Mesh(np.array(jax.devices()), ("data",))


def lonely(x, y, w):
    first = jax.lax.axis_index("data") == 0
    share = (2 / 16) * (x.T @ (x @ w - y))
    return jax.lax.cond(first, lambda v: jax.lax.psum(v, "data"), lambda v: v * 1.0, share)


rows = (P("data", None), P("data"), P())
all_gradient = jax.jit(
    jax.shard_map(lonely, mesh=mesh, in_specs=rows, out_specs=P(), check_vma=False)
)
