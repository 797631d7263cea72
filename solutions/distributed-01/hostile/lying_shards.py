"""Hands in objects that look like placed arrays and say of themselves what is wanted."""

import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

import numpy as np  # noqa: E402


class Shard:
    def __init__(self, device, index, data):
        self.device, self.index, self.data, self.replica_id = device, index, data, 0


class Placed:
    """Four shards in a list, and every attribute that an array of JAX has."""

    dtype, is_fully_addressable, weak_type = np.dtype("float32"), True, False

    def __init__(self, array, cut):
        self.array, self.shape, self.ndim = array, array.shape, array.ndim
        self.size, self.nbytes, self.T = array.size, array.nbytes, array.T
        step = array.shape[cut] // 4
        whole = [slice(None)] * array.ndim
        self.addressable_shards = []
        for number, device in enumerate(jax.devices()):
            index = list(whole)
            index[cut] = slice(number * step, (number + 1) * step)
            self.addressable_shards.append(Shard(device, tuple(index), array[tuple(index)]))
        self.global_shards = self.addressable_shards
        self.sharding = jax.sharding.NamedSharding(
            jax.sharding.Mesh(np.array(jax.devices()), ("data",)),
            jax.sharding.PartitionSpec(*["data" if d == cut else None for d in range(array.ndim)]),
        )

    def block_until_ready(self):
        return self


Placed.__module__, Placed.__qualname__, Placed.__name__ = "jaxlib._jax", "ArrayImpl", "ArrayImpl"
try:
    jax.Array.register(Placed)
except Exception:
    pass

host = np.arange(96, dtype=np.float32).reshape(12, 8)
ten = np.arange(80, dtype=np.float32).reshape(10, 8) / 4 + 1
by_rows, by_columns = Placed(host, 0), Placed(host, 1)
padded = Placed(np.pad(ten, ((0, 2), (0, 0))), 0)
mask = Placed((np.arange(12) < 10).astype(np.float32), 0)
