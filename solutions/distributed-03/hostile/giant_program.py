"""Its programs are a few lines long and want terabytes when they run, or an hour to compile."""

import jax
import jax.numpy as jnp

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)


def count(rows, columns, axis):
    return jax.lax.broadcasted_iota(jnp.float32, (rows, columns), axis)


@jax.jit
def all_gradient(x, y, w):
    tower = count(2**30, 1024, 0) * w[0] + count(2**30, 1024, 1)
    return jnp.sort(tower, axis=0)[0]


@jax.jit
def shard_gradient(x, y, w):
    square = jnp.sin(count(2**21, 2**21, 0) * w[1]) * count(2**21, 2**21, 1)
    return (square @ square.T)[0, :2]


@jax.jit
def gather(g):
    for step in range(2000):
        g = jnp.where(g > step, jnp.sin(g), jnp.exp(-g)) * 1.5
    return g
