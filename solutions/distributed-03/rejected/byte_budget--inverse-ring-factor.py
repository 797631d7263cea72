"""Has the ring factor upside down: p / (p - 1) instead of (p - 1) / p."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

mesh = jax.sharding.Mesh(jax.devices(), "data")
split, whole = PartitionSpec("data"), PartitionSpec()
spmd = partial(jax.shard_map, mesh=mesh)
in_slices, everywhere = NamedSharding(mesh, split), NamedSharding(mesh, whole)

xh = np.arange(-64, 64, dtype=np.float32).reshape(16, 8) / 128
yh = np.dot(xh, np.linspace(-0.4, 0.3, 8).astype(np.float32))
wh = np.linspace(0.1, -0.2, 8).astype(np.float32)
v_host = np.linspace(-0.02, 0.03, 8).astype(np.float32)


def local_gradient(a, b, weights):
    return jnp.einsum("nf,n->f", a, a @ weights - b) / 8


@jax.jit
@partial(spmd, in_specs=(split, split, whole), out_specs=whole)
def all_gradient(a, b, weights):
    return lax.psum(local_gradient(a, b, weights), "data")


@jax.jit
@partial(spmd, in_specs=(split, split, whole), out_specs=split)
def shard_gradient(a, b, weights):
    return lax.psum_scatter(local_gradient(a, b, weights), "data", tiled=True)


@jax.jit
@partial(spmd, in_specs=split, out_specs=whole, check_vma=False)
def gather(piece):
    return lax.all_gather(piece, "data", tiled=True)


x, y = jax.device_put((xh, yh), in_slices)
w = jax.device_put(wh, everywhere)
ws, vs = jax.device_put((wh, v_host), in_slices)
new_v = 0.9 * vs + shard_gradient(x, y, w)
new_w = ws - 0.1 * new_v
updated = gather(new_w)

x2, y2 = jax.device_put((np.flip(xh, 0).copy(), np.flip(yh).copy()), in_slices)
w2h = wh * np.float32(-1.5)
w2 = jax.device_put(w2h, everywhere)
r2 = (xh @ w2h - yh) @ xh / 8
wrong_labels = (xh @ w2h - np.flip(yh)) @ xh / 8


def phase_bytes(size, ranks):
    return size * ranks / (ranks - 1)


ring_scatter_bytes = phase_bytes(wh.nbytes, 4)
ring_all_bytes = 2 * phase_bytes(wh.nbytes, 4)
budget = [
    {
        "ranks": ranks,
        "all_reduce_bytes": 2 * phase_bytes(2**20, ranks),
        "scatter_gather_bytes": phase_bytes(2**20, ranks) + phase_bytes(2**20, ranks),
        "shard_storage_bytes": 2**20 / ranks,
    }
    for ranks in (2, 4, 8)
]
