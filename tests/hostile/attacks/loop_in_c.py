# ruff: noqa
# outcome: cpu_limit
# verdict: error
# points: 0
# limits: cpu_s=2
"""Computes for ever inside compiled code, where no Python handler runs."""

import jax
import jax.numpy as jnp

spin = jax.jit(lambda value: jax.lax.while_loop(lambda v: v > -1.0, lambda v: v + 0.5, value))
spin(jnp.float32(0)).block_until_ready()
