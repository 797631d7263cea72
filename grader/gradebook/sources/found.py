"""What a layout finds in a tree, and which of a learner's files is the one to grade."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from grader.errors import GradeError
from grader.gradebook.archive import Entry, is_zip, nested, other_archive
from grader.gradebook.sources.tree import Tree
from grader.gradebook.ungraded import AGAIN, Hindrance
from grader.intake import MOST_BYTES
from grader.records.gradebook import Note, Person

_ENDINGS = (".py", ".ipynb")
# Files that go with a program and are seldom one.
_ASIDE_NAMES = frozenset({"__init__.py", "__main__.py", "setup.py", "conftest.py", "noxfile.py"})
_ASIDE_NAME = re.compile(r"test_.*|.*_test\.[a-z]+|\..*")
_ASIDE_FOLDERS = frozenset({"tests", "test", "docs", "doc", "examples", "build", "dist"})
_COPY = re.compile(r" ?\([0-9]+\)$")
_MOST_SHOWN = 8


@dataclass(frozen=True)
class Found:
    """One learner's or one group's files, as a layout found them; no person has a key yet.

    `opens_zip` says that a lone zip is the learner's own packing.
    """

    people: tuple[Person, ...]
    tree: Tree
    shown: str
    submitted_at: str = ""
    late: bool = False
    ids: Mapping[str, str] = field(default_factory=dict)
    opens_zip: bool = False

    @property
    def who(self) -> str:
        """Return how a note calls them."""
        return ", ".join(one.name or one.email or self.shown for one in self.people) or self.shown


@dataclass(frozen=True)
class Reading:
    """Everything a layout found in a tree; `people` are those known to have handed in nothing."""

    found: tuple[Found, ...] = ()
    people: tuple[Person, ...] = ()
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True)
class Picked:
    """The one file of what was found, and those beside it."""

    found: Found
    entry: Entry
    beside: tuple[Entry, ...]


@dataclass(frozen=True)
class Wanted:
    """The name a solution has in this exercise: the exercise's id, or a file's name."""

    name: str

    @property
    def file(self) -> str:
        """Return the name as that of a file."""
        return self.name if is_source(self.name) else f"{self.name}.py"

    def rank(self, name: str) -> int | None:
        """Return 0 for the exercise's own name, more for a lesser likeness, None for none."""
        stem = _stem(name)
        known = (_stem(self.name), "my_solution", "solution")
        return known.index(stem) if stem in known else None


def _stem(name: str) -> str:
    path = PurePosixPath(name)
    stem = path.stem if path.suffix.lower() in _ENDINGS else path.name
    return re.sub(r"[-\s]+", "_", _COPY.sub("", stem).lower())


def is_source(path: str) -> bool:
    """Return whether it is a Python file or a notebook by its ending."""
    return path.lower().endswith(_ENDINGS)


def is_aside(path: str) -> bool:
    """Return whether it is a test, a package's file or hidden: seldom what is handed in."""
    name = path.lower().rpartition("/")[2]
    return lies_aside(path) or name in _ASIDE_NAMES or _ASIDE_NAME.fullmatch(name) is not None


def lies_aside(path: str) -> bool:
    """Return whether it is in a folder for something else: tests, documents, what is hidden."""
    folders = path.lower().split("/")[:-1]
    return any(one.startswith(".") or one in _ASIDE_FOLDERS for one in folders)


def listed(entries: Iterable[Entry | str]) -> str:
    """Return the paths in a row, not too many of them."""
    paths = sorted(one if isinstance(one, str) else one.path for one in entries)
    more = f" and {len(paths) - _MOST_SHOWN} more" if len(paths) > _MOST_SHOWN else ""
    return ", ".join(paths[:_MOST_SHOWN]) + more


def sources(tree: Tree) -> list[Entry]:
    """Return what may be the hand-in: aside files, or those of a repository inside, only if alone.

    A repository inside is somebody else's, or a second clone.
    """
    every = [one for one in tree.entries if is_source(one.path)]
    inside = tuple(f"{one}/" for one in tree.repositories if one)
    first = [one for one in every if not is_aside(one.path) and not one.path.startswith(inside)]
    second = [one for one in every if not is_aside(one.path)]
    # The tests that came with a template are nobody's hand-in, also where nothing else is there.
    return first or second or [one for one in every if not lies_aside(one.path)]


