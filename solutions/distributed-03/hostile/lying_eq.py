"""Hands in objects that agree with whatever they are compared with, converted to or asked for."""

import numpy as np


class Agreeable:
    """Equal to everything, less and greater than everything, and any number you like."""

    shape, dtype, ndim, size, nbytes = (8,), np.dtype("float32"), 1, 8, 32
    __array_priority__ = 1e9
    weak_type = False
    is_fully_addressable = True

    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    __lt__ = __le__ = __gt__ = __ge__ = __eq__

    def __hash__(self):
        return 0

    def __bool__(self):
        return True

    def __len__(self):
        return 3

    def __getitem__(self, key):
        return Agreeable()

    def __iter__(self):
        return iter([Agreeable(), Agreeable(), Agreeable()])

    def __contains__(self, item):
        return True

    def __float__(self):
        return 0.0

    def __int__(self):
        return 0

    __index__ = __int__

    def __abs__(self):
        return Agreeable()

    def _self(self, *args, **kwargs):
        return Agreeable()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _self
    __call__ = astype = item = tolist = block_until_ready = _self

    def __array__(self, dtype=None, copy=None):
        return np.zeros(8, np.float32)

    def __array_function__(self, function, types, args, kwargs):
        return True

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return True

    @property
    def __class__(self):
        return float

    @property
    def addressable_shards(self):
        return [self] * 4

    @property
    def data(self):
        return self

    def keys(self):
        return ["ranks", "all_reduce_bytes", "scatter_gather_bytes", "shard_storage_bytes"]

    def get(self, key, default=None):
        return Agreeable()

    def __repr__(self):
        return "48"


class TrueNumber(float):
    """A float that is zero and equals everything."""

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0

    def __repr__(self):
        return "48.0"

    __str__ = __repr__


class YesArray(np.ndarray):
    """An array of zeros whose comparisons are always true."""

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return np.True_


zeros = np.zeros(8, np.float32).view(YesArray)
new_v = new_w = updated = Agreeable()
x2 = y2 = w2 = w2h = Agreeable()
r2 = wrong_labels = zeros
ring_all_bytes, ring_scatter_bytes = TrueNumber(0), Agreeable()
budget = Agreeable()
all_gradient = shard_gradient = gather = Agreeable()
