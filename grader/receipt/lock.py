"""One writer at a time in a folder, on any file system, by a file that only one can create.

It never waits without bound, and never trusts a lock whose holder is gone.
"""

from __future__ import annotations

import errno
import os
import secrets
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

STALE_S = 60.0


class LockTimeout(OSError):
    """Somebody else held the lock for the whole waiting time."""


@dataclass(frozen=True)
class Patience:
    """How long to wait for a lock, how old it must be to count as left behind, how often to look.

    The wait is longer than the age, so that a lock left behind is always taken over.
    """

    wait_s: float = STALE_S + 10.0
    stale_s: float = STALE_S
    poll_s: float = 0.02


@contextmanager
def folder_lock(folder: Path, patience: Patience = Patience()) -> Iterator[None]:
    """Hold `folder`'s lock file for the length of the block.

    Raises: LockTimeout when it stays taken; OSError when the folder cannot be written.
    Effects: creates and removes `folder/.lock`.
    """
    path = folder / ".lock"
    token = f"{os.getpid()} {socket.gethostname()} {secrets.token_hex(8)}\n"
    deadline = time.monotonic() + patience.wait_s
    while not _take(path, token):
        if _is_left_behind(path, patience.stale_s):
            _set_aside(path, patience.stale_s)
            continue
        if time.monotonic() > deadline:
            raise LockTimeout(f"{path.name} is still held after {patience.wait_s:.0f} s")
        time.sleep(patience.poll_s)
    try:
        yield
    finally:
        _release(path, token)


def _take(path: Path, token: str) -> bool:
    try:
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
    except FileExistsError:
        return False
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(token)
    except OSError:
        path.unlink(missing_ok=True)
        raise
    return True


def _is_left_behind(path: Path, stale_s: float) -> bool:
    try:
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EEXIST, f"{path.name} there is no ordinary file; take it away")
        age_s = time.time() - found.st_mtime
        holder = path.read_text(encoding="utf-8", errors="replace").split()
    except FileNotFoundError:
        return False
    return age_s > stale_s or _holder_is_gone(holder)


def _holder_is_gone(holder: list[str]) -> bool:
    """Return whether the lock was made on this machine by a process that no longer exists."""
    return len(holder) == 3 and holder[1] == socket.gethostname() and is_gone(holder[0])


def is_gone(pid: str) -> bool:
    """Return whether this machine has no process of that id; False where that cannot be told."""
    # On Windows os.kill(pid, 0) would interrupt the process instead of asking about it.
    if os.name != "posix":
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError, OverflowError):
        pass
    return False


def _set_aside(path: Path, stale_s: float) -> None:
    """Remove a lock left behind, unless another process just replaced it with its own.

    Renaming first makes the file ours alone; when it turns out to be a live lock it goes back.
    """
    aside = path.with_name(f".lock-{secrets.token_hex(8)}")
    with suppress(FileNotFoundError):
        os.rename(path, aside)
        if not _is_left_behind(aside, stale_s):
            with suppress(OSError):
                os.link(aside, path)
        aside.unlink(missing_ok=True)


def _release(path: Path, token: str) -> None:
    with suppress(OSError):
        if path.read_text(encoding="utf-8") == token:
            path.unlink()
