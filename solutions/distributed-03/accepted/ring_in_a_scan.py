"""The same hand-made ring inside `lax.scan`: one collective-permute in a loop of three trips."""

import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402
from jax.sharding import NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

mesh = jax.sharding.Mesh(np.array(jax.devices()), ("data",))
p = mesh.shape["data"]


def spmd(in_specs, out_specs, **options):
    def wrap(body):
        mapped = jax.shard_map(body, mesh=mesh, in_specs=in_specs, out_specs=out_specs, **options)
        return jax.jit(mapped)

    return wrap


def share(a, b, weights):
    return jnp.matmul(a.T, jnp.matmul(a, weights) - b) / 8


@spmd((P("data"), P("data"), P()), P())
def all_gradient(a, b, weights):
    return lax.psum(share(a, b, weights), "data")


@spmd((P("data"), P("data"), P()), P("data"))
def shard_gradient(a, b, weights):
    chunks = share(a, b, weights).reshape(p, -1)
    me = lax.axis_index("data")
    left = [((k + 1) % p, k) for k in range(p)]

    def pick(k):
        return lax.dynamic_index_in_dim(chunks, jnp.mod(k, p), keepdims=False)

    def hop(total, step):
        return lax.ppermute(total, "data", left) + pick(me + 2 + step), None

    total, _ = lax.scan(hop, pick(me + 1), jnp.arange(p - 1))
    return total


@spmd(P("data"), P(), check_vma=False)
def gather(piece):
    return lax.all_gather(piece, "data", tiled=True)


xh = np.linspace(-0.5, 0.5, 128, endpoint=False, dtype=np.float32).reshape(16, 8)
yh = np.matmul(xh, np.linspace(-0.4, 0.3, num=8, dtype="f4"))
wh = np.linspace(start=0.1, stop=-0.2, num=8, dtype="f4")
v_host = np.linspace(start=-0.02, stop=0.03, num=8, dtype="f4")
split, full = NamedSharding(mesh, P("data")), NamedSharding(mesh, P())
x, y, w = jax.device_put(xh, split), jax.device_put(yh, split), jax.device_put(wh, full)

new_v = 0.9 * jax.device_put(v_host, split) + shard_gradient(x, y, w)
new_w = jax.device_put(wh, split) - 0.1 * new_v
updated = gather(new_w)

x2, y2 = jax.device_put(xh[::-1], split), jax.device_put(yh[::-1], split)
w2h = np.linspace(-1, 1, 8, dtype=np.float32)
w2 = jax.device_put(w2h, full)
r2 = np.asarray(share(xh, yh, w2h))
wrong_labels = np.asarray(share(xh, yh[::-1], w2h))

ring_scatter_bytes, ring_all_bytes = 24, 48
budget = tuple(
    {
        "ranks": n,
        "all_reduce_bytes": 2 * (n - 1) * 2**20 / n,
        "scatter_gather_bytes": 2 * (n - 1) * 2**20 / n,
        "shard_storage_bytes": 2**20 / n,
    }
    for n in (2, 4, 8)
)
