"""Answers far too large to look at in full: rows without end, arrays of a billion values."""

import itertools

import numpy as np


class Rows:
    """A sequence of a million rows, made on demand."""

    def __len__(self):
        return 10**6

    def __getitem__(self, index):
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        return {"ranks": index, "padding": "x" * 10**4}


class Endless(dict):
    """A mapping whose keys and values never end."""

    def __iter__(self):
        return (f"ranks{i}" for i in itertools.count())

    def keys(self):
        return iter(self)

    def items(self):
        return ((key, 0) for key in self)

    def __missing__(self, key):
        return 10 ** (10**5)


nested = []
for _ in range(10**5):
    nested = [nested]

budget = Rows()
ring_all_bytes = 1 << 10**6
ring_scatter_bytes = Endless()
updated = np.broadcast_to(np.float32(0), (10**9,))
new_v = np.broadcast_to(np.float32(0), (10**5, 10**5, 10**3))
w2h = (float(i) for i in itertools.count())
r2 = np.zeros(8, dtype=object)
r2[:] = [nested] * 8
wrong_labels = nested
x2 = "x" * 10**8
y2 = memoryview(bytearray(8)).cast("f")
prediction = {"all_gradient": "8" * 10**7, "shard_gradient": nested, "gather": Endless()}
checkpoint = "c" * 10**7
explanation = {f"question {i}": "because " * 100 for i in range(10**4)}
