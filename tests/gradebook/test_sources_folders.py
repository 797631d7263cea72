"""Folders: GitHub Classroom's clones, and any folder of an instructor's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.gradebook import sources
from grader.records.gradebook import Collected
from tests.gradebook import classes
from tests.gradebook.classes import BOB, CLASS, JANE, WANTED, aged, packed, write, zipped


def collect(*paths: Path, source: str | None = None, roster: Path | None = None) -> Collected:
    return sources.collect([str(one) for one in paths], wanted=WANTED, source=source, roster=roster)


def keys(found: Collected) -> list[str]:
    return [one.people[0].key for one in found.hand_ins]


# --------------------------------------------------------------------------------- GitHub Classroom


def test_a_repository_is_its_users(tmp_path: Path) -> None:
    found = collect(classes.classroom_folder(tmp_path, (JANE, BOB)))
    assert [(one.people[0].ids, one.ids) for one in found.hand_ins] == [
        ({"github": "gh-learner1"}, {"github_repository": f"{WANTED}-gh-learner1"}),
        ({"github": "gh-learner2"}, {"github_repository": f"{WANTED}-gh-learner2"}),
    ]
    assert keys(found) == ["gh-learner1", "gh-learner2"]
    assert [one.name for one in found.hand_ins] == [f"{WANTED}.py"] * 2


def test_clones_are_known_by_their_repositories_too(tmp_path: Path) -> None:
    root = classes.classroom_folder(tmp_path)
    found = collect(root.rename(tmp_path / "clones"))
    assert found.layout == "classroom"
    # All users begin with the same letters here, but the common part ends at a dash.
    assert keys(found) == [f"learner{one.number}" for one in CLASS]


def test_an_empty_repository_is_told(tmp_path: Path) -> None:
    root = classes.classroom_folder(tmp_path, (JANE, BOB))
    write(root / f"{WANTED}-carol", {".git/HEAD": ""})
    found = collect(root)
    assert [(note.kind, note.who) for note in found.notes] == [("empty", "carol")]


def test_a_roster_gives_users_their_names(tmp_path: Path) -> None:
    found = collect(
        classes.classroom_folder(tmp_path, (JANE, BOB)),
        roster=classes.classroom_roster(tmp_path / "r.csv"),
    )
    assert [one.people[0].name for one in found.hand_ins] == ["Bob O'Neil", "Jane Doe"]
    assert [(note.kind, note.who) for note in found.notes] == [
        ("missing", "Zoë Šťastná"),
        ("missing", "伟 王"),
    ]


# --------------------------------------------------------------------------------------- any folder


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (["jane.py", "bob.py"], ["bob", "jane"]),
        (["jane.py", "jane.ipynb"], ["jane"]),
        (["jane/my_solution.py", "bob/main.py"], ["bob", "jane"]),
        (["jane/a/main.py", "bob/src/main.py"], ["bob", "jane"]),
        (["jane/main.py", "bob.py"], ["bob", "jane"]),
        (["A/jane/m.py", "A/bob/m.py", "B/jane/m.py"], ["A_bob", "A_jane", "B_jane"]),
        (
            ["A/jane.py", "A/bob.py", "B/jane.py", "B/zoe.py"],
            ["A_bob", "A_jane", "B_jane", "B_zoe"],
        ),
        (["wrap/inner/jane.py", "wrap/inner/bob.py"], ["bob", "jane"]),
        (["jane/main.py"], ["main"]),
        (["jane/my_solution.py"], ["jane"]),
        (["jane/src/my_solution.py"], ["jane"]),
        (["my_solution.py"], ["c"]),
        (["my_solution.py", "tests/test_a.py"], ["c"]),
    ],
)
def test_learners_are_called_by_their_folder_or_file(
    tmp_path: Path, files: list[str], expected: list[str]
) -> None:
    found = collect(write(tmp_path / "c", {name: f"x = {name!r}" for name in files}))
    assert (found.layout, keys(found)) == ("plain", expected)


def test_what_lies_beside_the_learners_is_told(tmp_path: Path) -> None:
    names = ["jane/m.py", "bob/m.py", f"{WANTED}.py", "readme.md", "old.zip", "tests/t.py", ".x"]
    found = collect(write(tmp_path / "c", {name: f"x = {name!r}" for name in names}))
    assert keys(found) == ["bob", "jane"]
    assert {(Path(note.who).name, note.kind) for note in found.notes} == {
        (f"{WANTED}.py", "ignored"),
        ("readme.md", "ignored"),
        ("old.zip", "ignored"),
        ("tests", "ignored"),
    }


def test_learners_of_one_name_in_two_groups_are_kept_apart(tmp_path: Path) -> None:
    files = {f"{group}/{who}/m.py": f"{group}{who}" for group in "AB" for who in ("jane", "bob")}
    found = collect(write(tmp_path / "c", files))
    assert len(found.hand_ins) == 4 and found.notes == ()


def test_files_and_folders_named_one_by_one_are_one_class(tmp_path: Path) -> None:
    root = write(
        tmp_path / "c", {"jane/main.py": "j", "bob/main.py": "b", "zoe.py": "z", "x.py": ""}
    )
    assert keys(collect(root / "jane", root / "bob", root / "zoe.py")) == ["bob", "jane", "zoe"]
    assert keys(collect(root / "zoe.py")) == ["zoe"]


def test_zips_named_one_by_one_are_learners(tmp_path: Path) -> None:
    for name in ("jane", "bob"):
        packed(write(tmp_path / "in" / name, {"main.py": name}), tmp_path / f"{name}.zip")
    found = collect(tmp_path / "jane.zip", tmp_path / "bob.zip")
    assert [(one.people[0].key, one.read()) for one in found.hand_ins] == [
        ("bob", b"bob"),
        ("jane", b"jane"),
    ]


def test_a_link_that_was_named_is_followed(tmp_path: Path) -> None:
    write(tmp_path / "real", {"v7.py": "x"})
    write(tmp_path / "c", {"bob.py": "y"})
    (tmp_path / "c/jane.py").symlink_to("../real/v7.py")
    assert keys(collect(tmp_path / "c/jane.py", tmp_path / "c/bob.py")) == ["bob", "jane"]


# ---------------------------------------------------------------------------- several of one person


def two_of_jane(folder: Path, one: str, other: str, apart: int) -> Collected:
    old = write(folder / "old/c", {"jane.py": one}) / "jane.py"
    new = write(folder / "new/c", {"jane.py": other}) / "jane.py"
    aged(old, 0)
    aged(new, apart)
    return collect(new.parent, old.parent)


def test_the_newest_counts_and_the_older_is_told(tmp_path: Path) -> None:
    found = two_of_jane(tmp_path, "old = 1", "new = 1", 60)
    assert [one.read() for one in found.hand_ins] == [b"new = 1"]
    ((kind, text),) = [(note.kind, note.text) for note in found.notes]
    assert kind == "superseded"
    assert text == f"{tmp_path}/old/c/jane.py gave way to {tmp_path}/new/c/jane.py, which is newer"


def test_the_same_bytes_are_one_hand_in(tmp_path: Path) -> None:
    found = two_of_jane(tmp_path, "x = 1", "x = 1", 60)
    assert len(found.hand_ins) == 1
    assert [note.kind for note in found.notes] == ["duplicate"]


def test_where_nothing_says_which_is_newer_neither_counts(tmp_path: Path) -> None:
    found = two_of_jane(tmp_path, "old = 1", "new = 1", 0)
    assert found.hand_ins == ()
    assert [note.kind for note in found.notes] == ["ambiguous"]
    assert [one.key for one in found.people] == ["jane"]


def test_the_date_in_a_zip_decides(tmp_path: Path) -> None:
    for name, date in (("a", (2026, 3, 2, 0, 0, 0)), ("b", (2026, 3, 1, 0, 0, 0))):
        zipped(tmp_path / name / "c.zip", [("jane.py", name), ("bob.py", "same")], date)
    found = collect(tmp_path / "a/c.zip", tmp_path / "b/c.zip")
    assert [one.read() for one in found.hand_ins] == [b"same", b"a"]
    assert [note.kind for note in found.notes] == ["duplicate", "superseded"]


def test_a_hidden_program_beside_the_others_is_told(tmp_path: Path) -> None:
    found = collect(write(tmp_path / "in", {"amy.py": "x", ".bob.py": "y", ".notes": "z"}))
    assert [(one.kind, one.text) for one in found.notes] == [
        ("ignored", "its name begins with a dot, as those of hidden files do")
    ]
