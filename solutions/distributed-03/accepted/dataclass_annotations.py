"""Typed style: dataclasses with postponed annotations, methods as programs, `asdict` rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field

import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

import numpy as np  # noqa: E402
from jax import Array  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402


@dataclass(frozen=True)
class Problem:
    """Host data of one regression problem."""

    x: np.ndarray
    y: np.ndarray
    w: np.ndarray

    def backwards(self, *, shift: float) -> Problem:
        return Problem(self.x[::-1], self.y[::-1], self.w + np.float32(shift))

    def gradient(self) -> np.ndarray:
        return 2 * self.x.T @ (self.x @ self.w - self.y) / len(self.y)


@dataclass
class Layout:
    """Where things live."""

    mesh: Mesh
    rows: NamedSharding = field(init=False)
    slices: NamedSharding = field(init=False)
    full: NamedSharding = field(init=False)

    def __post_init__(self) -> None:
        self.rows = NamedSharding(self.mesh, P("data", None))
        self.slices = NamedSharding(self.mesh, P("data"))
        self.full = NamedSharding(self.mesh, P())

    def place(self, problem: Problem) -> tuple[Array, Array, Array]:
        return (
            jax.device_put(problem.x, self.rows),
            jax.device_put(problem.y, self.slices),
            jax.device_put(problem.w, self.full),
        )

    def program(self, body: Callable[..., Array], out: P) -> Callable[..., Array]:
        specs = (self.rows.spec, self.slices.spec, self.full.spec)
        return jax.jit(jax.shard_map(body, mesh=self.mesh, in_specs=specs, out_specs=out))


@dataclass
class Row:
    ranks: int
    all_reduce_bytes: float
    scatter_gather_bytes: float
    shard_storage_bytes: float

    @classmethod
    def of(cls, ranks: int, size: int) -> Row:
        phase = size * (ranks - 1) / ranks
        return cls(ranks, 2 * phase, phase + phase, size / ranks)


def share(a: Array, b: Array, weights: Array) -> Array:
    return a.T @ (a @ weights - b) * 2 / 16


def to_all(a: Array, b: Array, weights: Array) -> Array:
    return jax.lax.psum(share(a, b, weights), "data")


def to_owner(a: Array, b: Array, weights: Array) -> Array:
    return jax.lax.psum_scatter(share(a, b, weights), "data", tiled=True)


def concatenate(piece: Array) -> Array:
    return jax.lax.all_gather(piece, "data", tiled=True)


layout = Layout(Mesh(np.asarray(jax.devices()), ("data",)))
all_gradient = layout.program(to_all, P())
shard_gradient = layout.program(to_owner, P("data"))
gather = jax.jit(
    jax.shard_map(concatenate, mesh=layout.mesh, in_specs=P("data"), out_specs=P(), check_vma=False)
)

host_x = np.arange(128, dtype=np.float32).reshape(16, 8) / 128 - 0.5
problem = Problem(
    x=host_x,
    y=host_x @ np.linspace(-0.4, 0.3, 8, dtype=np.float32),
    w=np.linspace(0.1, -0.2, 8, dtype=np.float32),
)
momentum: np.ndarray = np.linspace(-0.02, 0.03, 8, dtype=np.float32)

new_v: Array = 0.9 * jax.device_put(momentum, layout.slices) + shard_gradient(
    *layout.place(problem)
)
new_w: Array = jax.device_put(problem.w, layout.slices) - 0.1 * new_v
updated: Array = gather(new_w)

reversal = problem.backwards(shift=0.17)
x2, y2, w2 = layout.place(reversal)
w2h = reversal.w
r2 = reversal.gradient()
wrong_labels = Problem(problem.x, reversal.y, reversal.w).gradient()

ring_all_bytes: float = Row.of(4, problem.w.nbytes).all_reduce_bytes
ring_scatter_bytes: float = ring_all_bytes / 2
budget: list[dict[str, float]] = [asdict(Row.of(p, 2**20)) for p in (2, 4, 8)]
