"""Gradescope's export: `submission_<id>/` folders and one `submission_metadata.yml` about them.

Source: the export as itsgeagle/provenance reads it (parse-metadata.ts), 2026.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from grader.errors import EnvironmentProblem, UsageProblem
from grader.gradebook.archive import Entry
from grader.gradebook.sources.found import Found, Reading, Wanted
from grader.gradebook.sources.tree import Tree
from grader.records.gradebook import Note, Person

NAME = "gradescope"

_METADATA = ("submission_metadata.yml", "submission_metadata.yaml")
_MOST_BYTES = 256 << 20
_FOLDER = re.compile(r"submission_([A-Za-z0-9]+)")
_MOMENT = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ]+(\d\d:\d\d:\d\d)(?:\.\d+)? *(Z|UTC|[+-]\d\d:?\d\d)?", re.ASCII
)
_NIL = ("", "~", "null")


def looks_like(tree: Tree) -> float:
    """Return 1 where the record lies, less where only the names of folders speak for it."""
    if _metadata(tree) is not None:
        return 1.0
    known = [name for name in tree.folders if _FOLDER.fullmatch(name)]
    return 0.9 * len(known) / max(1, len(tree.folders) + len(tree.files))


def _metadata(tree: Tree) -> Entry | None:
    return next((one for one in tree.files if one.path in _METADATA), None)


def read(tree: Tree, wanted: Wanted) -> Reading:
    """Return the files of each submission with everybody it counts for.

    Raises:
        UsageProblem: the record cannot be read.
        EnvironmentProblem: the library that reads it is not installed.
    """
    metadata = _metadata(tree)
    records = _records(metadata) if metadata else {}
    notes = [
        Note("ignored", entry.shown, "it belongs to no submission")
        for entry in tree.files
        if entry is not metadata
    ]
    found: list[Found] = []
    absent: list[Person] = []
    for name, record in sorted(records.items()):
        people = tuple(_people(record))
        if name in tree.folders:
            found.append(_found(tree.folders[name], name, people, record))
            continue
        absent += people
        who = ", ".join(one.name or one.email for one in people) or name
        notes.append(Note("missing", who, f"{name} is in the record, but its folder is not there"))
    for name, inside in tree.folders.items():
        if name not in records:
            found.append(_found(inside, name, (), {}))
    for one in found:
        if not one.people[0].name and "gradescope_submission" in one.people[0].ids:
            text = "no record says whose it is"
            notes.append(Note("unmatched", one.shown, text))
    return Reading(tuple(found), tuple(absent), tuple(notes))


def _found(inside: Tree, name: str, people: tuple[Person, ...], record: Mapping[str, Any]) -> Found:
    match = _FOLDER.fullmatch(name)
    ids = {"gradescope_submission": match[1] if match else name}
    nobody = Person("", ids={"gradescope_submission": name})
    at = _moment(record.get("created_at"))
    return Found(people or (nobody,), inside, inside.where, submitted_at=at, ids=ids)


def _people(record: Mapping[str, Any]) -> Iterator[Person]:
    submitters = record.get("submitters")
    for one in submitters if isinstance(submitters, list) else []:
        fields = _fields(one)
        texts = {key: _text(fields.get(key)) for key in ("name", "sid", "email")}
        if any(texts.values()):
            ids = {"sid": texts["sid"]} if texts["sid"] else {}
            yield Person("", texts["name"], texts["email"], ids)


def _text(value: Any) -> str:
    text = unicodedata.normalize("NFC", value.strip()) if isinstance(value, str) else ""
    return "" if text in _NIL else text


def _fields(value: Any) -> dict[str, Any]:
    """Return a record by its plain keys: Ruby's symbols read `:name`."""
    if not isinstance(value, dict):
        return {}
    return {key.removeprefix(":"): one for key, one in value.items() if isinstance(key, str)}


def _records(entry: Entry) -> dict[str, dict[str, Any]]:
    """Return the records by the name of their folder."""
    try:
        import yaml
    except ModuleNotFoundError as error:
        raise EnvironmentProblem(
            f"{entry.shown} is YAML, which nothing here can read",
            next_step="pip install 'shardgrade[lms]'",
        ) from error
    # Of the safe loaders the one that makes nothing but text, lists and tables: the others read
    # the student id 00123 as 83 and a learner called No as false, and stop at a Ruby object.
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    raw = entry.read(_MOST_BYTES + 1)
    if len(raw) > _MOST_BYTES:
        raise UsageProblem(f"{entry.shown} is too large", next_step="export the submissions again")
    try:
        loaded = yaml.load(raw, Loader=loader)
    # Any text may be met: a parser's recursion and its wrong numbers are as declared as its own.
    except (yaml.YAMLError, RecursionError, ValueError, TypeError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or type(error).__name__
        raise UsageProblem(
            f"{entry.shown}{line}: no sound YAML: {problem}",
            next_step="export the submissions again",
        ) from error
    if not isinstance(loaded, dict):
        raise UsageProblem(
            f"{entry.shown} does not list submissions", next_step="export the submissions again"
        )
    return {str(name).strip("/"): _fields(record) for name, record in loaded.items()}


def _moment(value: Any) -> str:
    """Return when it was handed in, in UTC as ISO 8601, or nothing."""
    if isinstance(value, dict):
        # Rails writes a time with its zone as an object; `utc` is the plain time in it.
        value = value.get("utc", "")
    m = _MOMENT.fullmatch(value.strip()) if isinstance(value, str) else None
    if m is None:
        return ""
    zone = "+00:00" if m[3] in (None, "Z", "UTC") else m[3]
    try:
        moment = datetime.fromisoformat(f"{m[1]}T{m[2]}{zone}")
        return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError):
        return ""
