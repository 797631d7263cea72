"""What was given to grade, as trees of files: folders, zips and single files look alike from here.

No link is followed out of the folder it lies in, and nothing but ordinary files is ever opened.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path

from grader.errors import UsageProblem
from grader.gradebook import results
from grader.gradebook.archive import (
    Entry,
    is_junk,
    is_zip,
    opened,
    other_archive,
    shown,
    unopened,
)
from grader.records.gradebook import Note

MOST_FILES = 200_000
_MOST_DEPTH = 60


@dataclass(frozen=True)
class Tree:
    """Files under one name.

    `repositories` are the folders that hold a `.git`, and `hollow` those without a file, both
    relative; an empty name is the tree itself.
    """

    name: str
    entries: tuple[Entry, ...]
    notes: tuple[Note, ...] = ()
    repositories: frozenset[str] = frozenset()
    hollow: frozenset[str] = frozenset()
    where: str = ""

    @cached_property
    def folders(self) -> dict[str, Tree]:
        """Return the trees of the folders at the top, by name; the notes stay with the whole."""
        files: dict[str, list[Entry]] = {}
        for entry in self.entries:
            first, slash, rest = entry.path.partition("/")
            if slash:
                files.setdefault(first, []).append(replace(entry, path=rest))
        repositories, hollow = _by_folder(self.repositories), _by_folder(self.hollow)
        return {
            name: Tree(
                name,
                tuple(files.get(name, ())),
                (),
                frozenset(repositories.get(name, ())),
                frozenset(hollow.get(name, ())),
                f"{self.where}/{name}",
            )
            for name in sorted(files.keys() | repositories.keys() | hollow.keys())
        }

    @cached_property
    def files(self) -> list[Entry]:
        """Return the files that lie directly in it."""
        return [entry for entry in self.entries if "/" not in entry.path]

    def only_folder(self) -> Tree | None:
        """Return the tree of the only folder, None where anything lies beside it."""
        return (
            next(iter(self.folders.values())) if len(self.folders) == 1 > len(self.files) else None
        )


def _by_folder(paths: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in paths:
        first, _, rest = path.partition("/")
        if first:
            found.setdefault(first, []).append(rest)
    return found


def of_path(path: Path) -> Tree:
    """Return the tree of a folder, or of a zip, or of one file.

    Raises:
        UsageProblem: there is no such thing, it cannot be read, or it holds too much.
    """
    where = shown(str(path))
    try:
        kind = path.stat().st_mode
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageProblem(
            f"{where} cannot be read: {reason}", next_step="check the name and the folder"
        ) from error
    name = _text(path.resolve().name)
    if stat.S_ISDIR(kind):
        return _of_folder(path, name)
    if not stat.S_ISREG(kind):
        raise UsageProblem(f"{where} is no ordinary file", next_step="name a folder, zip or file")
    if is_zip(path.name):
        packed = opened(path)
        entries, notes = packed.listed()
        name, hollow = _text(path.name)[:-4], packed.hollow(entries)
        return Tree(name, tuple(entries), tuple(notes), hollow=hollow, where=where)
    if kind_of := other_archive(path.name):
        raise unopened(where, kind_of)
    # The name is the one that was typed, the file the one that a link leads to.
    real = path.resolve()
    entry = _entry(_text(path.name), str(real), real.stat(), where)
    return Tree(_text(path.absolute().parent.name), (entry,), where=where)


def together(trees: Sequence[Tree], files: Sequence[Entry], name: str, where: str) -> Tree:
    """Return one tree of folders and files that lie side by side and were named one by one."""
    entries = list(files)
    for tree in trees:
        entries += [replace(one, path=f"{tree.name}/{one.path}") for one in tree.entries]
    inside = [(tree.name, tree.repositories, tree.hollow) for tree in trees]
    return Tree(
        name,
        tuple(sorted(entries, key=_order)),
        tuple(note for tree in trees for note in tree.notes),
        frozenset(f"{top}/{one}".rstrip("/") for top, found, _ in inside for one in found),
        frozenset(f"{top}/{one}".rstrip("/") for top, _, found in inside for one in found),
        where,
    )


def _order(entry: Entry) -> tuple[str, str]:
    return entry.path, entry.shown


def _of_folder(root: Path, name: str) -> Tree:
    walk = _Walk(shown(str(root)))
    # No folder is reached through a link, so what is joined to a real name is real.
    walk.folder(os.path.realpath(root), ())
    return Tree(
        name,
        tuple(sorted(walk.entries, key=_order)),
        tuple(walk.notes),
        frozenset(walk.repositories),
        frozenset(walk.hollow),
        walk.where,
    )


class _Walk:
    """A walk through one folder: the files found, and what was not followed."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.entries: list[Entry] = []
        self.notes: list[Note] = []
        self.repositories: set[str] = set()
        self.hollow: set[str] = set()

    def folder(self, place: str, parts: tuple[str, ...]) -> None:
        """Add everything below `place`, which lies at `parts`."""
        before = len(self.entries)
        try:
            with os.scandir(place) as found:
                inside = sorted(found, key=lambda one: one.name)
        except OSError as error:
            if not parts:
                raise UsageProblem(
                    f"{self.where} cannot be read: {error.strerror}",
                    next_step="check its permissions",
                ) from error
            self.refuse(parts, f"this folder cannot be read: {error.strerror}")
            return
        for one in inside:
            path = (*parts, _text(one.name))
            try:
                self.one(one, path)
            except OSError as error:
                self.refuse(path, f"cannot be read: {error.strerror}")
        if len(self.entries) == before:
            self.hollow.add("/".join(parts))

    def one(self, found: os.DirEntry[str], path: tuple[str, ...]) -> None:
        """Add one thing of a folder."""
        if found.name == ".git":
            self.repositories.add("/".join(path[:-1]))
        elif found.is_dir(follow_symlinks=False):
            # An environment holds thousands of files that nobody wrote.
            environment = os.path.exists(os.path.join(found.path, "pyvenv.cfg"))
            if environment or path[-1].startswith(".") or is_junk(f"{path[-1]}/"):
                return
            if _is_ours(found.path):
                self.notes.append(Note("ignored", self.said(path), "results of an earlier grade"))
                return
            if len(path) > _MOST_DEPTH:
                self.refuse(path, "this folder lies too deep")
            else:
                self.folder(found.path, path)
        elif not is_junk("/".join(path)):
            self.file(found, path)

    def file(self, found: os.DirEntry[str], path: tuple[str, ...]) -> None:
        """Add a file, or note why it is none."""
        place = found.path
        if found.is_symlink():
            place = os.path.realpath(place)
            # A learner's clone may hold a link to anything on this machine, or to a neighbour.
            if not place.startswith(os.path.join(os.path.dirname(found.path), "")):
                self.refuse(path, "a link that leads out of its folder, which is not followed")
                return
        known = os.stat(place, follow_symlinks=False)
        if not stat.S_ISREG(known.st_mode):
            self.refuse(path, "no ordinary file")
            return
        if len(self.entries) >= MOST_FILES:
            raise UsageProblem(
                f"{self.where} holds more than {MOST_FILES} files",
                next_step="name the folder that holds the hand-ins and nothing else",
            )
        self.entries.append(_entry("/".join(path), place, known, self.said(path)))

    def said(self, path: tuple[str, ...]) -> str:
        """Return what a message calls the thing at a path."""
        return shown("/".join((self.where.rstrip("/"), *path)))

    def refuse(self, path: tuple[str, ...], why: str) -> None:
        """Note what is not read."""
        self.notes.append(Note("refused", self.said(path), why))


