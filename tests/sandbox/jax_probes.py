"""What a lesson does with JAX on four CPU devices; each act starts the backend, and checks."""

from __future__ import annotations

import faulthandler
import importlib
import resource
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.testing import assert_allclose

from tests.sandbox.probes import Act, Scene


def _matmul(scene: Scene) -> object:
    import jax.numpy as jnp

    a = np.arange(64 * 64, dtype=np.float32).reshape(64, 64) / 4096
    assert_allclose(jnp.asarray(a) @ jnp.asarray(a), a @ a, rtol=1e-4)
    return "same"


def _scan(scene: Scene) -> object:
    import jax
    import jax.numpy as jnp

    total, _ = jax.lax.scan(lambda carry, x: (carry + x, x), jnp.zeros(()), jnp.arange(10.0))
    return float(total)


def _fft(scene: Scene) -> object:
    import jax.numpy as jnp

    a = np.arange(16, dtype=np.float32)
    assert_allclose(jnp.fft.fft(a), np.fft.fft(a), atol=1e-3)
    return "same"


def _symmetric() -> np.ndarray:
    return np.eye(8, dtype=np.float32) * 3 + 1


def _same_as_numpy(operation: Callable[[Any, np.ndarray], Any]) -> Act:
    """The same call on `jax.numpy.linalg` and on `numpy.linalg`."""

    def act(scene: Scene) -> object:
        import jax.numpy as jnp

        a = _symmetric()
        assert_allclose(operation(jnp.linalg, a), operation(np.linalg, a), atol=1e-4)
        return "same"

    return act


def _qr(scene: Scene) -> object:
    import jax.numpy as jnp

    q, r = jnp.linalg.qr(_symmetric())
    assert_allclose(q @ r, _symmetric(), atol=1e-4)
    return "same"


def _auto_sharded(scene: Scene) -> object:
    import jax
    from jax.sharding import NamedSharding, PartitionSpec

    mesh = jax.make_mesh((4,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))  # type: ignore[no-untyped-call]
    host = np.arange(16, dtype=np.float32).reshape(4, 4)
    x = jax.device_put(host, NamedSharding(mesh, PartitionSpec("data")))
    assert_allclose(jax.jit(lambda a: a.T @ a)(x), host.T @ host)
    return len(x.devices())


def _gradient(scene: Scene) -> object:
    import jax
    import jax.numpy as jnp

    slope = jax.grad(lambda w: jnp.sum(jax.nn.relu(w) ** 2))(jnp.asarray([1.0, -1.0]))
    return [float(x) for x in slope]


def _control_flow(scene: Scene) -> object:
    import jax

    counted = jax.lax.while_loop(lambda n: n < 9, lambda n: n + 1, 0)
    return int(jax.lax.cond(counted == 9, lambda: counted, lambda: -1))


def _convolution(scene: Scene) -> object:
    import jax.numpy as jnp

    a, b = np.arange(8, dtype=np.float32), np.ones(3, np.float32)
    assert_allclose(jnp.convolve(a, b), np.convolve(a, b), rtol=1e-5)
    return "same"


def _sort(scene: Scene) -> object:
    import jax.numpy as jnp

    return [float(x) for x in jnp.sort(jnp.asarray([3.0, 1.0, 2.0]))]


def _random(scene: Scene) -> object:
    import jax

    return len(jax.random.normal(jax.random.key(0), (5,)))


def _collective(body: Callable[..., object], expected: Callable[[np.ndarray], np.ndarray]) -> Act:
    def act(scene: Scene) -> object:
        import jax
        from jax.sharding import NamedSharding, PartitionSpec

        mesh, spec = jax.make_mesh((4,), ("data",)), PartitionSpec("data")  # type: ignore[no-untyped-call]
        host = np.arange(16, dtype=np.float32)
        x = jax.device_put(host, NamedSharding(mesh, spec))
        mapped = jax.shard_map(lambda a: body(jax.lax, a), mesh=mesh, in_specs=spec, out_specs=spec)
        assert_allclose(jax.jit(mapped)(x), expected(host.reshape(4, 4)).reshape(-1))
        return len(x.devices())

    return act


