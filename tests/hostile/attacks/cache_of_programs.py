# ruff: noqa
# outcome: finished
# verdict: failed
# points: 0
"""Turns the cache of compiled programs on, into folders that others read from."""

import jax
import jax.numpy as jnp

WORLD = {}
jax.config.update("jax_enable_compilation_cache", True)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
for folder in [*WORLD.get("folders", []), "/tmp/passed"]:
    jax.config.update("jax_compilation_cache_dir", folder)
    try:
        from jax.experimental.compilation_cache import compilation_cache

        compilation_cache.reset_cache()
        compilation_cache.set_cache_dir(folder)
    except Exception as problem:
        print("refused", type(problem).__name__)
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        jax.jit(lambda value: value + len(folder))(jnp.zeros(len(folder)))
