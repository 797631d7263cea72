"""The folder of results: one folder of receipts for each learner, and the files of the whole class.

A file is replaced whole or not at all, and only where it changes.
"""

from __future__ import annotations

import os
import re
import secrets
import socket
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from grader.errors import EnvironmentProblem
from grader.receipt.lock import is_gone

LEDGER, MARKS = "ledger.sqlite", "marks.csv"
ANONYMOUS, PSEUDONYMS = "anonymous", "pseudonyms.csv"
_FRESH = re.compile(r"\.([0-9a-f]{8})-([0-9]+)-[0-9a-f]{16}\.tmp")


def folder(out: Path, exercise: str) -> Path:
    """Return the folder for one exercise's results, made where it is missing.

    Raises: EnvironmentProblem where it cannot be made.
    Effects: removes what a process that was killed left half written.
    """
    place = out / exercise
    try:
        place.mkdir(parents=True, exist_ok=True)
        for left in filter(_is_left_behind, place.rglob(".*.tmp")):
            left.unlink(missing_ok=True)
    except OSError as error:
        raise unwritable(place, error) from error
    return place


def put(place: Path, content: bytes) -> bool:
    """Write a file in one step unless it holds these bytes already; returns whether it changed.

    Raises: EnvironmentProblem where it cannot be written; the old file stays then.
    """
    if holds(place, content):
        return False
    fresh = place.with_name(f".{_host()}-{os.getpid()}-{secrets.token_hex(8)}.tmp")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            fresh.write_bytes(content)
            os.replace(fresh, place)
        finally:
            with suppress(OSError):
                fresh.unlink(missing_ok=True)
    except OSError as error:
        raise unwritable(place, error) from error
    return True


def put_all(root: Path, files: Mapping[str, bytes]) -> list[str]:
    """Write several files under `root`; returns the names of those that changed."""
    return [name for name, content in files.items() if put(root / name, content)]


def holds(place: Path, content: bytes) -> bool:
    """Return whether a file is there with just these bytes."""
    try:
        found = place.lstat()
        return found.st_size == len(content) and place.read_bytes() == content
    except OSError:
        return False


def _host() -> str:
    return f"{zlib.crc32(socket.gethostname().encode()):08x}"


def _is_left_behind(path: Path) -> bool:
    """Return whether a process of this machine wrote it that is not there any more."""
    found = _FRESH.fullmatch(path.name)
    return found is not None and found[1] == _host() and is_gone(found[2])


def unwritable(place: Path, error: OSError) -> EnvironmentProblem:
    """Return the problem of a file of the results that cannot be written."""
    return EnvironmentProblem(
        f"the results cannot be written: {error.strerror or error}",
        where=str(place),
        next_step="mend that, then run the same command: it goes on where it stopped",
    )
