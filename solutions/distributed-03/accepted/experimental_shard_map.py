"""Imports `shard_map` from its old place, as many tutorials still do, with `check_rep=False`."""

import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

import numpy as np  # noqa: E402
from jax.experimental import mesh_utils  # noqa: E402
from jax.experimental.shard_map import shard_map  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

mesh = Mesh(mesh_utils.create_device_mesh((4,)), axis_names=("data",))


def grad_share(xs, ys, weights):
    error = xs @ weights - ys
    return 2.0 / 16.0 * xs.T @ error


def _all(xs, ys, weights):
    return jax.lax.psum(grad_share(xs, ys, weights), "data")


def _scatter(xs, ys, weights):
    return jax.lax.psum_scatter(grad_share(xs, ys, weights), "data", tiled=True)


def _gather(g):
    return jax.lax.all_gather(g, "data", tiled=True)


in_specs = (P("data", None), P("data"), P(None))
all_gradient = jax.jit(shard_map(_all, mesh, in_specs, P(None)))
shard_gradient = jax.jit(shard_map(_scatter, mesh, in_specs, P("data")))
gather = jax.jit(shard_map(_gather, mesh, (P("data"),), P(None), check_rep=False))

xh = np.linspace(-64, 63, 128, dtype=np.float32).reshape(16, 8) / 128
true_w = np.linspace(-0.4, 0.3, 8, dtype=np.float32)
yh = xh @ true_w
wh = np.linspace(0.1, -0.2, 8, dtype=np.float32)
v_host = np.linspace(-0.02, 0.03, 8, dtype=np.float32)

row_sharding = NamedSharding(mesh, P("data", None))
vec_sharding = NamedSharding(mesh, P("data"))
full_sharding = NamedSharding(mesh, P(None))
x = jax.device_put(xh, row_sharding)
y = jax.device_put(yh, vec_sharding)
w = jax.device_put(wh, full_sharding)

gs = shard_gradient(x, y, w)
new_v = 0.9 * jax.device_put(v_host, vec_sharding) + gs
new_w = jax.device_put(wh, vec_sharding) - 0.1 * new_v
updated = gather(new_w)

x2 = jax.device_put(xh[::-1], row_sharding)
y2 = jax.device_put(yh[::-1], vec_sharding)
w2h = wh + 0.5 * v_host - np.float32(0.3)
w2 = jax.device_put(w2h, full_sharding)
r2 = grad_share(xh, yh, w2h)
wrong_labels = grad_share(xh, yh[::-1], w2h)

ring_scatter_bytes = 3 / 4 * 32
ring_all_bytes = 2 * 3 / 4 * 32
budget = []
for n in [2, 4, 8]:
    scatter = int((n - 1) / n * 2**20)
    gathering = scatter
    budget.append(
        {
            "ranks": n,
            "all_reduce_bytes": 2 * scatter,
            "scatter_gather_bytes": scatter + gathering,
            "shard_storage_bytes": 2**20 // n,
        }
    )