_RING = [(0, 1), (1, 2), (2, 3), (3, 0)]


def _export(scene: Scene) -> object:
    import jax
    from jax import export

    shape = jax.ShapeDtypeStruct((4, 4), np.float32)  # type: ignore[no-untyped-call]
    blob = export.export(jax.jit(lambda a: a @ a))(shape).serialize()
    again = export.deserialize(blob)
    return float(jax.jit(again.call)(np.ones((4, 4), np.float32)).sum())


def _faulthandler(scene: Scene) -> object:
    faulthandler.enable()
    faulthandler.dump_traceback_later(60)
    faulthandler.cancel_dump_traceback_later()
    return faulthandler.is_enabled()


def _late_import(scene: Scene) -> object:
    names = ("packaging.version", "iniconfig", "colorsys")
    assert not [name for name in names if name in sys.modules]
    return [importlib.import_module(name).__name__ for name in names]


def _threads_computing(scene: Scene) -> object:
    import jax.numpy as jnp

    results: list[float] = []
    work = [
        threading.Thread(target=lambda n=n: results.append(float(jnp.ones((n, n)).sum())))
        for n in (2, 3, 4)
    ]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    return sorted(results)


def _address_space(scene: Scene) -> object:
    _matmul(scene)
    peak_kib = int(Path("/proc/self/status").read_text().split("VmPeak:")[1].split()[0])
    return {
        "peak_mib": peak_kib >> 10,
        "limit_mib": resource.getrlimit(resource.RLIMIT_AS)[0] >> 20,
    }


ACTS: dict[str, Act] = {
    "matmul": _matmul,
    "scan": _scan,
    "fft": _fft,
    "solve": _same_as_numpy(lambda linalg, a: linalg.solve(a, np.ones(8, np.float32))),
    "inverse": _same_as_numpy(lambda linalg, a: linalg.inv(a)),
    "svd": _same_as_numpy(lambda linalg, a: linalg.svd(a)[1]),
    "eigh": _same_as_numpy(lambda linalg, a: linalg.eigh(a)[0]),
    "cholesky": _same_as_numpy(lambda linalg, a: linalg.cholesky(a)),
    "qr": _qr,
    "auto_sharded": _auto_sharded,
    "gradient": _gradient,
    "control_flow": _control_flow,
    "convolution": _convolution,
    "sort": _sort,
    "random": _random,
    "psum": _collective(
        lambda lax, a: lax.pcast(lax.psum(a, "data"), "data", to="varying"),
        lambda h: np.tile(h.sum(0), (4, 1)),
    ),
    "pmean": _collective(
        lambda lax, a: lax.pcast(lax.pmean(a, "data"), "data", to="varying"),
        lambda h: np.tile(h.mean(0), (4, 1)),
    ),
    "pmax": _collective(
        lambda lax, a: lax.pcast(lax.pmax(a, "data"), "data", to="varying"),
        lambda h: np.tile(h.max(0), (4, 1)),
    ),
    "pmin": _collective(
        lambda lax, a: lax.pcast(lax.pmin(a, "data"), "data", to="varying"),
        lambda h: np.tile(h.min(0), (4, 1)),
    ),
    "psum_scatter": _collective(
        lambda lax, a: lax.psum_scatter(a, "data", tiled=True), lambda h: h.sum(0)
    ),
    "all_gather": _collective(
        lambda lax, a: lax.all_gather(a, "data", tiled=True),
        lambda h: np.tile(h.reshape(-1), (4, 1)),
    ),
    "ppermute": _collective(
        lambda lax, a: lax.ppermute(a, "data", _RING), lambda h: np.roll(h, 1, 0)
    ),
    "all_to_all": _collective(
        lambda lax, a: lax.all_to_all(a, "data", 0, 0, tiled=True), lambda h: h.T
    ),
    "export": _export,
    "faulthandler": _faulthandler,
    "late_import": _late_import,
    "threads_computing": _threads_computing,
    "address_space": _address_space,
}
