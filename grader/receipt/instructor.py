"""Renders a receipt with the instructor's additions; the learner's forms are made elsewhere.

The additions reach a template under a name of their own, which no learner's form is ever given.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from grader.errors import ContentProblem
from grader.receipt import escape, indented
from grader.receipt.read import MARK
from grader.receipt.render import Form, fill
from grader.records.base import Record
from grader.records.instructor import (
    Held,
    HiddenCase,
    HiddenProgram,
    InstructorReceipt,
    InstructorView,
    Values,
    WrittenAnswer,
)
from grader.records.receipt import Receipt

Rows = list[list[str]]
_IN_A_CELL = 8
_IN_A_LINE = 8
_WHOLE = 1e15
_DOCTYPE = re.compile(r"(?i)\s*<!doctype[^>]*>\n?")
_UNKNOWN = "unknown"


def render(receipt: Receipt, added: InstructorView, form: Form, templates: Sequence[Path]) -> str:
    """Return the receipt in `form` with the additions, from the templates `instructor.<form>.j2`.

    Raises: ContentProblem, when a template is wrong or leaves the additions out.
    """
    if form == "json":
        return to_json(InstructorReceipt(receipt=receipt, instructor=added))
    shown = fill("instructor", form, templates, receipt=receipt, instructor=_page(added))
    # The receipt's own template may be the course's, and decides where the additions go.
    if added.seed not in shown:
        raise ContentProblem(
            f"The template receipt.{form}.j2 leaves the instructor's part out",
            where=", ".join(str(folder) for folder in templates),
            next_step="add this line to it: {% block instructor %}{% endblock %}",
        )
    return _marked(shown, form)


def _marked(shown: str, form: Form) -> str:
    """Return the text with a first line by which no reader and no program takes it for a learner's.

    Nothing but a doctype may stand before it; without one first, a page looks otherwise.
    """
    if form == "txt":
        return f"{MARK}\n{shown}"
    doctype = _DOCTYPE.match(shown)
    at = doctype.end() if doctype else 0
    return f"{shown[:at]}<!-- {MARK} -->\n{shown[at:]}"


def to_json(record: Record) -> str:
    """Return an instructor's record as indented JSON, hidden characters escaped."""
    return escape.json_text(indented.dumps(record.model_dump(mode="json"))) + "\n"


@dataclass(frozen=True)
class _Input:
    """One input of a case as lines of numbers; `caption` says which programs take it."""

    caption: str
    text: str


@dataclass(frozen=True)
class _Program:
    """What a program should give and what each device held, header first."""

    program: str
    error: str
    rows: Rows


@dataclass(frozen=True)
class _Case:
    case: str
    inputs: list[_Input]
    programs: list[_Program]


@dataclass(frozen=True)
class _Page:
    """The additions as text; of the tables, an empty one is left out."""

    seed: str
    seed_source: str
    note: str
    cases: list[_Case]
    written: Rows
    figures: Rows
    tables: Rows


def _page(added: InstructorView) -> _Page:
    return _Page(
        seed=added.seed,
        seed_source=added.seed_source,
        note=added.note,
        cases=[_case(case) for case in added.cases],
        written=_written(added.written),
        figures=_headed(
            ["Number", "Bytes"], [[name, _number(x)] for name, x in added.figures.items()]
        ),
        tables=_headed(
            list(added.tables[0]) if added.tables else [],
            [[_number(x) for x in row.values()] for row in added.tables],
        ),
    )


def _headed(header: list[str], rows: Rows) -> Rows:
    return [header, *rows] if rows else []


def _case(case: HiddenCase) -> _Case:
    takers: dict[str, list[str]] = {}
    texts: dict[str, str] = {}
    for one in case.programs:
        for given in one.inputs:
            data = given.data
            key = f"{given.name}, {data.dtype} {tuple(data.shape)}\n{data.values}"
            takers.setdefault(key, []).append(one.program)
            texts[key] = _lines(data)
    return _Case(
        case=case.case,
        inputs=[
            _Input(f"{key.partition(chr(10))[0]}, of {', '.join(takers[key])}", text)
            for key, text in texts.items()
        ],
        programs=[_program(one) for one in case.programs],
    )


