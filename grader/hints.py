"""Count how many hints of each check a learner has seen, in a private file.

The count is the learner's own: it is shown beside a grade and never changes one.
"""

from __future__ import annotations

from pathlib import Path

from grader import remembered

MOST = 99
_NAME = "hints.json"


def hints_used(exercise: str, folder: Path | None = None) -> dict[str, int]:
    """Return how many hints were shown of each check of an exercise, those of one or more only.

    A file that is missing, broken or not ours counts as none.
    """
    found = remembered.read(_NAME, exercise, folder)
    return {check: count for check, count in found.items() if _is_count(count)}


def use(exercise: str, check: str, folder: Path | None = None) -> int:
    """Return the number of the hint to show now, from 1, and remember that it was shown.

    Raises:
        EnvironmentProblem: the count cannot be kept; no hint may be shown then.
    """
    counts = hints_used(exercise, folder)
    counts[check] = min(counts.get(check, 0) + 1, MOST)
    remembered.write(_NAME, exercise, counts, "the number of hints", folder)
    return counts[check]


def forget(exercise: str, folder: Path | None = None) -> None:
    """Forget which hints of an exercise were shown.

    Raises:
        EnvironmentProblem: that cannot be kept; all is as it was.
    """
    if remembered.read(_NAME, exercise, folder):
        remembered.write(_NAME, exercise, {}, "the number of hints", folder)


def _is_count(value: object) -> bool:
    return type(value) is int and 0 < value <= MOST
