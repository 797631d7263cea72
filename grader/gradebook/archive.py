"""Look into a zip without unpacking it: what may be read of each member, and what was refused.

Nothing is written to the disk, no link is followed, and no member is read further than it is asked
for: a zip is made by strangers.
"""

from __future__ import annotations

import io
import re
import stat
import struct
import threading
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate, takewhile
from pathlib import Path
from typing import BinaryIO

from grader.errors import UsageProblem
from grader.intake import MOST_BYTES
from grader.records.gradebook import Note

MOST_MEMBERS = 50_000
MOST_TOTAL_BYTES = 8 << 30
MOST_NESTED_BYTES = 64 << 20
# Source text packs ten to one, a bomb a thousand to one; small members cannot do harm.
MOST_RATIO = 200
_RATIO_FROM_BYTES = 4 << 20
# The list of members is read as a whole before it can be counted.
_MOST_LIST_BYTES = 16 << 20
_MOST_NAME_CHARS = 4096
_MOST_DEPTH = 60
# Of the others a single step can unpack without bound, and no platform writes them.
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_DRIVE = re.compile(r"[A-Za-z]:")
_SEPARATORS = ("/", "\\")
_JUNK = frozenset({".ds_store", "thumbs.db", "desktop.ini"})
_JUNK_FOLDERS = frozenset(
    {"__macosx", "__pycache__", "node_modules", "site-packages", ".git", ".venv"}
)
_OTHERS = (
    *((ending, "tar archive") for ending in (".tar", ".tgz", ".tbz", ".tbz2", ".txz", ".tzst")),
    *((f".tar.{packed}", "tar archive") for packed in ("gz", "bz2", "xz", "zst", "z")),
    (".rar", "RAR archive"),
    (".7z", "7-Zip archive"),
)
# What stands at the beginning of an archive that somebody only renamed.
_BEGINNINGS = (
    (0, b"Rar!\x1a\x07", "RAR archive"),
    (0, b"7z\xbc\xaf\x27\x1c", "7-Zip archive"),
    (0, b"\x1f\x8b", "gzip or tar.gz archive"),
    (257, b"ustar", "tar archive"),
)
# Everything that zipfile is known to raise on bytes that are no sound zip.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OverflowError,
    OSError,
)


@dataclass(frozen=True)
class Entry:
    """One file, wherever it lies.

    `path` is relative to its tree: "/" between its parts, NFC, never upwards. `read` gives at most
    that many bytes from the beginning. `modified` is ISO 8601 or empty, good for comparing only:
    copying and unpacking change it. `same` is equal for two entries that are one file. `number` is
    larger for what was handed in later, where the platform counts; `ids` is what it calls the file.
    """

    path: str
    size: int
    read: Callable[[int], bytes]
    shown: str
    modified: str = ""
    same: str = ""
    number: int | None = None
    ids: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Return the last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def folder(self) -> str:
        """Return the path without its last part."""
        return self.path.rpartition("/")[0]


def is_junk(path: str) -> bool:
    """Return whether a file system or a tool put it there, so that nobody needs to hear of it."""
    *folders, name = path.lower().split("/")
    return name in _JUNK or name.startswith("._") or any(one in _JUNK_FOLDERS for one in folders)


def is_zip(name: str) -> bool:
    """Return whether the name says that it is a zip."""
    return name.lower().endswith(".zip")


def other_archive(name: str) -> str:
    """Return what kind of archive the name says it is, of those that are not opened; else nothing.

    They are refused and not read: a packed tar would be unpacked from its beginning for every
    member, and the others need programs that are not here.
    """
    lower = name.lower()
    return next((kind for ending, kind in _OTHERS if lower.endswith(ending)), "")


def shown(name: str) -> str:
    """Return a name as a message shows it: on one line, and text whatever its bytes are."""
    text = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return text if text.isprintable() else repr(text)


def members(path: Path) -> tuple[list[Entry], list[Note]]:
    """Return the files of a zip by path, and what was refused; raises as `opened`."""
    return opened(path).listed()


def opened(path: Path) -> Zip:
    """Return a zip with its members not read yet; it stays open as long as an entry is there.

    Raises:
        UsageProblem: it cannot be read, is no sound zip, or holds more than is allowed.
    """
    where = shown(str(path))
    try:
        with path.open("rb") as file:
            _refuse_renamed(file.read(512), where)
            _refuse_long_list(file, where)
        # Listing the members again for each entry would take longer than grading.
        return Zip(zipfile.ZipFile(path), where, str(path.resolve()))
    except _DAMAGE as error:
        raise _unsound(where, error) from error


