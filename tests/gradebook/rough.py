"""A class in which some hang, crash or flood, for any platform, and what becomes of them."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import unicodedata
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.gradebook.bulk import CRASH, FLOOD, FULL, HANG, PARTIAL, book, receipt, root
from tests.gradebook.classes import BOB, JANE, WEI, ZOE, Learner

LEAVES = FULL + "\nimport os\nos._exit(0)\n"
FALLS = "import ctypes\nctypes.string_at(0)\n"
# Learners by number, with spaces and letters of several scripts; the last two hand in no file.
PEOPLE = {
    one.number: one
    for one in (
        JANE,
        BOB,
        ZOE,
        WEI,
        Learner(5, "Anna Maria", "de la Cruz"),
        Learner(6, "Çağrı", "Åström"),
        Learner(7, "Ana", "Søndergård"),
        Learner(8, "Max", "Doe Jr"),
        Learner(9, "Nil", "Nobody"),
        Learner(10, "Tea", "Mate"),
    )
}
TEXTS = {1: FULL, 2: PARTIAL, 3: HANG, 4: CRASH, 5: LEAVES, 6: FALLS, 7: FLOOD, 8: FULL}
KINDS = {
    1: "finished",
    2: "finished",
    3: "wall_limit",
    4: "killed",
    5: "no_result",
    6: "killed",
    7: "output_flood",
    8: "finished",
}
STOPPED = (3, 4, 5, 6, 7)
# Where a platform knows groups, these two are one.
TEAM = (7, 10)


def handing_in() -> tuple[Learner, ...]:
    """Return those who hand in, each with a file; some call it by a name with a space."""
    return tuple(
        replace(PEOPLE[n], files={"my solution.py" if n % 2 else "my_solution.py": text})
        for n, text in TEXTS.items()
    )


def apart(text: str) -> str:
    """Return a name as macOS writes it: each accent a character of its own."""
    return unicodedata.normalize("NFD", text)


def all_apart(members: Mapping[str, str]) -> list[tuple[str, str]]:
    made = [(apart(name), text) for name, text in members.items()]
    assert any(name != unicodedata.normalize("NFC", name) for name, _ in made)
    return made


@dataclass(frozen=True)
class Graded:
    """What became of one learner."""

    learner: Learner
    line: dict[str, str]
    receipt: dict[str, Any]

    @property
    def points(self) -> int:
        return int(self.line["points"])


def check(
    cwd: Path, number_of: Callable[[dict[str, str]], int], groups: Iterable[tuple[int, ...]] = ()
) -> dict[int, Graded]:
    """Check every row of a graded class, and return those that have a grade by their number."""
    lines = {number_of(line): line for line in book(cwd).values()}
    assert set(lines) == set(PEOPLE)
    texts = {**TEXTS, **{n: TEXTS[group[0]] for group in groups for n in group}}
    kinds = {**KINDS, **{n: KINDS[group[0]] for group in groups for n in group}}
    found = {}
    for number in texts:
        made = receipt(cwd, lines[number]["key"])
        found[number] = Graded(PEOPLE[number], lines[number], made)
        _check_row(found[number], texts[number], kinds[number])
    for number in set(PEOPLE) - set(texts):
        line = lines[number]
        assert (line["status"], line["verdict"], line["points"], line["sha256"]) == (
            "missing", "", "", "",
        )  # fmt: skip
    _check_summary(cwd, found)
    return found


def _check_row(one: Graded, text: str, kind: str) -> None:
    number, line, made = one.learner.number, one.line, one.receipt
    verdict = {"finished": "failed" if number == 2 else "passed"}.get(kind, "error")
    assert (line["status"], line["verdict"], made["verdict"]) == ("graded", verdict, verdict)
    assert made["outcome"]["kind"] == kind
    assert made["blame"] == (None if verdict == "passed" else "learner")
    assert line["sha256"] == made["submission"]["sha256"]
    assert line["sha256"] == hashlib.sha256(text.encode()).hexdigest()
    assert (int(line["points"]), int(line["max_points"])) == (made["points"], 100)
    # Whatever stops keeps what it had shown by then, and nobody else loses a point.
    if number == 2:
        assert 0 < made["points"] < 100
    else:
        assert made["points"] == (100 if number in (1, 5, 8) else 0)
    assert {c["id"]: str(c["points"]) for c in made["checks"]} == {
        c["id"]: line[f"check_{c['id']}"] for c in made["checks"]
    }


def _check_summary(cwd: Path, found: Mapping[int, Graded]) -> None:
    verdicts = [one.line["verdict"] for one in found.values()]
    facts = json.loads((root(cwd) / "summary.json").read_bytes())
    silent = len(PEOPLE) - len(found)
    assert facts["learners"] == len(PEOPLE)
    assert facts["verdicts"] == {
        **{verdict: verdicts.count(verdict) for verdict in set(verdicts)}, "missing": silent,
    }  # fmt: skip


def notes(cwd: Path) -> set[str]:
    """Return the kinds of notes that a class has."""
    facts = json.loads((root(cwd) / "summary.json").read_bytes())
    return {note["kind"] for note in facts["notes"]}


# ----------------------------------------------------------------------------------- what comes out


def rows(data: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))


def check_filled(before: bytes, after: bytes, wanted: Mapping[int, Mapping[str, str]]) -> None:
    """Check a sheet cell by cell; `wanted` are the filled cells by the line's place and title."""
    old, new = rows(before), rows(after)
    titles = old[0]
    assert len(old) == len(new)
    for at, (mine, theirs) in enumerate(zip(old, new, strict=True)):
        expected = {**dict(zip(titles, mine, strict=False)), **wanted.get(at, {})}
        assert dict(zip(titles, theirs, strict=False)) == expected, at
    assert [len(one) for one in old] == [len(one) for one in new]


def check_feedback(cwd: Path, raw: bytes, wanted: Mapping[str, Graded]) -> None:
    """Check the members of a zip of receipts: each is that of its learner, byte for byte."""
    with zipfile.ZipFile(io.BytesIO(raw)) as file:
        members = {name: file.read(name) for name in file.namelist()}
    assert set(members) == set(wanted)
    for name, one in wanted.items():
        (page,) = (root(cwd) / "receipts" / one.line["key"]).glob("*.html")
        assert members[name] == page.read_bytes(), name
