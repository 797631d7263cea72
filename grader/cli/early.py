"""Start loading JAX before anything else is imported, where the command line asks for a grade.

Nothing heavy may be imported here, and nothing may be decided: what looks like a grade is still
read in full by the command, which takes the host that was started or has it ended.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from grader import secret
from grader.catalog import course as courses
from grader.errors import GradeError
from grader.sandbox import cache
from grader.sandbox.host import Host, open_host

if TYPE_CHECKING:
    from grader.sandbox.platforms import Platform

EXERCISE = re.compile(r"^[a-z]+-[0-9]{2}$")
_Key = tuple[tuple[str, ...], str | None]
_started: list[tuple[_Key, Host]] = []


def start(args: Sequence[str]) -> None:
    """Start a host if `args` name an exercise of the ordinary course and a file that is there.

    Effects: starts a process. `take` or `discard` must follow.
    """
    if len(args) < 2 or not EXERCISE.match(args[0]) or not any(map(_is_one, args[1:])):
        return
    if any(arg == "--help" or arg.startswith(("--course", "--platform")) for arg in args):
        return
    try:
        found = courses.find(None)
        if args[0] in found.ids():
            place = None if "--no-cache" in args else cache_place(found, args[0])
            _started.append(_open(_key(found, place, _signs_with(args))))
    except (GradeError, OSError):
        return  # the command itself says what is wrong


def _signs_with(args: Sequence[str]) -> str | None:
    """Return the key file that the command line names; a guess that is wrong costs time alone."""
    for position, arg in enumerate(args):
        if arg == "--sign" and position + 1 < len(args):
            return args[position + 1]
        if arg.startswith("--sign="):
            return arg.partition("=")[2]
    return None


def _is_one(path: str) -> bool:
    # A class is told apart by the command, and opens a host that fits it.
    return os.path.isfile(path) and not path.lower().endswith(".zip")


def cache_place(found: courses.Course, exercise: str) -> Path | None:
    """Return where this exercise's compiled programs are kept, None where there is no place."""
    try:
        return cache.folder(found.root / "rubrics" / exercise / "warm")
    except RuntimeError:  # no home directory can be found
        return None


def take(
    found: courses.Course,
    place: Path | None,
    sign: str | None = None,
    platform: Platform | None = None,
) -> Host:
    """Return the host for this course and cache, started early or now; see `forbidden`.

    For real devices it is never one that was started early, nor is there a cache.
    """
    if platform is not None:
        return open_host(forbidden(found, sign), None, platform=platform)
    key = _key(found, place, sign)
    for index, (known, host) in enumerate(_started):
        if known == key:
            del _started[index]
            return host
    return _open(key)[1]


def discard() -> None:
    """End what was started and never taken."""
    while _started:
        _started.pop()[1].close()


def forbidden(found: courses.Course, sign: str | None = None) -> list[str]:
    """Return what no child may read: the course's data, our folder of keys, the key that signs."""
    folders = found.secrets()
    with contextlib.suppress(RuntimeError):  # no home directory, so no keys in it
        folders.append(str(secret.home()))
    if sign is not None:
        folders.append(os.path.realpath(sign))
    return folders


def _key(found: courses.Course, place: Path | None, sign: str | None) -> _Key:
    return tuple(forbidden(found, sign)), cache.usable(place) if place else None


def _open(key: _Key) -> tuple[_Key, Host]:
    return key, open_host(*key)
