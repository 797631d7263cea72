"""Whoever has no grade is told why and what to do, in every place where the row is shown."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from grader.cli import bulk
from grader.cli.progress import Lines, Silent
from grader.gradebook import exports, sources, ungraded
from grader.gradebook.book import gradebook
from grader.gradebook.looks import next_step, state
from grader.gradebook.runner import Done
from grader.gradebook.ungraded import AGAIN, Hindrance, Taken, standing
from grader.records.gradebook import Collected, Row
from tests.command import run
from tests.gradebook import classes
from tests.gradebook.bulk import book as table
from tests.gradebook.bulk import broken, files, grade, root
from tests.gradebook.classes import WANTED, write, zipped
from tests.gradebook.factory import ADA, MARY, ZORA, only, row, small
from tests.gradebook.graded import collected, entry, hand_in, ledger
from tests.receipt import factory

TWO = {"amy/a.py": broken(1), "amy/b.py": broken(2), "bob/my_solution.py": broken(3)}


def taken(path: Path, roster: Path | None = None) -> dict[str, Hindrance]:
    found = sources.collect([str(path)], wanted=WANTED, roster=roster)
    assert isinstance(found, Taken)
    return dict(found.hindered)


# ------------------------------------------------------------------------------ what a source tells


def test_two_files_hinder_and_say_what_to_do(tmp_path: Path) -> None:
    assert taken(write(tmp_path / "in", TWO)) == {
        "amy": Hindrance(
            "ambiguous",
            "2 files",
            "keep one of a.py, b.py, or name it distributed-03.py; then run the same command again",
        )
    }


def test_two_hand_ins_of_which_none_is_newest_hinder(tmp_path: Path) -> None:
    members = [("a/amy/my_solution.py", "x = 1"), ("b/amy/my_solution.py", "x = 2"),
               ("b/bob/my_solution.py", "y"), ("a/carl/my_solution.py", "z")]  # fmt: skip
    path = zipped(tmp_path / "c.zip", members)
    roster = tmp_path / "r.csv"
    roster.write_text("name\namy\nbob\ncarl\n", encoding="utf-8")
    (why,) = taken(path, roster=roster).values()
    assert (why.kind, why.problem) == ("ambiguous", "2 hand-ins")
    assert why.next_step.startswith("keep the newest of ")
    assert why.next_step.endswith(f"; then {AGAIN}")


def test_what_cannot_be_read_hinders_and_what_is_no_program_too(tmp_path: Path) -> None:
    path = zipped(tmp_path / "s.zip", [("doe_1_7_hw.zip", "no zip"), ("roe_2_8_essay.docx", "x"),
                                       ("poe_3_9_a.py", "x")])  # fmt: skip
    found = taken(path)
    assert {key: (why.kind, why.problem) for key, why in found.items()} == {
        "doe-1": ("refused", "cannot be read"),
        "roe-2": ("empty", "no Python file"),
    }
    assert "is no sound zip" in found["doe-1"].next_step
    assert "there is essay.docx" in found["roe-2"].next_step


def test_who_has_another_file_that_counts_is_not_hindered(tmp_path: Path) -> None:
    files_of_two = {"x/amy/a.py": "1", "x/amy/b.py": "2", "y/amy/my_solution.py": "3",
                    "x/bob/my_solution.py": "4", "y/bob/my_solution.py": "4"}  # fmt: skip
    roster = tmp_path / "r.csv"
    roster.write_text("name\namy\nbob\n", encoding="utf-8")
    assert taken(write(tmp_path / "in", files_of_two), roster=roster) == {}


def test_an_empty_folder_is_nothing_handed_in(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", {"bob/my_solution.py": broken(1)})
    (folder / "amy").mkdir()
    assert taken(folder) == {}


# ------------------------------------------------------------------------------- what a row says


def rows(tmp_path: Path, source: Collected, why: dict[str, Hindrance]) -> dict[str, Row]:
    with ledger(tmp_path) as kept:
        kept.set_class(source, dict.fromkeys(range(len(source.hand_ins)), "k:r:e"))
        ungraded.keep(kept, why, rest=False)
        return {one.person.key: one for one in gradebook(kept, entry()).rows}


AMBIGUOUS = Hindrance("ambiguous", "2 files", "keep one")


def test_a_row_has_its_reason_and_is_no_longer_missing(tmp_path: Path) -> None:
    found = rows(tmp_path, collected([hand_in("bob")], silent=["amy", "carl"]), {"amy": AMBIGUOUS})
    assert {key: (one.status, standing(one), state(one), next_step(one))
            for key, one in found.items()} == {
        "amy": ("undecided", "ambiguous", "Ambiguous: 2 files", "Keep one."),
        "bob": ("undecided", "undecided", "Undecided", "Run the same command again."),
        "carl": ("missing", "missing", "Nothing handed in", ""),
    }  # fmt: skip


def test_no_program_is_missing_and_says_so(tmp_path: Path) -> None:
    why = {"amy": Hindrance("empty", "no Python file", "there is essay.docx")}
    (one,) = rows(tmp_path, collected([], silent=["amy"]), why).values()
    assert (one.status, standing(one)) == ("missing", "missing")
    assert (state(one), next_step(one)) == ("Empty: no Python file", "There is essay.docx.")


def test_reasons_of_others_stay_when_only_some_are_graded_again(tmp_path: Path) -> None:
    other = Hindrance("undecided", "no room", "make room")
    with ledger(tmp_path) as kept:
        ungraded.keep(kept, {"amy": AMBIGUOUS, "bob": other}, rest=False)
        ungraded.keep(kept, {"carl": other}, rest=True, but=["bob"])
        assert ungraded.of(kept) == {"amy": AMBIGUOUS, "carl": other}
        ungraded.keep(kept, {}, rest=False)
        assert ungraded.of(kept) == {}


def test_an_undecided_receipt_says_its_own_reason() -> None:
    outcome = factory.undecided().outcome.model_copy(
        update={"message": "the machine is full", "next_step": "make room"}
    )
    assert ungraded.undecided(factory.undecided(outcome=outcome)) == Hindrance(
        "undecided", "the machine is full", "make room"
    )
    one = row(ZORA, factory.undecided(), status="undecided")
    assert next_step(one) == (
        "The clean room stopped before it had replayed all_gradient; run the same command again."
    )
    assert next_step(row(ADA, factory.passed())) == ""


# --------------------------------------------------------------------------------- every export


def ambiguous() -> Row:
    return ungraded.ungraded(Row(MARY, "missing"), AMBIGUOUS)


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ("csv", b"ambiguous"),
        ("csv", b"Keep one."),
        ("json", b'"problem": "2 files"'),
        ("junit", b"Ambiguous: 2 files. Keep one."),
        ("gradescope", b"**Ambiguous: 2 files.** Keep one."),
    ],
)
def test_every_form_says_it(form: str, says: bytes) -> None:
    ((_, data),) = exports.export(form, only(ambiguous())).files
    assert says in data


def test_without_names_only_the_kind_is_told() -> None:
    why = Hindrance("ambiguous", "2 files of Mary", "keep one of mary1.py, mary2.py")
    one = ungraded.ungraded(Row(MARY, "missing"), why)
    (hidden,) = exports.anonymize(only(one), b"key").gradebook.rows
    assert (state(hidden), next_step(hidden)) == (
        "Ambiguous: several files", "Run the same command again.",
    )  # fmt: skip
    kinds = [standing(one) for one in exports.anonymize(small(), b"key").gradebook.rows]
    assert sorted(kinds) == ["graded"] * 4 + ["missing", "undecided"]


# ------------------------------------------------------------------------------- the real command


def test_a_learner_with_two_files_reads_as_ambiguous_everywhere(tmp_path: Path) -> None:
    write(tmp_path / "in", {**TWO, "carl/essay.docx": "words"})
    ran = grade(tmp_path, "in")
    assert ran.code == 5, ran.said
    lines = ran.stdout.splitlines()
    assert lines[0] == "0 of 1 passed, 1 handed in nothing, 1 ambiguous and not graded"
    step = "keep one of a.py, b.py, or name it distributed-03.py; then run the same command again"
    assert lines[1] == f"  amy: ambiguous: 2 files; {step}"
    found = table(tmp_path)
    assert (found["amy"]["status"], found["carl"]["status"]) == ("ambiguous", "missing")
    assert found["amy"]["note"] == f"K{step[1:]}."
    facts = json.loads((root(tmp_path) / "summary.json").read_bytes())
    assert facts["verdicts"] == {"ambiguous": 1, "error": 1, "missing": 1}
    page = (root(tmp_path) / "report.html").read_text(encoding="utf-8")
    assert "Ambiguous: 2 files" in page
    assert "Empty: no Python file" in page
    said = run("inspect", "results", "amy", cwd=tmp_path).stdout.splitlines()
    assert said[1:] == ["ambiguous", f"next      K{step[1:]}."]

    (tmp_path / "in" / "amy" / "b.py").unlink()
    again = grade(tmp_path, "in")
    assert again.code == 0, again.said
    assert table(tmp_path)["amy"]["status"] == "graded"
    assert table(tmp_path)["amy"]["note"].startswith("a.py is not Python at line 1: ")


def test_a_file_that_cannot_be_read_leaves_its_learner_without_a_verdict(tmp_path: Path) -> None:
    zipped(tmp_path / "s.zip", [("doe_1_7_hw.zip", "no zip"), ("roe_2_8_a.py", broken(1))])
    ran = grade(tmp_path, "s.zip")
    assert ran.code == 5, ran.said
    assert ran.stdout.startswith("0 of 1 passed, 1 not readable and not graded\n")
    assert "  doe-1: refused: cannot be read; " in ran.stdout
    assert table(tmp_path)["doe-1"]["status"] == "refused"


def test_an_uncertain_row_of_the_roster_is_told_and_costs_no_verdict(tmp_path: Path) -> None:
    twins = [classes.Learner(n, "Ann", "Lee") for n in (1, 2)]
    classes.gradescope_roster(tmp_path / "roster.csv", twins)
    write(tmp_path / "in", {"Ann Lee.py": broken(1)})
    ran = grade(tmp_path, "in", "--roster", "roster.csv")
    assert "ambiguous: Ann Lee: in the roster this may be: Ann Lee, Ann Lee" in ran.stderr
    assert ran.code == 0, ran.said
    assert "not graded" not in ran.stdout


def test_nothing_of_it_is_left_behind_in_the_folder_without_names(tmp_path: Path) -> None:
    write(tmp_path / "in", {"Amy Pond/amy1.py": "1", "Amy Pond/amy2.py": "2", "bob.py": broken(1)})
    grade(tmp_path, "in", "--anonymize")
    shown = files(root(tmp_path) / "anonymous")
    assert not [name for name, raw in shown.items() if b"Amy" in raw or b"amy1" in raw]
    assert b"ambiguous" in shown["gradebook.csv"]


# -------------------------------------------------------------------- what an executor could not do


NO_ROOM = Done("k", None, "no room", "make room")


def test_its_reason_and_its_next_step_are_kept_for_everybody(tmp_path: Path) -> None:
    with ledger(tmp_path) as kept:
        running: Any = SimpleNamespace(show=Silent(), undecided=set(), ledger=kept)
        for done in (NO_ROOM, Done("l", factory.undecided())):
            bulk._keep(running, done, {"k": ["amy", "bob"], "l": ["carl"]})
        why = ungraded.of(kept)
    assert running.undecided == {"amy", "bob", "carl"}
    assert why["amy"] == why["bob"] == Hindrance("undecided", "no room", "make room")
    assert why["carl"].problem.startswith("The clean room stopped")
    other = tmp_path / "other"
    other.mkdir()
    one = rows(other, collected([hand_in("amy")]), why)["amy"]
    assert (state(one), next_step(one)) == ("Undecided", "No room; make room.")


def test_it_is_said_at_once_whom_it_is_about(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines(2)
    lines.advance(NO_ROOM, ["amy", "bob"])
    lines.advance(NO_ROOM)
    said = capsys.readouterr().err.splitlines()
    assert said[:2] == [
        "undecided: no room (amy, bob); next: make room",
        "undecided: no room; next: make room",
    ]
