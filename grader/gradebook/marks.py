"""The marks file: what a person grades by hand, such as the explanation, as a sheet to fill in."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

from grader.errors import UsageProblem
from grader.records.gradebook import Gradebook, Mark, Row

COLUMNS = ("key", "name", "item", "points", "max_points", "comment", "text")
ITEM = "explanation"
_RUNS = ("=", "+", "-", "@", "\t", "\r")


def sheet(book: Gradebook, known: dict[str, tuple[Mark, ...]]) -> str:
    """Return the sheet as CSV: one line for each graded learner, filled in as far as it was."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in book.rows:
        if row.receipt is None:
            continue
        given = {mark.item: mark for mark in known.get(row.person.key, ())}
        mark = given.get(ITEM)
        values = (mark.points, mark.max_points, mark.comment) if mark else ("", "", "")
        cells = (row.person.key, row.person.name, ITEM, *values, _explanation(row))
        writer.writerow([_plain(cell) for cell in cells])
    return out.getvalue()


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
    rows = csv.DictReader(io.StringIO(text), delimiter=dialect)
    lacking = {"key", "points", "max_points"} - {*(rows.fieldnames or ())}
    if lacking:
        raise UsageProblem(
            f"the marks file lacks the column {min(lacking)}",
            where=str(path),
            next_step="keep the header that `grade marks` writes",
        )
    found: dict[str, tuple[Mark, ...]] = {}
    for number, row in enumerate(rows, start=2):
        if (row.get("points") or "").strip():
            mark = Mark(
                item=row.get("item") or ITEM,
                points=_number(row, "points", number, path),
                max_points=_number(row, "max_points", number, path),
                comment=row.get("comment") or "",
            )
            key = str(row["key"]).removeprefix("'")
            found[key] = (*found.get(key, ()), mark)
    return found


def _number(row: dict[str, str], column: str, number: int, path: Path) -> float:
    text = (row.get(column) or "").strip().replace(",", ".")
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


def _plain(cell: object) -> object:
    """Return a cell that no spreadsheet runs as a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_RUNS) else cell
