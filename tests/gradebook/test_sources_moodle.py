"""Moodle's submissions zip."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.gradebook import sources
from grader.gradebook.sources.layouts import moodle
from grader.records.gradebook import Collected
from tests.gradebook import classes
from tests.gradebook.classes import BOB, JANE, WANTED, WEI, ZOE, zipped

relaxed = settings(deadline=None, max_examples=300, derandomize=True)


def collect(path: Path, roster: Path | None = None) -> Collected:
    return sources.collect([str(path)], wanted=WANTED, roster=roster)


@pytest.mark.parametrize(
    ("name", "is_folder", "expected"),
    [
        ("Jane Doe_12_assignsubmission_file", True, ("Jane Doe", "12", "file", "")),
        ("Jane Doe_12_assignsubmission_file_", True, ("Jane Doe", "12", "file", "")),
        ("Jane Doe_12_assignsubmission_file_a_b.py", False, ("Jane Doe", "12", "file", "a_b.py")),
        ("Jane Doe_12_assignsubmission_onlinetext", True, ("Jane Doe", "12", "onlinetext", "")),
        ("J_12_assignsubmission_onlinetext_o.html", False, ("J", "12", "onlinetext", "o.html")),
        ("Default group_assignsubmission_file", True, ("Default group", "", "file", "")),
        ("王 伟_3_assignsubmission_file_1_2_x.py", False, ("王 伟", "3", "file", "1_2_x.py")),
        ("Jane Doe_12_assignsubmission_file_x", True, None),
        ("Jane Doe_12_assignsubmission_file", False, None),
        ("Jane_Doe_12_assignsubmission_file", True, None),
        ("Jane Doe_12", True, None),
    ],
)
def test_a_name_is_taken_apart_as_moodle_put_it_together(
    name: str, is_folder: bool, expected: tuple[str, str, str, str] | None
) -> None:
    parts = moodle.parse(name, is_folder)
    found = parts and (parts.who, parts.number, parts.plugin, parts.file)
    assert found == expected


@relaxed
@given(st.text(max_size=60), st.booleans())
def test_no_name_raises(name: str, is_folder: bool) -> None:
    moodle.parse(name, is_folder)
    moodle.parse(f"{name}_assignsubmission_file{name}", is_folder)


@relaxed
@given(
    st.text(min_size=1, max_size=20).filter(lambda text: "_" not in text),
    st.integers(0, 10**12),
    st.text(min_size=1, max_size=20),
)
def test_every_name_that_moodle_can_make_is_read_back(who: str, number: int, file: str) -> None:
    parts = moodle.parse(f"{who}_{number}_assignsubmission_file_{file}", is_folder=False)
    assert parts is not None
    assert (parts.who, parts.number, parts.file) == (who, str(number), file)


@pytest.mark.parametrize(
    ("form", "folder"), [("folder", ""), ("old", "_"), ("flat", "")], ids=["4.1", "old", "flat"]
)
def test_the_folder_that_feedback_goes_back_to_is_kept(
    tmp_path: Path, form: str, folder: str
) -> None:
    (one,) = collect(classes.moodle_zip(tmp_path, (JANE,), form)).hand_ins
    assert one.ids == {"moodle_folder": f"Jane Doe_7001_assignsubmission_file{folder}"}
    assert (one.name, one.people[0].name) == ("my_solution.py", "Jane Doe")
    assert one.people[0].ids == {"moodle_participant": "7001"}


def test_blind_marking_gives_everybody_their_number(tmp_path: Path) -> None:
    found = collect(
        classes.moodle_zip(tmp_path, (JANE, BOB), blind=True),
        classes.moodle_roster(tmp_path / "m.csv", (JANE, BOB)),
    )
    assert [(one.people[0].name, one.read()) for one in found.hand_ins] == [
        ("Bob O'Neil", BOB.source.encode()),
        ("Jane Doe", JANE.source.encode()),
    ]
    assert found.notes == ()


def test_blind_marking_is_seen_in_any_language(tmp_path: Path) -> None:
    members = [(f"Teilnehmerin_{n}_assignsubmission_file/a.py", f"x = {n}") for n in (1, 2, 3)]
    found = collect(zipped(tmp_path / "z.zip", members))
    assert [one.name for one in found.people] == [f"Teilnehmerin {n}" for n in (1, 2, 3)]


def test_a_team_is_one_hand_in_and_with_the_worksheet_many_people(tmp_path: Path) -> None:
    path = zipped(
        tmp_path / "z.zip",
        [("Team Alpha_7003_assignsubmission_file/a.py", "x = 1")],
    )
    (alone,) = collect(path).hand_ins
    assert [one.name for one in alone.people] == ["Team Alpha"]
    roster = classes.moodle_roster(tmp_path / "m.csv", (JANE, BOB, ZOE), team="Team Alpha")
    found = collect(path, roster)
    (one,) = found.hand_ins
    assert [person.name for person in one.people] == ["Bob O'Neil", "Jane Doe", "Zoë Šťastná"]
    assert found.notes == ()


def test_online_text_is_told(tmp_path: Path) -> None:
    more = {
        "Jane Doe_7001_assignsubmission_onlinetext/onlinetext.html": "<p>hi</p>",
        "伟 王_7004_assignsubmission_onlinetext/onlinetext.html": "<p>hi</p>",
    }
    found = collect(classes.moodle_zip(tmp_path, (JANE, BOB), more=more))
    assert len(found.hand_ins) == 2
    assert [one.name for one in found.people] == ["Bob O'Neil", "Jane Doe", WEI.name]
    assert {(note.kind, note.who) for note in found.notes} == {
        ("ignored", "Jane Doe"),
        ("ignored", WEI.name),
    }


def test_folders_inside_and_a_lone_zip_are_looked_into(tmp_path: Path) -> None:
    inner = zipped(tmp_path / "i.zip", [("deep/my_solution.py", "inner")]).read_bytes()
    path = zipped(
        tmp_path / "z.zip",
        [
            ("Jane Doe_1_assignsubmission_file/src/my_solution.py", "x"),
            ("Jane Doe_1_assignsubmission_file/src/tests/my_solution.py", "y"),
            ("Bob Roe_2_assignsubmission_file/hw.zip", inner),
        ],
    )
    found = collect(path)
    assert [one.read() for one in found.hand_ins] == [b"inner", b"x"]


def test_other_names_are_told(tmp_path: Path) -> None:
    found = collect(classes.moodle_zip(tmp_path, (JANE, BOB), more={"readme/x.txt": ""}))
    assert [(note.kind, note.who.endswith("/readme")) for note in found.notes] == [
        ("ignored", True)
    ]
