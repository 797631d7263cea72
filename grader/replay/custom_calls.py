"""Say whether a custom call is one that JAX's own lowerings make, with buffers of the right size.

A custom call runs native code that believes what the call says of its own buffers, so nothing
here may be guessed: whatever differs from what JAX writes is refused. It must never run anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Dims = tuple[int, ...]
# What one buffer of a call is: its extents behind the batch, and its element type.
Buffer = tuple[Dims, str]
Choices = Mapping[str, str]
Flags = Mapping[str, str]

_TARGET = re.compile(r"lapack_([sdcz])([a-z]{4,5})_ffi")
_TENSOR = re.compile(r"tensor<((?:\d+x)*)(\w+|complex<\w+>)>")
_ELEMENT = {"s": "f32", "d": "f64", "c": "complex<f32>", "z": "complex<f64>"}
_REAL = {"s": "f32", "d": "f64", "c": "f32", "z": "f64"}
_COMPLEX = {"s": "complex<f32>", "d": "complex<f64>", "c": "complex<f32>", "z": "complex<f64>"}
_TRIANGLE = "LU"


@dataclass(frozen=True, slots=True)
class Matrices:
    """The operands of one call: element types, and the extents of each behind the batch."""

    element: str
    real: str
    complex: str
    extents: tuple[Dims, ...]


@dataclass(frozen=True, slots=True)
class _Routine:
    """What LAPACK expects of one routine, as JAX calls it.

    `sizes` returns every set of buffers (operands, then results) that is right for these
    operands and flags, none where the operands themselves are wrong. `aliased` is the operand
    that the first result overwrites, None where no buffer is shared.
    """

    letters: str
    operands: int
    flags: Choices
    aliased: int | None
    sizes: Callable[[Matrices, Flags], Iterator[tuple[Buffer, ...]]]


def problem(operation: Any) -> str:
    """Return why a custom call may not run, empty where it may.

    Args:
        operation: a `stablehlo.custom_call` as an MLIR object.
    """
    target = _value(operation, "call_target_name")
    found = _TARGET.fullmatch(target)
    routine = _ROUTINES.get(found[2]) if found else None
    if found is None or routine is None or found[1] not in routine.letters:
        return f"it calls {shown(target)}, which is not plain XLA"
    whole = _wrong(operation, routine, found[1])
    return f"it calls {target} with {whole} that JAX would not give it" if whole else ""


def shown(target: str) -> str:
    """Return a stranger's name for one line of a message."""
    return "".join(c if c.isprintable() else "?" for c in target)[:80] or "(unnamed)"


def attribute_names(operation: Any) -> Iterator[str]:
    """Yield the names of an operation's attributes; older JAX iterates over the pairs."""
    for item in operation.attributes:
        yield item if isinstance(item, str) else item.name


def _value(operation: Any, name: str) -> str:
    try:
        return str(operation.attributes[name].value)
    except (KeyError, AttributeError):
        return ""


def _wrong(operation: Any, routine: _Routine, letter: str) -> str:
    """Return what of a call is not as JAX writes it, empty where all is."""
    types = [*(str(v.type) for v in operation.operands), *(str(v.type) for v in operation.results)]
    shapes = [_shape(text) for text in types]
    attributes = {name: str(operation.attributes[name]) for name in attribute_names(operation)}
    attributes.pop("call_target_name")
    operands = len(operation.operands)
    if operands != routine.operands or None in shapes:
        return "arguments"
    whole = [shape for shape in shapes if shape is not None]
    batch = whole[0][0][:-2]
    if len(whole[0][0]) < 2 or any(dims[: len(batch)] != batch for dims, _ in whole):
        return "shapes"
    buffers = tuple((dims[len(batch) :], element) for dims, element in whole)
    flags = _flags(attributes.pop("mhlo.backend_config", ""), routine.flags)
    if flags is None:
        return "options"
    given = Matrices(
        _ELEMENT[letter], _REAL[letter], _COMPLEX[letter], tuple(d for d, _ in buffers[:operands])
    )
    square = all(len(dims) in (1, 2) for dims in given.extents)
    if not square or buffers not in routine.sizes(given, flags):
        return "shapes"
    expected = _expected(batch, buffers, operands, routine.aliased)
    return "" if _agrees(attributes, expected) else "attributes"


