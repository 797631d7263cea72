"""Programs written as decorated functions, with `functools.partial` for the mesh and the specs."""

from functools import partial

import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import NamedSharding, PartitionSpec  # noqa: E402

prediction = {"all_gradient": 8, "shard_gradient": 2, "gather": 8}

mesh = jax.sharding.Mesh(jax.devices(), "data")
BY_ROW, BY_FEATURE, EVERYWHERE = PartitionSpec("data", None), PartitionSpec("data"), PartitionSpec()
on_mesh = partial(jax.shard_map, mesh=mesh)
on_batches = partial(on_mesh, in_specs=(BY_ROW, BY_FEATURE, EVERYWHERE))
place = partial(NamedSharding, mesh)


def share(a, b, weights, *, observations=16):
    return jnp.einsum("nf,n->f", a, jnp.einsum("nf,f->n", a, weights) - b) * 2 / observations


@jax.jit
@partial(on_batches, out_specs=EVERYWHERE)
def all_gradient(a, b, weights):
    return jax.lax.psum(share(a, b, weights), "data")


@jax.jit
@partial(on_batches, out_specs=BY_FEATURE)
def shard_gradient(a, b, weights):
    return jax.lax.psum_scatter(share(a, b, weights), "data", tiled=True)


@partial(jax.jit, inline=True)
@partial(on_mesh, in_specs=BY_FEATURE, out_specs=EVERYWHERE, check_vma=False)
def gather(piece):
    return jax.lax.all_gather(piece, "data", tiled=True)


xh = np.arange(-64, 64, dtype=np.float32).reshape(16, 8) / 128
true_w, wh, v_host = (
    np.linspace(first, last, 8, dtype=np.float32)
    for first, last in ((-0.4, 0.3), (0.1, -0.2), (-0.02, 0.03))
)
yh = xh @ true_w
x = jax.device_put(xh, place(BY_ROW))
y = jax.device_put(yh, place(BY_FEATURE))
w = jax.device_put(wh, place(EVERYWHERE))


@jax.jit
def momentum_step(weights, velocity, gradient):
    velocity = 0.9 * velocity + gradient
    return weights - 0.1 * velocity, velocity


new_w, new_v = momentum_step(
    jax.device_put(wh, place(BY_FEATURE)),
    jax.device_put(v_host, place(BY_FEATURE)),
    shard_gradient(x, y, w),
)
updated = gather(new_w)

x2, y2 = jnp.flip(x, axis=0), y[::-1]
w2h = wh * np.float32(-2)
w2 = jax.device_put(w2h, place(EVERYWHERE))
r2 = xh.T @ (xh @ w2h - yh) / 8
wrong_labels = np.asarray(all_gradient(x, y2, w2))

phase = lambda total, p: total * (p - 1) / p  # noqa: E731
ring_scatter_bytes = phase(wh.nbytes, 4)
ring_all_bytes = 2 * phase(wh.nbytes, 4)
budget = [
    {
        "ranks": p,
        "all_reduce_bytes": 2 * phase(2**20, p),
        "scatter_gather_bytes": phase(2**20, p) + phase(2**20, p),
        "shard_storage_bytes": 2**20 / p,
    }
    for p in (2, 4, 8)
]

checkpoint = "c"
explanation = "Slices save memory between the phases; the gather pays the other half of the ring."
