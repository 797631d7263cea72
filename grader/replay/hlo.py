"""Read the collectives of a compiled HLO module, with what the idealised ring model says of each.

It must never guess: a spelling it does not know is reported as unknown, and never as zero bytes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from grader.records.observation import Collective

COLLECTIVES = frozenset(
    ["all-reduce", "reduce-scatter", "all-gather", "all-to-all", "collective-permute"]
    + ["collective-broadcast", "ragged-all-to-all"]
)
# What a compiler may put in the place of a collective, and what no program may ask for itself.
_MOVES = frozenset(["send", "recv"])
_ASYNCHRONOUS = COLLECTIVES | {"async", "send", "recv"}
_ENDS = re.compile(r"-(done|update)$")
_HEADER = re.compile(r"^(ENTRY )?%?([\w.\-]+) \(.*\{$")
_LINE = re.compile(r"^\s+(?:ROOT )?%?([\w.\-]+) = (.*)$")
_OPCODE = re.compile(r"^([a-z][\w\-]*)\(")
_SHAPE = re.compile(r"^([a-z]\w*)\[([\d,<=]*)\]")
_CALLED = re.compile(
    r"\b(?:to_apply|calls|body|condition|true_computation|false_computation"
    r"|called_computations|branch_computations)=(\{[^}]*\}|%?[\w.\-]+)"
)
_COMMENT = re.compile(r"/\*index=\d+\*/")
_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')
_BITS = {"pred": 8, "s4": 4, "u4": 4, "bf16": 16, "c64": 64, "c128": 128, "token": 0}


class UnknownSpelling(ValueError):
    """The compiled text says something that this reader does not know."""


class TooDeep(Exception):
    """Computations that call each other more deeply than a program of a lesson ever does."""


DEPTH = 100


@dataclass(frozen=True, slots=True)
class _Op:
    opcode: str
    result: str
    operands: tuple[str, ...]
    attributes: str


def collectives(text: str, participants: int) -> tuple[Collective, ...]:
    """Return every collective that runs, each with the trip count of the loops around it.

    Args:
        text: an optimised HLO module, printed with operand shapes and without metadata.
        participants: devices the module was partitioned for, the group when none is spelled out.

    Raises:
        UnknownSpelling: a computation, a shape or a replica group could not be read.
    """
    bodies, entry = _computations(text)
    return tuple(_walk(bodies, entry, 1, participants, 0))


def _computations(text: str) -> tuple[dict[str, list[_Op]], str]:
    bodies: dict[str, list[_Op]] = {}
    entry, current = "", None
    for line in _COMMENT.sub("", text).splitlines():
        header = _HEADER.match(line)
        if header:
            if header[2] in bodies or (header[1] and entry):
                raise UnknownSpelling(f"two computations called {header[2][:60]}")
            current = bodies.setdefault(header[2], [])
            entry = header[2] if header[1] else entry
        elif current is not None and (found := _LINE.match(line)):
            current.append(_instruction(found[2]))
    if entry not in bodies:
        raise UnknownSpelling("the compiled module has no entry computation")
    return bodies, entry


def _instruction(text: str) -> _Op:
    result, rest = _type_prefix(text)
    opcode = _OPCODE.match(rest)
    if opcode is None:
        raise UnknownSpelling(f"an instruction without an operation: {rest[:60]}")
    inside, attributes = _balanced(rest[opcode.end() - 1 :])
    operands = tuple(_type_prefix(part.strip())[0] for part in _split(inside) if "[" in part)
    return _Op(opcode[1], result, operands, attributes)


def _type_prefix(text: str) -> tuple[str, str]:
    """Split `f32[8]{0} all-reduce(…)` into its type and the rest; tuples keep their brackets."""
    if text.startswith("("):
        inside, rest = _balanced(text)
        return f"({inside})", rest.strip()
    head, _, rest = text.partition(" ")
    return head, rest


def _balanced(text: str) -> tuple[str, str]:
    """Return what stands between the first bracket and its partner, and what comes after."""
    depth, quoted = 0, False
    for at, char in enumerate(text):
        if char == '"' and text[at - 1] != "\\":
            quoted = not quoted
        elif not quoted and char in "({[":
            depth += 1
        elif not quoted and char in ")}]":
            depth -= 1
            if depth == 0:
                return text[1:at], text[at + 1 :]
    raise UnknownSpelling("brackets that do not close")


def _split(text: str) -> Iterator[str]:
    depth, start = 0, 0
    for at, char in enumerate(text):
        if char in "({[":
            depth += 1
        elif char in ")}]":
            depth -= 1
        elif char == "," and depth == 0:
            yield text[start:at]
            start = at + 1
    if text[start:].strip():
        yield text[start:]


def _walk(
    bodies: dict[str, list[_Op]], name: str, trips: int | None, participants: int, depth: int
) -> Iterator[Collective]:
    if depth > DEPTH:
        raise TooDeep
    for op in bodies.get(name, ()):
        base = op.opcode.removesuffix("-start")
        if base in COLLECTIVES:
            yield _collective(base, op, trips, participants)
            continue
        if base in _MOVES:
            raise UnknownSpelling(f"a {op.opcode} between devices")
        if _ENDS.sub("", op.opcode) in _ASYNCHRONOUS:
            continue  # counted where it starts, also where this names the same computation again
        if _is_scatter(op, bodies):
            # The sum and the cut of it run as one (openxla.org/xla/hlo_dumps shows such a fusion).
            yield from _scattered(op, bodies, trips, participants)
            continue
        for called in _called(op):
            inner = trips
            if op.opcode == "while":
                # Only what XLA itself worked out: other attributes may hold a stranger's text.
                _, own, config = op.attributes.rpartition("backend_config=")
                known = _TRIPS.search(config) if own else None
                inner = trips * int(known[1]) if known and trips is not None else None
            elif op.opcode == "conditional":
                inner = None
            yield from _walk(bodies, called, inner, participants, depth + 1)


def _is_scatter(op: _Op, bodies: dict[str, list[_Op]]) -> bool:
    """Return whether a fusion of a TPU's compiler is a reduce-scatter: a sum, and a cut of it."""
    if op.opcode != "fusion" or "kind=kCustom" not in op.attributes:
        return False
    inner = [one.opcode for name in _called(op) for one in bodies.get(name, ())]
    return inner.count("all-reduce") == 1 and "dynamic-slice" in inner


