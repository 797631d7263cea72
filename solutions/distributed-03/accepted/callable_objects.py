"""The programs are instances of small classes with a `__call__`, which trace like functions."""

import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402


class Cluster:
    """Four devices in a row, and ways to put things on them."""

    def __init__(self, axis):
        self.axis = axis
        self.mesh = Mesh(np.asarray(jax.devices()), (axis,))
        self.split = PartitionSpec(axis)
        self.whole = PartitionSpec()

    def put_split(self, value):
        return jax.device_put(value, NamedSharding(self.mesh, self.split))

    def put_whole(self, value):
        return jax.device_put(value, NamedSharding(self.mesh, self.whole))


class Gradient:
    """The gradient of the mean squared error over `observations` rows."""

    def __init__(self, cluster, observations):
        self.cluster = cluster
        self.observations = observations

    def share(self, a, b, weights):
        return 2 * (a @ weights - b) @ a / self.observations

    def run(self, body, out_specs, *args):
        c = self.cluster
        specs = (c.split, c.split, c.whole)
        return jax.shard_map(body, mesh=c.mesh, in_specs=specs, out_specs=out_specs)(*args)


class EverywhereGradient(Gradient):
    def __call__(self, x, y, w):
        def body(a, b, weights):
            return jax.lax.psum(self.share(a, b, weights), self.cluster.axis)

        return self.run(body, self.cluster.whole, x, y, w)


class SlicedGradient(Gradient):
    def __call__(self, x, y, w):
        def body(a, b, weights):
            return jax.lax.psum_scatter(self.share(a, b, weights), self.cluster.axis, tiled=True)

        return self.run(body, self.cluster.split, x, y, w)


class Gather:
    def __init__(self, cluster):
        self.cluster = cluster
        self.compiled = jax.jit(
            jax.shard_map(
                self.body,
                mesh=cluster.mesh,
                in_specs=(cluster.split,),
                out_specs=cluster.whole,
                check_vma=False,
            )
        )

    def body(self, piece):
        return jax.lax.all_gather(piece, self.cluster.axis, tiled=True)

    def __call__(self, g):
        return self.compiled(g)


class Ring:
    def __init__(self, ranks, whole_bytes):
        self.ranks, self.whole_bytes = ranks, whole_bytes

    @property
    def phase(self):
        return (self.ranks - 1) * self.whole_bytes // self.ranks

    def row(self):
        return {
            "ranks": self.ranks,
            "all_reduce_bytes": 2 * self.phase,
            "scatter_gather_bytes": 2 * self.phase,
            "shard_storage_bytes": self.whole_bytes // self.ranks,
        }


cluster = Cluster("data")
all_gradient = EverywhereGradient(cluster, observations=16)
shard_gradient = SlicedGradient(cluster, observations=16)
gather = Gather(cluster)

xh = np.linspace(-0.5, 0.5, 128, endpoint=False, dtype=np.float32).reshape(16, 8)
yh = np.matmul(xh, np.linspace(-0.4, 0.3, num=8, dtype="f4"))
wh = np.linspace(start=0.1, stop=-0.2, num=8, dtype="f4")
v_host = np.linspace(start=-0.02, stop=0.03, num=8, dtype="f4")

gs = shard_gradient(cluster.put_split(xh), cluster.put_split(yh), cluster.put_whole(wh))
new_v = 0.9 * cluster.put_split(v_host) + gs
new_w = cluster.put_split(wh) - 0.1 * new_v
updated = gather(new_w)

x2, y2 = cluster.put_split(xh[::-1].copy()), cluster.put_split(yh[::-1].copy())
w2h = wh - np.float32(0.25)
w2 = cluster.put_whole(w2h)
r2 = (xh @ w2h - yh) @ xh / 8
wrong_labels = (xh @ w2h - yh[::-1]) @ xh / 8

ring_scatter_bytes = Ring(4, wh.nbytes).phase
ring_all_bytes = 2 * Ring(4, wh.nbytes).phase
budget = [Ring(ranks, 2**20).row() for ranks in (2, 4, 8)]
