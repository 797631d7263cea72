"""Its programs are fine to export and never end: the time bomb is for whoever replays them."""

import jax
import jax.numpy as jnp

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)


def forever(value):
    return jax.lax.while_loop(lambda v: jnp.isfinite(v).any(), lambda v: v * 0.5, value)


@jax.jit
def all_gradient(x, y, w):
    return forever(w)


@jax.jit
def shard_gradient(x, y, w):
    return forever(w * 3.0)


@jax.jit
def gather(g):
    return forever(g)
