"""Asks for its four devices the older way, through XLA_FLAGS, before JAX is imported."""

import os

os.environ["XLA_FLAGS"] = (
    os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"
)
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

mesh = Mesh(np.asarray(jax.devices()), ("data",))

xh = np.arange(16 * 8, dtype=np.float32).reshape(16, 8) / np.float32(128) - np.float32(0.5)
wh = np.float32(np.linspace(0.1, -0.2, 8))
v_host = np.float32(np.linspace(-0.02, 0.03, 8))
yh = xh @ np.float32(np.linspace(-0.4, 0.3, 8))


def squared_error(weights, a, b):
    return ((a @ weights - b) ** 2).sum() / 16


def contribution(a, b, weights):
    _, pull_back = jax.vjp(lambda guess: guess - b, a @ weights)
    (residual,) = pull_back(a @ weights - b)
    return 2 / 16 * a.T @ residual


def make(body, out_specs):
    specs = dict(in_specs=(P("data", None), P("data"), P()), out_specs=out_specs)
    return jax.jit(jax.shard_map(body, mesh=mesh, **specs))


all_gradient = make(lambda a, b, u: jax.lax.psum(contribution(a, b, u), "data"), P())
shard_gradient = make(
    lambda a, b, u: jax.lax.psum_scatter(contribution(a, b, u), "data", tiled=True), P("data")
)
gather = jax.jit(
    jax.shard_map(
        lambda g: jax.lax.all_gather(g, "data", axis=0, tiled=True),
        mesh=mesh,
        in_specs=(P("data"),),
        out_specs=P(),
        check_vma=False,
    )
)

in_rows = NamedSharding(mesh, P("data", None))
in_slices = NamedSharding(mesh, P("data"))
in_full = NamedSharding(mesh, P())
x, y, w = jax.device_put([xh, yh, wh], [in_rows, in_slices, in_full])
ws, vs = jax.device_put([wh, v_host], [in_slices, in_slices])

new_v = 0.9 * vs + shard_gradient(x, y, w)
new_w = ws - 0.1 * new_v
updated = gather(new_w)

w2h = wh + np.float32(0.1)
x2, y2, w2 = jax.device_put([xh[::-1], yh[::-1], w2h], [in_rows, in_slices, in_full])
r2 = np.asarray(jax.grad(squared_error)(w2h, xh, yh))
wrong_labels = np.asarray(jax.grad(squared_error)(w2h, xh, yh[::-1].copy()))

ring_scatter_bytes = 24.0
ring_all_bytes = 48.0
budget = []
for p, all_reduce, stored in zip(
    (2, 4, 8), (1048576, 1572864, 1835008), (524288, 262144, 131072), strict=True
):
    budget.append(
        {
            "ranks": p,
            "all_reduce_bytes": all_reduce,
            "scatter_gather_bytes": all_reduce,
            "shard_storage_bytes": stored,
        }
    )
