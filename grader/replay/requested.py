"""Read what a program asks for in StableHLO: its collectives, and whether it only computes.

Operations are walked as MLIR objects; the text is never searched, because names lie.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from grader.records.observation import Collective
from grader.replay import harmless

_OPS = {
    "stablehlo.all_reduce": "all-reduce",
    "stablehlo.reduce_scatter": "reduce-scatter",
    "stablehlo.all_gather": "all-gather",
    "stablehlo.all_to_all": "all-to-all",
    "stablehlo.collective_permute": "collective-permute",
    "stablehlo.collective_broadcast": "collective-broadcast",
}
_ELEMENT = re.compile(r"^tensor<((?:\d+x)*)([a-z]\w*)>$")
_NAMES = {"i1": "pred", "i8": "s8", "i16": "s16", "i32": "s32", "i64": "s64"}


@dataclass(frozen=True, slots=True)
class Asked:
    """What a program asks for, why it may not run (empty where it may), and its element types."""

    collectives: tuple[Collective, ...]
    refused: str
    element_types: tuple[str, ...]


def read(exported: Any) -> Asked:
    """Return the requested collectives, what is refused, and the element types of a program.

    Args:
        exported: a deserialized `jax.export.Exported`.
    """
    from jax.interpreters import mlir
    from jaxlib.mlir import ir

    with mlir.make_ir_context():
        try:
            # The very module that JAX lowers, not its text; JAX 0.9 has the text only.
            module = exported.mlir_module(serialized=False)
        except TypeError:
            module = ir.Module.parse(exported.mlir_module())
        return read_module(module.operation)


def read_module(module: Any) -> Asked:
    """Return what a program asks for, from its module as an MLIR object; see `read`.

    A collective is told once for each call of the function that holds it. Its group is left open,
    and so are its bytes: they are read from the compiled module, which alone tells what runs. The
    trip count is 1 outside loops, else None.
    """
    refused = harmless.problem(module)
    if refused:
        return Asked((), refused, ())
    types = {
        found[2]
        for operation, _depth, _number in harmless.every(module)
        for result in operation.results
        if (found := _ELEMENT.match(str(result.type)))
    }
    return Asked(tuple(_collectives(module)), "", tuple(sorted(types)))


def _inner(operation: Any) -> Iterator[Any]:
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield inner.operation


def _collectives(module: Any) -> Iterator[Collective]:
    functions = {_symbol(f, "sym_name"): f for f in _inner(module) if f.name == "func.func"}
    budget = itertools.count()

    def walk(operation: Any, looped: bool, depth: int) -> Iterator[Collective]:
        for inner in _inner(operation):
            # Functions that call each other twice make a short text run long.
            if next(budget) > harmless.OPERATIONS or depth > harmless.DEPTH:
                return
            if inner.name in _OPS:
                yield _collective(_OPS[inner.name], inner, looped)
            if inner.name == "func.call" and (called := functions.get(_symbol(inner, "callee"))):
                yield from walk(called, looped, depth + 1)
            yield from walk(inner, looped or inner.name == "stablehlo.while", depth + 1)

    if "main" in functions:
        yield from walk(functions["main"], False, 0)


def _symbol(operation: Any, name: str) -> str:
    try:
        return str(operation.attributes[name].value)
    except (KeyError, AttributeError):
        return "(unnamed)"


def _collective(op: str, operation: Any, looped: bool) -> Collective:
    shapes = [_shape(str(operand.type)) for operand in operation.operands]
    return Collective(
        op=op,
        operand=", ".join(name for name, _ in shapes),
        operand_bytes=sum(size for _, size in shapes),
        group_size=None,
        trip_count=None if looped else 1,
        bytes_per_rank=None,
    )


def _shape(text: str) -> tuple[str, int]:
    """Turn `tensor<16x8xf32>` into `f32[16,8]` and its bytes."""
    found = _ELEMENT.match(text)
    if found is None:
        return text, 0
    dims = [int(n) for n in found[1].split("x") if n]
    digits = re.search(r"\d+", found[2])
    bits = 8 if found[2] == "i1" else int(digits[0]) if digits else 0
    name = _NAMES.get(found[2], found[2])
    return f"{name}[{','.join(map(str, dims))}]", math.prod(dims) * bits // 8
