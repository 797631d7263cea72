"""Private folders of this process, none of which may outlive it, whenever it is told to end.

An end may come at any instruction: while a folder has been made and nobody holds its name yet, or
while the process that would have removed it is being started and was ended together with us.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from grader.errors import EnvironmentProblem

_POLITE: Final = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
_rooms: set[str] = set()
_maker = os.getpid()


def make() -> str:
    """Return a new folder that only this user may enter. Raises: EnvironmentProblem."""
    with _undisturbed():
        try:
            room = tempfile.mkdtemp(prefix="grade-")
        except OSError as error:
            raise no_temporary_folder(error) from error
        _rooms.add(room)
        return room


def remove(room: str) -> None:
    """Remove a folder that `make` gave, which may be gone already."""
    shutil.rmtree(room, ignore_errors=True)
    if not Path(room).exists():
        _rooms.discard(room)


@atexit.register
def remove_all() -> None:
    """Remove what is left of all of them; of a fork's, the folders are its parent's."""
    if os.getpid() == _maker:
        for room in sorted(_rooms):
            remove(room)


def no_temporary_folder(error: OSError) -> EnvironmentProblem:
    """Return the problem of a machine without a place for temporary files."""
    return EnvironmentProblem(
        f"no temporary file can be made: {error.strerror}",
        next_step="make room, or set TMPDIR to a folder that can be written",
    )


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Hold back a polite end for these few lines; only the main thread is ever told of one."""
    if os.name != "posix" or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _POLITE)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
