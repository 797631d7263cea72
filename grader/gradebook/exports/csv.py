"""One tidy table, a row per learner, safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from grader.gradebook.exports.parts.record import Export, Options, counted
from grader.gradebook.exports.parts.spreadsheet import safe
from grader.gradebook.looks import Part, has_grade, max_points, mistakes, parts, points, remark
from grader.gradebook.rounding import exact, scaled, shown
from grader.gradebook.ungraded import standing
from grader.records.gradebook import Gradebook, Row

NAME = "csv"
NEEDS: tuple[str, ...] = ()
TAKES = ("scale_to", "bom")


def make(gradebook: Gradebook, options: Options) -> Export:
    """Return `grades.csv`: who, points in all and by check, mistakes, and where the receipt is."""
    ids = sorted({kind for row in gradebook.rows for kind in row.person.ids})
    by_hand = list(dict.fromkeys(mark.item for row in gradebook.rows for mark in row.marks))
    out = io.StringIO(newline="")
    table = csv.writer(out)
    table.writerow(map(safe, _header(gradebook, ids, by_hand, options)))
    for row in gradebook.rows:
        table.writerow(_cells(row, gradebook, ids, by_hand, options))
    ungraded = sum(not has_grade(row) for row in gradebook.rows)
    remark = f"{counted(ungraded, 'learner')} without a grade: those cells are empty, not 0."
    data = out.getvalue().encode("utf-8", errors="backslashreplace")
    return Export(
        (("grades.csv", (b"\xef\xbb\xbf" if options.bom else b"") + data),),
        (remark,) if ungraded else (),
    )


def _header(
    gradebook: Gradebook, ids: Sequence[str], by_hand: Sequence[str], options: Options
) -> list[str]:
    scale = ["scaled_points", "scaled_max"] if options.scale_to is not None else []
    return [
        "key", "name", "email", *(f"id_{kind}" for kind in ids),
        "status", "verdict", "points", "max_points", "percent", *scale,
        *(f"check_{check}" for check in gradebook.checks), *(f"mark_{item}" for item in by_hand),
        "mistakes", "late", "submitted_at", "submission", "sha256", "receipt", "overrides", "marks",
        "note",
    ]  # fmt: skip


def _cells(
    row: Row, gradebook: Gradebook, ids: Sequence[str], by_hand: Sequence[str], options: Options
) -> list[str]:
    person, receipt = row.person, row.receipt
    who = [person.key, person.name, person.email, *(person.ids.get(kind, "") for kind in ids)]
    verdict = [standing(row), receipt.verdict if receipt else ""]
    marks = "; ".join(
        f"{m.item}: {shown(m.points)}/{shown(m.max_points)}{f' {m.comment}' if m.comment else ''}"
        for m in row.marks
    )
    changed = "; ".join(
        f"{one.check}: {one.was} -> {one.points} by {one.by} at {one.at}: {one.why}"
        for one in row.overrides
    )
    after = [
        "; ".join(id_ for id_, _ in mistakes(row)),
        "yes" if row.late else "no",
        row.submitted_at,
        row.shown,
        receipt.submission.sha256 if receipt else "",
        row.receipt_folder,
        changed,
        marks,
        remark(row),
    ]
    figures = [*_totals(row, options), *_by_part(row, gradebook, by_hand)]
    return [*map(safe, who), *verdict, *figures, *map(safe, after)]


def _totals(row: Row, options: Options) -> list[str]:
    got, all_ = points(row), max_points(row)
    to = options.scale_to
    if got is None or all_ is None:
        return [""] * (3 if to is None else 5)
    scale = [] if to is None else [shown(scaled(got, all_, to)), shown(exact(to))]
    return [shown(got), shown(all_), shown(scaled(got, all_, 100)), *scale]


def _by_part(row: Row, gradebook: Gradebook, by_hand: Sequence[str]) -> list[str]:
    found = parts(row) if has_grade(row) else []
    checks: dict[str, Part] = {part.id: part for part in found if part.finding is not None}
    given = {mark.item: exact(mark.points) for mark in row.marks if found}
    return [
        *(shown(checks[check].points) if check in checks else "" for check in gradebook.checks),
        *(shown(given[item]) if item in given else "" for item in by_hand),
    ]
