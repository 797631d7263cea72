"""The whole gradebook as canonical JSON: every receipt, override, mark and note."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from grader.gradebook.exports.parts.figures import figure
from grader.gradebook.exports.parts.record import Export, Options
from grader.gradebook.looks import max_points, points, state
from grader.gradebook.rounding import scaled
from grader.gradebook.ungraded import why
from grader.receipt import indented
from grader.receipt.escape import json_text
from grader.records.gradebook import Gradebook, Row

NAME = "json"
NEEDS: tuple[str, ...] = ()
TAKES = ("scale_to",)

SCHEMA_VERSION = 1


def make(gradebook: Gradebook, options: Options) -> Export:
    """Return `gradebook.json`: sorted keys, points with two places at most, no NaN."""
    record = {
        "schema_version": SCHEMA_VERSION,
        "exercise": gradebook.exercise,
        "title": gradebook.title,
        "max_points": gradebook.max_points,
        "checks": list(gradebook.checks),
        "layout": gradebook.layout,
        "rows": [_row(row, options) for row in gradebook.rows],
        "notes": [{"kind": n.kind, "who": n.who, "text": n.text} for n in gradebook.notes],
    }
    text = indented.dumps(record, sort_keys=True)
    return Export((("gradebook.json", f"{json_text(text)}\n".encode()),))


def _row(row: Row, options: Options) -> dict[str, Any]:
    person, got, all_ = row.person, points(row), max_points(row)
    known = got is not None and all_ is not None
    record = {
        "person": {
            "key": person.key,
            "name": person.name,
            "email": person.email,
            "ids": dict(person.ids),
        },
        "status": row.status,
        "state": state(row),
        "hindrance": asdict(reason) if (reason := why(row)) else None,
        "points": figure(got) if got is not None else None,
        "max_points": figure(all_) if all_ is not None else None,
        "receipt": row.receipt.model_dump(mode="json") if row.receipt else None,
        "receipt_folder": row.receipt_folder,
        "submitted_at": row.submitted_at,
        "late": row.late,
        "shown": row.shown,
        "ids": dict(row.ids),
        "overrides": [
            {
                "check": o.check,
                "was": o.was,
                "points": o.points,
                "by": o.by,
                "at": o.at,
                "why": o.why,
            }
            for o in row.overrides
        ],
        "marks": [
            {
                "item": m.item,
                "points": figure(m.points),
                "max_points": figure(m.max_points),
                "comment": m.comment,
            }
            for m in row.marks
        ],
    }
    if options.scale_to is not None:
        record["scaled_max"] = figure(options.scale_to)
        record["scaled_points"] = (
            figure(scaled(got or 0, all_ or 0, options.scale_to)) if known else None
        )
    return record
