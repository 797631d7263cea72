"""The evidence digest: what must come out the same when a grade is made again.

Timings, dates, printed output and the last bits of floats stay outside: they differ from machine
to machine. So do the numbers that a receipt draws on each device (`stored_values`): the shapes and
devices that hold them are inside, and whether they are right stands in the items. The source and
the answers tracked apart are inside by the digest of the file; who handed it in is not.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from grader.records.finding import Finding, Verdict
from grader.records.receipt import CompiledBytes

_SHAPES = ("what", "program", "name", "global_shape", "layout", "shapes", "device_ids")


def evidence_digest(
    *,
    exercise: str,
    submission_sha256: str,
    siblings: dict[str, str],
    rubric_sha256: str,
    seed_sha256: str,
    outcome: str,
    verdict: Verdict,
    findings: list[Finding],
    compiled: CompiledBytes,
) -> str:
    """Return the hex SHA-256 of the canonical JSON (sorted keys, no spaces) of these facts."""
    facts: dict[str, Any] = {
        "exercise": exercise,
        "submission": submission_sha256,
        "rubric": rubric_sha256,
        "seed": seed_sha256,
        "outcome": outcome,
        "verdict": [verdict.verdict, verdict.points, verdict.max_points],
        "items": [[f.id, i.id, i.status, i.points, i.mistake] for f in findings for i in f.items],
        "mistakes": [[f.id, f.mistake] for f in findings],
        "shapes": [
            {key: row[key] for key in _SHAPES if key in row}
            for f in findings
            for row in f.evidence
            if "shapes" in row
        ],
        "compiled": [
            [
                row.program,
                row.stored_devices,
                row.stored_shapes,
                row.bytes_per_rank,
                [[c.op, c.operand, c.group_size, c.trip_count] for c in row.compiled],
            ]
            for row in compiled.rows
        ],
    }
    if siblings:
        facts["siblings"] = siblings
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
