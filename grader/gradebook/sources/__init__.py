"""Taking hand-ins in: folders, zips and platforms' exports become one list of files to grade.

Nothing is unpacked, nothing is executed, and nothing is left out without a note.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import pkgutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol, cast

from grader import intake
from grader.errors import GradeError, UsageProblem
from grader.gradebook import roster as rosters
from grader.gradebook.archive import Entry, is_zip, shown
from grader.gradebook.sources import layouts
from grader.gradebook.sources.found import Found, Picked, Reading, Wanted, pick, refused
from grader.gradebook.sources.groups import Shared, shared
from grader.gradebook.sources.newest import Hindered, Owned, settle
from grader.gradebook.sources.people import Directory, Identity, by_name, order
from grader.gradebook.sources.tree import Tree, of_path, together
from grader.gradebook.ungraded import Hindrance, Taken
from grader.records.gradebook import Collected, HandIn, Note, Person

_SURE = 0.5
_WRAPPERS = 3
_ANY = "plain"


class Layout(Protocol):
    """One module of `layouts`."""

    NAME: str

    def looks_like(self, tree: Tree) -> float:
        """Return from 0 to 1 how sure it is that this is its layout."""
        ...

    def read(self, tree: Tree, wanted: Wanted) -> Reading:
        """Return what lies in the tree."""
        ...


def names() -> list[str]:
    """Return the names of all layouts, sorted: the modules of `layouts`."""
    return sorted(info.name for info in pkgutil.iter_modules(layouts.__path__))


def collect(
    paths: Sequence[str], *, wanted: str, source: str | None = None, roster: Path | None = None
) -> Collected:
    """Return everything that was handed in under these files, folders and zips.

    `wanted` is the name that a solution of the exercise has: its id, or a file's name. `source`
    names the layout where it should not be recognised. No file's bytes are kept.

    Raises:
        UsageProblem: a path, the roster or the name of the layout is wrong, a zip is damaged or
            holds too much, or nothing in it was handed in.
        EnvironmentProblem: a layout needs a library that is not installed.
    """
    known = _loaded(source)
    wish = Wanted(wanted)
    trees, notes = _trees(paths, known)
    readings: list[tuple[str, Reading]] = []
    for tree in trees:
        layout, inside = _recognised(tree, known)
        readings.append((layout.NAME, layout.read(inside, wish)))
        notes += [*tree.notes, *readings[-1][1].notes]
    found = sorted((one for _, reading in readings for one in reading.found), key=_place)
    silent = [person for _, reading in readings for person in reading.people]
    if not found and not silent:
        raise UsageProblem(
            f"nothing was handed in at {', '.join(map(shown, paths)) or 'no path'}",
            where="; ".join(f"{note.who}: {note.text}" for note in notes[:3]),
            next_step="name the folder, zip or export that holds the submissions",
        )
    listed = rosters.load(roster) if roster else None
    people = [*(person for one in found for person in one.people), *silent]
    directory = Directory(listed, people)
    counts, told = shared(found, directory, listed)
    notes += told
    owned, hindered, about = _owned(found, wish, directory, counts)
    settled, torn, more = settle(owned)
    heard_of = [
        one for person in people for own in directory.who(person) for one in counts.get(own, (own,))
    ]
    notes += [*about, *more, *directory.notes, *directory.missing(heard_of)]
    notes += listed.notes if listed else ()
    everybody = directory.keyed()
    return Taken(
        " + ".join(sorted({name for name, _ in readings})),
        _hand_ins(settled, everybody),
        tuple(by_name(everybody.values())),
        tuple(sorted(set(notes), key=lambda one: (one.who.casefold(), one.kind, one.text))),
        _open({**hindered, **torn}, settled, everybody),
    )


def _open(
    hindered: Hindered, settled: Iterable[Owned], people: Mapping[Identity, Person]
) -> dict[str, Hindrance]:
    """Return by key what hinders those whom no file counts for."""
    graded = {known for one in settled for known in one.owners}
    return {people[known].key: why for known, why in hindered.items() if known not in graded}


def _loaded(source: str | None) -> list[Layout]:
    """Return the layouts to choose from: all, or the one that is named."""
    if source is not None and source not in names():
        raise UsageProblem(
            f"there is no layout {source!r}", next_step=f"use one of {', '.join(names())}"
        )
    wanted = names() if source is None else [source]
    return [cast(Layout, importlib.import_module(f"{layouts.__name__}.{name}")) for name in wanted]


def _trees(paths: Sequence[str], known: Sequence[Layout]) -> tuple[list[Tree], list[Note]]:
    """Return the trees to read; what was named piece by piece is put together again.

    A shell turns `export/*` into all that lies there, and the layout shows in the whole only.
    """
    notes: list[Note] = []
    given: dict[str, Path] = {}
    for text in paths:
        path = Path(text)
        if (real := _real(text)) in given:
            notes.append(Note("duplicate", shown(text), "named twice, read once"))
        given.setdefault(real, path)
    # Zips alone are a learner's each; beside a folder of a class a zip is a class too.
    mixed = any(path.is_dir() for path in given.values())
    trees: list[Tree] = []
    pieces: Pieces = {}
    for path in given.values():
        tree = of_path(path)
        folders, files = pieces.setdefault(path.absolute().parent, ([], []))
        if not path.is_dir() and not is_zip(path.name):
            files += tree.entries
        elif (mixed and is_zip(path.name)) or _scores(tree, known)[0][0] >= _SURE:
            trees.append(tree)
        else:
            folders.append(tree)
    for parent, (folders, files) in _by_folders(pieces).items():
        if len(folders) == 1 and not files:
            trees += folders
        elif folders or files:
            trees.append(together(folders, files, parent.name, shown(str(parent))))
    return trees, notes


Pieces = dict[Path, tuple[list[Tree], list[Entry]]]


def _by_folders(pieces: Pieces) -> Pieces:
    """Return the pieces with files of one name, each named in a folder of its own, in that folder.

    `jane/s.py bob/s.py`, as a shell writes `*/s.py` out, are two learners' files.
    """
    lone = {at: files for at, (folders, files) in pieces.items() if files and not folders}
    names = Counter(name for files in lone.values() for name in {one.name for one in files})
    alike = [at for at, files in lone.items() if any(names[one.name] > 1 for one in files)]
    regrouped = {at: piece for at, piece in pieces.items() if at not in alike}
    for at in alike:
        folders, _ = regrouped.setdefault(at.parent, ([], []))
        folders.append(together([], lone[at], at.name, shown(str(at))))
    return regrouped


def _real(text: str) -> str:
    try:
        return os.path.realpath(text)
    except ValueError:
        # No file has such a name, which is said where it would be opened.
        return text


def _scores(tree: Tree, known: Sequence[Layout]) -> list[tuple[float, str, Layout, Tree]]:
    """Return how sure each layout is, the surest first, of the tree or of a lone folder in it."""
    levels = [tree]
    while len(levels) < _WRAPPERS and (inside := levels[-1].only_folder()) is not None:
        levels.append(inside)
    best = []
    for layout in known:
        level = max(levels, key=layout.looks_like)
        best.append((layout.looks_like(level), layout.NAME, layout, level))
    return sorted(best, key=lambda one: (-one[0], one[1]))


def _recognised(tree: Tree, known: Sequence[Layout]) -> tuple[Layout, Tree]:
    """Return the layout of a tree, and the folder in it where the layout begins."""
    ranked = _scores(tree, known)
    sure = [one for one in ranked if one[0] >= _SURE]
    if len(sure) > 1 and sure[0][0] == sure[1][0]:
        raise UsageProblem(
            f"{tree.where} looks like {sure[0][1]} as much as like {sure[1][1]}",
            next_step=f"say which: --source {sure[0][1]}",
        )
    # Without a sure one what is left is the layout that takes anything, or the one that was named.
    _, _, layout, level = sure[0] if sure else max(ranked, key=lambda one: one[1] == _ANY)
    return layout, level


def _place(found: Found) -> tuple[str, str]:
    return found.shown, found.who


def _owned(
    found: Sequence[Found], wanted: Wanted, directory: Directory, counts: Shared
) -> tuple[list[Owned], Hindered, list[Note]]:
    """Return each file that can be read with those it counts for, and what hinders the others."""
    owned: list[Owned] = []
    hindered: Hindered = {}
    notes: list[Note] = []
    for one in found:
        picked, about = pick(one, wanted)
        notes += about
        own = (known for person in one.people for known in directory.who(person))
        owners = dict.fromkeys(known for first in own for known in counts.get(first, (first,)))
        if isinstance(picked, Picked):
            try:
                owned.append(Owned(picked, _digest(picked.entry), tuple(owners)))
                continue
            except GradeError as error:
                notes.append(Note("refused", one.who, error.what))
                picked = refused(error)
        if picked is not None:
            hindered |= dict.fromkeys(owners, picked)
    return owned, hindered, notes


def _digest(entry: Entry) -> str:
    # Reading it now shows what is damaged before anything is graded. Nothing is kept.
    return f"{entry.size} {hashlib.sha256(entry.read(intake.MOST_BYTES + 1)).hexdigest()}"


def _hand_ins(settled: Iterable[Owned], people: Mapping[Identity, Person]) -> tuple[HandIn, ...]:
    made = []
    for one in settled:
        entry, found = one.picked.entry, one.picked.found
        made.append(
            HandIn(
                tuple(by_name(people[known] for known in one.owners)),
                entry.name,
                entry.shown,
                partial(entry.read, intake.MOST_BYTES + 1),
                {
                    other.name: partial(other.read, intake.MOST_SIBLING_BYTES + 1)
                    for other in one.picked.beside
                },
                found.submitted_at,
                found.late,
                {**found.ids, **entry.ids},
            )
        )
    return tuple(sorted(made, key=lambda one: order(one.people[0])))
