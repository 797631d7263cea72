"""Grading a part of a class again leaves everybody else as they were, a roster or not."""

from __future__ import annotations

import json
from pathlib import Path

from grader.gradebook.ledger import Member
from grader.gradebook.part import of_class
from grader.records.gradebook import Note, Person
from tests.command import run
from tests.gradebook import classes
from tests.gradebook.bulk import book, broken, files, grade, handing_in, root
from tests.gradebook.graded import collected, hand_in


def test_who_is_silent_in_the_part_keeps_the_own_hand_in() -> None:
    members = [Member(Person("amy", "Amy"), "k1"), Member(Person("bob", "Bob"), "k2"),
               Member(Person("carl", "Carl"))]  # fmt: skip
    notes = [Note("ignored", "Amy", "old"), Note("ignored", "Bob", "old"),
             Note("missing", "Carl", "no hand-in")]  # fmt: skip
    part = collected(
        [hand_in("amy"), hand_in("dora")],
        silent=["bob", "carl", "eve"],
        notes=[Note("missing", "Bob", "no hand-in"), Note("missing", "Eve", "no hand-in"),
               Note("missing", "Carl", "no hand-in"), Note("refused", "x.py", "a link")],
    )  # fmt: skip
    made = of_class(part, members, notes)
    assert sorted(one.key for one in made.people) == ["amy", "dora", "eve"]
    assert made.hand_ins == part.hand_ins
    assert [(one.kind, one.who, one.text) for one in made.notes] == [
        ("ignored", "Bob", "old"),
        ("missing", "Carl", "no hand-in"),
        ("missing", "Eve", "no hand-in"),
        ("refused", "x.py", "a link"),
    ]


def test_a_part_graded_again_costs_nobody_the_grade(tmp_path: Path) -> None:
    classes.canvas_zip(tmp_path, handing_in(broken(1), broken(2), broken(3)))
    classes.canvas_roster(tmp_path / "roster.csv")
    grade(tmp_path, "submissions.zip", "--roster", "roster.csv")
    before = book(tmp_path)
    notes = json.loads((root(tmp_path) / "summary.json").read_bytes())["notes"]
    classes.write(tmp_path / "one", {"Jane Doe.py": broken(4)})
    ran = run("regrade", "results", "one", cwd=tmp_path)
    assert ran.code == 0, ran.said
    assert ran.stdout.startswith("0 of 3 passed, 1 handed in nothing\n")
    after = book(tmp_path)
    assert {key: line["status"] for key, line in after.items()} == {
        key: line["status"] for key, line in before.items()
    }
    changed = {key for key in after if after[key]["sha256"] != before[key]["sha256"]}
    assert [after[key]["name"] for key in changed] == ["Doe, Jane"]
    assert json.loads((root(tmp_path) / "summary.json").read_bytes())["notes"] == notes


def test_a_part_that_cannot_be_taken_leaves_the_earlier_grade(tmp_path: Path) -> None:
    classes.write(tmp_path / "in", {"amy/a.py": broken(1), "bob/a.py": broken(2)})
    grade(tmp_path, "in")
    classes.write(tmp_path / "in", {"amy/b.py": broken(3)})
    before = files(root(tmp_path) / "receipts")
    ran = run("regrade", "results", "in", cwd=tmp_path)
    assert ran.code == 5, ran.said
    assert "  amy: ambiguous: 2 files; keep one of a.py, b.py" in ran.stdout
    assert {key: line["status"] for key, line in book(tmp_path).items()} == {
        "amy": "graded", "bob": "graded",
    }  # fmt: skip
    assert files(root(tmp_path) / "receipts").keys() == before.keys()
