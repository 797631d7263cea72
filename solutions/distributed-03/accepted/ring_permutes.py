"""Builds the reduce-scatter by hand: a ring of three `ppermute` steps, two values at a time."""

import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

RANKS = 4
NEXT = [(rank, (rank + 1) % RANKS) for rank in range(RANKS)]
mesh = Mesh(np.asarray(jax.devices()), ("ring",))


def share(a, b, weights):
    return a.T @ (a @ weights - b) / 8


def ring_reduce_scatter(vector):
    chunks = vector.reshape(RANKS, -1)
    rank = jax.lax.axis_index("ring")

    def own(position):
        return jnp.take(chunks, position % RANKS, axis=0, mode="wrap")

    # A travelling sum starts one rank after the chunk's owner and comes home after p - 1 hops.
    carried = own(rank - 1)
    for hop in range(RANKS - 1):
        carried = jax.lax.ppermute(carried, "ring", NEXT) + own(rank - 2 - hop)
    return carried


specs = (P("ring", None), P("ring"), P())
all_gradient = jax.jit(
    jax.shard_map(
        lambda a, b, u: jax.lax.psum(share(a, b, u), "ring"),
        mesh=mesh, in_specs=specs, out_specs=P(),
    )
)  # fmt: skip
shard_gradient = jax.jit(
    jax.shard_map(
        lambda a, b, u: ring_reduce_scatter(share(a, b, u)),
        mesh=mesh, in_specs=specs, out_specs=P("ring"),
    )
)  # fmt: skip
gather = jax.jit(
    jax.shard_map(
        lambda s: jax.lax.all_gather(s, "ring", tiled=True),
        mesh=mesh, in_specs=P("ring"), out_specs=P(), check_vma=False,
    )
)  # fmt: skip

xh = np.linspace(-64, 63, 128, dtype=np.float32).reshape(16, 8) / 128
wh = np.float32(np.linspace(0.1, -0.2, 8))
v_host = np.float32(np.linspace(-0.02, 0.03, 8))
yh = xh @ np.float32(np.linspace(-0.4, 0.3, 8))


def on(spec, *values):
    placed = [jax.device_put(value, NamedSharding(mesh, spec)) for value in values]
    return placed[0] if len(placed) == 1 else placed


x, w = on(P("ring", None), xh), on(P(), wh)
y, vs, ws = on(P("ring"), yh, v_host, wh)
new_v = shard_gradient(x, y, w) + 0.9 * vs
new_w = ws - 0.1 * new_v
updated = gather(new_w)

x2, y2 = on(P("ring", None), xh[::-1]), on(P("ring"), yh[::-1])
w2h = wh + np.float32(0.17)
w2 = on(P(), w2h)
r2 = share(xh, yh, w2h)
wrong_labels = share(xh, yh[::-1], w2h)

ring_scatter_bytes = sum(wh.nbytes // RANKS for _ in range(RANKS - 1))
ring_all_bytes = sum(wh.nbytes // RANKS for _ in range(2 * (RANKS - 1)))
budget = []
for p in (2, 4, 8):
    chunk = 2**20 // p
    hops = p - 1
    budget.append(
        {
            "ranks": p,
            "all_reduce_bytes": 2 * hops * chunk,
            "scatter_gather_bytes": hops * chunk + hops * chunk,
            "shard_storage_bytes": chunk,
        }
    )
