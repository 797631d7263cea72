"""Many submissions: who handed in what, and what came of each; plain data, nothing is read here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from grader.records.receipt import Receipt

NoteKind = Literal[
    "missing", "unmatched", "ambiguous", "duplicate", "superseded", "empty", "ignored", "refused"
]


@dataclass(frozen=True)
class Person:
    """One learner as a platform or a roster knows them.

    `key` is unique in a class and safe as a folder name. `ids` holds what platforms call them, by
    the platform's word: `canvas_user`, `canvas_anonymous`, `sis_user`, `sis_login`,
    `moodle_participant`, `sid`, `gradescope_submission`, `github`, `folder`, `roster`.
    """

    key: str
    name: str = ""
    email: str = ""
    ids: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class HandIn:
    """One file to grade, and everybody it counts for.

    `name` is the file's name as the learner gave it, without what the platform added; `shown` is
    where it lies in the source, for messages and for giving feedback back. `read` gives its bytes,
    of a file too large to grade the beginning alone, whose size and SHA-256 `whole` gives; `beside`
    gives the bytes of the files that came with it, by name. `submitted_at` is ISO 8601 or empty.
    `ids` holds what the platform calls this hand-in: `canvas_attachment`, `gradescope_submission`,
    `moodle_folder`, `github_repository`.
    """

    people: tuple[Person, ...]
    name: str
    shown: str
    read: Callable[[], bytes]
    beside: Mapping[str, Callable[[], bytes]] = field(default_factory=dict)
    submitted_at: str = ""
    late: bool = False
    ids: Mapping[str, str] = field(default_factory=dict)
    whole: Callable[[], tuple[int, str]] | None = None


@dataclass(frozen=True)
class Note:
    """Something about a source that an instructor has to know: never dropped in silence."""

    kind: NoteKind
    who: str
    text: str


@dataclass(frozen=True)
class Collected:
    """What a source holds: its layout, the files to grade, everybody in the class, and the notes.

    `people` are all who are known, those without a hand-in included.
    """

    layout: str
    hand_ins: tuple[HandIn, ...]
    people: tuple[Person, ...]
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True)
class Override:
    """Points that a person set for one check: both values, by whom, when (ISO 8601) and why."""

    check: str
    was: int
    points: int
    by: str
    at: str
    why: str


@dataclass(frozen=True)
class Mark:
    """Points and a comment given by hand, such as for the explanation."""

    item: str
    points: float
    max_points: float
    comment: str = ""


@dataclass(frozen=True)
class Row:
    """One learner's line of the gradebook.

    `receipt` is None where nothing was handed in or nothing could be decided. `receipt_folder` is
    relative to the results.
    """

    person: Person
    status: Literal["graded", "undecided", "missing"]
    receipt: Receipt | None = None
    receipt_folder: str = ""
    submitted_at: str = ""
    late: bool = False
    shown: str = ""
    ids: Mapping[str, str] = field(default_factory=dict)
    overrides: tuple[Override, ...] = ()
    marks: tuple[Mark, ...] = ()

    def points(self) -> float | None:
        """Return the points after overrides and marks, None where there is no grade."""
        if self.receipt is None:
            return None
        changed = sum(one.points - one.was for one in self.overrides)
        return self.receipt.points + changed + sum(mark.points for mark in self.marks)

    def max_points(self) -> float | None:
        """Return the most points possible, with the marks', None where there is no grade."""
        if self.receipt is None:
            return None
        return self.receipt.max_points + sum(mark.max_points for mark in self.marks)


@dataclass(frozen=True)
class Gradebook:
    """A whole class on one exercise, rows in a fixed order: by name, then by key.

    `checks` are the ids of the rubric's checks in their order.
    """

    exercise: str
    title: str
    max_points: int
    checks: tuple[str, ...]
    layout: str
    rows: tuple[Row, ...]
    notes: tuple[Note, ...] = ()
