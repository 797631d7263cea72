"""Why somebody has no grade, and what an instructor can do about it.

It says only what a source, an executor or an undecided receipt told, and decides nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, field
from typing import Literal

from grader.gradebook.ledger import Ledger
from grader.records.gradebook import Collected, Row
from grader.records.receipt import Receipt

Kind = Literal["ambiguous", "refused", "empty", "undecided"]
AGAIN = "run the same command again"
_FACT = "hindered"
_UNDECIDED_IN = {"ambiguous", "refused", "undecided"}


@dataclass(frozen=True)
class Hindrance:
    """What stands between a learner and a grade: `problem` in a few words, and the next step."""

    kind: Kind
    problem: str
    next_step: str

    @property
    def text(self) -> str:
        """Return both in one line."""
        return f"{self.problem}; {self.next_step}" if self.problem else self.next_step


@dataclass(frozen=True)
class Taken(Collected):
    """A source, with what hinders the grade of each whose hand-in cannot be taken, by key."""

    hindered: Mapping[str, Hindrance] = field(default_factory=dict)


@dataclass(frozen=True)
class Ungraded(Row):
    """A learner's line without a grade, and why."""

    why: Hindrance = Hindrance("undecided", "", AGAIN)


def ungraded(row: Row, why: Hindrance | None) -> Row:
    """Return a row without a receipt together with the reason, if one is known."""
    if why is None:
        return row
    status: Literal["undecided", "missing"] = (
        "undecided" if why.kind in _UNDECIDED_IN else "missing"
    )
    return Ungraded(
        row.person,
        status,
        submitted_at=row.submitted_at,
        late=row.late,
        shown=row.shown,
        ids=row.ids,
        why=why,
    )


def why(row: Row) -> Hindrance | None:
    """Return why a row has no grade, None where it has one or nothing was handed in."""
    if isinstance(row, Ungraded):
        return row.why
    if row.status == "undecided":
        return undecided(row.receipt) if row.receipt else Hindrance("undecided", "", AGAIN)
    return None


def standing(row: Row) -> str:
    """Return a row's status in one word: graded, missing, or what kind of hindrance it is."""
    reason = why(row)
    return row.status if reason is None or row.status == "missing" else reason.kind


def undecided(receipt: Receipt) -> Hindrance:
    """Return why a receipt is undecided, in its own words."""
    if receipt.outcome.next_step:
        return Hindrance("undecided", receipt.outcome.message, receipt.outcome.next_step)
    checks = [check for check in receipt.checks if check.status == "undecided"]
    said = next((check.message for check in checks if check.message), "")
    return Hindrance("undecided", said.rstrip(". "), AGAIN)


def keep(
    ledger: Ledger, found: Mapping[str, Hindrance], *, rest: bool, but: Iterable[str] = ()
) -> None:
    """Keep what hinders whom, by key; with `rest` what is known of others stays, `but` of these."""
    before = of(ledger) if rest else {}
    known = {key: one for key, one in before.items() if key not in set(but)} | dict(found)
    ledger.note_about({_FACT: json.dumps({key: astuple(one) for key, one in known.items()})})


def of(ledger: Ledger) -> dict[str, Hindrance]:
    """Return what hindered whom, by key, the last time that it was tried."""
    kept = json.loads(ledger.about(_FACT) or "{}")
    return {key: Hindrance(*facts) for key, facts in kept.items()}


def explained(ledger: Ledger, rows: Iterable[Row]) -> tuple[Row, ...]:
    """Return the rows, those without a grade with the reason as far as it is known."""
    known = of(ledger)
    return tuple(
        row if row.status == "graded" else ungraded(row, known.get(row.person.key)) for row in rows
    )
