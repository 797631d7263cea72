"""Which exercise a file belongs to by its name, and a note where a grade was of another one."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator

from grader.catalog.course import Course
from grader.catalog.load import Entry, entry
from grader.catalog.models import Exercise
from grader.errors import GradeError
from grader.records.evidence import Evidence

# A single name, such as `mesh`, may well be the learner's own.
_LEAST_NAMES = 2


def carried(name: str, ids: Iterable[str]) -> str | None:
    """Return the exercise whose id stands in a file's name, None for none and for several.

    An id counts as a word of its own: `my_distributed-03_v2.ipynb` carries one, and
    `distributed-033.py` none. Case does not matter, and an underscore may stand for a dash.
    """
    plain = name.lower().replace("_", "-")
    found = [one for one in ids if _stands_in(one.lower().replace("_", "-"), plain)]
    # The longer of `ring-01` and `big-ring-01` is the one that was written.
    found = [one for one in found if not any(one != other and one in other for other in found)]
    return found[0] if len(found) == 1 else None


def _stands_in(exercise: str, name: str) -> bool:
    ends = r"(?!\d)" if exercise[-1:].isdigit() else r"(?![a-z0-9])"
    return re.search(rf"(?<![a-z0-9]){re.escape(exercise)}{ends}", name) is not None


def notes(found: Entry, name: str, evidence: Evidence) -> list[str]:
    """Return a note where nothing that is asked for is defined, and the file is another exercise's.

    It is another one's by its name, else by the names that it defines.
    """
    if _has_begun(found.exercise, evidence):
        return []
    exercise, ids = found.exercise.id, found.course.ids()
    of_name = carried(name, ids)
    other = of_name if of_name not in (None, exercise) else _by_names(found, evidence.names)
    if other is None:
        return []
    file = name if shlex.quote(name) == name and not name.startswith("-") else "FILE"
    return [f"{name} looks like {other}'s: did you mean `grade {other} {file}`?"]


def _has_begun(exercise: Exercise, evidence: Evidence) -> bool:
    """Return whether a module defines anything that earns points."""
    claims = [evidence.claims[name] for name in exercise.claims if name in evidence.claims]
    return (
        any(one.status != "missing" for one in evidence.programs.values())
        or any(one.status != "missing" for one in evidence.round_trips.values())
        or any(one.kind != "missing" for one in claims)
    )


def _by_names(found: Entry, defined: Iterable[str]) -> str | None:
    """Return the exercise that asks for most of these names, None where it is this one or none."""
    mine = set(defined)
    counts = {one.id: len(mine & asked(one)) for one in _others(found.course, found.exercise.id)}
    best = max(counts, key=lambda name: counts[name], default=None)
    return best if best is not None and counts[best] >= _LEAST_NAMES else None


def _others(course: Course, exercise: str) -> Iterator[Exercise]:
    for name in course.ids():
        if name != exercise:
            try:
                yield entry(course, name).exercise
            except GradeError:
                continue  # one that is wrong is told where it is asked for


def asked(exercise: Exercise) -> set[str]:
    """Return the names that a solution of an exercise defines."""
    trips = {name for trip in exercise.round_trips for name in (trip.save, trip.restore)}
    return {one.name for one in exercise.programs} | set(exercise.claims) | trips
