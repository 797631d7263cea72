"""Definitions at module level, a report in `main()` behind the usual guard."""

import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

mesh = Mesh(np.asarray(jax.devices()), ("data",))
xh = np.linspace(-0.5, 0.5, 128, endpoint=False, dtype=np.float32).reshape(16, 8)
true_w, wh, v_host = (
    np.linspace(first, last, 8, dtype=np.float32)
    for first, last in ((-0.4, 0.3), (0.1, -0.2), (-0.02, 0.03))
)
yh = xh @ true_w


def build():
    """The three programs."""

    def share(a, b, weights):
        return (a @ weights - b) @ a * (2 / 16)

    def full(a, b, weights):
        return jax.lax.psum(share(a, b, weights), "data")

    def part(a, b, weights):
        return jax.lax.psum_scatter(share(a, b, weights), "data", tiled=True)

    def join(s):
        return jax.lax.all_gather(s, "data", tiled=True)

    ins = (P("data", None), P("data"), P())
    return (
        jax.jit(jax.shard_map(full, mesh=mesh, in_specs=ins, out_specs=P())),
        jax.jit(jax.shard_map(part, mesh=mesh, in_specs=ins, out_specs=P("data"))),
        jax.jit(jax.shard_map(join, mesh=mesh, in_specs=P("data"), out_specs=P(), check_vma=False)),
    )


def place(spec, *values):
    return tuple(jax.device_put(value, NamedSharding(mesh, spec)) for value in values)


def momentum(gradient):
    weights, velocity = place(P("data"), wh, v_host)
    velocity = 0.9 * velocity + gradient
    return weights - 0.1 * velocity, velocity


def reversal():
    weights = wh - np.float32(0.33)
    (rows,), (labels,), (placed,) = (
        place(P("data", None), xh[::-1]),
        place(P("data"), yh[::-1]),
        place(P(), weights),
    )
    paired = xh.T @ (xh @ weights - yh) / 8
    unpaired = xh.T @ (xh @ weights - yh[::-1]) / 8
    return rows, labels, weights, placed, paired, unpaired


def cost(ranks, size):
    phase = size // ranks * (ranks - 1)
    return {
        "ranks": ranks,
        "all_reduce_bytes": phase * 2,
        "scatter_gather_bytes": phase + phase,
        "shard_storage_bytes": size // ranks,
    }


all_gradient, shard_gradient, gather = build()
(x,), (y,), (w,) = place(P("data", None), xh), place(P("data"), yh), place(P(), wh)
new_w, new_v = momentum(shard_gradient(x, y, w))
updated = gather(new_w)
x2, y2, w2h, w2, r2, wrong_labels = reversal()
budget = [cost(ranks, 2**20) for ranks in (2, 4, 8)]
ring_all_bytes = cost(4, wh.nbytes)["all_reduce_bytes"]
ring_scatter_bytes = ring_all_bytes // 2


def main():
    for name, result in (
        ("all_gradient", all_gradient(x2, y2, w2)),
        ("gather(shard_gradient)", gather(shard_gradient(x2, y2, w2))),
    ):
        for shard in result.addressable_shards:
            np.testing.assert_allclose(np.asarray(shard.data), r2, rtol=2e-6, atol=2e-6)
        print(f"{name}: every replica agrees with NumPy")
    for row in budget:
        print(row)


if __name__ == "__main__":
    main()
