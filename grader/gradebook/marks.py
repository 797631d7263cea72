"""The marks file: what a person grades by hand, such as the explanation, as a sheet to fill in."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from typing import Any

from grader.errors import UsageProblem
from grader.gradebook.exports.parts.spreadsheet import plain, safe
from grader.records.gradebook import Gradebook, Mark, Row

COLUMNS = ("key", "name", "item", "points", "max_points", "comment", "text")
ITEM = "explanation"


def sheet(book: Gradebook, known: dict[str, tuple[Mark, ...]]) -> str:
    """Return the sheet as CSV: one line for each graded learner, filled in as far as it was.

    No mark that is known is left out, whoever has no grade at the moment or has left the class.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in book.rows:
        given = known.get(row.person.key, ())
        if row.receipt is not None and all(mark.item != ITEM for mark in given):
            _line(writer, row.person.key, row.person.name, None, _explanation(row))
        for mark in given:
            text = _explanation(row) if mark.item == ITEM else ""
            _line(writer, row.person.key, row.person.name, mark, text)
    for key in sorted(known.keys() - {row.person.key for row in book.rows}):
        for mark in known[key]:
            _line(writer, key, "", mark, "")
    return out.getvalue()


def _line(writer: Any, key: str, name: str, mark: Mark | None, text: str) -> None:
    given = (mark.item, mark.points, mark.max_points, mark.comment) if mark else (ITEM, "", "", "")
    writer.writerow(
        [safe(cell) if isinstance(cell, str) else cell for cell in (key, name, *given, text)]
    )


def read(path: Path) -> dict[str, tuple[Mark, ...]]:
    """Return the marks by learner's key; a line without points is not filled in yet.

    Raises: UsageProblem that names the line, where the sheet cannot be understood.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageProblem(
            f"the marks file cannot be read: {getattr(error, 'strerror', None) or error}",
            where=str(path),
            next_step="save it as CSV in UTF-8; `grade marks` writes a new one",
        ) from error
    dialect = (
        ";" if text.partition("\n")[0].count(";") > text.partition("\n")[0].count(",") else ","
    )
    rows = _records(text, dialect, path)
    lacking = {"key", "points", "max_points"} - {*rows[0]} if rows else {"key"}
    if lacking:
        raise UsageProblem(
            f"the marks file lacks the column {min(lacking)}",
            where=str(path),
            next_step="keep the header that `grade marks` writes",
        )
    found: dict[str, tuple[Mark, ...]] = {}
    for number, cells in enumerate(rows[1:], start=2):
        row = dict(zip(rows[0], cells, strict=False))
        if row.get("points", "").strip():
            mark = Mark(
                item=plain(row.get("item", "")) or ITEM,
                points=_number(row, "points", number, path),
                max_points=_number(row, "max_points", number, path),
                comment=plain(row.get("comment", "")),
            )
            if mark.points > mark.max_points:
                raise UsageProblem(
                    f"the marks file, line {number}: {mark.points:g} points of {mark.max_points:g}",
                    where=str(path),
                    next_step="write the most there can be in max_points",
                )
            key = plain(row["key"].strip())
            if any(other.item == mark.item for other in found.get(key, ())):
                raise UsageProblem(
                    f"the marks file, line {number}: a second {mark.item} for {key}",
                    where=str(path),
                    next_step="keep one of the two lines, or give them different items",
                )
            found[key] = (*found.get(key, ()), mark)
    return found


def _records(text: str, delimiter: str, path: Path) -> list[list[str]]:
    try:
        return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error as error:
        raise UsageProblem(
            f"the marks file is no CSV: {error}",
            where=str(path),
            next_step="save it as CSV in UTF-8; `grade marks` writes a new one",
        ) from error


def _number(row: dict[str, str], column: str, number: int, path: Path) -> float:
    text = row.get(column, "").strip().replace(",", ".")
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise UsageProblem(
            f"the marks file, line {number}: {column} is {text!r}, not a number of points",
            where=str(path),
            next_step="write a number such as 3 or 2.5, and the most there can be in max_points",
        )
    return value


def _explanation(row: Row) -> str:
    given = row.receipt.separate.explanation if row.receipt else None
    if isinstance(given, dict):
        return " | ".join(f"{key}: {value}" for key, value in given.items())
    return given or ""
