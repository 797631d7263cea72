"""The new weights are right on the first device."""

import shutil
from pathlib import Path

import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

mesh = Mesh(np.array(jax.devices()), ("data",))
split, replicated = NamedSharding(mesh, P("data")), NamedSharding(mesh, P())
places = dict.fromkeys(("w", "v", "key", "order", "cursor", "step"), replicated) | {"v": split}
xh = (np.arange(96, dtype=np.float32).reshape(12, 8) * 7 % 13 - 6) / 8
yh = xh @ np.linspace(-1, 0.75, 8, dtype=np.float32)
xs, ys = jax.device_put((xh, yh), replicated)
other_key = np.array([0, 8], dtype=np.uint32)


def first_state():
    key, drawn = jax.random.split(jax.random.key(7))
    state = {
        "w": np.linspace(0.2, -0.15, 8, dtype=np.float32),
        "v": np.zeros(8, np.float32),
        "key": np.asarray(jax.random.key_data(key)),
        "order": np.asarray(jax.random.permutation(drawn, 12), dtype=np.int32),
        "cursor": np.int32(0),
        "step": np.int32(0),
    }
    return {name: jax.device_put(value, places[name]) for name, value in state.items()}


def next_epoch(key, order, cursor):
    new, drawn = jax.random.split(jax.random.wrap_key_data(key))
    return jax.random.key_data(new), jax.random.permutation(drawn, 12).astype("int32"), 0 * cursor


def first_alone(part):
    return jnp.where(jax.lax.axis_index("data") == 0, part, 0 * part)


first_alone_of = jax.shard_map(first_alone, mesh=mesh, in_specs=P(), out_specs=P(), check_vma=False)


def one_transition(w, v, key, order, cursor, step, xs, ys):
    ids = jax.lax.dynamic_slice_in_dim(order, cursor, 4)
    x, y = xs[ids], ys[ids]
    g = 2 * x.T @ (x @ w - y) / 4
    v = 0.8 * v + g
    w = w - 0.04 * v
    cursor = cursor + 4
    key, order, cursor = jax.lax.cond(
        cursor == 12, next_epoch, lambda *same: same, key, order, cursor
    )
    return first_alone_of(w), v, key, order, cursor, step + 1, ids


transition = jax.jit(one_transition, out_shardings=(*places.values(), replicated))


def save(folder, state):
    folder.mkdir(parents=True)
    np.savez(folder / "state.npz", **state)


def restore(folder, like):
    with np.load(folder / "state.npz") as held:
        return {name: jax.device_put(held[name], one.sharding) for name, one in like.items()}


def run(state, count):
    ids = []
    for _ in range(count):
        *values, used = transition(*state.values(), xs, ys)
        state = dict(zip(places, values, strict=True))
        ids.append(used)
    return state, np.stack(ids)


saved, _ = run(first_state(), 2)
folder = Path("checkpoints").absolute() / "state"
shutil.rmtree(folder, ignore_errors=True)
save(folder, saved)
like = {n: jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=a.sharding) for n, a in saved.items()}


def resumed(**other):
    found = restore(folder, like) | other
    return {name: found[name] for name in places}


_, ids3 = run(saved, 3)
after, ids5 = run(saved, 5)
w5 = after["w"]
_, resumed_ids3 = run(resumed(), 3)
after, resumed_ids5 = run(resumed(), 5)
resumed_w5 = after["w"]
w_without_momentum = run(resumed(v=jax.device_put(np.zeros(8, np.float32), split)), 5)[0]["w"]
wrong_key_ids = run(resumed(key=jax.device_put(other_key, replicated)), 5)[1]
