"""Wrong on purpose: the numbers of the whole are counted."""

# %% Given: devices, mesh and data (nothing to do here)
import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

mesh = Mesh(np.array(jax.devices()), ("data",))
xh = np.arange(16, dtype=np.float32) ** 2 / 8
x = jax.device_put(xh, NamedSharding(mesh, P("data")))  # (16,), stored (4,) per device


# %% Part 1: the program
def centre_block(block):
    return block - jax.lax.psum(block.sum(), "data") / 16


centre = jax.jit(jax.shard_map(centre_block, mesh=mesh, in_specs=P("data"), out_specs=P("data")))


# %% Part 2: counting
values_per_device = 16
