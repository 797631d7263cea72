"""The rendered receipt of a row, and names that receipts have inside an archive."""

from __future__ import annotations

from grader.errors import UsageProblem
from grader.gradebook.exports.parts.record import Options, listed
from grader.gradebook.looks import has_grade, named
from grader.receipt.naming import safe_stem
from grader.records.gradebook import Gradebook, Row


def receipt_of(row: Row, options: Options) -> bytes:
    """Return a row's receipt as the caller renders it.

    Raises: UsageProblem where no receipts were given.
    """
    if options.receipt_bytes is None:
        raise UsageProblem("The rendered receipts are needed", next_step="render them first")
    return options.receipt_bytes(row, options.form)


def receipt_name(gradebook: Gradebook, options: Options) -> str:
    """Return the receipt's name in an archive: the same each time, so that platforms replace it.

    No platform takes it for anything else: it is not hidden and begins with no `link` and no digit.
    """
    return f"receipt-{safe_stem(gradebook.exercise)}.{options.form}"


def without_receipt(gradebook: Gradebook) -> list[str]:
    """Return who gets no receipt because our side could not decide; they wait for another run."""
    waiting = [named(row) for row in gradebook.rows if row.receipt and not has_grade(row)]
    return [f"Undecided, so no receipt yet: {listed(waiting, 50)}."] if waiting else []
