"""Group work in Canvas: one member hands in, and the file counts for everybody of the group.

Canvas's zip files it under that member and names no group, so only a roster can tell. What it tells
is taken only where it fits the whole class: nobody gets another's grade by a guess.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from grader.gradebook.roster import Roster, identity
from grader.gradebook.sources.found import Found
from grader.gradebook.sources.people import Directory, Identity
from grader.records.gradebook import Note

Shared = Mapping[Identity, tuple[Identity, ...]]
_WHO = "group work"
_UNKNOWN = (
    "Canvas files the work of a group under one member, and the roster names no groups: if this is "
    "group work, give a roster with a column `group`, and every member gets the grade"
)
_EACH = (
    "the roster names groups, and several of one group handed in: each file counts for its own "
    "learner alone"
)


def shared(
    found: Iterable[Found], directory: Directory, roster: Roster | None
) -> tuple[Shared, list[Note]]:
    """Return for whom else the file of each counts, and what to know of that.

    It is group work where of every group at most one member handed in.
    """
    handed = {
        known
        for one in found
        if any("canvas_attachment" in entry.ids for entry in one.tree.entries)
        for person in one.people
        for known in directory.who(person)
    }
    if roster is None or not handed:
        return {}, []
    groups = [tuple(dict.fromkeys(map(identity, own))) for own in roster.groups.values()]
    groups = [own for own in groups if len(own) > 1]
    if not groups:
        silent = any(identity(person) not in handed for person in roster.people)
        return {}, [Note("missing", _WHO, _UNKNOWN)] if silent else []
    present = [[one for one in own if one in handed] for own in groups]
    if any(len(own) > 1 for own in present):
        return {}, [Note("ignored", _WHO, _EACH)]
    names = {identity(person): person.name or person.email for person in roster.people}
    counts: dict[Identity, tuple[Identity, ...]] = {}
    notes: list[Note] = []
    for own, here in zip(groups, present, strict=True):
        if here:
            counts[here[0]] = own
            others = ", ".join(names[one] for one in own if one != here[0])
            text = f"handed in for the group, as the roster has it: counts for {others} as well"
            notes.append(Note("duplicate", names[here[0]], text))
    return counts, notes
