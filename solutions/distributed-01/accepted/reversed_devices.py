"""Another axis name, and the devices in reverse order: the first rows live on the last device."""

import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

AXIS = "workers"
mesh = Mesh(np.asarray(jax.devices())[::-1], (AXIS,))


def to(*spec):
    return NamedSharding(mesh, P(*spec))


host = np.arange(96, dtype=np.float32).reshape(12, 8)
by_rows, by_columns = jax.device_put((host, host), (to(AXIS), to(None, AXIS)))


@jax.jit
def column_sums(a):
    return jax.lax.with_sharding_constraint(jnp.ones(12) @ a, to())


@jax.jit
def row_sums(a):
    return jax.lax.with_sharding_constraint(a @ jnp.ones(8), to(AXIS))


@jax.jit
def to_columns(a):
    return jax.lax.with_sharding_constraint(a, to(None, AXIS))


@jax.jit
def masked_mean(a, mask):
    mean = jnp.average(a, axis=0, weights=mask)
    return jax.lax.with_sharding_constraint(mean, to())


def taken(count):
    try:
        jax.device_put(np.ones((count, 8), np.float32), to(AXIS, None))
    except ValueError:
        return False
    return True


fits = list(map(taken, range(8, 17)))
ten = np.arange(80, dtype=np.float32).reshape(10, 8) / 4 + 1
padded = jax.device_put(np.pad(ten, ((0, 2), (0, 0))), to(AXIS))
mask = jax.device_put(np.arange(12) < 10, to(AXIS)).astype(jnp.float32)
real_rows = np.add.reduceat(np.asarray(mask), [0, 3, 6, 9]).astype(int).tolist()
mean10 = np.asarray(masked_mean(padded, mask))
plain_mean = np.asarray(padded).mean(axis=0)
