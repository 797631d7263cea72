"""Grades in the columns of GitHub Classroom, or one learner's `result` for its autograding."""

from __future__ import annotations

import base64
import csv
import io
import json
from typing import Any

from grader.gradebook.exports.parts.figures import figure
from grader.gradebook.exports.parts.record import Export, Options, counted, one_row
from grader.gradebook.exports.parts.spreadsheet import safe
from grader.gradebook.looks import Part, has_grade, max_points, parts, points
from grader.gradebook.rounding import scaled, scores, shown
from grader.receipt.escape import visible_line
from grader.records.gradebook import Gradebook, Row

NAME = "github-classroom"
NEEDS: tuple[str, ...] = ()
TAKES = ("learner", "scale_to", "assignment", "hidden")

_VERSION = 1
_HEADER = (
    "assignment_name", "assignment_url", "starter_code_url", "github_username",
    "roster_identifier", "student_repository_name", "student_repository_url",
    "submission_timestamp", "points_awarded", "points_available",
)  # fmt: skip


def make(gradebook: Gradebook, options: Options) -> Export:
    """Return `grades.csv`; with a learner named, `result.txt` for the reporter instead.

    Raises: UsageProblem for a learner who is not there.
    """
    if options.learner:
        row = one_row(gradebook, options)
        return Export((("result.txt", f"{result(row, options)}\n".encode()),))
    out = io.StringIO(newline="")
    table = csv.writer(out, lineterminator="\n")
    table.writerow(_HEADER)
    for row in gradebook.rows:
        table.writerow(_cells(row, gradebook, options))
    unknown = sum(not row.person.ids.get("github") for row in gradebook.rows)
    told = f"{counted(unknown, 'learner')} without a GitHub user name."
    return Export(
        (("grades.csv", out.getvalue().encode("utf-8", errors="backslashreplace")),),
        (told,) if unknown else (),
    )


def result(row: Row, options: Options) -> str:
    """Return what an autograding step hands to the reporter: JSON of the tests, in base64."""
    record = _result(row, options)
    text = json.dumps(record, ensure_ascii=True, allow_nan=False, sort_keys=True)
    return base64.b64encode(text.encode()).decode()


def _cells(row: Row, gradebook: Gradebook, options: Options) -> list[str]:
    told, repository = options.assignment, row.ids.get("github_repository", "")
    got, all_ = points(row), max_points(row)
    to = options.scale_to
    known = got is not None and all_ is not None
    return [
        safe(told.get("name", gradebook.title or gradebook.exercise)),
        safe(told.get("url", "")),
        safe(told.get("starter_code_url", "")),
        safe(row.person.ids.get("github", "")),
        safe(row.person.ids.get("roster", row.person.name)),
        safe(repository.rpartition("/")[2]),
        safe(f"https://github.com/{repository}" if repository.count("/") == 1 else ""),
        safe(row.submitted_at),
        shown(scaled(got or 0, all_ or 0, to)) if known else "",
        shown((all_ or 0) if to is None else to) if known else "",
    ]


def _result(row: Row, options: Options) -> dict[str, Any]:
    found = [part for part in parts(row) if part.points or part.max_points]
    figures = scores(
        [part.points for part in found], [part.max_points for part in found], options.scale_to
    )
    if not has_grade(row):
        status = "error"
    else:
        status = "pass" if all(part.status == "passed" for part in found) else "fail"
    record: dict[str, Any] = {
        "version": _VERSION,
        "status": status,
        "max_score": figure(sum(best for _, best in figures)),
        "tests": [
            _test(part, figure(score), options)
            for part, (score, _) in zip(found, figures, strict=True)
        ],
    }
    if status == "error":
        record["message"] = "The grader could not reach a verdict; the submission is not to blame."
    return record


def _test(part: Part, score: int | float, options: Options) -> dict[str, Any]:
    finding = part.finding
    status = {"passed": "pass", "undecided": "error"}.get(part.status, "fail")
    said = ""
    if finding is not None and part.id not in options.hidden:
        said = " ".join(filter(None, (finding.message, finding.hint)))
    return {
        "name": visible_line(part.title),
        "status": status,
        "score": score,
        "message": visible_line(said or part.said),
        "test_code": "",
        "filename": "",
        "line_no": (finding.line or 0) if finding else 0,
        "duration": 0,
        "task_id": 0,
    }
