"""A part of a class that is graded again: everybody who is not in it stays as they were.

A roster names the whole class, so whoever is silent in the part may well have handed in before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from grader.gradebook.ledger import Member
from grader.records.gradebook import Collected, Note, Person


def of_class(part: Collected, members: Sequence[Member], notes: Iterable[Note]) -> Collected:
    """Return the source of a part with the people and the notes that the whole class has then.

    Args:
        part: what is graded again.
        members: the class as it was known before.
        notes: what was noted of it.
    """
    again = {person.key for hand_in in part.hand_ins for person in hand_in.people}
    known = {member.person.key for member in members}
    stays = [one.person for one in members if one.key and one.person.key not in again]
    people = tuple(one for one in part.people if one.key in again or one.key not in known)
    told_anew = _called(one for one in part.people if one.key in again)
    kept = [note for note in notes if note.who not in told_anew]
    fresh = [
        note for note in part.notes if note.kind != "missing" or note.who not in _called(stays)
    ]
    every = sorted({*kept, *fresh}, key=lambda one: (one.who.casefold(), one.kind, one.text))
    return replace(part, people=people, notes=tuple(every))


def _called(people: Iterable[Person]) -> set[str]:
    """Return what notes call these people."""
    return {name for one in people for name in (one.name, one.email, one.key) if name}
