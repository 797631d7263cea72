"""Canvas's submissions zip: flat, `<name>[_LATE]_<user id>_<attachment id>_<file>`.

Source: instructure/canvas-lms, lib/content_zipper.rb and app/models/attachment.rb, 2026.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from grader.gradebook.archive import Entry
from grader.gradebook.sources.found import Found, Reading, Wanted
from grader.gradebook.sources.tree import Tree
from grader.records.gradebook import Note, Person

NAME = "canvas"

# Names keep word characters of every script, so nothing is said about theirs; ids count from 1.
_FILE = re.compile(r"(?s)(.*?)(_LATE)?_([1-9][0-9]*)_([1-9][0-9]*)_(.+)")
_ANONYMOUS = re.compile(
    r"(?s)(LATE_)?anon_((?=[0-9]*[A-Za-z])[A-Za-z0-9]+)(_LATE)?_([1-9][0-9]*)_(.+)"
)
_ENTRY = re.compile(
    r"(?s)(?:(LATE_)?anon_(?P<anonymous>(?=[0-9]*[A-Za-z])[A-Za-z0-9]+)|(?P<name>.*?))(_LATE)?"
    r"(?:_(?P<user>[1-9][0-9]*))?_(?P<kind>text|link)\.html"
)
# Canvas counts to seven and then takes a random id; older versions went on counting.
_AGAIN = re.compile(
    r"(?s)(.+?)-(?:[1-9][0-9]?|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
    r"((?:\.[A-Za-z][A-Za-z0-9]*)*\.[A-Za-z0-9]+)"
)
_ENTRIES = {"text": "a text entry", "link": "a link"}


@dataclass(frozen=True)
class Parts:
    """What a member's name says. `kind` is `file`, or `text` or `link`, which have no file."""

    person: Person
    late: bool
    file: str
    attachment: int | None
    kind: str = "file"


def parse(name: str) -> Parts | None:
    """Return what Canvas's name for a file says, None where it is none of Canvas's."""
    if "_assignsubmission_" in name:
        return None
    # Files first: a learner's own file name may look like a text entry of somebody else.
    if m := _ANONYMOUS.fullmatch(name):
        return Parts(_anonymous(m[2]), bool(m[1] or m[3]), m[5], int(m[4][:30]))
    if m := _FILE.fullmatch(name):
        return Parts(_named(m[1], m[3]), bool(m[2]), m[5], int(m[4][:30]))
    if (m := _ENTRY.fullmatch(name)) and (m["anonymous"] or m["user"]):
        person = _anonymous(m["anonymous"]) if m["anonymous"] else _named(m["name"], m["user"])
        return Parts(person, bool(m[1] or m[4]), name, None, m["kind"])
    return None


def _named(name: str, user: str) -> Person:
    return Person("", name, ids={"canvas_user": user})


def _anonymous(number: str) -> Person:
    return Person("", f"anon_{number}", ids={"canvas_anonymous": number})


def _is_anon(parts: Parts) -> bool:
    return "canvas_anonymous" in parts.person.ids


def own_name(file: str, wanted: Wanted) -> str:
    """Return the learner's own name for a file: without the `-1` of a second upload.

    A name that is the exercise's as it stands keeps its number.
    """
    again = _AGAIN.fullmatch(file)
    return f"{again[1]}{again[2]}" if again and wanted.rank(file) is None else file


def looks_like(tree: Tree) -> float:
    """Return which part of the files at the top has Canvas's names."""
    parts = [parse(one.path) for one in tree.files]
    known = [one for one in parts if one is not None]
    numbers = [one.attachment for one in known if one.attachment is not None]
    users = {(one.person.ids["canvas_user"], one.person.name) for one in known if not _is_anon(one)}
    # `lab_1_2_jane.py` is no name of Canvas's: an attachment's id comes once, and one user has
    # one name.
    once = len(set(numbers)) == len(numbers) and len(dict(users)) == len(users)
    if not known or not once:
        return 0.0
    return len(known) / (len(parts) + len(tree.folders))


def read(tree: Tree, wanted: Wanted) -> Reading:
    """Return the files of each learner, the newest of each name."""
    notes = [
        Note("ignored", f"{tree.where}/{name}", "a folder, which Canvas's zip never has")
        for name in tree.folders
    ]
    people: dict[str, Person] = {}
    files: dict[str, list[tuple[Parts, Entry]]] = {}
    for entry in tree.files:
        parts = parse(entry.path)
        if parts is None:
            notes.append(Note("ignored", entry.shown, "its name is none of Canvas's"))
            continue
        who = "/".join(parts.person.ids.values())
        # One learner has one name, but a zip may hold two spellings.
        people[who] = min(people.get(who, parts.person), parts.person, key=lambda one: one.name)
        if parts.kind != "file":
            text = f"{_ENTRIES[parts.kind]}, not a file: ask for the file itself"
            notes.append(Note("ignored", parts.person.name, text))
            continue
        files.setdefault(who, []).append((parts, _own(entry, parts, wanted)))
    found = [_found(people[who], own, tree, notes) for who, own in sorted(files.items())]
    silent = tuple(person for who, person in sorted(people.items()) if who not in files)
    return Reading(tuple(found), silent, tuple(notes))


def _own(entry: Entry, parts: Parts, wanted: Wanted) -> Entry:
    return replace(
        entry,
        path=own_name(parts.file, wanted),
        number=parts.attachment,
        # The date in the zip is that of the download.
        modified="",
        ids={"canvas_attachment": str(parts.attachment)},
    )


def _found(
    person: Person, files: Iterable[tuple[Parts, Entry]], tree: Tree, notes: list[Note]
) -> Found:
    newest: dict[str, Entry] = {}
    late = False
    for parts, entry in sorted(files, key=lambda one: one[1].number or 0):
        late = late or parts.late
        if entry.path in newest:
            text = f"{newest[entry.path].shown} gave way to {entry.shown}, uploaded later"
            notes.append(Note("superseded", person.name, text))
        newest[entry.path] = entry
    own = _tree(tree, newest)
    return Found((person,), own, _where(own.entries), late=late, opens_zip=True)


def _tree(tree: Tree, newest: Mapping[str, Entry]) -> Tree:
    return Tree(tree.name, tuple(newest[path] for path in sorted(newest)), where=tree.where)


def _where(entries: tuple[Entry, ...]) -> str:
    return entries[0].shown if len(entries) == 1 else ", ".join(one.shown for one in entries[:3])