def best(entries: Sequence[Entry], wanted: Wanted) -> list[Entry]:
    """Return the only one that can be meant, or all between which nothing decides."""
    for rank in (0, 1, 2):
        named = [one for one in entries if wanted.rank(one.name) == rank]
        if named:
            return _alike(_untwinned(named))
    return _alike(_untwinned(entries))


def _untwinned(entries: Sequence[Entry]) -> list[Entry]:
    # A notebook beside its own export: the export is what runs.
    exports = {one.path.rpartition(".")[0] for one in entries if one.path.lower().endswith(".py")}
    return [
        one
        for one in entries
        if one.path.lower().endswith(".py") or one.path.rpartition(".")[0] not in exports
    ]


def _alike(entries: list[Entry]) -> list[Entry]:
    """Return the uppermost of entries that hold the same bytes."""
    if 1 < len(entries) <= _MOST_SHOWN and len({one.size for one in entries}) == 1:
        try:
            if len({hashlib.sha256(one.read(MOST_BYTES + 1)).digest() for one in entries}) == 1:
                return [min(entries, key=lambda one: (one.path.count("/"), one.path))]
        except GradeError:
            return entries
    return entries


def pick(found: Found, wanted: Wanted) -> tuple[Picked | Hindrance | None, list[Note]]:
    """Return the file to grade, and what to know of it.

    Where there is none, or no telling, it is what hinders; None where nothing at all is there.
    """
    entries = sources(found.tree)
    notes: list[Note] = []
    zips = [one for one in found.tree.entries if is_zip(one.name)]
    if not entries and found.opens_zip and len(zips) == 1:
        try:
            inside, notes = nested(zips[0])
        except GradeError as error:
            text = f"{error.what}: {error.next_step}"
            return refused(error), [Note("refused", found.who, text)]
        found = replace(found, tree=replace(found.tree, entries=tuple(inside)))
        entries = sources(found.tree)
    if not entries:
        text = _nothing(found, zips)
        why = Hindrance("empty", "no Python file", text) if found.tree.entries else None
        return why, [*notes, Note("empty", found.who, text)]
    chosen = best(entries, wanted)
    if len(chosen) > 1:
        which = f"which file is it? {listed(chosen)}"
        text = f"{found.shown}: {which}: keep one, or name it {wanted.file}"
        step = f"keep one of {listed(chosen)}, or name it {wanted.file}; then {AGAIN}"
        why = Hindrance("ambiguous", f"{len(chosen)} files", step)
        return why, [*notes, Note("ambiguous", found.who, text)]
    entry = chosen[0]
    if others := [one for one in entries if one is not entry]:
        text = f"{found.shown}: took {entry.path}; also there: {listed(others)}"
        notes.append(Note("ignored", found.who, text))
    return Picked(found, entry, _beside(found.tree, entry)), notes


def refused(error: GradeError) -> Hindrance:
    """Return what hinders where a hand-in is there and cannot be read."""
    return Hindrance(
        "refused", "cannot be read", ": ".join(filter(None, (error.what, error.next_step)))
    )


def _nothing(found: Found, zips: Sequence[Entry]) -> str:
    there = listed(found.tree.entries) or "no file at all"
    packed = [one for one in found.tree.entries if other_archive(one.name)]
    unpack = "; a zip is not opened here: unpack it" if zips else ""
    if packed and not zips:
        kind = other_archive(packed[0].name)
        unpack = f"; a {kind} is not opened: unpack it, or ask for a zip or the file itself"
    return f"{found.shown}: no Python file or notebook; there is {there}{unpack}"


def _beside(tree: Tree, entry: Entry) -> tuple[Entry, ...]:
    return tuple(
        one for one in tree.entries if one.folder == entry.folder and one.name != entry.name
    )
