"""A lesson script in one file: everything at module level, with its own checks and timings."""

import statistics
import time

import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

if len(jax.local_devices()) != 4:
    raise RuntimeError("this script wants four logical CPU devices in a fresh process")

mesh = Mesh(np.array(jax.local_devices()), axis_names=("data",))
rows, replicated, features = (NamedSharding(mesh, s) for s in (P("data", None), P(), P("data")))

xh = (np.arange(128, dtype=np.float32) * np.float32(1 / 128) - np.float32(0.5)).reshape(16, 8)
yh = np.dot(xh, np.float32(np.linspace(-0.4, 0.3, 8)))
wh = np.float32(np.linspace(0.1, -0.2, 8))
x, y, w = jax.device_put((xh, yh, wh), (rows, features, replicated))


def local_contribution(a, b, weights):
    miss = a @ weights - b
    return (miss @ a) * (2 / 16)


def reduce_all(a, b, weights):
    return jax.lax.psum(local_contribution(a, b, weights), axis_name="data")


def reduce_shard(a, b, weights):
    mine = local_contribution(a, b, weights)
    return jax.lax.psum_scatter(mine, axis_name="data", scatter_dimension=0, tiled=True)


def rebuild(piece):
    return jax.lax.all_gather(piece, axis_name="data", axis=0, tiled=True)


batch_specs = (P("data", None), P("data"), P())
all_gradient = jax.jit(jax.shard_map(reduce_all, mesh=mesh, in_specs=batch_specs, out_specs=P()))
shard_gradient = jax.jit(
    jax.shard_map(reduce_shard, mesh=mesh, in_specs=batch_specs, out_specs=P("data"))
)
gather = jax.jit(
    jax.shard_map(rebuild, mesh=mesh, in_specs=(P("data"),), out_specs=P(), check_vma=False)
)

ga, gs = all_gradient(x, y, w), shard_gradient(x, y, w)
gg = gather(gs)
reference = xh.T @ (xh @ wh - yh) / 8

for name, answer, held in (("all", ga, 8), ("scatter", gs, 2), ("gathered", gg, 8)):
    np.testing.assert_allclose(jax.device_get(answer), reference, rtol=2e-6, atol=2e-6)
    for piece in answer.addressable_shards:
        assert piece.data.shape == (held,), (name, piece.device, piece.data.shape)

hlo_all = all_gradient.lower(x, y, w).as_text()
hlo_shard = shard_gradient.lower(x, y, w).as_text()
assert "all_reduce" in hlo_all
assert "reduce_scatter" in hlo_shard


def completed_samples(program, *inputs):
    """Seven times of a finished call, in microseconds; the first call, which compiles, is extra."""
    jax.block_until_ready(program(*inputs))
    samples = []
    while len(samples) < 7:
        begun = time.perf_counter_ns()
        jax.block_until_ready(program(*inputs))
        samples.append((time.perf_counter_ns() - begun) / 1000)
    return samples


all_us, shard_us = (completed_samples(p, x, y, w) for p in (all_gradient, shard_gradient))
gather_us = completed_samples(gather, gs)

# A model of the payload per rank, in bytes; nothing here was measured.
ranks, gradient_bytes = mesh.size, wh.nbytes
ring_scatter_bytes = gradient_bytes * (ranks - 1) / ranks
ring_all_bytes = ring_scatter_bytes + ring_scatter_bytes

print(f"gradient: {reference}")
print(
    f"values per device: {ga.addressable_shards[0].data.size} whole, "
    f"{gs.addressable_shards[0].data.size} scattered, {gg.addressable_shards[0].data.size} again"
)
print(f"modelled ring bytes per rank: {ring_all_bytes:g} and {ring_scatter_bytes:g}")
for label, series in (("all", all_us), ("scatter", shard_us), ("gather alone", gather_us)):
    print(f"median of seven CPU timings, {label}: {statistics.median(series):.1f} us")

# Momentum on slices.
v_host = np.float32(np.linspace(-0.02, 0.03, 8))
ws, vs = jax.device_put((wh, v_host), features)
new_v = vs * 0.9 + gs
new_w = ws - new_v * 0.1
updated = gather(new_w)
expected_w = wh - (v_host * 0.9 + reference) * 0.1
assert {piece.data.shape for piece in new_v.addressable_shards} == {(2,)}
assert len(updated.addressable_shards) == 4
for piece in updated.addressable_shards:
    np.testing.assert_allclose(np.asarray(piece.data), expected_w, rtol=2e-6, atol=2e-6)

# Rows and labels backwards, other weights.
x2 = jax.device_put(np.flip(xh, axis=0).copy(), rows)
y2 = jax.device_put(np.flip(yh).copy(), features)
w2h = wh + np.float32(0.17)
w2 = jax.device_put(w2h, replicated)
r2 = xh.T @ (xh @ w2h - yh) / 8
for candidate in (all_gradient(x2, y2, w2), gather(shard_gradient(x2, y2, w2))):
    for piece in candidate.addressable_shards:
        np.testing.assert_allclose(np.asarray(piece.data), r2, rtol=2e-6, atol=2e-6)
wrong_labels = xh.T @ (xh @ w2h - np.flip(yh)) / 8
assert np.abs(wrong_labels - r2).max() > 0.01
print("backwards together: the same gradient; labels backwards alone: another one")

# One mebibyte on 2, 4 and 8 ranks.
budget = []
for p in (2, 4, 8):
    whole = 1 << 20
    kept = whole // p
    scatter = whole - kept
    both = scatter + scatter
    all_reduce = 2 * (p - 1) * kept
    assert both == all_reduce
    budget.append(
        dict(
            ranks=p,
            all_reduce_bytes=all_reduce,
            scatter_gather_bytes=both,
            shard_storage_bytes=kept,
        )
    )
assert [line["all_reduce_bytes"] // 2**18 for line in budget] == [4, 6, 7]
print("modelled budget:", *budget, sep="\n  ")
