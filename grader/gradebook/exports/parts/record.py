"""What an export is given and what it gives; plain data, nothing is read or written here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Literal

from grader.errors import UsageProblem
from grader.records.gradebook import Gradebook, Row

ReceiptForm = Literal["html", "md"]
Visibility = Literal["visible", "hidden", "after_due_date", "after_published"]


@dataclass(frozen=True)
class Options:
    """What formats can be told; each reads the few that it names in `NEEDS` and `TAKES`.

    `receipt_bytes` gives a row's rendered receipt. `columns` names a template's columns where they
    cannot be found: keys `id`, `grade`, `maximum`, `comment`. `assignment` holds a platform's own
    words: `name`, `url`, `starter_code_url`. `hidden` are checks that a learner is not to see.
    """

    template: Path | None = None
    column: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    scale_to: Decimal | None = None
    form: ReceiptForm = "html"
    receipt_bytes: Callable[[Row, ReceiptForm], bytes] | None = None
    learner: str = ""
    hidden: frozenset[str] = frozenset()
    visibility: Visibility = "visible"
    assignment: Mapping[str, str] = field(default_factory=dict)
    bom: bool = False
    replace_comments: bool = False


@dataclass(frozen=True)
class Change:
    """One cell of a template that an export fills differently."""

    who: str
    column: str
    before: str
    after: str


@dataclass(frozen=True)
class Export:
    """Files to write, by name relative to a folder of the caller's; remarks; changes to a template.

    Remarks are whole sentences for an instructor.
    """

    files: tuple[tuple[str, bytes], ...]
    remarks: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()


def one_row(gradebook: Gradebook, options: Options) -> Row:
    """Return the row of `options.learner` (its key), or the only row there is.

    Raises: UsageProblem, naming the learners there are.
    """
    if not options.learner and len(gradebook.rows) == 1:
        return gradebook.rows[0]
    for row in gradebook.rows:
        if row.person.key == options.learner:
            return row
    keys = [row.person.key for row in gradebook.rows]
    asked = f"There is no learner {options.learner!r}" if options.learner else "Which learner?"
    raise UsageProblem(
        asked,
        where=gradebook.exercise,
        next_step=f"name one with --learner: {listed(keys) or 'the gradebook is empty'}",
    )


def listed(words: list[str], most: int = 10) -> str:
    """Return words separated by commas, and how many more there are."""
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more


def counted(number: int, one: str, many: str = "") -> str:
    """Return a number with its word: `1 learner`, `2 learners`."""
    return f"{number} {one if number == 1 else many or one + 's'}"