def _scattered(
    op: _Op, bodies: dict[str, list[_Op]], trips: int | None, participants: int
) -> Iterator[Collective]:
    inner = [one for name in _called(op) for one in bodies.get(name, ())]
    for one in inner:
        if one.opcode == "all-reduce":
            found = _collective("reduce-scatter", one, trips, participants)
            kept = sum(_nbytes(part) for part in _parts(op.result))
            if found.group_size is None or kept * found.group_size != found.operand_bytes:
                raise UnknownSpelling("a sum that is cut, and not into a piece for each rank")
            yield found
        elif one.opcode.removesuffix("-start") in COLLECTIVES:
            raise UnknownSpelling(f"{one.opcode} beside a sum that is cut")


def _called(op: _Op) -> Iterator[str]:
    for found in _CALLED.findall(op.attributes):
        for name in found.strip("{}").split(","):
            yield name.strip().lstrip("%")


def _collective(base: str, op: _Op, trips: int | None, participants: int) -> Collective:
    operands = [part for whole in op.operands for part in _parts(whole)]
    if not operands:
        raise UnknownSpelling(f"{base} without operands")
    size = sum(_nbytes(part) for part in operands)
    group = _group_size(op.attributes, participants)
    if base == "collective-permute":
        group = _permuted(op.attributes)
    once = ring_bytes(base, size, group)
    shown = ", ".join(part.partition("{")[0] for part in operands)
    return Collective(
        op=base,
        operand=shown,
        operand_bytes=size,
        group_size=group,
        trip_count=trips,
        bytes_per_rank=None if once is None or trips is None else once * trips,
    )


