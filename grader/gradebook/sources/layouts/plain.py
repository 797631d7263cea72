"""Any folder: a file for each learner, or a folder for each, themselves in folders or not."""

from __future__ import annotations

from dataclasses import replace

from grader.gradebook.archive import Entry, is_zip, other_archive
from grader.gradebook.sources.found import (
    Found,
    Reading,
    Wanted,
    best,
    is_aside,
    is_source,
    sources,
)
from grader.gradebook.sources.tree import Tree
from grader.records.gradebook import Note, Person

NAME = "plain"

# Folders that are a part of one learner's work, and nobody's name.
_PARTS = frozenset({"src", "code", "source", "submission", "work", "notebooks", "project", "lib"})


def looks_like(tree: Tree) -> float:
    """Return next to nothing: it is what remains where no platform is recognised."""
    return 0.01


def read(tree: Tree, wanted: Wanted) -> Reading:
    """Return the files of each learner, called by their folder or their file."""
    while (inside := tree.only_folder()) is not None and not _is_part(inside.name, wanted):
        tree = replace(inside, notes=tree.notes)
    direct = _direct(tree)
    # jane/my_solution.py: the file has the exercise's name, so the folder has the learner's.
    alone = direct and all(wanted.rank(one.name) is not None for one in direct)
    if not _learners(tree, wanted) and (alone or (not direct and sources(tree))):
        return Reading((_learner(tree, tree.name),))
    found: list[Found] = []
    notes: list[Note] = []
    _level(tree, "", wanted, found, notes)
    return Reading(tuple(found), notes=tuple(notes))


def _is_part(name: str, wanted: Wanted) -> bool:
    return name.lower() in _PARTS or is_aside(f"{name}/x") or wanted.rank(name) is not None


def _direct(tree: Tree) -> list[Entry]:
    return [one for one in tree.files if is_source(one.path) and not is_aside(one.path)]


def _learners(tree: Tree, wanted: Wanted) -> dict[str, Tree]:
    """Return the folders that may be a learner's or hold learners'."""
    return {name: one for name, one in tree.folders.items() if not _is_part(name, wanted)}


def _with_source(tree: Tree, wanted: Wanted) -> dict[str, Tree]:
    return {
        name: one
        for name, one in _learners(tree, wanted).items()
        if any(is_source(entry.path) for entry in one.entries)
    }


def _level(tree: Tree, group: str, wanted: Wanted, found: list[Found], notes: list[Note]) -> None:
    """Add the learners of one level, and of the groups in it: a course's sections, say."""
    folders = _learners(tree, wanted)
    groups = _groups(folders, wanted)
    for name, inside in folders.items():
        if name in groups:
            _level(inside, f"{group}{name}/", wanted, found, notes)
        else:
            found.append(_learner(inside, f"{group}{name}"))
    files: dict[str, list[Entry]] = {}
    direct = {entry.path for entry in _direct(tree)}
    for entry in tree.files:
        if entry.path in direct and not (folders and wanted.rank(entry.name) is not None):
            files.setdefault(entry.name.rpartition(".")[0], []).append(entry)
        elif is_source(entry.name) or not entry.name.startswith("."):
            notes.append(Note("ignored", entry.shown, _why(entry)))
    for stem, own in files.items():
        found.append(_learner(replace(tree, name=stem, entries=tuple(own)), f"{group}{stem}"))
    for name, inside in tree.folders.items():
        if name not in folders and inside.entries:
            notes.append(Note("ignored", inside.where, "it lies beside the learners' files"))


def _why(entry: Entry) -> str:
    if is_zip(entry.name):
        return "a zip in a folder is not opened: unpack it, or name the zip itself"
    if kind := other_archive(entry.name):
        return f"a {kind} is not opened: unpack it, or ask for a zip or the file itself"
    if entry.name.startswith("."):
        return "its name begins with a dot, as those of hidden files do"
    if is_source(entry.path):
        return "it lies beside the learners' files and has no learner's name"
    return "no Python file or notebook"


def _groups(folders: dict[str, Tree], wanted: Wanted) -> set[str]:
    """Return which folders hold learners rather than one learner's files."""
    if any(_direct(one) for one in folders.values()):
        # A folder that holds a file is a learner's, and so are those beside it.
        alike = len(folders) > 1 and all(_holds_files(one, wanted) for one in folders.values())
        return set(folders) if alike else set()
    inner = {name: _with_source(one, wanted) for name, one in folders.items()}
    # Among groups a folder with a single folder is a group of one.
    several = any(len(learners) > 1 for learners in inner.values())
    return {name for name, learners in inner.items() if learners} if several else set()


def _holds_files(tree: Tree, wanted: Wanted) -> bool:
    """Return whether it holds several files between which nothing decides: one for each learner."""
    direct = _direct(tree)
    return len(direct) > 1 and len(best(direct, wanted)) > 1


def _learner(tree: Tree, path: str) -> Found:
    person = Person("", path.rpartition("/")[2], ids={"folder": path})
    where = tree.entries[0].shown if len(tree.entries) == 1 else tree.where
    return Found((person,), tree, where)
