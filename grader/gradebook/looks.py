"""What an export or a report says of one row: its parts, its grade, its words.

Overrides and marks are merged here, once, and nothing that only an instructor may see comes out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from grader.gradebook.rounding import exact, scaled, shown
from grader.gradebook.ungraded import why
from grader.receipt.escape import visible_line
from grader.receipt.view import headline
from grader.records.finding import Finding
from grader.records.gradebook import Override, Row

_REMARK = 160
PartStatus = Literal["passed", "failed", "blocked", "undecided"]


@dataclass(frozen=True)
class Part:
    """One part of a grade after overrides: a check, a mark given by hand, or what is left over.

    `finding` is the check's own answer, None for what a person gave.
    """

    id: str
    title: str
    status: PartStatus
    points: Fraction
    max_points: Fraction
    finding: Finding | None = None
    said: str = ""


def has_grade(row: Row) -> bool:
    """Return whether the row's points may be given to anybody.

    What our side could not decide is no grade until a person has decided every open check.
    """
    if row.status != "graded" or row.receipt is None:
        return False
    by_hand = {one.check for one in row.overrides}
    unsure = [check.id for check in row.receipt.checks if check.status == "undecided"]
    return row.receipt.verdict != "undecided" or (bool(unsure) and set(unsure) <= by_hand)


def points(row: Row) -> Fraction | None:
    """Return `Row.points()` without the error of summing floats; None where there is no grade."""
    if not has_grade(row) or row.receipt is None:
        return None
    changed = sum(one.points - one.was for one in row.overrides)
    return row.receipt.points + changed + sum((exact(m.points) for m in row.marks), Fraction(0))


def max_points(row: Row) -> Fraction | None:
    """Return `Row.max_points()` without the error of summing floats; None where no grade is."""
    if not has_grade(row) or row.receipt is None:
        return None
    return row.receipt.max_points + sum((exact(m.max_points) for m in row.marks), Fraction(0))


def parts(row: Row) -> list[Part]:
    """Return the checks in the receipt's order, then the marks; their points sum to the row's.

    Points that an override gives to a check that the receipt does not have come last.
    """
    if row.receipt is None:
        return []
    found = [_check_part(finding, row.overrides) for finding in row.receipt.checks]
    marks = [
        Part(
            id=mark.item,
            title=mark.item,
            status="passed" if mark.points >= mark.max_points else "failed",
            points=exact(mark.points),
            max_points=exact(mark.max_points),
            said=mark.comment,
        )
        for mark in row.marks
    ]
    return [*found, *marks, *_left_over(row)]


def _check_part(finding: Finding, overrides: Sequence[Override]) -> Part:
    mine = [one for one in overrides if one.check == finding.id]
    now = finding.points + sum(one.points - one.was for one in mine)
    status: PartStatus = finding.status
    if mine:
        status = "passed" if now >= finding.max_points else "failed"
    said = f"Set by {mine[-1].by}: {mine[-1].why}" if mine else ""
    return Part(
        finding.id, finding.title, status, Fraction(now), Fraction(finding.max_points), finding,
        said,
    )  # fmt: skip


def _left_over(row: Row) -> list[Part]:
    receipt = row.receipt
    if receipt is None:
        return []
    known = {check.id for check in receipt.checks}
    extra = receipt.points - sum(check.points for check in receipt.checks)
    extra += sum(one.points - one.was for one in row.overrides if one.check not in known)
    more = receipt.max_points - sum(check.max_points for check in receipt.checks)
    if not extra and not more:
        return []
    status: PartStatus = "passed" if extra >= more else "failed"
    return [Part("other", "Other points", status, Fraction(extra), Fraction(more))]


def mistakes(row: Row) -> list[tuple[str, str]]:
    """Return the mistakes named, each once, as pairs of id and words."""
    checks = row.receipt.checks if row.receipt else []
    named = {c.mistake: c.mistake_title or c.mistake for c in checks if c.mistake is not None}
    return list(named.items())


def state(row: Row) -> str:
    """Return a row's standing in two or three words."""
    reason = why(row)
    if reason is not None and reason.kind != "undecided":
        return f"{reason.kind.capitalize()}: {visible_line(reason.problem)}"
    if row.status == "missing":
        return "Nothing handed in"
    if row.receipt is None or not has_grade(row):
        return "Undecided"
    if row.overrides:
        whole = all(part.status == "passed" for part in parts(row) if part.finding)
        return "Passed" if whole else "Not passed yet"
    return headline(row.receipt)


def next_step(row: Row) -> str:
    """Return what to do about a row without a grade, and why; empty where there is nothing."""
    reason = why(row)
    if reason is None or has_grade(row):
        return ""
    said = reason.text if reason.kind == "undecided" else reason.next_step
    # A file's name stays as it is.
    begin = said[:1] if re.match(r"\S*[./:]\S", said) else said[:1].upper()
    return visible_line(begin + said[1:]).rstrip(".") + "."


def remark(row: Row) -> str:
    """Return what to do about a row without a grade, else why the module stopped; or nothing."""
    if row.receipt is None or row.receipt.verdict != "error":
        return next_step(row)
    said = visible_line(row.receipt.outcome.message)
    return next_step(row) or (said if len(said) <= _REMARK else f"{said[:_REMARK]} …")


def comment(row: Row, to: Fraction | None = None) -> str:
    """Return a grade in a few plain sentences for a comment field; empty without a grade."""
    got, all_ = points(row), max_points(row)
    if got is None or all_ is None:
        return ""
    of = all_ if to is None else to
    said = [f"{shown(scaled(got, all_, to))} of {shown(of)} points. {state(row)}."]
    for part in parts(row):
        finding = part.finding
        if part.status == "passed" and not (finding and part.said):
            continue
        why = part.said
        if finding and not why:
            why = finding.mistake_title or finding.message
            if finding.status == "blocked" and row.overrides:
                # What it waits for may be what a person has just accepted.
                why = "not judged, it waited for another check"
        said.append(visible_line(f"{part.title}: {why}").rstrip(" .:") + ".")
    return " ".join(said).replace("`", "")


def named(row: Row) -> str:
    """Return what an instructor calls a row: the name and the key, each once."""
    name, key = row.person.name, row.person.key
    return visible_line(f"{name} ({key})" if name and name != key else name or key)
