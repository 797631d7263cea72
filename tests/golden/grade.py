"""Grades one right solution of each exercise and keeps the record: `python -m tests.golden.grade`.

What depends on the clock and the machine is replaced, so that the records differ only where what a
learner is told differs. Then `python -m tests.golden.renew` writes the other forms.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from typing import Any

from grader.catalog.course import Course, shipped
from grader.receipt.render import to_json
from grader.records.receipt import Receipt
from tests.command import ROOT, command, environment
from tests.golden.renew import stored

SEED = "0f"


def main() -> None:
    """Grade and keep the filled starter of every exercise."""
    for exercise in Course(shipped()).ids():
        receipt = settled(graded(exercise))
        stored(exercise).write_text(to_json(receipt), encoding="utf-8", newline="\n")
        print(f"{exercise}: {receipt.verdict} {receipt.points}")


def graded(exercise: str) -> Receipt:
    """Return the receipt of an exercise's filled starter, graded by the real command."""
    path = ROOT / "solutions" / exercise / "accepted" / "starter_filled.py"
    with tempfile.TemporaryDirectory() as folder:
        line = command(exercise, path, "--json", "--no-receipt", "--not-mine", "--seed", SEED)
        done = subprocess.run(
            line, cwd=folder, env=environment(), capture_output=True, check=True, timeout=300
        )
    return Receipt.model_validate_json(done.stdout)


def settled(receipt: Receipt) -> Receipt:
    """Return a receipt without what the clock and the machine add."""
    facts: dict[str, Any] = json.loads(to_json(receipt))
    facts |= {"created_at": "2026-01-01T00:00:00.000Z", "wall_s": 1.0}
    for row in facts["observed_cpu_us"]["rows"]:
        row |= {"median_us": 100.0, "samples_us": [100.0] * len(row["samples_us"])}
    facts["environment"] |= {"platform": "Linux 6.1 x86_64"}
    return Receipt.model_validate(facts)


if __name__ == "__main__":
    main()
