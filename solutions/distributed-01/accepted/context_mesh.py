"""The mesh set for the whole module, specs without it, and the arrays made on the devices."""

import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

mesh = jax.make_mesh((4,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
jax.set_mesh(mesh)

make = jax.jit(lambda: jnp.arange(96.0).reshape(12, 8), out_shardings=P("x"))
by_rows = make()
by_columns = jax.device_put(by_rows, jax.NamedSharding(mesh, P(None, "x")))

column_sums = jax.jit(lambda a: a.sum(0), in_shardings=P("x"), out_shardings=P())
row_sums = jax.jit(lambda a: a.sum(1), in_shardings=P("x"), out_shardings=P("x"))
to_columns = jax.jit(lambda a: a, in_shardings=P("x"), out_shardings=P(None, "x"))
masked_mean = jax.jit(
    lambda a, mask: jnp.tensordot(mask, a, 1) / jnp.count_nonzero(mask),
    in_shardings=(P("x"), P("x")),
    out_shardings=P(),
)

ten = np.arange(80, dtype=np.float32).reshape(10, 8) / 4 + 1
padded = jax.device_put(jnp.zeros((12, 8)).at[:10].set(ten), jax.NamedSharding(mesh, P("x")))
mask = jax.device_put(jnp.ones(12).at[10:].set(0), jax.NamedSharding(mesh, P("x")))
mean10 = masked_mean(padded, mask)
plain_mean = column_sums(padded) / 12
fits = tuple(not count % mesh.size for count in range(8, 17))
real_rows = np.array([3, 3, 3, 1])
