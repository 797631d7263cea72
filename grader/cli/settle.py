"""What every command about a class ends with: receipts, gradebook, report and summary as files."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

from grader import secret
from grader.catalog.load import Entry
from grader.cli.run import compiled_templates
from grader.errors import GradeError
from grader.gradebook import exports, marks, receipts, report, results
from grader.gradebook.book import gradebook
from grader.gradebook.ledger import Ledger
from grader.gradebook.report import Times
from grader.receipt.render import render
from grader.records.gradebook import Gradebook
from grader.records.receipt import Receipt
from grader.sandbox import cache


def renderer(entry: Entry) -> receipts.Render:
    """Return what renders a receipt of this course in a form."""
    return functools.partial(_render, templates=entry.course.templates)


def _render(receipt: Receipt, form: Any, *, templates: list[Path]) -> str:
    return render(receipt, form, templates, cache=compiled_templates())


def read_marks(root: Path) -> dict[str, tuple[Any, ...]]:
    """Return the marks that were filled in by hand, none where there is no such file."""
    place = root / results.MARKS
    return marks.read(place) if place.exists() else {}


def finish(
    root: Path,
    ledger: Ledger,
    entry: Entry,
    made: receipts.Render,
    *,
    anonymous: bool = False,
    times: Times | None = None,
) -> Gradebook:
    """Write every learner's receipts and the files of the class; returns the gradebook.

    With `anonymous`, and wherever that was asked for before, everything is written once more under
    pseudonyms into a folder that can be shown, and the table that leads back to the names stays
    outside of it.

    Effects: writes under `root` what has changed.
    """
    book = gradebook(ledger, entry, read_marks(root))
    times = times or Times()
    _write(root, book, entry, made, times)
    if anonymous or (root / results.ANONYMOUS).is_dir():
        hidden = exports.anonymize(book, secret.ensure())
        results.put(root / results.PSEUDONYMS, hidden.table())
        _write(root / results.ANONYMOUS, hidden.gradebook, entry, made, times)
    return book


def _write(root: Path, book: Gradebook, entry: Entry, made: receipts.Render, times: Times) -> None:
    for row in book.rows:
        receipts.write(row, root, made)
    for _, data in exports.export("csv", book).files:
        results.put(root / "gradebook.csv", data)
    results.put(root / "summary.json", _summary(book).encode())
    page = report.report(book, entry.course.templates, times=times)
    results.put(root / "report.html", page.encode())


def _summary(book: Gradebook) -> str:
    verdicts: dict[str, int] = {}
    checks: dict[str, dict[str, int]] = {check: {} for check in book.checks}
    for row in book.rows:
        end = row.receipt.verdict if row.receipt else row.status
        verdicts[end] = verdicts.get(end, 0) + 1
        for finding in row.receipt.checks if row.receipt else ():
            known = checks.setdefault(finding.id, {})
            known[finding.status] = known.get(finding.status, 0) + 1
    facts = {
        "exercise": book.exercise,
        "learners": len(book.rows),
        "verdicts": verdicts,
        "checks": checks,
        "notes": [{"kind": n.kind, "who": n.who, "text": n.text} for n in book.notes],
    }
    return json.dumps(facts, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def warmed(entry: Entry, place: Path | None) -> Path | None:
    """Fill the cache of compiled programs before many are graded; a failure only costs time."""
    from grader import warming

    if place is not None and not cache.state(place):
        try:
            warming.warm(entry, place)
        except (OSError, GradeError):
            return None
    return place
