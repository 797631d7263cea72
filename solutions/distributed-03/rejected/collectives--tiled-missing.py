"""Leaves out tiled=True in the reduce-scatter, which then wants one entry for each device."""

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

AXIS = "data"
mesh = Mesh(np.array(jax.devices()), (AXIS,))
BATCH = (P(AXIS), P(AXIS), P())


def place(spec, *values):
    placed = tuple(jax.device_put(value, NamedSharding(mesh, spec)) for value in values)
    return placed if len(placed) > 1 else placed[0]


def observations():
    a = np.linspace(-0.5, 0.5, 128, endpoint=False, dtype=np.float32).reshape(16, 8)
    return a, a @ np.float32(np.linspace(-0.4, 0.3, 8))


xh, yh = observations()
wh, v_host = np.float32(np.linspace(0.1, -0.2, 8)), np.float32(np.linspace(-0.02, 0.03, 8))


def part(a, b, u):
    return 2 * (a @ u - b) @ a / 16


@jax.jit
def all_gradient(x, y, w):
    def body(a, b, u):
        return jax.lax.psum(part(a, b, u), AXIS)

    return jax.shard_map(body, mesh=mesh, in_specs=BATCH, out_specs=P())(x, y, w)


@jax.jit
def shard_gradient(x, y, w):
    def body(a, b, u):
        return jax.lax.psum_scatter(part(a, b, u), AXIS)

    return jax.shard_map(body, mesh=mesh, in_specs=BATCH, out_specs=P(AXIS))(x, y, w)


@jax.jit
def gather(g):
    def body(piece):
        return jax.lax.all_gather(piece, AXIS, tiled=True)

    return jax.shard_map(body, mesh=mesh, in_specs=P(AXIS), out_specs=P(), check_vma=False)(g)


x, y, vs, ws = place(P(AXIS), xh, yh, v_host, wh)
new_v = 0.9 * vs + place(P(AXIS), part(xh, yh, wh))  # the program itself cannot be called yet
new_w = ws - 0.1 * new_v
updated = gather(new_w)

x2, y2 = place(P(AXIS), xh[::-1], yh[::-1])
w2h = wh + np.linspace(0.1, 0.5, 8, dtype=np.float32)
w2 = place(P(), w2h)
r2 = part(xh, yh, w2h)
wrong_labels = part(xh, yh[::-1], w2h)


def row(ranks, size):
    chunk = size // ranks
    sent = (ranks - 1) * chunk
    return {
        "ranks": ranks,
        "all_reduce_bytes": 2 * sent,
        "scatter_gather_bytes": sent + sent,
        "shard_storage_bytes": chunk,
    }


budget = [row(ranks, 2**20) for ranks in (2, 4, 8)]
ring_all_bytes = row(4, wh.nbytes)["all_reduce_bytes"]
ring_scatter_bytes = ring_all_bytes / 2
