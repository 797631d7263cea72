"""Each device steps its own slice, and the weights are gathered."""

import shutil
from pathlib import Path

import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import orbax.checkpoint as ocp  # noqa: E402
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


def local(w, v, key, order, cursor, step, xs, ys):
    ids = jax.lax.dynamic_slice(order, (cursor,), (4,))
    x, y = jnp.take(xs, ids, axis=0), jnp.take(ys, ids)
    g = jnp.einsum("bf,b->f", x, x @ w - y) / 2
    first = 2 * jax.lax.axis_index("data")
    v = 0.8 * v + jax.lax.dynamic_slice(g, (first,), (2,))
    mine = jax.lax.dynamic_slice(w, (first,), (2,)) - 0.04 * v
    w = jax.lax.all_gather(mine, "data", tiled=True)

    def close(key):
        new, drawn = jax.random.split(jax.random.wrap_key_data(key))
        return jax.random.key_data(new), jax.random.permutation(drawn, 12).astype(jnp.int32)

    cursor = (cursor + 4) % 12
    key, order = jax.lax.cond(cursor == 0, close, lambda key: (key, order), key)
    return {
        "ids": ids,
        "w": w,
        "v": v,
        "key": key,
        "order": order,
        "cursor": cursor,
        "step": step + 1,
    }


specs = {name: P() for name in ("ids", "w", "key", "order", "cursor", "step")} | {"v": P("data")}
transition = jax.jit(
    jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P(), P("data"), *[P()] * 6),
        out_specs=specs,
        check_vma=False,  # every device gathers the same slices in the same order
    )
)


def save(folder, state):
    checkpointer = ocp.StandardCheckpointer()
    checkpointer.save(folder / "state", state)
    checkpointer.wait_until_finished()


def restore(folder, like):
    return ocp.StandardCheckpointer().restore(folder / "state", like)


def run(state, count):
    ids = []
    for _ in range(count):
        state = transition(*(state[name] for name in places), xs, ys)
        ids.append(state.pop("ids"))
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
