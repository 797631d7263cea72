"""Communication bytes: written figures and a table, and what the compiled programs send."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pydantic import model_validator

from grader.case import (
    BY_ANY_PROGRAM,
    Case,
    Decision,
    a_type,
    absent,
    as_number,
    claim,
    idle,
    item,
    known,
    undefined,
)
from grader.catalog.models import Content, Points, in_order
from grader.records.evidence import Claim
from grader.records.finding import Item
from grader.records.observation import Observation
from grader.shapes import no_guess

NAMES = BY_ANY_PROGRAM


class FigureItem(Content):
    """A single written number, in bytes per rank."""

    id: str
    points: Points
    figure: str


class RowItem(Content):
    """One row of a written table, found by its number of ranks."""

    id: str
    points: Points
    table: str
    ranks: int
    columns: tuple[str, ...]


class CompiledItem(Content):
    """Bytes per rank of one compiled program, between a floor and a ceiling."""

    id: str
    points: Points
    program: str
    floor: float
    ceiling: float

    @model_validator(mode="after")
    def _can_be_met(self) -> CompiledItem:
        in_order(self.floor, self.ceiling)
        return self


class Rule(Content):
    """A mistake told by the compiled program, or by two written figures that stand for each other.

    `element_type` is a type in the program, `by_compiler` a collective that nobody asked for;
    `exchanged` names two figures, each of which holds the other's right value.
    """

    mistake: str
    element_type: str | None = None
    by_compiler: str | None = None
    exchanged: tuple[str, str] | None = None


class Params(Content):
    """Parameters: items of three sorts, told apart by their keys."""

    items: tuple[FigureItem | RowItem | CompiledItem, ...]
    mistakes: tuple[Rule, ...] = ()


def judge(params: Params, case: Case) -> tuple[list[Item], list[dict[str, Any]]]:
    """Return one item for each figure, row and program, with the bytes found as evidence."""
    items, evidence = [], []
    for spec in params.items:
        if isinstance(spec, FigureItem):
            decision = _figure(params, spec, case)
        elif isinstance(spec, RowItem):
            decision = _row(spec, case)
        else:
            decision, row = _compiled(params, spec, case)
            evidence += row
        items.append(item(spec.id, spec.points, decision))
    return items, evidence


def _claimed(passed: bool, message: str, mistake: str | None, line: int | None) -> Decision:
    if passed:
        return Decision("passed", message, source="claimed")
    return Decision("failed", message, mistake, line, "claimed")


def _figure(params: Params, spec: FigureItem, case: Case) -> Decision:
    found = claim(case, spec.figure)
    line = found.line or case.line(spec.figure)
    if found.kind == "missing":
        return undefined(case, spec.figure, "claimed")
    number = as_number(found)
    if number is None:
        return _claimed(False, f"`{spec.figure}` is {_what(found)}, not a number", None, line)
    table = known(case.truth.figures, spec.figure, "figures")
    if _same(number, known(table, "right", "figures")):
        return _claimed(True, f"`{spec.figure}` is {_told(number)} bytes per rank", None, line)
    mistake = next((m for m, v in table.items() if m != "right" and _same(number, v)), None)
    both = (rule.mistake for rule in params.mistakes if _exchanged(rule, spec.figure, case))
    mistake = next(both, mistake)
    return _claimed(
        False,
        f"`{spec.figure}` is {_told(number)}, which is not what the ring model gives",
        mistake,
        line,
    )


def _exchanged(rule: Rule, figure: str, case: Case) -> bool:
    """Return whether this figure and another one each hold the other's right value."""
    if rule.exchanged is None or figure not in rule.exchanged:
        return False
    first, second = rule.exchanged
    for name, other in ((first, second), (second, first)):
        number = as_number(claim(case, name))
        right = known(known(case.truth.figures, other, "figures"), "right", "figures")
        if number is None or not _same(number, right):
            return False
    return True


def _what(found: Claim) -> str:
    if found.type_name in ("NoneType", "ellipsis"):
        return "still empty"
    return a_type(found)


def _same(found: float, wanted: float) -> bool:
    return math.isclose(found, wanted, rel_tol=1e-9, abs_tol=1e-9)


def _row(spec: RowItem, case: Case) -> Decision:
    found = claim(case, spec.table)
    line = found.line or case.line(spec.table)
    if found.kind == "missing":
        return undefined(case, spec.table, "claimed")
    rows = found.value if found.kind == "list" else None
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        why = f" ({found.reason})" if found.reason else ""
        message = f"`{spec.table}` is {_what(found)}, and not a list of mappings{why}"
        return _claimed(False, message, None, line)
    if not any("ranks" in row for row in rows) and rows:
        message = f"the rows of `{spec.table}` lack `ranks`, so none can be told from another"
        return _claimed(False, message, None, line)
    matching = [row for row in rows if _number(row.get("ranks")) == spec.ranks]
    if len(matching) != 1:
        message = f"`{spec.table}` has {len(matching)} rows for {spec.ranks} ranks, not one"
        return _claimed(False, message, None, line)
    return _columns(spec, case, matching[0], line)