def ring_bytes(op: str, operand_bytes: int, group: int | None) -> float | None:
    """Return the bytes one rank sends under the idealised ring model, None where it says nothing.

    Reduce-scatter (p−1)/p of its operand, all-gather (p−1) times its operand (which is a p-th of
    the gathered array), all-reduce twice (p−1)/p, all-to-all (p−1)/p, a permute its operand.
    Source: the ring algorithms described in the lesson's payload model.
    """
    if op == "collective-permute":
        return float(operand_bytes) if group else 0.0
    if group is None:
        return None
    share = (group - 1) / group
    factors = {
        "all-reduce": 2 * share,
        "reduce-scatter": share,
        "all-to-all": share,
        "all-gather": float(group - 1),
    }
    return operand_bytes * factors[op] if op in factors else None


def _parts(shape: str) -> list[str]:
    return [p.strip() for p in _split(shape[1:-1])] if shape.startswith("(") else [shape]


def _nbytes(shape: str) -> int:
    found = _SHAPE.match(shape)
    if found is None:
        raise UnknownSpelling(f"a shape spelled {shape[:40]}")
    dims = [int(n.replace("<=", "")) for n in found[2].split(",") if n]
    digits = re.search(r"\d+", found[1])
    bits = _BITS.get(found[1]) or (int(digits[0]) if digits else 0)
    if not bits:
        raise UnknownSpelling(f"an element type spelled {found[1]}")
    return math.prod(dims) * bits // 8


def _group_size(attributes: str, participants: int) -> int | None:
    """Return the participants of a collective from any of the spellings XLA prints.

    `{{0,1,2,3}}` lists them, `[1,4]<=[4]` counts groups and members, `mesh['a'=4,'b'=1] {'a'}`
    names mesh axes, an empty list means every device.
    """
    at = attributes.find("replica_groups=")
    if at < 0:
        return participants
    text = attributes[at + len("replica_groups=") :]
    if text.startswith("{"):
        inside, _ = _balanced(text)
        groups = [g.strip(" {}") for g in _split(inside)]
        sizes = {len([n for n in g.split(",") if n.strip()]) for g in groups if g}
        return participants if not sizes else sizes.pop() if len(sizes) == 1 else None
    if tiled := re.match(r"\[(\d+),(\d+)\]<=\[", text):
        return int(tiled[2])
    if named := re.match(r"@?[\w.]*mesh[\w.]*\[([^\]]*)\]\s*\{([^}]*)\}", text):
        sizes_by_axis = {axis: int(n) for axis, n in re.findall(r"'([^']*)'=(\d+)", named[1])}
        axes = re.findall(r"'([^']*)'", named[2])
        if "(" in named[2] or not all(axis in sizes_by_axis for axis in axes):
            raise UnknownSpelling(f"replica groups spelled {text[:60]}")
        return math.prod(sizes_by_axis[axis] for axis in axes)
    raise UnknownSpelling(f"replica groups spelled {text[:60]}")


def _permuted(attributes: str) -> int:
    """Return how many ranks send to another one."""
    at = attributes.find("source_target_pairs=")
    if at < 0:
        raise UnknownSpelling("a collective-permute without its pairs")
    if "slice_sizes=" in attributes:
        raise UnknownSpelling("a collective-permute of parts of its operand")
    inside, _ = _balanced(attributes[at + len("source_target_pairs=") :])
    pairs = [pair.strip(" {}").split(",") for pair in _split(inside)]
    return sum(1 for pair in pairs if len(pair) == 2 and pair[0].strip() != pair[1].strip())


def mark_compiler_made(
    compiled: tuple[Collective, ...], requested: tuple[Collective, ...]
) -> tuple[Collective, ...]:
    """Mark the compiled collectives that have no counterpart in what the program asked for."""
    left = [item.op for item in requested]
    marked = []
    for item in compiled:
        by_compiler = item.op not in left
        if not by_compiler:
            left.remove(item.op)
        marked.append(replace(item, by_compiler=by_compiler))
    return tuple(marked)