def _shape(text: str) -> tuple[Dims, str] | None:
    found = _TENSOR.fullmatch(text)
    if found is None:
        return None
    return tuple(int(n) for n in found[1].split("x") if n), found[2]


def _flags(text: str, choices: Choices) -> Flags | None:
    """Read `{mode = 65 : ui8, …}` into letters; None where it is anything but these choices."""
    inside = re.fullmatch(r"\{(.*)\}", text)
    if inside is None:
        return None
    flags = {}
    for part in inside[1].split(", ") if inside[1] else []:
        one = re.fullmatch(r"(\w+) = (\d{1,3}) : ui8", part)
        if one is None or chr(int(one[2])) not in choices.get(one[1], ""):
            return None
        flags[one[1]] = chr(int(one[2]))
    return flags if flags.keys() == choices.keys() else None


def _agrees(attributes: Mapping[str, str], expected: Mapping[str, tuple[str, ...]]) -> bool:
    """Return whether each attribute is there as JAX writes it, and no other one.

    A spelling that is empty says that the attribute may be missing.
    """
    known = attributes.keys() <= expected.keys()
    return known and all(attributes.get(name, "") in texts for name, texts in expected.items())


def _expected(
    batch: Dims, buffers: tuple[Buffer, ...], operands: int, aliased: int | None
) -> dict[str, tuple[str, ...]]:
    """Return the ways each attribute of a call may be spelled.

    Matrices lie column by column and all else row by row; batches may be split among devices and
    the dimensions behind them may not, which both the rule and the number of batch dimensions say.
    """
    layouts = [_layout(len(batch), len(dims)) for dims, _ in buffers]
    results = "[0]" if len(buffers) - operands > 1 else "[]"
    alias = (
        f"#stablehlo.output_operand_alias<output_tuple_indices = {results}, "
        f"operand_index = {aliased}, operand_tuple_indices = []>"
    )
    return {
        "api_version": ("", "1 : i32", "4 : i32"),
        "backend_config": ("", '""'),
        "has_side_effect": ("", "false"),
        "called_computations": ("", "[]"),
        "mhlo.frontend_attributes": (f'{{num_batch_dims = "{len(batch)}"}}',),
        "operand_layouts": (f"[{', '.join(layouts[:operands])}]",),
        "result_layouts": (f"[{', '.join(layouts[operands:])}]",),
        "output_operand_aliases": ("", "[]") if aliased is None else (f"[{alias}]",),
        "sdy.sharding_rule": ("", _rule(batch, [dims for dims, _ in buffers], operands)),
    }


def _layout(batch: int, own: int) -> str:
    rank = batch + own
    order = [*range(batch, rank), *reversed(range(batch))] if own == 2 else [*range(rank)][::-1]
    # A splat is printed as its one value.
    text = str(order[0]) if rank == 1 else str(order) if rank else ""
    return f"dense<{text}> : tensor<{rank}xindex>"


def _rule(batch: Dims, extents: list[Dims], operands: int) -> str:
    """Return the sharding rule JAX writes: one factor per batch dimension, one for each other."""
    names, sizes = [_factor(n) for n in range(len(batch))], list(batch)
    mappings = []
    for dims in extents:
        own = [_factor(len(sizes) + n) for n in range(len(dims))]
        sizes += dims
        mappings.append(f"[{', '.join([*names, *own])}]")
    taken, given = ", ".join(mappings[:operands]), ", ".join(mappings[operands:])
    told = ", ".join(f"{_factor(n)}={size}" for n, size in enumerate(sizes))
    return f"#sdy.op_sharding_rule<({taken})->({given}) {{{told}}}, custom>"


