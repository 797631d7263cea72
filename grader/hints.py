"""Count how many hints of each check a learner has seen, in a private file.

The count is the learner's own: it is shown beside a grade and never changes one.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from pathlib import Path

from grader.errors import EnvironmentProblem

MOST = 99
FILE_BYTES = 1 << 20
_NAME = "hints.json"


def home() -> Path:
    """Return the folder of what is remembered: $XDG_STATE_HOME/grade, else ~/.local/state/grade.

    Raises:
        RuntimeError: there is no home folder.
    """
    base = os.environ.get("XDG_STATE_HOME")
    known = Path(base) if base and os.path.isabs(base) else Path.home() / ".local" / "state"
    return known / "grade"


def hints_used(exercise: str, folder: Path | None = None) -> dict[str, int]:
    """Return how many hints were shown of each check of an exercise, those of one or more only.

    A file that is missing, broken or not ours counts as none.
    """
    return _read(folder).get(exercise, {})


def use(exercise: str, check: str, folder: Path | None = None) -> int:
    """Return the number of the hint to show now, from 1, and remember that it was shown.

    Raises:
        EnvironmentProblem: the count cannot be kept; no hint may be shown then.
    """
    counts = _read(folder)
    mine = counts.setdefault(exercise, {})
    mine[check] = min(mine.get(check, 0) + 1, MOST)
    try:
        _write(folder or home(), counts)
    except (OSError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) else "there is no home folder"
        raise EnvironmentProblem(
            f"the number of hints cannot be kept: {why}",
            where=str(folder or os.environ.get("XDG_STATE_HOME") or "~/.local/state"),
            next_step="set XDG_STATE_HOME to a folder that can be written",
        ) from error
    return mine[check]


def _read(folder: Path | None) -> dict[str, dict[str, int]]:
    try:
        with ((folder or home()) / _NAME).open("rb") as file:
            found = json.loads(file.read(FILE_BYTES))
    except (OSError, RuntimeError, ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {
        exercise: {name: count for name, count in checks.items() if _is_count(count)}
        for exercise, checks in found.items()
        if isinstance(checks, dict)
    }


def _is_count(value: object) -> bool:
    return type(value) is int and 0 < value <= MOST


def _write(folder: Path, counts: dict[str, dict[str, int]]) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = folder / f".{secrets.token_hex(8)}.tmp"
    handle = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(counts, file, indent=1, sort_keys=True)
            file.write("\n")
        os.replace(fresh, folder / _NAME)
    except BaseException:
        with contextlib.suppress(OSError):
            fresh.unlink()
        raise
