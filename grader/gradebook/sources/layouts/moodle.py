"""Moodle's submissions zip: `<full name>_<participant id>_assignsubmission_<plugin>`, three forms.

A folder from version 4.1, with a `_` at its end before, or no folder but a prefix to the file.
Source: moodle/moodle, mod/assign/classes/downloader.php, 2026.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from grader.gradebook.archive import Entry
from grader.gradebook.sources.found import Found, Reading, Wanted
from grader.gradebook.sources.tree import Tree
from grader.records.gradebook import Note, Person

NAME = "moodle"

# Moodle turns each `_` of a name into a space; the default team has no number.
_PREFIX = re.compile(
    r"(?s)(?P<who>[^_]*)(?:_(?P<number>[0-9]+))?_assignsubmission_(?P<plugin>[a-z0-9]+)"
    r"(?P<rest>_.*)?"
)


@dataclass(frozen=True)
class Parts:
    """What a prefix says. `folder` is the prefix alone; `file` is empty in the folder forms."""

    who: str
    number: str
    plugin: str
    folder: str
    file: str = ""


def parse(name: str, is_folder: bool) -> Parts | None:
    """Return what Moodle's name for a folder or a file says, None where it is none of Moodle's."""
    m = _PREFIX.fullmatch(name)
    if m is None:
        return None
    rest, number = m["rest"] or "", m["number"] or ""
    if is_folder:
        known = rest in ("", "_")
        return Parts(m["who"], number, m["plugin"], name) if known else None
    prefix = name[: len(name) - len(rest)]
    return Parts(m["who"], number, m["plugin"], prefix, rest[1:]) if len(rest) > 1 else None


def looks_like(tree: Tree) -> float:
    """Return which part of what lies at the top has Moodle's names."""
    known = [part for part, _ in _parts(tree) if part is not None]
    return len(known) / max(1, len(tree.folders) + len(tree.files))


def _parts(tree: Tree) -> Iterator[tuple[Parts | None, list[Entry]]]:
    for name, inside in tree.folders.items():
        yield parse(name, is_folder=True), list(inside.entries)
    for entry in tree.files:
        parts = parse(entry.path, is_folder=False)
        yield parts, [replace(entry, path=parts.file) if parts else entry]


def read(tree: Tree, wanted: Wanted) -> Reading:
    """Return the files of each participant or team."""
    notes = [
        Note("ignored", f"{tree.where}/{name}", "its name is none of Moodle's")
        for name in (*tree.folders, *(one.path for one in tree.files))
        if parse(name, is_folder=name in tree.folders) is None
    ]
    every = [(parts, entries) for parts, entries in _parts(tree) if parts is not None]
    blind = _blind({(parts.who, parts.number) for parts, _ in every})
    people: dict[tuple[str, str], Person] = {}
    files: dict[tuple[str, str], list[tuple[Parts, list[Entry]]]] = {}
    for parts, entries in every:
        key = (parts.number, "" if parts.number else parts.who)
        name = f"{parts.who} {parts.number}" if parts.who in blind else parts.who
        ids = {"moodle_participant": parts.number} if parts.number else {}
        people.setdefault(key, Person("", name, ids=ids))
        if parts.plugin == "file":
            files.setdefault(key, []).append((parts, entries))
        else:
            text = f"{parts.plugin}, not a file: ask for the file itself"
            notes.append(Note("ignored", name, text))
    found = [_found(people[key], own, tree) for key, own in sorted(files.items())]
    silent = tuple(person for key, person in sorted(people.items()) if key not in files)
    return Reading(tuple(found), silent, tuple(notes))


def _blind(participants: set[tuple[str, str]]) -> set[str]:
    """Return the names that many share: where marking is blind everybody is `Participant`."""
    shared = {who for who, count in Counter(who for who, _ in participants).items() if count > 2}
    return shared | {who for who, _ in participants if who.casefold() == "participant"}


def _found(person: Person, files: list[tuple[Parts, list[Entry]]], tree: Tree) -> Found:
    folder = files[0][0].folder
    entries = sorted((one for _, own in files for one in own), key=lambda one: one.path)
    where = f"{tree.where}/{folder}"
    own = Tree(folder, tuple(entries), where=where)
    return Found((person,), own, where, ids={"moodle_folder": folder}, opens_zip=True)
