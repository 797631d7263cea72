"""Read a portfolio's zip, a closed format: what `grade portfolio` does not write is refused.

Nothing is written to the disk, and no member is read further than a portfolio may hold.
"""

from __future__ import annotations

import os
import stat
import struct
import zipfile
import zlib
from pathlib import Path
from typing import BinaryIO

from grader.errors import UsageProblem
from grader.portfolio import framing, paths
from grader.portfolio.files import opened, shown
from grader.portfolio.limits import MOST_FILE_BYTES, MOST_FILES, MOST_TOTAL_BYTES, is_bomb
from grader.portfolio.refused import Refused

_MOST_LIST_BYTES = 8 << 20
_OTHERWISE = "it was made by something else, or changed"
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# Everything that zipfile is known to raise on bytes that are no sound zip.
_DAMAGE = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError,
    ValueError, OverflowError,
)  # fmt: skip


def members(path: Path) -> dict[str, bytes]:
    """Return the files of a portfolio's zip, path -> content.

    Raises:
        UsageProblem: there is no such file, or it cannot be read.
        Refused: it is no zip of a portfolio's form; nothing is said about its content yet.
    """
    try:
        with opened(path) as file:
            return _read(file, shown(path))
    except IsADirectoryError as error:
        raise UsageProblem(
            f"{shown(path)} is a folder, and a portfolio's zip is wanted", next_step=_STEP
        ) from error
    except FileNotFoundError as error:
        raise UsageProblem(f"there is no file {shown(path)}", next_step=_STEP) from error
    except OSError as error:
        raise UsageProblem(
            f"{shown(path)} cannot be read: {error.strerror}",
            next_step="check its permissions" if isinstance(error, PermissionError) else _STEP,
        ) from error


_STEP = "name a zip that `grade portfolio` wrote"


def _read(file: BinaryIO, where: str) -> dict[str, bytes]:
    list_at = _refuse_other_forms(file, where)
    try:
        with zipfile.ZipFile(file) as archive:
            infos = archive.infolist()
            for info in infos:
                _refuse(info, where)
            _refuse_together(infos, list_at, where)
            if not framing.is_framed(file, infos, list_at):
                raise _refused(where, "is not packed as `grade portfolio` packs: " + _OTHERWISE)
            return {info.filename: _content(file, info, where) for info in infos}
    except _DAMAGE as error:
        raise _refused(where, f"is damaged: {error}") from error


def _refuse_other_forms(file: BinaryIO, where: str) -> int:
    """Return where the list of members begins; raises unless the file ends right after it."""
    end = file.seek(0, os.SEEK_END)
    file.seek(max(0, end - 22))
    tail = file.read(22)
    if len(tail) < 22 or tail[:4] != b"PK\x05\x06":
        raise _refused(where, "is no zip that `grade portfolio` wrote: it does not end as one")
    disk, first, here, count, size, at, comment = struct.unpack("<4H2LH", tail[4:])
    if disk or first or comment or here != count or at + size + 22 != end:
        raise _refused(where, "is no zip that `grade portfolio` wrote: its end does not fit it")
    if count > MOST_FILES or size > _MOST_LIST_BYTES:
        raise _refused(where, f"lists {count} files, and a portfolio has at most {MOST_FILES}")
    file.seek(0)
    return int(at)


def _refuse(info: zipfile.ZipInfo, where: str) -> None:
    """Raise unless a portfolio may have this member."""
    name = shown(info.orig_filename)[:300]
    mode = info.external_attr >> 16
    if info.filename != info.orig_filename or not paths.is_allowed(info.filename):
        raise _refused(where, f"holds {name}, a name that no file of a portfolio has")
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        raise _refused(where, f"holds {name} as a link or another thing that is no file")
    if info.flag_bits & 0x1:
        raise _refused(where, f"holds {name} encrypted")
    if info.compress_type not in _METHODS:
        raise _refused(where, f"holds {name} packed in a way that no portfolio is")
    if info.file_size > MOST_FILE_BYTES:
        raise _refused(where, f"holds {name} of {info.file_size >> 20} MiB, which is too large")
    if is_bomb(info.file_size, info.compress_size):
        raise _refused(
            where, f"holds {name}, which unpacks to {info.file_size >> 20} MiB from next to nothing"
        )


def _refuse_together(infos: list[zipfile.ZipInfo], list_at: int, where: str) -> None:
    """Raise where members share a name, but for its case, or bytes, or are too much together."""
    seen: dict[str, str] = {}
    for info in infos:
        key, name = info.filename.casefold(), shown(info.filename)
        if seen.get(key) == info.filename:
            raise _refused(where, f"holds {name} twice")
        if key in seen:
            both = f"{shown(seen[key])} and {name}"
            raise _refused(where, f"holds {both}, which differ in case alone")
        seen[key] = info.filename
    total = sum(info.file_size for info in infos)
    if total > MOST_TOTAL_BYTES:
        raise _refused(where, f"unpacks to {total >> 20} MiB, which is too much")
    ordered = sorted(infos, key=lambda info: info.header_offset)
    ends = [info.header_offset for info in ordered[1:]] + [list_at]
    for info, end in zip(ordered, ends, strict=True):
        if info.header_offset + 30 + len(info.filename.encode()) + info.compress_size > end:
            raise _refused(where, f"holds {shown(info.filename)} in the same bytes as another file")


def _content(file: BinaryIO, info: zipfile.ZipInfo, where: str) -> bytes:
    raw = framing.content(file, info)
    if raw is None:
        raise _refused(where, f"is damaged: {shown(info.filename)} is not what its list says")
    return raw


def _refused(where: str, what: str) -> Refused:
    return Refused(
        f"{where} {what}",
        next_step="nothing was restored; take the zip as `grade portfolio` wrote it",
    )
