"""Finds the learner of each line of a platform's sheet: by the platform's ids first, then by name.

It never guesses: what fits two, and what a surer id contradicts, stays unmatched and is told.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.gradebook.looks import named
from grader.receipt.escape import visible_line
from grader.records.gradebook import Row

# Two people may share a name or write another address; these tell one from another.
_SURE = ("canvas_user", "sis_user", "moodle_participant")


@dataclass(frozen=True)
class Line:
    """One learner's line of a sheet: its row, what to call it, and what it is known by."""

    row: int
    who: str
    keys: Mapping[str, str]


@dataclass(frozen=True)
class Matched:
    """Which gradebook row each sheet row belongs to, and what found no partner on either side."""

    pairs: dict[int, Row]
    only_in_sheet: tuple[Line, ...]
    only_in_gradebook: tuple[Row, ...]
    remarks: tuple[str, ...]


def same_name(name: str) -> str:
    """Return a name as it is compared: `Doe, Jane` is `Jane Doe`, whatever case and spaces."""
    text = unicodedata.normalize("NFKC", name).casefold()
    last, comma, first = text.partition(",")
    return " ".join((f"{first} {last}" if comma else text).split())


def match(lines: Sequence[Line], rows: Sequence[Row], order: Sequence[str]) -> Matched:
    """Return the pairs; `order` are the kinds of key from the surest to the weakest."""
    pairs: dict[int, Row] = {}
    remarks: list[str] = []
    claims: dict[int, list[Row]] = {}
    index = _index(lines, order)
    for row in rows:
        line = _line_of(row, index, order, remarks)
        if line is not None:
            claims.setdefault(line.row, []).append(row)
    for at, claimed in claims.items():
        if len(claimed) == 1:
            pairs[at] = claimed[0]
            continue
        names = " and ".join(named(row) for row in claimed)
        remarks.append(f"{names} fit the same line of the sheet: it was left as it is.")
    taken = {row.person.key for row in pairs.values()}
    return Matched(
        pairs,
        tuple(line for line in lines if line.row not in pairs),
        tuple(row for row in rows if row.person.key not in taken),
        tuple(remarks),
    )


def keys_of(row: Row) -> dict[str, str]:
    """Return what a gradebook row is known by, in the form that lines use."""
    person = row.person
    known = {kind: same_key(value) for kind, value in person.ids.items() if value.strip()}
    known["email"] = same_key(person.email)
    known["name"] = same_name(person.name)
    return known


def same_key(text: str) -> str:
    """Return an id as it is compared: without the `="…"` that keeps spreadsheets from acting."""
    bare = text.strip()
    if bare.startswith('="') and bare.endswith('"') and len(bare) > 2:
        bare = bare[2:-1]
    return bare.casefold()


_Index = dict[tuple[str, str], list[Line]]


def _index(lines: Sequence[Line], order: Sequence[str]) -> _Index:
    index: _Index = {}
    for line in lines:
        for kind in order:
            if line.keys.get(kind):
                index.setdefault((kind, line.keys[kind]), []).append(line)
    return index


def _line_of(row: Row, index: _Index, order: Sequence[str], remarks: list[str]) -> Line | None:
    known = keys_of(row)
    for kind in order:
        fits = index.get((kind, known.get(kind, "")), [])
        sure = [line for line in fits if not _contradicted(known, line)]
        if len(sure) == 1:
            return sure[0]
        if len(sure) > 1:
            remarks.append(
                f"{named(row)} fits {len(sure)} lines of the sheet by {kind.replace('_', ' ')}: "
                "none was filled."
            )
            return None
        if fits:
            remarks.append(
                f"{named(row)} looks like {visible_line(fits[0].who)} "
                f"by {kind.replace('_', ' ')}, but another id differs: not filled."
            )
    return None


def _contradicted(known: Mapping[str, str], line: Line) -> bool:
    return any(
        known.get(kind) and line.keys.get(kind) and known[kind] != line.keys[kind] for kind in _SURE
    )
