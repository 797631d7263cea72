"""Private files of what a learner's own commands remember, one JSON object by exercise in each.

They belong to whoever works at this machine; nothing in them may change a grade.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grader.errors import EnvironmentProblem

FILE_BYTES = 1 << 20
BROKEN = ".broken"


def home() -> Path:
    """Return the folder of what is remembered: $XDG_STATE_HOME/grade, else ~/.local/state/grade.

    Raises:
        RuntimeError: there is no home folder.
    """
    base = os.environ.get("XDG_STATE_HOME")
    known = Path(base) if base and os.path.isabs(base) else Path.home() / ".local" / "state"
    return known / "grade"


def read(name: str, exercise: str, folder: Path | None = None) -> dict[str, Any]:
    """Return what a file remembers of an exercise.

    Nothing comes of a file that is missing, broken or not ours. The values are still unchecked.
    """
    found = (_whole(name, folder) or {}).get(exercise)
    return found if isinstance(found, dict) else {}


def write(
    name: str, exercise: str, kept: Mapping[str, Any], what: str, folder: Path | None = None
) -> None:
    """Remember `kept` of an exercise, whatever else the file holds.

    Effects: a file that is no JSON object is kept beside the new one, as `NAME.broken`.

    Raises:
        EnvironmentProblem: it cannot be kept; `what` is its name in that message.
    """
    try:
        place = folder or home()
        known = _whole(name, folder)
        if known is None:
            with contextlib.suppress(FileNotFoundError):
                os.replace(place / name, place / f"{name}{BROKEN}")
        _replace(place, name, {**(known or {}), exercise: kept})
    except (OSError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) else "there is no home folder"
        raise EnvironmentProblem(
            f"{what} cannot be kept: {why}",
            where=str(folder or os.environ.get("XDG_STATE_HOME") or "~/.local/state"),
            next_step="set XDG_STATE_HOME to a folder that can be written",
        ) from error


def _whole(name: str, folder: Path | None) -> dict[str, Any] | None:
    """Return the object in a file, None for what is none."""
    try:
        path = (folder or home()) / name
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe would block for ever
            return None
        with path.open("rb") as file:
            found = json.loads(file.read(FILE_BYTES))
    except (OSError, RuntimeError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _replace(folder: Path, name: str, whole: Mapping[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = folder / f".{secrets.token_hex(8)}.tmp"
    handle = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(whole, file, indent=1, sort_keys=True)
            file.write("\n")
        os.replace(fresh, folder / name)
    except BaseException:
        with contextlib.suppress(OSError):
            fresh.unlink()
        raise
