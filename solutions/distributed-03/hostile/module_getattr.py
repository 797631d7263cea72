"""The module itself invents an attribute for every name it is asked for; none of them exists."""

import jax.numpy as jnp


def invented(*args, **kwargs):
    return jnp.zeros(())


def __getattr__(name):
    if name.endswith("_bytes"):
        return 0
    if name == "budget":
        return [{}] * 3
    if name in ("all_gradient", "shard_gradient", "gather"):
        return invented
    return jnp.zeros(())


def __dir__():
    return [
        "all_gradient", "shard_gradient", "gather", "new_v", "new_w", "updated", "x2", "y2",
        "w2h", "w2", "r2", "wrong_labels", "ring_all_bytes", "ring_scatter_bytes", "budget",
    ]  # fmt: skip
