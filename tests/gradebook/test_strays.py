"""What lies in the results and belongs to nobody is told, kept, and never taken for anybody's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grader.errors import UsageProblem
from grader.gradebook import marks, strays
from grader.gradebook.ledger import Member, Stand
from grader.records.gradebook import Mark, Note, Person
from tests.command import run
from tests.gradebook.bulk import book, broken, export, files, grade, root
from tests.gradebook.classes import write

HEAD = "key,points,max_points\n"


def stand(key: str, name: str = "my_solution.py", verdict: str = "passed") -> Stand:
    return Stand(Member(Person(key), "k:r:e", {"name": name}), 1, verdict)


def receipts(folder: Path, *stems: str) -> None:
    names = [f"receipts/{stem}.{form}" for stem in stems for form in ("json", "html", "md")]
    write(folder, dict.fromkeys(names, "x"))


def placed(folder: Path) -> list[str]:
    return sorted(str(one.relative_to(folder)) for one in folder.rglob("*.json"))


# ----------------------------------------------------------------------------- folders of receipts


def test_a_folder_without_a_learner_is_told_and_stays(tmp_path: Path) -> None:
    receipts(tmp_path, "amy/my_solution", "gone/my_solution")
    before = files(tmp_path)
    (note,) = strays.notes(tmp_path, [stand("amy")], {})
    text = "receipts/gone is left of somebody who is not in this class now: it stays as it is"
    assert note == Note("unmatched", "gone", text)
    assert files(tmp_path) == before


def test_no_receipts_at_all_is_nothing_to_tell(tmp_path: Path) -> None:
    assert strays.notes(tmp_path, [stand("amy")], {}) == []


def test_a_learner_without_a_verdict_keeps_the_folder(tmp_path: Path) -> None:
    receipts(tmp_path, "amy/my_solution")
    assert strays.notes(tmp_path, [stand("amy", verdict="undecided")], {}) == []


# ------------------------------------------------------------------------------- superseded names


def test_receipts_under_an_earlier_name_move_to_the_history_beside(tmp_path: Path) -> None:
    receipts(tmp_path, "amy/old", "amy/my_solution", "bob/my_solution")
    assert strays.set_aside(tmp_path, [stand("amy"), stand("bob")]) == [
        "receipts/amy/history/old.html"
    ]
    assert placed(tmp_path) == [
        "receipts/amy/history/old.json",
        "receipts/amy/my_solution.json",
        "receipts/bob/my_solution.json",
    ]
    receipts(tmp_path, "amy/old")
    assert strays.set_aside(tmp_path, [stand("amy")]) == ["receipts/amy/history/old-2.html"]


def test_what_somebody_else_put_there_stays(tmp_path: Path) -> None:
    receipts(tmp_path, "amy/my_solution")
    write(tmp_path / "receipts" / "amy", {"remarks.md": "mine", "data.json": "{}", "n.html": ""})
    before = files(tmp_path)
    assert strays.set_aside(tmp_path, [stand("amy")]) == []
    assert files(tmp_path) == before


def test_nothing_moves_before_the_new_receipt_is_there(tmp_path: Path) -> None:
    receipts(tmp_path, "amy/old", "bob/old")
    assert strays.set_aside(tmp_path, [stand("amy"), stand("bob", verdict="")]) == []
    assert len(placed(tmp_path)) == 2


# ------------------------------------------------------------------------------------------ marks


def test_marks_that_count_for_nobody_are_told_with_what_they_say() -> None:
    given = {
        "amy": (Mark("explanation", 2.5, 5.0), Mark("style", 1, 2)),
        "bob": (Mark("explanation", 3, 5),),
        "carl": (Mark("explanation", 4, 5),),
    }
    found = strays.unused([stand("carl"), stand("bob", verdict="undecided")], given)
    assert found == [
        Note(
            "unmatched",
            "amy",
            "marks.csv has marks for this key (explanation 2.5, style 1), which nobody here has: "
            "correct the key; they count for nobody",
        ),
        Note(
            "ignored",
            "bob",
            "marks.csv has marks for them (explanation 3), who have no grade: they count as soon "
            "as there is one",
        ),
    ]


def test_a_second_mark_of_one_item_is_no_sum(tmp_path: Path) -> None:
    place = tmp_path / "marks.csv"
    place.write_text(HEAD + "amy,2,5\namy,3,5\n", encoding="utf-8")
    with pytest.raises(UsageProblem) as raised:
        marks.read(place)
    assert raised.value.what == "the marks file, line 3: a second explanation for amy"
    assert raised.value.next_step == "keep one of the two lines, or give them different items"


# ------------------------------------------------------------------------------- the real command


def test_who_left_and_whose_file_has_another_name_now(tmp_path: Path) -> None:
    write(tmp_path / "in", {"amy/first.py": broken(1), "bob/my_solution.py": broken(2)})
    write(tmp_path / "in", {"carl/my_solution.py": broken(3)})
    assert grade(tmp_path, "in").code == 0
    (tmp_path / "in" / "amy" / "first.py").rename(tmp_path / "in" / "amy" / "second.py")
    (tmp_path / "in" / "bob" / "my_solution.py").rename(tmp_path / "bob.py")
    (tmp_path / "in" / "bob").rmdir()
    ran = grade(tmp_path, "in")
    assert ran.code == 0, ran.said
    assert "1 in the results without a learner or a grade here:" in ran.stderr
    assert "bob: receipts/bob is left of somebody who is not in this class now" in ran.stderr
    assert "of an earlier file, moved aside: receipts/amy/history/first.html" in ran.stderr
    assert placed(root(tmp_path) / "receipts") == [
        "amy/history/first.json", "amy/second.json", "bob/my_solution.json",
        "carl/my_solution.json",
    ]  # fmt: skip
    notes = json.loads((root(tmp_path) / "summary.json").read_bytes())["notes"]
    assert [(one["kind"], one["who"]) for one in notes] == [("unmatched", "bob")]
    page = (root(tmp_path) / "report.html").read_text(encoding="utf-8")
    assert "receipts/bob is left of somebody" in page

    # Back again, the folder is that learner's once more.
    write(tmp_path / "in", {"bob/my_solution.py": broken(2)})
    back = grade(tmp_path, "in")
    assert "left of somebody" not in back.said
    assert json.loads((root(tmp_path) / "summary.json").read_bytes())["notes"] == []


def test_marks_for_an_unknown_key_are_told_by_every_command(tmp_path: Path) -> None:
    write(tmp_path / "in", {"amy.py": broken(1)})
    grade(tmp_path, "in")
    text = HEAD + "amy,2,5\nAmy,3,5\n"
    (root(tmp_path) / "marks.csv").write_text(text, encoding="utf-8")
    says = "Amy: marks.csv has marks for this key (explanation 3), which nobody here has"
    ran = grade(tmp_path, "in")
    assert "1 in the results without a learner or a grade here:" in ran.stderr
    assert says in ran.stderr
    assert book(tmp_path)["amy"]["points"] == "2"
    assert says in run("export", "results", "--to", "csv", cwd=tmp_path).stderr
    ran = run("marks", "results", cwd=tmp_path)
    assert says in ran.stderr
    kept = (root(tmp_path) / "marks.csv").read_text(encoding="utf-8")
    assert "Amy,,explanation,3.0,5.0,," in kept
    assert export(tmp_path, "csv")["grades.csv"].count(b"explanation: 2/5") == 1


# -------------------------------------------------------------------- what has no learner any more


def test_receipts_of_somebody_who_took_the_hand_in_away_are_told(tmp_path: Path) -> None:
    receipts(tmp_path, "amy/my_solution")
    silent = Stand(Member(Person("amy")))
    text = "receipts/amy is of an earlier hand-in, and none that counts is there now: it stays"
    assert strays.notes(tmp_path, [silent], {}) == [Note("missing", "amy", text)]


def test_a_pseudonym_without_a_receipt_keeps_none_of_another_learner(tmp_path: Path) -> None:
    folder = tmp_path / "anonymous"
    names = ("learner-001", "learner-002", "mine")
    write(folder, {f"{one}/{one}.{form}": "x" for one in names for form in ("json", "html", "md")})
    write(folder, {"learner-002/remarks.txt": "of somebody's"})
    strays.clear_pseudonyms(tmp_path, {"learner-001"})
    assert placed(folder) == ["learner-001/learner-001.json", "mine/mine.json"]
    assert (folder / "learner-002" / "remarks.txt").exists()


def test_the_folder_without_names_follows_the_class(tmp_path: Path) -> None:
    write(tmp_path / "in", {f"p{n}.py": broken(n) for n in range(4)})
    grade(tmp_path, "in", "--anonymize")
    for number in range(2):
        (tmp_path / "in" / f"p{number}.py").unlink()
    ran = grade(tmp_path, "in")
    assert ran.code == 0, ran.said
    assert placed(root(tmp_path) / "anonymous") == [
        "learner-001/learner-001.json", "learner-002/learner-002.json", "summary.json",
    ]  # fmt: skip


def test_a_key_with_a_blank_behind_it_is_the_same_key(tmp_path: Path) -> None:
    place = tmp_path / "marks.csv"
    place.write_text(HEAD + "amy ,2,5\n", encoding="utf-8")
    assert marks.read(place) == {"amy": (Mark("explanation", 2.0, 5.0),)}


def test_a_spoilt_sheet_is_told_before_anything_is_graded(tmp_path: Path) -> None:
    write(tmp_path / "in", {"amy.py": broken(1)})
    write(root(tmp_path), {"marks.csv": "key,points\n"})
    ran = grade(tmp_path, "in")
    assert ran.code == 2
    assert "the marks file lacks the column max_points" in ran.stderr
    assert "to grade" not in ran.stderr
