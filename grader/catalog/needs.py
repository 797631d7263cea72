"""Whether the packages that an exercise uses are installed; none of them is imported for that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import metadata

from grader.catalog.models import Exercise, Need
from grader.errors import EnvironmentProblem

OURS = "shardgrade"


def insist(exercise: Exercise) -> None:
    """Return where every package is there.

    Raises:
        EnvironmentProblem: one is missing; nothing of the exercise may run then.
    """
    lacking = [need for need in exercise.needs if version(need) is None]
    if not lacking:
        return
    names = " and ".join(need.package for need in lacking)
    raise EnvironmentProblem(
        f"{exercise.id} uses {names}, not installed here; nothing was run",
        next_step=" and ".join(dict.fromkeys(map(install, lacking))),
    )


def version(need: Need) -> str | None:
    """Return the version that is installed, None where the package is missing."""
    try:
        return metadata.version(need.package)
    except metadata.PackageNotFoundError:
        return None


def install(need: Need) -> str:
    """Return the command that brings a package."""
    return f"pip install '{OURS}[{need.extra}]'" if need.extra else f"pip install {need.package}"


def of_all(exercises: Iterable[Exercise]) -> Mapping[Need, list[str]]:
    """Return each package that some exercise uses, with the ids of those."""
    found: dict[Need, list[str]] = {}
    for exercise in exercises:
        for need in exercise.needs:
            found.setdefault(need, []).append(exercise.id)
    return found
