"""One device enters a collective that the others never reach, so the first one waits for ever."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

mesh = Mesh(np.asarray(jax.devices()), ("data",))


def lonely_sum(value):
    first = jax.lax.axis_index("data") == 0
    return jax.lax.cond(first, lambda v: jax.lax.psum(v, "data"), lambda v: v * 1.0, value)


stuck = jax.jit(
    jax.shard_map(lonely_sum, mesh=mesh, in_specs=P("data"), out_specs=P("data"), check_vma=False)
)
answer = stuck(jnp.arange(8.0)).block_until_ready()
print("nobody will read this", answer)