def nested(entry: Entry) -> tuple[list[Entry], list[Note]]:
    """Return the files of a zip that is itself a file of a tree; none of its bytes are kept.

    Raises:
        UsageProblem: as `members`.
    """

    def unpacked() -> Zip:
        if entry.size > MOST_NESTED_BYTES:
            raise UsageProblem(
                f"{entry.shown} is a zip of more than {MOST_NESTED_BYTES >> 20} MiB",
                next_step="unpack it by hand and give the folder",
            )
        file = io.BytesIO(entry.read(MOST_NESTED_BYTES + 1))
        try:
            _refuse_renamed(file.read(512), entry.shown)
            _refuse_long_list(file, entry.shown)
            return Zip(zipfile.ZipFile(file), entry.shown, entry.same or entry.shown)
        except _DAMAGE as error:
            raise _unsound(entry.shown, error) from error

    found, notes = unpacked().listed()

    def again(path: str) -> Callable[[int], bytes]:
        def read(most: int) -> bytes:
            entries, _ = unpacked().listed()
            return next(one for one in entries if one.path == path).read(most)

        return read

    # The numbers of the outer file stay: they say which hand-in it is.
    return [
        Entry(
            one.path,
            one.size,
            again(one.path),
            one.shown,
            one.modified,
            one.same,
            entry.number,
            entry.ids,
        )
        for one in found
    ], notes


def _unsound(where: str, error: Exception) -> UsageProblem:
    if isinstance(error, OSError) and error.strerror:
        return UsageProblem(
            f"{where} cannot be read: {error.strerror}", next_step="check its permissions"
        )
    return UsageProblem(
        f"{where} is no sound zip: {error}",
        next_step="download it again, or unpack it by hand and give the folder",
    )


class Zip:
    """An open zip, whose members are read one at a time."""

    def __init__(self, file: zipfile.ZipFile, where: str, same: str) -> None:
        self._zip = file
        self._where = where
        self._same = same
        self._lock = threading.Lock()

    def listed(self) -> tuple[list[Entry], list[Note]]:
        """Return the members that may be read, by path, and what was refused."""
        # `is_dir` fails on a name that begins with a NUL.
        infos = [one for one in self._zip.infolist() if not one.orig_filename.endswith(_SEPARATORS)]
        self._refuse_too_much(len(infos), 0)
        found: dict[str, Entry] = {}
        notes: list[Note] = []
        for info in infos:
            path, refusal = _path(info)
            if path and is_junk(path):
                continue
            who = f"{self._where}: {shown(path or info.orig_filename)[:300]}"
            refusal = refusal or _refusal(info)
            if refusal:
                notes.append(Note("refused", who, refusal))
                continue
            if path in found:
                text = "there twice under one name: the later one counts, as when unpacking"
                notes.append(Note("duplicate", who, text))
            found[path] = self._entry(info, path)
        self._refuse_too_much(len(infos), sum(one.size for one in found.values()))
        return [found[path] for path in sorted(found)], notes

    def hollow(self, entries: Iterable[Entry]) -> frozenset[str]:
        """Return the folders that hold none of these entries, as a walk of the disk would."""
        folders: set[str] = set()
        for info in self._zip.infolist():
            path, _ = _path(info)
            own = path if info.orig_filename.endswith(_SEPARATORS) else path.rpartition("/")[0]
            # A folder that a tool made, or hides, is nobody's; the one around it may be.
            seen = takewhile(lambda part: part[0] != "." and not is_junk(f"{part}/x"), _parts(own))
            folders.update(accumulate(seen, lambda outer, part: f"{outer}/{part}"))
        for entry in entries:
            folders.difference_update(
                accumulate(_parts(entry.folder), lambda outer, part: f"{outer}/{part}")
            )
        return frozenset(folders)

    def _refuse_too_much(self, count: int, total_bytes: int) -> None:
        if count > MOST_MEMBERS or total_bytes > MOST_TOTAL_BYTES:
            raise UsageProblem(
                f"{self._where} holds {count} files of {total_bytes >> 20} MiB together",
                next_step=f"at most {MOST_MEMBERS} files and {MOST_TOTAL_BYTES >> 20} MiB are "
                "read: unpack it by hand and give the folder",
            )

    def _entry(self, info: zipfile.ZipInfo, path: str) -> Entry:
        where = f"{self._where}: {shown(path)}"

        def read(most: int) -> bytes:
            try:
                with self._lock, self._zip.open(info) as member:
                    return b"".join(_pieces(member.read, most))
            except _DAMAGE as error:
                raise UsageProblem(
                    f"{where} is damaged: {error}", next_step="download the zip again"
                ) from error

        same = f"{self._same}\0{info.header_offset}"
        return Entry(path, info.file_size, read, where, _moment(info), same)


