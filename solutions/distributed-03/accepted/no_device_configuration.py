"""Says nothing about platforms or device counts: it takes whatever devices there are."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

mesh = jax.sharding.Mesh(jax.devices(), ("data",))
xh = (np.arange(128, dtype=np.float32) - 64).reshape(16, 8) / 128
yh = np.matmul(xh, np.linspace(-0.4, 0.3, num=8, dtype="f4"))
wh = np.linspace(start=0.1, stop=-0.2, num=8, dtype="f4")
v_host = np.linspace(start=-0.02, stop=0.03, num=8, dtype="f4")


def share(a, b, weights):
    return jnp.tensordot(jnp.dot(a, weights) - b, a, axes=1) * (2 / xh.shape[0])


@jax.jit
def all_gradient(x, y, w):
    body = lambda a, b, u: jax.lax.psum(share(a, b, u), "data")  # noqa: E731
    return jax.shard_map(body, mesh=mesh, in_specs=(P("data"), P("data"), P()), out_specs=P())(
        x, y, w
    )


@jax.jit
def shard_gradient(x, y, w):
    body = lambda a, b, u: jax.lax.psum_scatter(share(a, b, u), "data", tiled=True)  # noqa: E731
    specs = (P("data"), P("data"), P())
    return jax.shard_map(body, mesh=mesh, in_specs=specs, out_specs=P("data"))(x, y, w)


@jax.jit
def gather(g):
    body = lambda s: jax.lax.all_gather(s, "data", tiled=True)  # noqa: E731
    return jax.shard_map(body, mesh=mesh, in_specs=P("data"), out_specs=P(), check_vma=False)(g)


split, full = NamedSharding(mesh, P("data")), NamedSharding(mesh, P())
x, y, w = jax.device_put(xh, split), jax.device_put(yh, split), jax.device_put(wh, full)
new_v = 0.9 * jax.device_put(v_host, split) + shard_gradient(x, y, w)
new_w = jax.device_put(wh, split) - 0.1 * new_v
updated = gather(new_w)

x2, y2 = jax.device_put(xh[::-1], split), jax.device_put(yh[::-1], split)
w2h = np.cos(np.arange(8)).astype(np.float32)
w2 = jax.device_put(w2h, full)
r2 = share(xh, yh, w2h)
wrong_labels = share(xh, yh[::-1], w2h)

ring_scatter_bytes = 8 * 4 * (4 - 1) / 4
ring_all_bytes = ring_scatter_bytes * 2
budget = [
    {
        "ranks": p,
        "all_reduce_bytes": 2**21 * (p - 1) // p,
        "scatter_gather_bytes": 2**20 * (p - 1) // p * 2,
        "shard_storage_bytes": 2**20 // p,
    }
    for p in (2, 4, 8)
]
