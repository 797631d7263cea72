"""Several hand-ins of one person: the same one twice is one, and of two the newer counts.

Where nothing says which is newer, none does, and a note says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from grader.gradebook.sources.found import Picked, listed
from grader.gradebook.sources.people import Identity
from grader.gradebook.ungraded import AGAIN, Hindrance
from grader.records.gradebook import Note


@dataclass(frozen=True)
class Owned:
    """A picked file, the digest of its content, and the identities of those it counts for."""

    picked: Picked
    digest: str
    owners: tuple[Identity, ...]

    @property
    def shown(self) -> str:
        """Return where the file lies."""
        return self.picked.entry.shown


Hindered = dict[Identity, Hindrance]


def settle(every: Sequence[Owned]) -> tuple[list[Owned], Hindered, list[Note]]:
    """Return each file with those it counts for after all, for whom none does, and the notes."""
    by_person: dict[Identity, list[Owned]] = {}
    for one in every:
        for owner in dict.fromkeys(one.owners):
            by_person.setdefault(owner, []).append(one)
    keeps: dict[int, list[Identity]] = {}
    hindered: Hindered = {}
    notes: list[Note] = []
    for owner, own in by_person.items():
        kept = _latest(own, notes) if len(own) > 1 else own[0]
        if kept is not None:
            keeps.setdefault(id(kept), []).append(owner)
        else:
            each = _once(own, [])
            step = f"keep the newest of {listed(one.shown for one in each)}; then {AGAIN}"
            hindered[owner] = Hindrance("ambiguous", f"{len(each)} hand-ins", step)
    settled = [
        Owned(one.picked, one.digest, tuple(keeps[id(one)])) for one in every if id(one) in keeps
    ]
    return settled, hindered, list(dict.fromkeys(notes))


def _latest(own: Sequence[Owned], notes: list[Note]) -> Owned | None:
    """Return the newest of one person's files, None where there is no telling."""
    own = _once(own, notes)
    if len(own) == 1:
        return own[0]
    who = own[0].picked.found.who
    kept = next((best for measure in _MEASURES if (best := _largest(own, measure))), None)
    if kept is None:
        text = f"nothing says which is newest: {listed(one.shown for one in own)}: keep one"
        notes.append(Note("ambiguous", who, text))
        return None
    for one in own:
        if one is not kept:
            text = f"{one.shown} gave way to {kept.shown}, which is newer"
            notes.append(Note("superseded", who, text))
    return kept


def _largest(own: Sequence[Owned], measure: Callable[[Owned], str]) -> Owned | None:
    """Return the one with the largest measure, None where one has none or two have the largest."""
    measured = sorted(own, key=measure)
    least, last, before = measured[0], measured[-1], measured[-2]
    return last if measure(least) and measure(last) > measure(before) else None


def _counted(one: Owned) -> str:
    number = one.picked.entry.number
    return "" if number is None else str(number).zfill(30)


# What a platform says comes before what copying and unpacking change.
_MEASURES: tuple[Callable[[Owned], str], ...] = (
    lambda one: one.picked.found.submitted_at,
    _counted,
    lambda one: one.picked.entry.modified,
)


def _once(own: Sequence[Owned], notes: list[Note]) -> list[Owned]:
    """Return the files without those that are the same file, or hold the same bytes."""
    kept: list[Owned] = []
    for one in sorted(own, key=_order, reverse=True):
        twin = next((other for other in kept if _same(one, other)), None)
        if twin is None:
            kept.append(one)
            continue
        what = (
            "the same file" if one.picked.entry.same == twin.picked.entry.same else "the same bytes"
        )
        text = f"{one.shown}: {what} as {twin.shown}, graded once"
        notes.append(Note("duplicate", one.picked.found.who, text))
    return kept


def _same(one: Owned, other: Owned) -> bool:
    same = one.picked.entry.same
    return (same != "" and same == other.picked.entry.same) or (one.digest == other.digest)


def _order(one: Owned) -> tuple[str, int, str, str]:
    entry = one.picked.entry
    return one.picked.found.submitted_at, entry.number or 0, entry.modified, entry.shown
