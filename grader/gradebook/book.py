"""The gradebook as the ledger has it: one row for each learner, with what a person changed.

It reads the ledger and the marks file, and decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from grader.catalog.load import Entry
from grader.gradebook import ungraded
from grader.gradebook.ledger import Attempt, Ledger, Member
from grader.records.gradebook import Gradebook, Mark, Override, Row
from grader.records.receipt import LearnerPart, Receipt
from grader.records.submission import Submission

Marks = Mapping[str, tuple[Mark, ...]]


def gradebook(
    ledger: Ledger,
    entry: Entry,
    marks: Marks | None = None,
    each: Callable[[Row], Row] = lambda row: row,
) -> Gradebook:
    """Return the whole class on this exercise, by name and then by key.

    Each row goes through `each` as soon as it is there: with `told` the receipts of a large class
    are never in memory all at once.
    """
    rows = [
        each(_row(ledger, member, (marks or {}).get(member.person.key, ())))
        for member in ledger.members()
    ]
    return Gradebook(
        exercise=entry.exercise.id,
        title=entry.exercise.title,
        max_points=entry.rubric.max_points,
        checks=tuple(check.id for check in entry.rubric.checks),
        layout=ledger.about("layout"),
        rows=ungraded.explained(ledger, rows),
        notes=ledger.notes(),
    )


def told(row: Row) -> Row:
    """Return a row with what the files of a class say of it: without evidence, output and texts.

    Those are most of a receipt, and the ledger keeps them.
    """
    receipt = row.receipt
    if receipt is None:
        return row
    checks = [
        one.model_copy(update={"evidence": [], "items": [], "hint": ""}) for one in receipt.checks
    ]
    slim = {
        "checks": checks,
        "environment": receipt.environment.model_copy(update={"packages": {}}),
        "payload_model": None,
        "compiled_bytes": receipt.compiled_bytes.model_copy(update={"rows": []}),
        "observed_cpu_us": receipt.observed_cpu_us.model_copy(update={"rows": []}),
        "output": receipt.output.model_copy(update={"text": ""}),
        "source_lines": [],
        "notes": [],
    }
    return replace(row, receipt=receipt.model_copy(update=slim))


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
    attempt = standing(ledger, member.key) if member.key else None
    if attempt is None or attempt.verdict == "undecided":
        return bare(member)
    row = graded_row(member, attempt.read())
    assert row.receipt is not None
    changes = in_force(row.receipt, ledger.overrides(member.person.key))
    return replace(row, overrides=changes, marks=marks)


def graded_row(member: Member, receipt: Receipt) -> Row:
    """Return a learner's row with this verdict, and nothing that a person changed."""
    person = member.person
    whose = LearnerPart(name=person.name, id=person.key, email=person.email)
    mine = named(receipt, str((member.facts or {}).get("name", "")))
    return replace(
        bare(member),
        status="graded",
        receipt=mine.model_copy(update={"learner": whose}),
        receipt_folder=f"receipts/{member.person.key}",
    )


def bare(member: Member) -> Row:
    """Return a learner's row as it is without a verdict."""
    facts: Mapping[str, Any] = member.facts or {}
    return Row(
        person=member.person,
        status="undecided" if member.key else "missing",
        submitted_at=str(facts.get("submitted_at", "")),
        late=facts.get("late") is True,
        shown=str(facts.get("shown", "")),
        ids=dict(facts.get("ids", {})),
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


def in_force(receipt: Receipt, changes: tuple[Override, ...]) -> tuple[Override, ...]:
    """Return the overrides, each against the one before, the first against the check's own points.

    So they sum up to what the last one says, whatever points the check has now.
    """
    points = {check.id: check.points for check in receipt.checks}
    found = []
    for one in changes:
        if one.check in points:
            found.append(replace(one, was=points[one.check]))
            points[one.check] = one.points
    return tuple(found)