def _factor(number: int) -> str:
    letters = "ijklmnopqrstuvwxyz"
    return letters[number] if number < len(letters) else f"z_{number - len(letters) + 1}"


# ----------------------------------------------------------------------------------- the routines

_INFO: Buffer = ((), "i32")
Sizes = Iterator[tuple[Buffer, ...]]


def _square(given: Matrices) -> int | None:
    """Return the extent of the first operand where it is a square matrix."""
    dims = given.extents[0]
    return dims[0] if len(dims) == 2 and dims[0] == dims[1] else None


def _cholesky(given: Matrices, _flags: Flags) -> Sizes:
    if (n := _square(given)) is not None:
        yield (((n, n), given.element), ((n, n), given.element), _INFO)


def _lu(given: Matrices, _flags: Flags) -> Sizes:
    m, n = given.extents[0]
    matrix = ((m, n), given.element)
    yield (matrix, matrix, ((min(m, n),), "i32"), _INFO)


def _qr(given: Matrices, _flags: Flags) -> Sizes:
    m, n = given.extents[0]
    matrix = ((m, n), given.element)
    yield (matrix, matrix, ((min(m, n),), given.element))


def _householder(given: Matrices, _flags: Flags) -> Sizes:
    (m, n), taus = given.extents
    matrix = ((m, n), given.element)
    if len(taus) == 1 and m >= n >= taus[0]:
        yield (matrix, (taus, given.element), matrix)


def _svd(given: Matrices, flags: Flags) -> Sizes:
    m, n = given.extents[0]
    k = min(m, n)
    matrix, values = ((m, n), given.element), ((k,), given.real)
    if flags["mode"] in "AN":
        full = (((m, m), given.element), ((n, n), given.element))
        yield (matrix, matrix, values, *full, _INFO)
    if flags["mode"] in "SN":
        thin = (((m, k), given.element), ((k, n), given.element))
        yield (matrix, matrix, values, *thin, _INFO)


def _symmetric_eigen(given: Matrices, _flags: Flags) -> Sizes:
    if (n := _square(given)) is not None:
        matrix = ((n, n), given.element)
        yield (matrix, matrix, ((n,), given.real), _INFO)


def _eigen(given: Matrices, _flags: Flags) -> Sizes:
    if (n := _square(given)) is not None:
        vectors = ((n, n), given.complex)
        parts = 2 if given.element == given.real else 1
        values = [((n,), given.element)] * parts
        yield (((n, n), given.element), *values, vectors, vectors, _INFO)


def _triangular_solve(given: Matrices, flags: Flags) -> Sizes:
    n, right = _square(given), given.extents[1]
    if n is not None and len(right) == 2 and n == right[0 if flags["side"] == "L" else 1]:
        side = (right, given.element)
        yield (((n, n), given.element), side, side)


_SOLVES = {"diag": "UN", "side": "LR", "trans_x": "NTC", "uplo": _TRIANGLE}
_SYMMETRIC = {"mode": "VN", "uplo": _TRIANGLE}
_VECTORS = {"compute_left": "VN", "compute_right": "VN"}
_ROUTINES = {
    "potrf": _Routine("sdcz", 1, {"uplo": _TRIANGLE}, 0, _cholesky),
    "getrf": _Routine("sdcz", 1, {}, 0, _lu),
    "geqrf": _Routine("sdcz", 1, {}, 0, _qr),
    "orgqr": _Routine("sd", 2, {}, 0, _householder),
    "ungqr": _Routine("cz", 2, {}, 0, _householder),
    "gesdd": _Routine("sdcz", 1, {"mode": "ASN"}, 0, _svd),
    "syevd": _Routine("sd", 1, _SYMMETRIC, 0, _symmetric_eigen),
    "heevd": _Routine("cz", 1, _SYMMETRIC, 0, _symmetric_eigen),
    "geev": _Routine("sdcz", 1, _VECTORS, None, _eigen),
    "trsm": _Routine("sdcz", 2, _SOLVES, 1, _triangular_solve),
}