def _columns(spec: RowItem, case: Case, row: Mapping[str, Any], line: int | None) -> Decision:
    right = known(known(case.truth.rows, "right", "rows"), spec.ranks, "rows")
    numbers = {column: _number(row.get(column)) for column in spec.columns}
    wrong = {c: n for c, n in numbers.items() if n is None or not _same(n, known(right, c, "rows"))}
    if not wrong:
        return _claimed(True, f"the row for {spec.ranks} ranks holds", None, line)
    absent_columns = [column for column in wrong if column not in row]
    if absent_columns:
        message = f"the row for {spec.ranks} ranks lacks `{absent_columns[0]}`"
        return _claimed(False, message, None, line)
    shown = ", ".join(f"{c} = {_told(n)}" for c, n in wrong.items())
    message = f"the row for {spec.ranks} ranks: {shown} does not follow from the model"
    mistake = _row_mistake(spec, case, numbers, wrong)
    if mistake is None and _one_factor(numbers, right):
        # Which one is not said: the next answer would be a division away.
        message += "; all of it is off by the same factor, so the size it starts from is another"
    return _claimed(False, message, mistake, line)


def _one_factor(numbers: Mapping[str, float | None], right: Mapping[str, float]) -> bool:
    """Return whether every number of a row is the right one times the same factor."""
    shares = [n / right[c] for c, n in numbers.items() if n is not None and right.get(c)]
    return len(shares) == len(numbers) > 1 and all(
        math.isclose(share, shares[0], rel_tol=1e-6) for share in shares
    )


def _row_mistake(
    spec: RowItem, case: Case, numbers: Mapping[str, float | None], wrong: Mapping[str, Any]
) -> str | None:
    """Return the mistake that predicts every number of the row, the right ones included.

    A mistake that explains only the wrong columns counts where no other explains them all.
    """
    tables = {m: rows.get(spec.ranks, {}) for m, rows in case.truth.rows.items() if m != "right"}

    def fits(table: Mapping[str, float], columns: Mapping[str, Any]) -> bool:
        found = [(numbers[column], table.get(column)) for column in columns]
        return all(n is not None and v is not None and _same(n, v) for n, v in found)

    whole = next((m for m, table in tables.items() if fits(table, numbers)), None)
    return whole or next((m for m, table in tables.items() if fits(table, wrong)), None)


def _told(number: float | None) -> str:
    if number is None:
        return "no number"
    return f"{number:,.0f}" if float(number).is_integer() else f"{number:,.4g}"


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < 1e300 else None


def _compiled(
    params: Params, spec: CompiledItem, case: Case
) -> tuple[Decision, list[dict[str, Any]]]:
    missing = absent(case, spec.program) or idle(case, spec.program)
    if missing is not None:
        return missing, []
    seen = case.observations[spec.program]
    total = seen.bytes_per_rank()
    row = {
        "what": "bytes per rank in the compiled program",
        "program": spec.program,
        "bytes_per_rank": total,
        "chosen_by_compiler": any(one.by_compiler for one in seen.compiled),
    }
    return no_guess(case, seen, _within(params, spec, case, seen, total)), [row]


def _within(
    params: Params, spec: CompiledItem, case: Case, seen: Observation, total: float | None
) -> Decision:
    line = case.line(spec.program)
    if seen.compiled_unknown:
        return Decision("undecided", f"`{seen.name}`: bytes unknown ({seen.compiled_unknown})")
    if total is None:
        message = f"`{seen.name}`: bytes unknown, a collective runs a number of times not static"
        return Decision("failed", message, None, line)
    if spec.floor <= total <= spec.ceiling:
        # XLA may have joined the scalar and the vector into one operation.
        side = [one for one in seen.compiled if "[]" in one.operand]
        note = ", a scalar on the side included" if side else ""
        return Decision("passed", f"`{seen.name}` sends {_told(total)} bytes per rank{note}")
    side_of = "more" if total > spec.ceiling else "less"
    nothing = "" if total else ": nothing is exchanged between devices"
    message = f"`{seen.name}` sends {_told(total)} bytes per rank, {side_of} than its part{nothing}"
    return Decision("failed", message, _rule(params, seen), line)


def _rule(params: Params, seen: Observation) -> str | None:
    for rule in params.mistakes:
        if rule.element_type is not None and rule.element_type in seen.element_types:
            return rule.mistake
        extra = [one for one in seen.compiled if one.by_compiler and one.op == rule.by_compiler]
        if rule.by_compiler is not None and extra:
            return rule.mistake
    return None
