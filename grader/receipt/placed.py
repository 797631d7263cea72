"""Draws what each device stores: a map of the result with one row for each device.

It shows what the receipt holds, and of an older one the shapes alone; it judges nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, isfinite, log10, prod

from pydantic import JsonValue

from grader.receipt.view import shape
from grader.records.receipt import CompiledRow, DeviceValues, Receipt, StoredValues

# The share that a check on values tells of the inputs a learner knows.
_OPEN_SHARE = "on the lesson's own"
_MOST_COLUMNS = 16
_MOST_CELLS = 64
_STORED = "•"
# Beyond this factor between devices a common unit would show the smaller ones as nothing.
_MOST_APART = 1000


@dataclass(frozen=True)
class Held:
    """What one device stores; `part` is its place in the whole, empty where that is not known.

    Each of `cells` is a value, a dot where the receipt holds no value, or None where the device
    stores nothing; `left_out` counts the values without a cell; `wrong` says so in words.
    """

    id: int
    shape: str
    part: str
    values: int
    cells: list[str | None]
    left_out: int
    wrong: str


@dataclass(frozen=True)
class Drawing:
    """One program's result; `columns` are positions in it, none where it has no such order.

    `unit` is what each number shown is a multiple of, empty for one.
    """

    program: str
    unit: str
    columns: list[str]
    devices: list[Held]


@dataclass(frozen=True)
class Group:
    """The results of the programs on the same inputs; `note` says why some have no numbers."""

    title: str
    note: str
    drawings: list[Drawing]


def groups(receipt: Receipt) -> list[Group]:
    """Return the lesson's own case with every program, then each case built on written answers."""
    rows = receipt.compiled_bytes.arrays()
    built = [one.case for row in rows for one in row.stored_values if one.inputs == "learner"]
    cases = list(dict.fromkeys(built))
    lesson = [_drawing(receipt, row, _stored(row, "lesson", ""), "", cases) for row in rows]
    known = any(one.inputs == "lesson" for row in rows for one in row.stored_values)
    title = "On the lesson’s own inputs" if known else "After the replay"
    found = [Group(title, _note(rows) if known else "", lesson)] if lesson else []
    for case in cases:
        drawn = [
            _drawing(receipt, row, stored, case, cases)
            for row in rows
            if (stored := _stored(row, "learner", case)) is not None
        ]
        named = f"On the learner’s own arrays: {case.replace('_', ' ')}"
        found.append(Group(named, _unjudged(receipt, [one.program for one in drawn], cases), drawn))
    return found


def _unjudged(receipt: Receipt, programs: Sequence[str], cases: list[str]) -> str:
    """Return that these numbers say nothing yet, where a program of theirs is wrong by itself."""
    wrong = [f"`{name}`" for name in programs if _wrong(receipt, name, "", cases)]
    if not wrong:
        return ""
    verb = "is" if len(wrong) == 1 else "are"
    return f"Not judged yet: {' and '.join(wrong)} {verb} wrong on the inputs above."


def _note(rows: Sequence[CompiledRow]) -> str:
    silent = [row.program for row in rows if row.stored_shapes and not _stored(row, "lesson", "")]
    if not silent:
        return ""
    names = " and ".join(f"`{name}`" for name in silent)
    given = "is given" if len(silent) == 1 else "are given"
    return (
        f"{names} {given} another program’s right result here: no numbers until that one is right."
    )


def _stored(row: CompiledRow, inputs: str, case: str) -> StoredValues | None:
    wanted = (one for one in row.stored_values if one.inputs == inputs)
    return next((one for one in wanted if not case or one.case == case), None)


def _drawing(
    receipt: Receipt, row: CompiledRow, stored: StoredValues | None, case: str, cases: list[str]
) -> Drawing:
    wrong = _wrong(receipt, row.program, case, cases)
    if stored is None:
        shapes = zip(row.stored_devices, row.stored_shapes, strict=True)
        devices = [_undrawn(id_, dimensions, wrong) for id_, dimensions in shapes]
        return Drawing(row.program, "", [], devices)
    extent = _extent(stored.devices)
    power = _power(stored.devices)
    devices = [_held(one, extent, power, wrong) for one in stored.devices]
    unit = "" if power is None or -1 <= power <= 2 else f"1e{power}"
    return Drawing(row.program, unit, [str(at) for at in range(extent)], devices)


def _extent(devices: Sequence[DeviceValues]) -> int:
    """Return the length of a vector that the devices store in pieces, 0 for anything else."""
    if not all(len(one.index) == 1 and len(one.values) == prod(one.shape) for one in devices):
        return 0
    if not all(one.index[0][1] - one.index[0][0] == len(one.values) for one in devices):
        return 0
    extent = max((one.index[0][1] for one in devices), default=0)
    return extent if extent <= _MOST_COLUMNS else 0


def _power(devices: Sequence[DeviceValues]) -> int | None:
    """Return the power of ten of the largest number, None where no common one suits them all."""
    largest = [
        max((abs(x) for x in one.values if isinstance(x, float) and isfinite(x)), default=0.0)
        for one in devices
    ]
    if not largest or min(largest) * _MOST_APART <= max(largest):
        return None
    return floor(log10(max(largest)))


def _held(one: DeviceValues, extent: int, power: int | None, wrong: dict[int, str]) -> Held:
    shown: list[str | None] = [_shown(value, power) for value in one.values]
    if extent:
        start, stop = one.index[0]
        shown = [None] * start + shown + [None] * (extent - stop)
    values = prod(one.shape)
    return Held(
        one.device,
        shape(one.shape),
        ", ".join(f"{start}:{stop}" for start, stop in one.index),
        values,
        shown,
        values - len(one.values),
        wrong.get(one.device, ""),
    )


def _undrawn(id_: int, dimensions: list[int], wrong: dict[int, str]) -> Held:
    values = prod(dimensions)
    drawn: list[str | None] = [_STORED] * values if values <= _MOST_CELLS else []
    return Held(id_, shape(dimensions), "", values, drawn, values - len(drawn), wrong.get(id_, ""))


def _wrong(receipt: Receipt, program: str, case: str, cases: list[str]) -> dict[int, str]:
    """Return the device ids that any check's evidence calls wrong for a program on a case."""
    found: dict[int, str] = {}
    for entry in (entry for check in receipt.checks for entry in check.evidence):
        of = next((name for name in cases if f"({name})" in str(entry.get("what"))), "")
        ids = entry.get("wrong_devices")
        if entry.get("program") == program and of == case and isinstance(ids, list):
            found |= {id_: _word(entry) for id_ in ids if isinstance(id_, int)}
    return found


def _word(entry: dict[str, JsonValue]) -> str:
    share, allowed = entry.get(_OPEN_SHARE), entry.get("allowed")
    if isinstance(share, float) and isinstance(allowed, float) and share <= allowed:
        return "right here, wrong on hidden inputs"
    return "wrong values"


def _shown(value: bool | int | float | str, power: int | None) -> str:
    """Return a value in a few characters; the record has all of its digits."""
    if isinstance(value, float) and power is not None:
        text = f"{value:.{2 - power}f}" if -1 <= power <= 2 else f"{value / 10.0**power:.2f}"
        return text.removeprefix("-") if float(text) == 0 else text
    if isinstance(value, bool | str):
        return str(value)
    mantissa, e, exponent = f"{value:.3g}".partition("e")
    return f"{mantissa}e{int(exponent)}" if e else mantissa
