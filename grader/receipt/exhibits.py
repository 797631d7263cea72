"""Arranges a check's evidence: tables, facts, and the learner's lines.

It knows no check by name; it shows whatever keys the evidence has.
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import JsonValue

from grader.receipt.view import number, words
from grader.records.cells import said
from grader.records.finding import Finding
from grader.records.receipt import Receipt

# Two facts read well as a list; from three on a row of a table is shorter.
_MOST_FACTS = 2


@dataclass(frozen=True)
class Table:
    """Cells as text; `caption` may be empty."""

    caption: str
    columns: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class Advice:
    """What to try; the mistake behind it by id and title where there is one."""

    mistake: str | None
    title: str
    hint: str
    line: int | None


@dataclass(frozen=True)
class EvidenceView:
    """One piece of evidence: its sentence, single facts, and tables."""

    what: str
    facts: list[tuple[str, str]]
    tables: list[Table]


def evidence(finding: Finding) -> list[EvidenceView]:
    """Return a check's evidence in the order it first speaks: what is told alike is one table."""
    alike: dict[str, list[dict[str, JsonValue]]] = {}
    for entry in finding.evidence:
        facts = {key: value for key, value in entry.items() if key != "what"}
        alike.setdefault(str(entry.get("what", "evidence")), []).append(facts)
    views = []
    for what, entries in alike.items():
        flat = not any(_records(key, v) for entry in entries for key, v in entry.items())
        if flat and max(map(len, entries)) > _MOST_FACTS:
            views.append(EvidenceView(what, [], [_table("", entries)]))
        else:
            views += [_single(what, entry) for entry in entries]
    return views


def _single(what: str, entry: dict[str, JsonValue]) -> EvidenceView:
    tables = {key: _records(key, value) for key, value in entry.items()}
    return EvidenceView(
        what,
        [(words(key), _fact(key, value)) for key, value in entry.items() if not tables[key]],
        [_table(words(key), rows) for key, rows in tables.items() if rows],
    )


def _records(key: str, value: JsonValue) -> list[dict[str, JsonValue]]:
    """Return a list of mappings, or a mapping of mappings, as rows; nothing for anything else."""
    if isinstance(value, list) and value:
        rows = [item for item in value if isinstance(item, dict)]
        return rows if len(rows) == len(value) else []
    if isinstance(value, dict) and value and all(isinstance(v, dict) for v in value.values()):
        first = key.removesuffix("s")
        return [{first: name, **v} for name, v in value.items() if isinstance(v, dict)]
    return []


def _table(caption: str, rows: list[dict[str, JsonValue]]) -> Table:
    keys = list(dict.fromkeys(key for row in rows for key in row))
    cells = [[_fact(key, row[key]) if key in row else "" for key in keys] for row in rows]
    # "programs" above a column "program" would say the same twice, and "rows" says nothing.
    caption = "" if caption.removesuffix("s") in (words(keys[0]), "row") else caption
    return Table(caption, [words(key) for key in keys], cells)


def _fact(key: str, value: JsonValue) -> str:
    """Return any JSON value on one line; `key` tells a shape from a list of numbers."""
    if value == []:
        return "()" if key.endswith("shape") else "none"
    if isinstance(value, list):
        if "shape" in key and all(isinstance(item, int) for item in value):
            return str(tuple(value))
        if any(isinstance(item, list) for item in value):
            return "  ".join(_fact("shape" if "shape" in key else "", item) for item in value)
        inner = ", ".join(_fact(key, item) for item in value)
        return inner if key else f"[{inner}]"
    if isinstance(value, dict):
        return "; ".join(f"{words(name)}: {_fact(name, item)}" for name, item in value.items())
    return value if isinstance(value, str) else number(value)


def advice(finding: Finding) -> list[Advice]:
    """Return what a check advises: for each different mistake of its items, in their order."""
    own = finding.mistake
    told = [Advice(own, finding.mistake_title or own or "", finding.hint, finding.line)]
    for part in finding.items:
        name = part.mistake
        if part.status != "passed" and name and name not in [one.mistake for one in told]:
            title = part.mistake_title or name.replace("-", " ")
            told.append(Advice(name, title, part.hint, part.line))
    return told


def lines(finding: Finding) -> list[int]:
    """Return the source lines that a finding and its items point at, each once, in order."""
    numbers = {part.line for part in finding.items if part.line is not None}
    return sorted(numbers | ({finding.line} if finding.line is not None else set()))


def place(receipt: Receipt, line: int) -> str:
    """Return how a line of the submission is named: `line 7`; of a notebook `cell 2, line 3`."""
    return said(receipt.submission.cells, line)


def line_text(receipt: Receipt, line: int | None) -> str | None:
    """Return one line of the submission, None where the receipt does not hold it."""
    return next((part.text for part in receipt.source_lines if part.line == line), None)
