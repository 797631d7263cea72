"""Load exported programs, compile them for inputs stored as the lesson stores them, and run them.

Runs confined, in the replay child. It compares nothing and knows no expected value.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.export
import numpy as np
from jax.sharding import Mesh, NamedSharding

from grader import placement, wire
from grader.records.observation import Collective
from grader.replay import hlo, requested
from grader.results import order

SAMPLES = 7
# For a short compilation: each program runs a few times on a few numbers. What is decided from the
# module (partitioning, collectives) comes before what is left out here. Versions differ in what
# they know, so the first set that this one takes is used.
_PLAINLY = {"xla_backend_optimization_level": 0, "xla_cpu_parallel_codegen_split_count": 1}
QUICKLY: tuple[dict[str, Any], ...] = (
    {**_PLAINLY, "xla_cpu_use_fusion_emitters": False},
    _PLAINLY,
    {},
)
WIDE = ("float64", "int64", "uint64", "complex128")


class Refused(Exception):
    """A program that the clean room does not run; the message is meant for the learner."""


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A compiled program, where its arguments go, if it needs 64-bit types, and its results."""

    compiled: Any
    shardings: list[NamedSharding]
    wide: bool
    leaves: list[int]


class Replayer:
    """The programs loaded so far, and the inputs they may be run on."""

    def __init__(self) -> None:
        self.cases: dict[str, dict[str, list[Any]]] = {}
        self._loaded: dict[str, _Loaded] = {}

    def add_cases(self, cases: dict[str, Any]) -> None:
        """Take more input sets, each a list of arrays per program."""
        for case, programs in cases.items():
            self.cases[case] = {
                name: [wire.array_from_json(a)[0] for a in arrays]
                for name, arrays in programs.items()
            }

    def load_job(self, job: dict[str, Any]) -> dict[str, Any]:
        """Compile the program of a request; see `load`."""
        blob = base64.b64decode(job["blob"])
        return self.load(job["name"], blob, job["arguments"], job["results"])

    def load(
        self, name: str, blob: bytes, arguments: list[dict[str, Any]], results: Sequence[str] = ()
    ) -> dict[str, Any]:
        """Compile a program for inputs stored as the lesson stores them; returns what it is."""
        exported, asked = admitted(blob)
        leaves = _leaves(exported, results)
        wide = any(str(a.dtype) in WIDE for a in (*exported.in_avals, *exported.out_avals))
        _fits(exported, arguments)
        mesh = _mesh(exported)
        shardings = [stored(mesh, a) for a in arguments]
        specs = [
            jax.ShapeDtypeStruct(tuple(a["shape"]), a["dtype"], sharding=s)
            for a, s in zip(arguments, shardings, strict=True)
        ]
        with jax.enable_x64(wide):
            compiled = _compile(jax.jit(exported.call).lower(*specs))
        self._loaded[name] = _Loaded(compiled, shardings, wide, leaves)
        try:
            found, unknown = _compiled_collectives(compiled, exported.nr_devices)
        except hlo.TooDeep:
            raise Refused(f"it is nested deeper than {hlo.DEPTH} levels") from None
        return {
            "results": [
                {"shape": list(aval.shape), "dtype": str(aval.dtype)}
                for aval in (exported.out_avals[leaf] for leaf in leaves)
            ],
            "devices": exported.nr_devices,
            "requested": [_plain(item) for item in asked.collectives],
            "compiled": [_plain(item) for item in hlo.mark_compiler_made(found, asked.collectives)],
            "unknown": unknown,
            "element_types": list(asked.element_types),
        }

    def run(self, name: str, case: str) -> list[list[dict[str, Any]]]:
        """Return the shards of each of one program's results on one case, one for each device."""
        return [wire.shards_to_json(result) for result in self._call(name, case)]

    def time(self, name: str, case: str) -> list[float]:
        """Return seven completed calls after a warm-up, in microseconds."""
        loaded = self._loaded[name]
        with jax.enable_x64(loaded.wide):
            arrays = self._placed(loaded, name, case)
            jax.block_until_ready(loaded.compiled(*arrays))
            samples = []
            for _ in range(SAMPLES):
                start = time.perf_counter()
                jax.block_until_ready(loaded.compiled(*arrays))
                samples.append(round((time.perf_counter() - start) * 1e6, 1))
        return samples

    def _placed(self, loaded: _Loaded, name: str, case: str) -> list[jax.Array]:
        inputs = zip(self.cases[case][name], loaded.shardings, strict=True)
        return [jax.device_put(array, sharding) for array, sharding in inputs]

    def _call(self, name: str, case: str) -> list[jax.Array]:
        loaded = self._loaded[name]
        with jax.enable_x64(loaded.wide):
            out = jax.tree_util.tree_leaves(loaded.compiled(*self._placed(loaded, name, case)))
            # Two cores and many calls in flight can deadlock JAX 0.10: one call at a time.
            done: list[jax.Array] = jax.block_until_ready([out[leaf] for leaf in loaded.leaves])
            return done