def _is_ours(place: str) -> bool:
    """Return whether a folder holds what a grade wrote: results or receipts of some exercise."""
    marks = (results.LEDGER, ".index.json")
    with suppress(OSError), os.scandir(place) as found:
        folders = [place, *(one.path for one in found if one.is_dir(follow_symlinks=False))]
        return any(os.path.isfile(os.path.join(at, mark)) for at in folders for mark in marks)
    return False


def _entry(path: str, place: str, known: os.stat_result, where: str) -> Entry:
    moment = datetime.fromtimestamp(known.st_mtime, UTC).isoformat(timespec="microseconds")
    return Entry(path, known.st_size, partial(_read, place, where), where, moment, place)


def _read(place: str, where: str, most: int) -> bytes:
    # What was an ordinary file when it was listed need not be one now.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        with open(os.open(place, flags | getattr(os, "O_BINARY", 0)), "rb") as file:
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return file.read(most)
    except OSError as error:
        raise UsageProblem(
            f"{where} cannot be read: {error.strerror}", next_step="check its permissions"
        ) from error
    raise UsageProblem(f"{where} is no ordinary file", next_step="put the file itself there")


def _text(name: str) -> str:
    """Return a name as text in one form; macOS and zips disagree on how an accent is written."""
    return unicodedata.normalize("NFC", os.fsencode(name).decode("utf-8", "replace"))
