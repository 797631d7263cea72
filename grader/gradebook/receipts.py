"""Each learner's receipts as files: rendered once, and again only where the attempt changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from grader.gradebook import results
from grader.receipt.naming import stem_of
from grader.records.gradebook import Row
from grader.records.receipt import Receipt

Render = Callable[[Receipt, str], str]
FORMS = ("html", "md")


def stem(row: Row) -> str:
    """Return the name of a row's receipts without an ending, relative to the results."""
    assert row.receipt is not None
    return f"{row.receipt_folder}/{stem_of(row.receipt.submission.name)}"


def write(row: Row, root: Path, render: Render) -> bool:
    """Write the receipts of one learner; returns whether anything changed.

    The JSON is written last and looked at first: where it is as it should be, so is the rest.
    """
    if row.receipt is None:
        return False
    place = stem(row)
    text = render(row.receipt, "json").encode()
    if results.holds(root / f"{place}.json", text):
        return False
    for form in FORMS:
        results.put(root / f"{place}.{form}", render(row.receipt, form).encode())
    return results.put(root / f"{place}.json", text)
