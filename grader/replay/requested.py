"""Read what a program asks for in StableHLO: its collectives and its custom calls.

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

_OPS = {
    "stablehlo.all_reduce": "all-reduce",
    "stablehlo.reduce_scatter": "reduce-scatter",
    "stablehlo.all_gather": "all-gather",
    "stablehlo.all_to_all": "all-to-all",
    "stablehlo.collective_permute": "collective-permute",
    "stablehlo.collective_broadcast": "collective-broadcast",
    "sdy.all_gather": "all-gather",
    "sdy.all_reduce": "all-reduce",
    "sdy.reduce_scatter": "reduce-scatter",
    "sdy.all_to_all": "all-to-all",
    "sdy.collective_permute": "collective-permute",
}
OPERATIONS = 100_000
DEPTH = 100
# What sharding itself lowers to, and LAPACK, which stays inside the process.
_CALLS = re.compile(
    r"(Sharding|SPMDFullToShardShape|SPMDShardToFullShape|annotate_device_placement"
    r"|xla\.sdy\.\w+|shape_assertion|lapack_\w+|mhlo\.topk|ApproxTopK|stablehlo\.\w+)"
)
# Free text that XLA prints into its modules as it is: only what JAX's own lowerings write there.
_FREE_TEXT = "frontend_attributes"
_OWN_TEXT = re.compile(r'mhlo\.frontend_attributes = \{num_batch_dims = "\d+"\}')
_ELEMENT = re.compile(r"^tensor<((?:\d+x)*)([a-z]\w*)>$")
_NAMES = {"i1": "pred", "i8": "s8", "i16": "s16", "i32": "s32", "i64": "s64"}


@dataclass(frozen=True, slots=True)
class Asked:
    """What a program asks for, custom calls that are not allowed, and its element types."""

    collectives: tuple[Collective, ...]
    refused: tuple[str, ...]
    element_types: tuple[str, ...]


def free_text(mlir_text: str) -> bool:
    """Return whether a program carries text of its own that XLA would print into its modules."""
    return mlir_text.count(_FREE_TEXT) != len(_OWN_TEXT.findall(mlir_text))


def read(mlir_text: str) -> Asked:
    """Return the requested collectives, refused custom calls and element types.

    A collective is told once for each call of the function that holds it. Its group is left open,
    and so are its bytes: they are read from the compiled module, which alone tells what runs. The
    trip count is 1 outside loops, else None.
    """
    from jax.interpreters import mlir
    from jaxlib.mlir import ir

    if free_text(mlir_text):
        return Asked((), ("set_xla_metadata",), ())

    refused: list[str] = []
    types: set[str] = set()
    with mlir.make_ir_context():
        module = ir.Module.parse(mlir_text).operation
        for operation in _every(module):
            types |= {m[2] for r in operation.results if (m := _ELEMENT.match(str(r.type)))}
            if operation.name.endswith("custom_call"):
                target = _symbol(operation, "call_target_name")
                if not _CALLS.fullmatch(target):
                    refused.append(target)
        found = tuple(_collectives(module))
    return Asked(found, tuple(refused), tuple(sorted(types)))


def _inner(operation: Any) -> Iterator[Any]:
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield inner.operation


def _every(operation: Any) -> Iterator[Any]:
    for inner in _inner(operation):
        yield inner
        yield from _every(inner)


def _collectives(module: Any) -> Iterator[Collective]:
    functions = {_symbol(f, "sym_name"): f for f in _inner(module) if f.name == "func.func"}
    budget = itertools.count()

    def walk(operation: Any, looped: bool, depth: int) -> Iterator[Collective]:
        for inner in _inner(operation):
            # Functions that call each other twice make a short text run long.
            if next(budget) > OPERATIONS or depth > DEPTH:
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
