"""What every child would do for itself on first use, done once in the fork server.

Imports, contexts of the compiler, and one dry run of a program of our own up to its lowering. A
backend that was started here is ended again, with all its threads: only then may the server fork.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import warnings
from collections.abc import Callable
from typing import Any

# What a learner's program or its export imports on first use, and each child would for itself.
_ON_FIRST_USE = (
    "concurrent.futures.thread",
    "faulthandler",
    "grader.replay.worker",
    "grader.sandbox.learner",
    "grader.sandbox.statements",
    "jax._src.cache_key",
    "jax._src.compilation_cache",
    "jax.experimental.multihost_utils",
    "jaxlib.mlir.dialects.builtin",
    "jaxlib.mlir.dialects.mhlo",
    "numpy.testing",
    "scipy.linalg",
)
# A grade of a lesson's module takes up to fifteen in one child; more are made when these are gone.
CONTEXTS = 16


def prepare() -> None:
    """Load and rehearse what children need.

    Effects: none that a child could tell, but for its speed: no thread and no backend is left.
    """
    for name in _ON_FIRST_USE:
        with contextlib.suppress(ImportError):  # JAX's own modules move between versions
            importlib.import_module(name)
    # JAX warns of threads at each fork once a backend was there; here none is left by then.
    warnings.filterwarnings("ignore", "os.fork", RuntimeWarning)
    # Seen in a fork first: a server that is left with a thread could start no child.
    if _in_a_fork(_rehearse):
        _rehearse()
    _stock_contexts()


def _in_a_fork(step: Callable[[], None]) -> bool:
    """Return whether `step` leaves one thread and no backend, seen in a process that ends there."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            step()
            code = 0 if _is_forkable() else 1
        finally:
            os._exit(code)
    _pid, status = os.waitpid(pid, 0)
    return status == 0


def _is_forkable() -> bool:
    from jax._src import xla_bridge

    return len(os.listdir("/proc/self/task")) == 1 and not xla_bridge._backends


def _rehearse() -> None:
    """Take a small program from its mesh to its export, and end the backend that this needs."""
    import jax
    import jax.export
    import jax.extend.backend
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import NamedSharding
    from jax.sharding import PartitionSpec as P

    def walk() -> None:
        mesh = jax.make_mesh((len(jax.devices()),), ("rows",))
        held = jax.device_put(np.ones((12, 3), np.float32), NamedSharding(mesh, P("rows")))
        whole = jax.device_put(np.ones(3, np.float32), NamedSharding(mesh, P()))

        def local(block: Any, weights: Any) -> Any:
            far = jnp.tanh(block @ weights).mean() + jnp.sum(block, axis=0)
            return jax.lax.psum(far, "rows") * 2.0

        shared = jax.shard_map(local, mesh=mesh, in_specs=(P("rows"), P()), out_specs=P())
        program = jax.jit(shared)
        program.lower(held, whole)
        specs = [jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=a.sharding) for a in (held, whole)]
        # Parsing what this gives would start threads that stay.
        jax.export.deserialize(bytearray(jax.export.export(program)(*specs).serialize()))

    walk()
    gc.collect()
    jax.extend.backend.clear_backends()
    jax.clear_caches()
    gc.collect()


def _stock_contexts() -> None:
    """Keep contexts of the compiler in stock: with JAX 0.10 each takes 4 ms to fill."""
    from jax._src.interpreters import mlir
    from jax.interpreters import mlir as public

    make = getattr(mlir, "make_ir_context", None)
    if make is None:
        return
    stock = [make() for _ in range(CONTEXTS)]
    if stock[0] is stock[-1]:
        return  # JAX 0.12 makes them faster, and uses one more than once

    def take() -> Any:
        try:
            return stock.pop()
        except IndexError:  # also where threads come for the last one at once
            return make()

    for module in (mlir, public):
        if getattr(module, "make_ir_context", None) is make:
            module.make_ir_context = take
