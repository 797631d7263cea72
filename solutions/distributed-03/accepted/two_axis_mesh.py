"""A 4 x 1 mesh with a second, idle axis, as code written for data and model parallelism has."""

import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

mesh = Mesh(np.asarray(jax.devices()).reshape(4, 1), ("data", "model"))
batch, vector, nowhere = P("data", "model"), P("data"), P()


def local_contribution(a, b, weights):
    return 2 / 16 * (a.T @ (a @ weights - b))


def spread(body, in_specs, out_specs, check=True):
    program = jax.shard_map(
        body, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=check
    )
    return jax.jit(program)


# The model axis has one member, so summing over it as well changes nothing.
all_gradient = spread(
    lambda a, b, u: jax.lax.psum(local_contribution(a, b, u), ("data", "model")),
    (batch, vector, nowhere),
    nowhere,
)
shard_gradient = spread(
    lambda a, b, u: jax.lax.psum_scatter(local_contribution(a, b, u), "data", tiled=True),
    (P("data"), vector, nowhere),
    vector,
)
gather = spread(lambda s: jax.lax.all_gather(s, "data", tiled=True), vector, nowhere, check=False)

xh = np.linspace(-0.5, 0.5, 128, endpoint=False, dtype=np.float32).reshape(16, 8)
true_w, wh, v_host = (
    np.linspace(first, last, 8, dtype=np.float32)
    for first, last in ((-0.4, 0.3), (0.1, -0.2), (-0.02, 0.03))
)
yh = xh @ true_w
to = {name: NamedSharding(mesh, s) for name, s in
      {"batch": batch, "vector": vector, "full": nowhere}.items()}  # fmt: skip
x, y, w = (jax.device_put(xh, to["batch"]), jax.device_put(yh, to["vector"]),
           jax.device_put(wh, to["full"]))  # fmt: skip

gs = shard_gradient(x, y, w)
new_v = jax.device_put(v_host, to["vector"]) * 0.9 + gs
new_w = jax.device_put(wh, to["vector"]) - 0.1 * new_v
updated = gather(new_w)

x2 = jax.device_put(xh[::-1], to["batch"])
y2 = jax.device_put(yh[::-1], to["vector"])
w2h = wh * 1.5 + 0.05
w2 = jax.device_put(w2h, to["full"])
r2 = local_contribution(xh, yh, w2h)
wrong_labels = local_contribution(xh[::-1], yh, w2h)  # the same pairs as labels reversed alone

ring_scatter_bytes, ring_all_bytes = wh.nbytes - wh.nbytes // 4, 2 * (wh.nbytes - wh.nbytes // 4)
budget = [
    {
        "ranks": p,
        "all_reduce_bytes": 2 * (2**20 - 2**20 // p),
        "scatter_gather_bytes": (2**20 - 2**20 // p) + (2**20 - 2**20 // p),
        "shard_storage_bytes": 2**20 // p,
    }
    for p in (2, 4, 8)
]