def _parts(folder: str) -> list[str]:
    return folder.split("/") if folder else []


def _pieces(read: Callable[[int], bytes], most: int) -> Iterator[bytes]:
    # Until nothing comes: only at the very end is the checksum compared.
    while most > 0 and (piece := read(min(most, MOST_BYTES))):
        most -= len(piece)
        yield piece


def unopened(where: str, kind: str) -> UsageProblem:
    """Return the problem of an archive that is no zip."""
    return UsageProblem(
        f"{where} is a {kind}, and only zips are opened",
        next_step="unpack it and name the folder, or pack it as a zip",
    )


def _refuse_renamed(beginning: bytes, where: str) -> None:
    for at, sign, kind in _BEGINNINGS:
        if beginning[at : at + len(sign)] == sign:
            raise unopened(where, kind)


def _refuse_long_list(file: BinaryIO, where: str) -> None:
    """Raise where the list of members is too long to be read as a whole."""
    end = file.seek(0, io.SEEK_END)
    tail_at = max(0, end - (1 << 16) - 22 - 20)
    file.seek(tail_at)
    tail = file.read(1 << 17)
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) < at + 22:
        raise zipfile.BadZipFile("it has no end record")
    (length,) = struct.unpack_from("<L", tail, at + 12)
    if at >= 20 and tail[at - 20 : at - 16] == b"PK\x06\x07":
        # The record of a large zip lies just before; its own field holds 64 bits.
        (record_at,) = struct.unpack_from("<Q", tail, at - 12)
        file.seek(min(record_at, end))
        record = file.read(56)
        if record[:4] == b"PK\x06\x06" and len(record) == 56:
            (length,) = struct.unpack_from("<Q", record, 40)
    file.seek(0)
    if length > _MOST_LIST_BYTES:
        raise UsageProblem(
            f"{where} lists more members than can be read",
            next_step=f"at most {MOST_MEMBERS} files are read: unpack it by hand",
        )


def _path(info: zipfile.ZipInfo) -> tuple[str, str]:
    """Return the member's path inside the zip, or an empty one and why it is refused."""
    name = unicodedata.normalize("NFC", _decoded(info)).replace("\\", "/")
    if "\0" in name:
        return "", "its name holds a NUL"
    if len(name) > _MOST_NAME_CHARS:
        return "", "its name is too long"
    if name.startswith("/") or _DRIVE.match(name):
        return "", "its name is an absolute path"
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts:
        return "", "its name leads out of the zip"
    if len(parts) > _MOST_DEPTH:
        return "", "it lies too deep"
    if not parts:
        return "", "it has no name"
    return "/".join(parts), ""


def _decoded(info: zipfile.ZipInfo) -> str:
    """Return the name: many tools write UTF-8 without the flag that says so."""
    name = info.orig_filename
    if info.flag_bits & 0x800 or name.isascii():
        return name
    try:
        return name.encode("cp437").decode("utf-8")
    except UnicodeError:
        return name


def _refusal(info: zipfile.ZipInfo) -> str:
    """Return why a member is not read, nothing where it may be."""
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind == stat.S_IFLNK:
        return "a link, which is not followed"
    if kind not in (0, stat.S_IFREG):
        return "no ordinary file"
    if info.flag_bits & 0x1:
        return "encrypted: ask for it without a password"
    if info.compress_type not in _METHODS:
        return "packed in a way that is not read: pack it again as an ordinary zip"
    if info.file_size > max(_RATIO_FROM_BYTES, MOST_RATIO * info.compress_size):
        return f"unpacks to {info.file_size >> 20} MiB from next to nothing"
    return ""


def _moment(info: zipfile.ZipInfo) -> str:
    year, month, day, hour, minute, second = info.date_time
    # A zip's clock starts in 1980, which is what tools write that keep no dates.
    if year <= 1980 or not (1 <= month <= 12 and 1 <= day <= 31):
        return ""
    return f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"
