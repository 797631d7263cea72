"""A class makes the transitions, with typed keys inside and switch for the end."""

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


class Training:
    rate, decay = 0.04, 0.8

    def residual(self, w, x, y):
        return jnp.dot(x, w, precision="highest") - y

    def gradient(self, w, x, y):
        return 2 * jnp.tensordot(self.residual(w, x, y), x, axes=(0, 0)) / len(y)

    def same(self, key, order):
        return key, order

    def fresh(self, key, order):
        typed = jax.random.wrap_key_data(key, impl="threefry2x32")
        typed, drawn = jax.random.split(typed, 2)
        return jax.random.key_data(typed), jax.random.permutation(drawn, len(order)).astype(
            order.dtype
        )

    def __call__(self, w, v, key, order, cursor, step, xs, ys):
        ids = jax.lax.dynamic_slice_in_dim(order, cursor, 4)
        v = v * self.decay + self.gradient(w, jnp.take(xs, ids, 0), jnp.take(ys, ids, 0))
        ended = (cursor == 8).astype(jnp.int32)
        key, order = jax.lax.switch(ended, [self.same, self.fresh], key, order)
        cursor = jax.lax.rem(cursor + jnp.int32(4), jnp.int32(12))
        return w - self.rate * v, v, key, order, cursor, step + jnp.int32(1), ids


transition = jax.jit(Training(), out_shardings=(*places.values(), replicated))


def save(folder, state):
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(folder, state)


def restore(folder, like):
    with ocp.StandardCheckpointer() as checkpointer:
        return checkpointer.restore(folder, like)


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
