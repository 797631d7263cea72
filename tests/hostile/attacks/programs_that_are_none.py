# ruff: noqa
# outcome: finished, raised
# verdict: failed, error
# points: 0
"""Programs in the shape of something else: a coroutine, a class, a partial of a built-in function."""

import functools
import types

import jax


async def all_gradient(x, y, w):
    return w


class shard_gradient(tuple):
    def __call__(self, *_):
        return self


gather = functools.partial(functools.partial, exec, "print('LEAK: ran in the replay')")
new_v, new_w, updated = jax.jit, jax, types