def admitted(blob: bytes) -> tuple[Any, requested.Asked]:
    """Return an exported program that may be compiled, and what it asks for.

    Raises:
        Refused: it cannot be read, or the clean room does not run it.
    """
    exported = _deserialize(blob)
    return exported, _asked(exported)


def _compile(lowered: Any) -> Any:
    if jax.default_backend() != "cpu":
        return lowered.compile()  # the options are of the CPU's compiler
    for options in QUICKLY[:-1]:
        try:
            return lowered.compile(compiler_options=options)
        except Exception as error:
            if "compile option" not in str(error):
                raise
    return lowered.compile(compiler_options=QUICKLY[-1] or None)


def _deserialize(blob: bytes) -> Any:
    try:
        exported = jax.export.deserialize(bytearray(blob))
    except Exception as error:
        raise Refused(f"its export cannot be read ({type(error).__name__})") from error
    if not all(type(n) is int for aval in exported.out_avals for n in aval.shape):
        raise Refused("the shape of its result is not fixed")
    if exported.nr_devices not in (1, 4):
        raise Refused(f"it was built for {exported.nr_devices} devices, not four")
    return exported


def _asked(exported: Any) -> requested.Asked:
    """Return what a program asks for, before anything of it is compiled."""
    try:
        asked = requested.read(exported)
    except Exception as error:
        raise Refused(f"its program cannot be read ({type(error).__name__})") from error
    if asked.refused:
        raise Refused(asked.refused)
    return asked


def _leaves(exported: Any, results: Sequence[str]) -> list[int]:
    leaves = order(exported.out_tree, results)
    if leaves is None or len(exported.out_avals) != len(leaves):
        wanted = "one" if not results else f"the {len(results)} named"
        raise Refused(f"it returns {len(exported.out_avals)} arrays, not {wanted}")
    return list(leaves)


def _fits(exported: Any, arguments: list[dict[str, Any]]) -> None:
    wanted = [(tuple(a["shape"]), a["dtype"]) for a in arguments]
    given = [(tuple(a.shape), str(a.dtype)) for a in exported.in_avals]
    if given != wanted:
        raise Refused(f"it takes {given}, not {wanted}")


def _mesh(exported: Any) -> Mesh:
    """Return a mesh of real devices shaped as the one the program was exported on."""
    devices = np.asarray(jax.devices())
    named = getattr(exported, "_in_named_shardings", None) or ()
    for sharding in (*named, *(getattr(exported, "_out_named_shardings", None) or ())):
        mesh = getattr(sharding, "mesh", None)
        if mesh is not None and mesh.size == devices.size:
            return Mesh(
                devices.reshape(mesh.axis_sizes), mesh.axis_names, axis_types=mesh.axis_types
            )
    return Mesh(devices, ("data",))


def stored(mesh: Mesh, argument: dict[str, Any]) -> NamedSharding:
    """Return how an argument of the exercise lies on `mesh`."""
    return placement.sharding(mesh, len(argument["shape"]), argument["split"])


def _compiled_collectives(compiled: Any, devices: int) -> tuple[tuple[Collective, ...], str]:
    options = _print_options()
    # Metadata holds the learner's own names, which must not be mistaken for operations.
    options.print_metadata = False
    options.print_operand_shape = True
    options.print_backend_config = True
    options.print_large_constants = False
    found: list[Collective] = []
    try:
        for module in compiled.runtime_executable().hlo_modules():
            found += hlo.collectives(module.to_string(options), devices)
    except hlo.UnknownSpelling as problem:
        return tuple(found), str(problem)
    return tuple(found), ""


def _plain(item: Collective) -> dict[str, Any]:
    return {
        "op": item.op,
        "operand": item.operand,
        "operand_bytes": item.operand_bytes,
        "group_size": item.group_size,
        "trip_count": item.trip_count,
        "bytes_per_rank": item.bytes_per_rank,
        "by_compiler": item.by_compiler,
    }


def _print_options() -> Any:
    """Return new HLO print options; jaxlib 0.10 moved the class to a module of its own."""
    try:
        from jaxlib import _hlo as home
    except ImportError:
        from jaxlib import _jax as home
    return home.HloPrintOptions()
