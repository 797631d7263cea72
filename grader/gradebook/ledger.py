"""The ledger: every attempt that was graded, who it counts for, and what a person changed.

One SQLite file per exercise. A row is written once and stays; nothing here decides a grade, and an
undecided attempt never takes the place of a decided one.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from grader.errors import EnvironmentProblem
from grader.gradebook.kept import DECIDED, Attempt, Key, Member, Stand, Written
from grader.gradebook.tables import SCHEMA, TABLES
from grader.records.gradebook import Collected, HandIn, Note, Override, Person

__all__ = ["Attempt", "Key", "Ledger", "Member", "Stand", "Written"]


class Ledger:
    """The ledger in one file; made where it is missing.

    Every method is one transaction. Only the coordinator writes.
    """

    def __init__(self, path: Path, patience_s: float = 30.0) -> None:
        """Open the file, waiting `patience_s` where another process writes to it.

        Raises: EnvironmentProblem where it cannot be used.
        """
        self.path = path
        try:
            self._db = sqlite3.connect(path, timeout=patience_s, isolation_level=None)
        except sqlite3.Error as error:
            raise _unusable(path, error) from error
        try:
            self._set_up()
        except sqlite3.Error as error:
            self.close()
            raise _unusable(path, error) from error
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _set_up(self) -> None:
        self._db.execute("PRAGMA journal_mode=WAL")
        # A finished attempt survives the end of this process; WAL keeps the file whole besides.
        self._db.execute("PRAGMA synchronous=FULL")
        # Looked at before anything is made in it: it may be another version's.
        if self._rows("SELECT 1 FROM sqlite_master WHERE name = 'about'"):
            self._check_schema()
        self._db.executescript(TABLES)
        with self._write() as db:
            db.execute("INSERT OR IGNORE INTO about VALUES ('schema', ?)", (str(SCHEMA),))

    def _check_schema(self) -> None:
        found = self.about("schema")
        if found not in ("", str(SCHEMA)):
            raise EnvironmentProblem(
                f"this ledger has the form {found}, and this version of grade knows {SCHEMA}",
                where=str(self.path),
                next_step="use the version that wrote it, or another results folder with --out",
            )

    @contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        try:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                # A full disk has ended it already.
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            raise _unusable(self.path, error) from error

    def _rows(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        try:
            return self._db.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise _unusable(self.path, error) from error

    # ------------------------------------------------------------------------------- small facts

    def about(self, name: str) -> str:
        """Return a fact about the whole ledger, an empty string where it is not known."""
        rows = self._rows("SELECT value FROM about WHERE name = ?", (name,))
        return str(rows[0][0]) if rows else ""

    def note_about(self, facts: Mapping[str, str]) -> None:
        """Keep facts about the whole ledger."""
        with self._write() as db:
            db.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", list(facts.items()))

    # ---------------------------------------------------------------------------------- attempts

    def add(self, attempt: Attempt) -> int:
        """Keep one attempt; returns its number."""
        with self._write() as db:
            made = db.execute(
                "INSERT INTO attempts (key, submission, rubric, environment, verdict, points, "
                "receipt, seed, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    attempt.key.text(),
                    attempt.key.submission,
                    attempt.key.rubric,
                    attempt.key.environment,
                    attempt.verdict,
                    attempt.points,
                    zlib.compress(attempt.receipt, 6),
                    attempt.seed,
                    attempt.at,
                ),
            )
        return made.lastrowid or 0

    def decided(self) -> set[str]:
        """Return the keys of all attempts that reached a verdict."""
        marks = ", ".join("?" * len(DECIDED))
        rows = self._rows(f"SELECT DISTINCT key FROM attempts WHERE verdict IN ({marks})", DECIDED)
        return {str(key) for (key,) in rows}

    def tried(self) -> set[str]:
        """Return the keys of all attempts, whatever came of them."""
        return {str(key) for (key,) in self._rows("SELECT DISTINCT key FROM attempts")}

    def submissions(self) -> set[str]:
        """Return the SHA-256 of every submission that has an attempt of any kind."""
        rows = self._rows("SELECT DISTINCT submission FROM attempts")
        return {str(digest) for (digest,) in rows}

    def standing(self, key: str) -> Attempt | None:
        """Return the attempt that counts for a key: the last decided one, else the last."""
        rows = self._rows(
            f"SELECT {_COLUMNS} FROM attempts WHERE key = ? "
            "ORDER BY verdict = 'undecided', id DESC LIMIT 1",
            (key,),
        )
        return _attempt(rows[0]) if rows else None

    def earlier(self, submission: str, but: str) -> Attempt | None:
        """Return the last decided attempt of the same bytes under another key than `but`."""
        rows = self._rows(
            f"SELECT {_COLUMNS} FROM attempts WHERE submission = ? AND key != ? "
            "AND verdict != 'undecided' ORDER BY id DESC LIMIT 1",
            (submission, but),
        )
        return _attempt(rows[0]) if rows else None

    def history(self, submissions: Iterable[str]) -> list[Attempt]:
        """Return every attempt of these submissions (SHA-256), the oldest first."""
        wanted = list(submissions)
        marks = ", ".join("?" * len(wanted))
        rows = self._rows(
            f"SELECT {_COLUMNS} FROM attempts WHERE submission IN ({marks}) ORDER BY id", wanted
        )
        return [_attempt(row) for row in rows]

    # --------------------------------------------------------------------------------- the class

    def set_class(
        self, collected: Collected, keys: Mapping[int, str], *, rest: bool = False
    ) -> list[str]:
        """Keep who is in the class and what each handed in; returns who was there and is no longer.

        Args:
            collected: the source.
            keys: by position in `collected.hand_ins`, the key that each is graded under.
            rest: whether everybody who is not in the source stays as they were.
        """
        before = {member.person.key for member in self.members()}
        members = {p.key: p for p in collected.people}
        handed: dict[str, list[tuple[str, str]]] = {}
        for position, hand_in in enumerate(collected.hand_ins):
            for person in hand_in.people:
                members.setdefault(person.key, person)
                facts = json.dumps(_facts(hand_in), sort_keys=True)
                handed.setdefault(person.key, []).append((keys[position], facts))
        gone = sorted(before - members.keys())
        with self._write() as db:
            db.execute("DELETE FROM notes")
            replaced = [(key,) for key in (members if rest else {*before, *members})]
            for table in ("members", "handed_in"):
                db.executemany(f"DELETE FROM {table} WHERE person = ?", replaced)
            db.executemany(
                "INSERT INTO members VALUES (?, ?)",
                [(key, json.dumps(asdict(person))) for key, person in members.items()],
            )
            db.executemany(
                "INSERT INTO handed_in VALUES (?, ?, ?, ?)",
                [
                    (person, number, key, facts)
                    for person, rows in handed.items()
                    for number, (key, facts) in enumerate(rows)
                ],
            )
            db.executemany(
                "INSERT INTO notes VALUES (?, ?, ?, ?)",
                [(i, n.kind, n.who, n.text) for i, n in enumerate(collected.notes)],
            )
            db.execute("INSERT OR REPLACE INTO about VALUES ('layout', ?)", (collected.layout,))
        return [] if rest else gone

    def member(self, person: str) -> Member | None:
        """Return one learner by key, None where there is no such one."""
        rows = self._rows(f"{_MEMBERS} WHERE m.person = ?", (person,))
        return _member(rows[0]) if rows else None

    def members(self) -> list[Member]:
        """Return the class, by name and then by key, each with the first hand-in of theirs."""
        found = [_member(row) for row in self._rows(_MEMBERS)]
        return sorted(found, key=lambda one: (one.person.name.casefold(), one.person.key))

    def stands(self) -> list[Stand]:
        """Return the class in the order of `members`, each with the attempt that counts.

        That is what `standing` and `earlier` give for the first hand-in, in one look at all.
        """
        # The receipts lie behind these columns, so SQLite does not read them.
        rows = self._rows("SELECT id, key, submission, verdict FROM attempts ORDER BY id")
        last = {key: (number, end) for number, key, _, end in rows}
        of_bytes = {one: (number, end) for number, _, one, end in rows if end in DECIDED}
        last |= {key: (number, end) for number, key, _, end in rows if end in DECIDED}
        found = []
        for member in self.members():
            attempt = last.get(member.key, (0, ""))
            if attempt[1] not in DECIDED:
                attempt = of_bytes.get(member.key.partition(":")[0], attempt)
            found.append(Stand(member, *attempt))
        return found

    def notes(self) -> tuple[Note, ...]:
        """Return what was noted about the source."""
        rows = self._rows("SELECT kind, who, text FROM notes ORDER BY position")
        return tuple(Note(*row) for row in rows)

    # --------------------------------------------------------------------------------- overrides

    def override(self, person: str, change: Override) -> None:
        """Keep points that a person set; an earlier value of theirs stays in the file."""
        with self._write() as db:
            db.execute(
                "INSERT INTO overrides (person, check_id, was, points, by, at, why) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (person, change.check, change.was, change.points, change.by, change.at, change.why),
            )

    def overrides(self, person: str) -> tuple[Override, ...]:
        """Return all overrides of one learner, the oldest first: the last of a check counts."""
        rows = self._rows(
            "SELECT check_id, was, points, by, at, why FROM overrides WHERE person = ? ORDER BY id",
            (person,),
        )
        return tuple(Override(*row) for row in rows)

    def overridden(self) -> list[tuple[str, str]]:
        """Return who has an override of which check, sorted."""
        return self._rows("SELECT DISTINCT person, check_id FROM overrides ORDER BY 1, 2")

    def all_facts(self) -> list[tuple[Any, ...]]:
        """Return what is known beside the attempts and the class, as it lies in the file."""
        tables = ("about", "notes", "overrides")
        return [row for one in tables for row in self._rows(f"SELECT * FROM {one} ORDER BY 1")]

    # -------------------------------------------------------------------------------- what is made

    def written(self) -> dict[str, Written]:
        """Return what is known of the files that were written, by their place."""
        rows = self._rows("SELECT place, made_from, holds FROM written")
        return {place: Written(*facts) for place, *facts in rows}

    def note_written(self, files: Mapping[str, Written], forgotten: Iterable[str] = ()) -> None:
        """Keep what was written; forget other places."""
        with self._write() as db:
            db.executemany("DELETE FROM written WHERE place = ?", [(one,) for one in forgotten])
            db.executemany(
                "INSERT OR REPLACE INTO written VALUES (?, ?, ?)",
                [(place, one.made_from, one.holds) for place, one in files.items()],
            )


_COLUMNS = "submission, rubric, environment, verdict, points, receipt, seed, at, id"


_MEMBERS = (
    "SELECT m.facts, h.key, h.facts FROM members m "
    "LEFT JOIN handed_in h ON h.person = m.person AND h.position = 0"
)


def _member(row: tuple[Any, ...]) -> Member:
    person, key, facts = row
    return Member(Person(**json.loads(person)), key or "", json.loads(facts) if facts else None)


def _attempt(row: tuple[Any, ...]) -> Attempt:
    submission, rubric, environment, verdict, points, receipt, seed, at, number = row
    key = Key(submission, rubric, environment)
    return Attempt(key, verdict, points, zlib.decompress(receipt), seed, at, number)


def _facts(hand_in: HandIn) -> dict[str, Any]:
    return {
        "name": hand_in.name,
        "shown": hand_in.shown,
        "submitted_at": hand_in.submitted_at,
        "late": hand_in.late,
        "ids": dict(hand_in.ids),
        "people": [person.key for person in hand_in.people],
    }


def _unusable(path: Path, error: sqlite3.Error) -> EnvironmentProblem:
    return EnvironmentProblem(
        f"the ledger cannot be used: {error}",
        where=str(path),
        next_step="look whether another grade runs there, whether the disk is full, or choose "
        "another results folder with --out",
    )