def _program(one: HiddenProgram) -> _Program:
    rows = [["Device", "Holds", "Values", "Relative difference"]]
    if one.expected is not None:
        rows.append(["expected", _shape(one.expected), _cell(one.expected), ""])
    for held in one.seen.held if one.seen else ():
        place = ", ".join(f"{start}:{stop}" for start, stop in held.index)
        share = _share(held, one.expected)
        rows.append([str(held.device), f"[{place}]", _cell(held.data), share])
    return _Program(one.program, one.seen.error if one.seen else "", rows)


def _share(held: Held, expected: Values | None) -> str:
    """Return how far a device's piece is from its part of what is expected, as a share of it."""
    whole = None if expected is None else _array(expected)
    piece = _array(held.data)
    if whole is None or piece is None:
        return _UNKNOWN
    if len(held.index) != whole.ndim:
        return "another shape"
    part = whole[tuple(slice(start, stop) for start, stop in held.index)]
    if part.shape != piece.shape:
        return "another shape"
    with np.errstate(all="ignore"):
        gap = float(np.abs(part - piece).max(initial=0.0))
        largest = float(np.abs(whole).max(initial=0.0))
    return f"{gap / largest:.2g}" if largest and math.isfinite(gap) else _number(gap)


def _array(data: Values) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]] | None:
    """Return the whole array, None where it was cut or holds what is no real number."""
    try:
        flat = np.array([float(x) for x in data.values], dtype=np.float64)
        return flat.reshape(data.shape) if flat.size == math.prod(data.shape) else None
    except ValueError:  # also more dimensions than this NumPy knows
        return None


def _written(answers: Sequence[WrittenAnswer]) -> Rows:
    rows: Rows = []
    for one in answers:
        against = f"follows from {one.needs}" if one.expected is None else _cell(one.expected)
        rows.append([one.name, f"compared with, ± {_number(one.atol)}", against])
        found = "nothing" if one.found is None else _cell(one.found)
        held = _alike(one.held) or [("found", one.text or found)]
        rows += [["", where, told] for where, told in held]
    return _headed(["Answer", "", "Values"], rows)


def _alike(pieces: Sequence[Held]) -> list[tuple[str, str]]:
    """Return what devices hold, those that hold the same together."""
    told: dict[str, list[str]] = {}
    for piece in pieces:
        told.setdefault(_cell(piece.data), []).append(str(piece.device))
    return [
        (f"device{'s' if len(ids) > 1 else ''} {', '.join(ids)}", cell)
        for cell, ids in told.items()
    ]


def _shape(data: Values) -> str:
    return str(tuple(data.shape))


def _number(value: float | str) -> str:
    """Return a number with five digits, a whole one with all; the JSON form has all of each."""
    if isinstance(value, str):
        return value
    return f"{value:.0f}" if value.is_integer() and abs(value) < _WHOLE else f"{value:.5g}"


def _cell(data: Values) -> str:
    """Return an array on one line, in row-major order; of a long one the first values."""
    shown = " ".join(map(_number, data.values[:_IN_A_CELL]))
    more = math.prod(data.shape) - min(len(data.values), _IN_A_CELL)
    return f"{shown} … {more} more" if more > 0 else shown or "no value"


def _lines(data: Values) -> str:
    """Return an array as lines of numbers, none longer than its last dimension."""
    width = min(data.shape[-1], _IN_A_LINE) if data.shape and data.shape[-1] > 0 else 1
    cells = [f"{_number(x):>12}" for x in data.values]
    lines = ["".join(cells[i : i + width]) for i in range(0, len(cells), width)]
    more = math.prod(data.shape) - len(cells)
    return "\n".join([*lines, f"… {more} more"] if more > 0 else lines)
