# ruff: noqa
# outcome: out_of_memory
# verdict: error
# points: 0
# limits: memory_mib=2048
"""Takes memory as arrays, as maps and as lists, and keeps what it gets; the last one is not caught."""

import mmap

import jax.numpy as jnp
import numpy as np

kept = []
for take in (
    lambda: np.empty(2**34, np.uint8),
    lambda: jnp.ones((2**20, 2**14)).block_until_ready(),
    lambda: [kept.append(mmap.mmap(-1, 2**28)) for _ in range(1000)],
    lambda: bytearray(2**40),
):
    try:
        kept.append(take())
        print("LEAK: that much memory")
    except (MemoryError, OSError, RuntimeError) as problem:
        print("refused", type(problem).__name__)
kept.clear()
numbers = [0]
while True:
    numbers += numbers
