"""Reading and placing whole files: bounded, never through a link, never over another file."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


def shown(path: str | Path) -> str:
    """Return a path as a message shows it: on one line, and text whatever its bytes are."""
    text = os.fsencode(path).decode("utf-8", "replace")
    return text if text.isprintable() else repr(text)


@contextmanager
def opened(path: Path, *, follow: bool = True) -> Iterator[BinaryIO]:
    """Open an ordinary file to read it; a pipe or a device in its place is not waited for.

    Raises: OSError, also for anything else; its `strerror` says which.
    """
    wanted = ["O_NONBLOCK", "O_BINARY", *([] if follow else ["O_NOFOLLOW"])]
    flags = os.O_RDONLY | sum(getattr(os, name, 0) for name in wanted)
    if not follow and path.is_symlink():
        raise OSError(errno.ELOOP, "it is a link, which is not followed")
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    handle = os.open(path, flags)
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "it is no ordinary file")
        yield file


def read_capped(path: Path, most: int) -> bytes:
    """Return the content of an ordinary file of at most `most` bytes; a link is not followed.

    Raises: OSError, also for anything else; its `strerror` says which.
    """
    with opened(path, follow=False) as file:
        raw = file.read(most + 1)
    if len(raw) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most >> 20} MiB")
    return raw


@contextmanager
def staged(folder: Path, files: Mapping[Path, bytes]) -> Iterator[dict[Path, Path]]:
    """Write every content whole into `folder` and yield target -> where it waits.

    Effects: what still waits at the end of the block is removed.
    """
    waiting: dict[Path, Path] = {}
    try:
        for target, raw in files.items():
            waiting[target] = folder / f".{secrets.token_hex(8)}.tmp"
            _write_through(waiting[target], raw)
        yield waiting
    finally:
        for source in waiting.values():
            with suppress(OSError):
                source.unlink(missing_ok=True)


def replace_all(waiting: Mapping[Path, Path]) -> None:
    """Put every waiting file in its place, over what was there."""
    for target, source in waiting.items():
        os.replace(source, target)


def add_all(waiting: Mapping[Path, Path], link: Callable[[Path, Path], None] = os.link) -> None:
    """Put every waiting file where nothing is yet; all of them or, when one cannot be, none.

    Raises: OSError; FileExistsError where something is there by now, which is left as it is.
    """
    done: list[Path] = []
    try:
        for target, source in waiting.items():
            _add(source, target, link)
            done.append(target)
    except BaseException:
        for target in reversed(done):
            with suppress(OSError):
                target.unlink()
        raise


def _add(source: Path, target: Path, link: Callable[[Path, Path], None]) -> None:
    try:
        link(source, target)
    except FileExistsError:
        raise
    except OSError:
        # A file system without hard links; the name is taken first, so that nothing is lost.
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        os.replace(source, target)


def _write_through(path: Path, raw: bytes) -> None:
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags, 0o666), "wb") as file:
        file.write(raw)
        file.flush()
        os.fsync(file.fileno())
