"""The gradebook as the ledger has it: one row for each learner, with what a person changed.

It reads the ledger and the marks file, and decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from grader.catalog.load import Entry
from grader.gradebook.ledger import Attempt, Ledger, Member
from grader.records.gradebook import Gradebook, Mark, Override, Row
from grader.records.receipt import Receipt
from grader.records.submission import Submission

Marks = Mapping[str, tuple[Mark, ...]]


def gradebook(ledger: Ledger, entry: Entry, marks: Marks | None = None) -> Gradebook:
    """Return the whole class on this exercise, by name and then by key."""
    rows = [
        _row(ledger, member, (marks or {}).get(member.person.key, ()))
        for member in ledger.members()
    ]
    return Gradebook(
        exercise=entry.exercise.id,
        title=entry.exercise.title,
        max_points=entry.rubric.max_points,
        checks=tuple(check.id for check in entry.rubric.checks),
        layout=ledger.about("layout"),
        rows=tuple(rows),
        notes=ledger.notes(),
    )


def standing_row(ledger: Ledger, person: str) -> Row | None:
    """Return one learner's row without marks, None for somebody who is not in the class."""
    member = ledger.member(person)
    return None if member is None else _row(ledger, member, ())


def standing(ledger: Ledger, key: str) -> Attempt | None:
    """Return the attempt that counts for a hand-in.

    That is the decided one under its key; where our side could not decide, the last decided one of
    the same bytes under an earlier rubric or earlier versions.
    """
    found = ledger.standing(key)
    if found is not None and found.verdict != "undecided":
        return found
    return ledger.earlier(key.partition(":")[0], key) or found


def _row(ledger: Ledger, member: Member, marks: tuple[Mark, ...]) -> Row:
    facts: Mapping[str, Any] = member.facts or {}
    attempt = standing(ledger, member.key) if member.key else None
    row = Row(
        person=member.person,
        status="undecided" if member.key else "missing",
        submitted_at=str(facts.get("submitted_at", "")),
        late=facts.get("late") is True,
        shown=str(facts.get("shown", "")),
        ids=dict(facts.get("ids", {})),
    )
    if attempt is None or attempt.verdict == "undecided":
        return row
    receipt = named(attempt.read(), str(facts.get("name", "")))
    return replace(
        row,
        status="graded",
        receipt=receipt,
        receipt_folder=f"receipts/{member.person.key}",
        overrides=_in_force(receipt, ledger.overrides(member.person.key)),
        marks=marks,
    )


def named(receipt: Receipt, name: str) -> Receipt:
    """Return the receipt under the name that this learner gave the file.

    Equal bytes are graded once, and not everybody calls them the same.
    """
    graded_as = receipt.submission.name
    if not name or name == graded_as:
        return receipt
    kind = Submission(name, name, b"").format
    part = receipt.submission.model_copy(update={"name": name, "format": kind})
    outcome = receipt.outcome.model_copy(
        update={
            "message": receipt.outcome.message.replace(graded_as, name),
            "next_step": receipt.outcome.next_step.replace(graded_as, name),
        }
    )
    notes = [note.replace(graded_as, name) for note in receipt.notes]
    return receipt.model_copy(update={"submission": part, "outcome": outcome, "notes": notes})


def _in_force(receipt: Receipt, changes: tuple[Override, ...]) -> tuple[Override, ...]:
    """Return the overrides against the points that each check has now."""
    points = {check.id: check.points for check in receipt.checks}
    return tuple(replace(one, was=points[one.check]) for one in changes if one.check in points)
