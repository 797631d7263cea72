"""Its programs call back into Python on the host, which no other process can do for them."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

EIGHT = jax.ShapeDtypeStruct((8,), jnp.float32)


def at_home(*values):
    print("called with", [np.shape(value) for value in values])
    return np.zeros(8, np.float32)


@jax.jit
def all_gradient(x, y, w):
    return jax.pure_callback(at_home, EIGHT, x, y, w)


@jax.jit
def shard_gradient(x, y, w):
    return io_callback(at_home, EIGHT, x, y, w)


@jax.jit
def gather(g):
    jax.debug.callback(at_home, g)
    return jax.pure_callback(at_home, EIGHT, g)
