"""Take the programs a module defines out of it, as serialized StableHLO.

Runs inside the confined child, after the learner's statements. Whatever it sends is only a claim
that such a program exists: what the program computes is measured elsewhere, by replaying it.
"""

from __future__ import annotations

import base64
import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.export
import numpy as np
from jax.sharding import Mesh, NamedSharding

from grader import placement
from grader.results import order
from grader.sandbox.raised import (
    brief,
    by_hand,
    describe,
    learner_lines,
    over_an_axis,
    type_name,
)

MESHES = 6
_JITTED = type(jax.jit(len))
_WANTED: dict[str, Any] = {
    "jax_disable_jit": False,
    "jax_debug_nans": False,
    "jax_debug_infs": False,
    "jax_platform_name": "",
    # The older partitioner leaves text of its own in the module, which the clean room refuses.
    "jax_use_shardy_partitioner": True,
}
# As the interpreter words a call that does not fit a function.
_ARITY = re.compile(
    r"\(\) (takes|missing \d+ required|got (an unexpected|some positional|multiple))"
)
BLOB_BYTES = 4 * 1024 * 1024

_TRACER_ERRORS = (
    jax.errors.TracerArrayConversionError,
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerIntegerConversionError,
    jax.errors.TracerBoolConversionError,
)


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a program: global shape, dtype, and the dimension split over the devices."""

    shape: tuple[int, ...]
    dtype: str
    split: int | None


def meshes(namespace: Mapping[str, Any], array_type: type) -> list[Mesh]:
    """Return the meshes the module itself uses, in the order its names were bound."""
    found: list[Mesh] = []
    for value in list(namespace.values()):
        mesh: Any = None
        with contextlib.suppress(Exception):
            if isinstance(value, Mesh):
                mesh = value
            elif isinstance(value, NamedSharding):
                mesh = value.mesh
            elif isinstance(value, array_type):
                mesh = getattr(getattr(value, "sharding", None), "mesh", None)
        if isinstance(mesh, Mesh) and mesh.size > 1 and mesh not in found:
            found.append(mesh)
    # A mesh over every device first: one of a demonstration may have been bound before it.
    found.sort(key=lambda mesh: mesh.size != jax.device_count())
    return found[:MESHES]


def settle(precision: str = "") -> list[str]:
    """Undo settings that would change what is exported; returns a sentence for each one found.

    `precision` is that of matrix products where `--platform` fixes it, empty where it is free.
    """
    said = []
    fixed = {"jax_default_matmul_precision": precision} if precision else {}
    for name, wanted in {**_WANTED, **fixed}.items():
        found = getattr(jax.config, name, wanted)
        if found != wanted:
            jax.config.update(name, wanted)
            said.append(f"{name} was set to {found}; the programs were exported without it")
    if jax.config.jax_enable_x64:
        said.append("jax_enable_x64 is switched on")
    return said


def export_one(
    name: str,
    namespace: Mapping[str, Any],
    arguments: Sequence[Argument],
    array_type: type,
    filename: str,
    results: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the program called `name` as a JSON object: its bytes, or why there are none."""
    value = namespace.get(name)
    if name not in namespace:
        return {"name": name, "status": "missing"}
    if not callable(value):
        return {"name": name, "status": "not_callable", "reason": type_name(value)}
    # By exact type: a method or a wrapper may have borrowed the attributes of what it holds.
    function = value if type(value) is _JITTED else jax.jit(value)
    first: BaseException | None = None
    for specs in _specs(namespace, arguments, array_type):
        try:
            return _success(name, results, *_export(function, specs))
        except BaseException as error:  # noqa: BLE001 - a stranger's function may raise anything
            first = first or error
            if isinstance(error, _TRACER_ERRORS):
                break
    assert first is not None
    return _refusal(name, first, filename)


def _specs(
    namespace: Mapping[str, Any], arguments: Sequence[Argument], array_type: type
) -> Iterator[list[jax.ShapeDtypeStruct]]:
    own = meshes(namespace, array_type)
    plain = Mesh(np.asarray(jax.devices()), ("data",))
    for mesh in [*own, plain] if plain not in own else own:
        yield [
            jax.ShapeDtypeStruct(
                a.shape, a.dtype, sharding=placement.sharding(mesh, len(a.shape), a.split)
            )
            for a in arguments
        ]
    yield [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in arguments]


def _export(function: Any, specs: list[jax.ShapeDtypeStruct]) -> tuple[Any, bytes, list[str]]:
    try:
        exported = jax.export.export(function)(*specs)
        return exported, bytes(exported.serialize()), []
    except (NotImplementedError, ValueError) as error:
        if "host_callbacks" not in str(error) and "ffect" not in str(error):
            raise
    with _silent_debugging():
        exported = jax.export.export(function)(*specs)
        blob = bytes(exported.serialize())
    return exported, blob, ["debug prints inside the program were left out of the export"]


@contextlib.contextmanager
def _silent_debugging() -> Iterator[None]:
    """Trace again without `jax.debug` primitives, which no export can carry."""
    from jax._src import debugging

    primitives = [
        getattr(debugging, name)
        for name in ("debug_callback_p", "debug_print_p")
        if hasattr(debugging, name)
    ]
    for primitive in primitives:
        primitive.bind = lambda *_args, **_params: []
    jax.clear_caches()
    try:
        yield
    finally:
        for primitive in primitives:
            del primitive.bind
        jax.clear_caches()


def _success(
    name: str, results: Sequence[str], exported: Any, blob: bytes, notes: list[str]
) -> dict[str, Any]:
    if order(exported.out_tree, results) is None:
        reason = _structure(exported.out_tree)
        return {"name": name, "status": "refused", "cause": "result", "reason": reason}
    if len(blob) > BLOB_BYTES:
        reason = f"its {len(blob)} bytes are more than a program of this lesson needs"
        return {"name": name, "status": "refused", "cause": "size", "reason": reason}
    text = base64.b64encode(blob).decode("ascii")
    return {"name": name, "status": "exported", "blob": text, "notes": notes}


def _structure(tree: Any) -> str:
    """Return what a program returns in place of one array, from the tree alone."""
    count, node = tree.num_leaves, tree.node_data()
    if not count and (node is None or node[0] is type(None)):
        return "None"
    known = node is not None and node[0] in (tuple, list, dict)
    kind = node[0].__name__ if known else "structure"
    return f"{kind} of {count}"


def _refusal(name: str, error: BaseException, filename: str) -> dict[str, Any]:
    lines = learner_lines(error, filename)
    reason = brief(describe(error))
    if reason == "AssertionError":
        reason += over_an_axis(error, filename)
    return {
        "name": name,
        "status": "refused",
        "cause": _cause(error, by_hand(error, filename)),
        "reason": reason,
        "line": lines[-1][0] if lines else None,
    }


def _cause(error: BaseException, own: bool) -> str:
    """Return a word for the kind of refusal; the sentence for it is made by the coordinator.

    `own` says that a `raise` of the learner's made the error.
    """
    if own:
        return "unfilled" if isinstance(error, NotImplementedError) else "own"
    if isinstance(error, _TRACER_ERRORS):
        return "host_code"
    if isinstance(error, NotImplementedError) and "host_callbacks" in describe(error):
        return "callback"
    if isinstance(error, TypeError) and _ARITY.search(describe(error)):
        return "signature"
    return "raised"
