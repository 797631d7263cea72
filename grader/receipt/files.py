"""Sets of files that appear on disk together: each whole, or none of them.

It knows nothing about receipts, and overwrites only what its caller names as a target.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

Move = tuple[Path, Path]


@contextmanager
def made(*folders: Path) -> Iterator[None]:
    """Make the folders with their parents; when the block fails, remove what was made here."""
    new: list[Path] = []
    try:
        for folder in folders:
            missing = [path for path in (folder, *folder.parents) if not path.exists()]
            for path in reversed(missing):
                path.mkdir(exist_ok=True)
                new.append(path)
        yield
    except BaseException:
        for path in reversed(new):
            with suppress(OSError):
                path.rmdir()
        raise


@contextmanager
def staged(texts: Mapping[Path, str]) -> Iterator[list[Move]]:
    """Write every text whole beside its target and yield the moves that put them in place.

    Effects: what has not been moved by the end of the block is removed.
    """
    moves: list[Move] = []
    try:
        for target, text in texts.items():
            moves.append((target.with_name(f".{secrets.token_hex(8)}.tmp"), target))
            _write_through(moves[-1][0], text)
        yield moves
    finally:
        for source, _ in moves:
            with suppress(OSError):
                source.unlink(missing_ok=True)


def read_ordinary(path: Path) -> bytes:
    """Return the content of an ordinary file; a pipe in its place would block for ever.

    Raises: OSError, also for anything that is no ordinary file.
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, f"{path.name} is no ordinary file")
        return file.read()


def move_all(moves: Sequence[Move]) -> None:
    """Rename every source to its target, in order; put all of them back when one fails.

    Only the last target may exist already, since a replaced file cannot be put back.
    """
    done: list[Move] = []
    try:
        for source, target in moves:
            os.replace(source, target)
            done.append((source, target))
    except BaseException:
        for source, target in reversed(done):
            with suppress(OSError):
                os.replace(target, source)
        raise
    for folder in {target.parent for _, target in moves}:
        _sync_folder(folder)


def _write_through(path: Path, text: str) -> None:
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags, 0o666), "wb") as file:
        file.write(text.encode(errors="backslashreplace"))
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    # Makes the renames survive a power cut where the system allows it; Windows does not.
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
