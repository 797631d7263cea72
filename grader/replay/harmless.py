"""Say whether every operation of a program only computes on the devices it was given.

What is not known to be harmless is refused, by name: XLA trusts the programs it compiles, and some
can write outside their buffers. It must never run or change a program.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from grader.replay import custom_calls

OPERATIONS = 100_000
DEPTH = 100
# More than any machine here holds, and far less than where XLA's sizes overflow.
ARRAY_BYTES = 1 << 40
ELEMENT_BYTES = 16

_NAMES = """
    abs add all_gather all_reduce all_to_all and atan2 batch_norm_grad batch_norm_inference
    batch_norm_training bitcast_convert broadcast broadcast_in_dim case cbrt ceil cholesky clamp
    collective_broadcast collective_permute compare complex composite concatenate constant
    convert convolution cosine count_leading_zeros custom_call divide dot dot_general
    dynamic_slice dynamic_update_slice einsum exponential exponential_minus_one fft floor gather
    if imag iota is_finite log log_plus_one logistic map maximum minimum multiply negate not
    optimization_barrier or pad partition_id popcnt power real reduce reduce_precision
    reduce_scatter reduce_window remainder replica_id reshape return reverse rng
    rng_bit_generator round_nearest_afz round_nearest_even rsqrt scatter select
    select_and_scatter shift_left shift_right_arithmetic shift_right_logical sign sine slice
    sort sqrt subtract tan tanh transpose triangular_solve while xor
"""
_COMPUTE = frozenset(f"stablehlo.{name}" for name in _NAMES.split())
_STRUCTURE = frozenset(
    ["func.func", "func.call", "func.return"]
    + ["sdy.mesh", "sdy.manual_computation", "sdy.return", "sdy.sharding_constraint"]
)
# Whatever a program exchanges with its host is ordered by tokens, which only that needs.
_HOST = frozenset(
    f"stablehlo.{name}"
    for name in ("infeed", "outfeed", "send", "recv", "create_token", "after_all")
)
_TENSOR = re.compile(
    r"tensor<((?:\d+x)*)(?:u?i\d{1,2}|b?f\d\w{0,16}|complex<f32>|complex<f64>)>", re.ASCII
)
# XLA acts on attributes of its own that no verifier looks at; these are the ones JAX exports.
_EVERYWHERE = ("sdy.sharding",)
_OF_MODULES = ("sym_name", "mhlo.num_partitions", "mhlo.num_replicas")
_OF_ARGUMENTS = ("sdy.sharding", "tf.aliasing_output")
# `set_xla_metadata` writes text here that XLA prints into its modules as it is.
_METADATA = "mhlo.frontend_attributes"
_COMPOSITE = re.compile(r"chlo\.\w{1,60}", re.ASCII)
_WORD = re.compile(r'"\w*"', re.ASCII)


def problem(module: Any) -> str:
    """Return why a program may not run, as the end of a sentence about it; empty where it may.

    Args:
        module: a parsed `builtin.module` as an MLIR object.
    """
    found = _wrong_module(module)
    if found:
        return found
    for operation, depth, number in every(module):
        if number > OPERATIONS:
            return f"it has more than {OPERATIONS} operations"
        if depth > DEPTH:
            return f"it is nested deeper than {DEPTH} levels"
        found = _wrong(operation)
        if found:
            return found
    return ""


def every(module: Any) -> Iterator[tuple[Any, int, int]]:
    """Yield each operation below `module` in its order, with its depth and number, from 1 on."""
    number = 0
    levels = [_inner(module)]
    while levels:
        operation = next(levels[-1], None)
        if operation is None:
            levels.pop()
            continue
        number += 1
        yield operation, len(levels), number
        if len(operation.regions):
            levels.append(_inner(operation))


def _inner(operation: Any) -> Iterator[Any]:
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield inner.operation


def _wrong_module(module: Any) -> str:
    for name in custom_calls.attribute_names(module):
        if name not in _OF_MODULES and not name.startswith("jax."):
            return _carries(name)
    return ""


def _wrong(operation: Any) -> str:
    name = operation.name
    if name in _HOST:
        return f"it exchanges data with its host ({name})"
    if name not in _COMPUTE and name not in _STRUCTURE:
        return f"it uses {name[:80]}, which is not plain XLA"
    found = _wrong_types(operation)
    if found:
        return found
    if name == "stablehlo.custom_call":
        return custom_calls.problem(operation)
    if name == "stablehlo.sort" and not _is_stable(operation):
        return "it sorts without is_stable"
    for attribute in custom_calls.attribute_names(operation):
        if not _known(name, attribute):
            return _carries(attribute)
    if name == "stablehlo.composite":
        return _wrong_composite(operation)
    return _wrong_arguments(operation) if name == "func.func" else ""


def _is_stable(sort: Any) -> bool:
    # An unstable sort runs out of its buffer where the comparison it is given is no order.
    return "is_stable" in sort.attributes and "true" in str(sort.attributes["is_stable"])


def _known(operation: str, attribute: str) -> bool:
    if attribute.startswith("xla"):
        return False
    own = "." not in attribute or attribute in _EVERYWHERE or attribute.startswith("jax.")
    return own or (operation == "sdy.mesh" and attribute == "stablehlo.mesh")


def _carries(attribute: str) -> str:
    if attribute == _METADATA:
        return "it calls set_xla_metadata, which is not plain XLA"
    return f"it carries {custom_calls.shown(attribute)}, which is not plain XLA"


def _wrong_types(operation: Any) -> str:
    values = [result.type for result in operation.results]
    for region in operation.regions:
        for block in region.blocks:
            values += [argument.type for argument in block.arguments]
    for value in values:
        text = str(value)
        found = _TENSOR.fullmatch(text)
        if found is None:
            return f"it works on a {custom_calls.shown(text)}, which is no array of fixed shape"
        # An empty dimension would hide the others from the product.
        extents = [max(int(n), 1) for n in found[1].split("x") if n]
        if math.prod(extents) > ARRAY_BYTES // ELEMENT_BYTES:
            return f"it works on a {text[:80]}, which no machine can hold"
    return ""


def _wrong_composite(operation: Any) -> str:
    """Return what is wrong with an operation that XLA knows by name alone."""
    name = str(operation.attributes["name"].value)
    if not _COMPOSITE.fullmatch(name):
        return f"it uses the composite {custom_calls.shown(name)}, which is not plain XLA"
    details = operation.attributes
    # Free text would be printed into the modules that collectives are read from.
    told = str(details["composite_attributes"]) if "composite_attributes" in details else ""
    return _carries("composite_attributes") if '"' in _WORD.sub("", told) else ""


def _wrong_arguments(operation: Any) -> str:
    for side in ("arg_attrs", "res_attrs"):
        if side not in operation.attributes:
            continue
        for one in operation.attributes[side]:
            for item in one:
                name = item if isinstance(item, str) else item.name
                if name not in _OF_ARGUMENTS and not name.startswith("jax."):
                    return _carries(name)
    return ""
