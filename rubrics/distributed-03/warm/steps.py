"""Run single operations on the lesson's arrays, as modules do that compile nothing themselves.

Run once per machine by the grader itself; it is no solution, only the same kinds of operations.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("data",))
rows, split, whole = (NamedSharding(mesh, s) for s in (P("data", None), P("data"), P()))
hosts = np.zeros((16, 8), np.float32), np.zeros(16, np.float32), np.zeros(8, np.float32)
placed = tuple(jax.device_put(a, s) for a, s in zip(hosts, (rows, split, whole), strict=True))
single = tuple(jnp.asarray(a) for a in hosts)


def squares(weights, a, b):
    return jnp.sum(jnp.square(a @ weights - b)) / 16


def powers(weights, a, b):
    return jnp.sum((a @ weights - b) ** 2) / 16


def means(weights, a, b):
    return jnp.mean((a @ weights - b) ** 2)


for a, b, weights in (placed, single):
    rest = a @ weights - b
    for whole_batch in (2 * a.T @ rest / 16, 2 / 16 * a.T @ rest, 2 * (a.T @ rest) / a.shape[0]):
        weights - 0.1 * whole_batch
    for loss in (squares, powers, means):
        jax.grad(loss)(weights, a, b)
        loss(weights, a, b)
    a[::-1], b[::-1], jnp.flip(a, 0), jnp.flip(b), jnp.flip(a, axis=0)
    backwards = jnp.arange(15, -1, -1)
    a[backwards], b[backwards]
    jnp.allclose(whole_batch, weights), jnp.max(jnp.abs(whole_batch - weights))
    jnp.concatenate([whole_batch, weights]), jnp.linspace(0, 1, 8), jnp.zeros(8), jnp.ones(8)

pieces = jax.device_put(hosts[2], split)
for velocity in (pieces, placed[2], single[2]):
    stepped = 0.9 * velocity + pieces
    pieces - 0.1 * stepped, velocity + stepped, velocity - stepped, velocity * stepped, -velocity


def per_device(a, b, weights):
    share = 2 * a.T @ (a @ weights - b) / 16
    jax.lax.psum(share, "data"), jax.lax.pmean(share, "data")
    piece = jax.lax.psum_scatter(share, "data", tiled=True)
    jax.lax.all_gather(piece, "data", tiled=True)
    jax.lax.dot_general(a, a @ weights - b, (((0,), (0,)), ((), ()))) / 8
    return piece


specs = (P("data", None), P("data"), P())
jax.shard_map(per_device, mesh=mesh, in_specs=specs, out_specs=P("data"))(*placed)
