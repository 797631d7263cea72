"""Rosters as platforms and people write them."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.errors import UsageProblem
from grader.gradebook import roster
from grader.records.gradebook import Person
from tests.gradebook import classes
from tests.gradebook.classes import JANE, WEI, ZOE

relaxed = settings(deadline=None, max_examples=200, derandomize=True)


def given_table(folder: Path, text: str | bytes) -> roster.Roster:
    path = folder / "roster.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return roster.load(path)


def only(folder: Path, text: str | bytes) -> Person:
    (person,) = given_table(folder, text).people
    return person


# -------------------------------------------------------------------------------- platforms' tables


def test_canvas_gradebook_gives_learners_and_no_other_rows(tmp_path: Path) -> None:
    found = roster.load(classes.canvas_roster(tmp_path / "c.csv", (JANE, ZOE)))
    assert [(one.name, dict(one.ids)) for one in found.people] == [
        ("Doe, Jane", {"canvas_user": "1001", "sis_user": "S00001", "sis_login": "learner1"}),
        ("Šťastná, Zoë", {"canvas_user": "1003", "sis_user": "S00003", "sis_login": "learner3"}),
    ]


def test_canvas_gradebook_in_a_locale_with_semicolons(tmp_path: Path) -> None:
    person = only(tmp_path, '\ufeffStudent;ID;SIS Login ID;Section\r\n"Doe, Jane";17;jd;A\r\n')
    assert (person.name, dict(person.ids)) == (
        "Doe, Jane",
        {"canvas_user": "17", "sis_login": "jd"},
    )


def test_moodle_worksheet_gives_the_number_of_the_participant(tmp_path: Path) -> None:
    (person,) = roster.load(classes.moodle_roster(tmp_path / "m.csv", (JANE,))).people
    assert (person.name, person.email) == ("Jane Doe", "learner1@school.example")
    assert person.ids == {"moodle_participant": "7001"}


def test_moodle_worksheet_gives_the_members_of_a_team(tmp_path: Path) -> None:
    found = roster.load(classes.moodle_roster(tmp_path / "m.csv", team="Team Alpha"))
    assert {name: len(people) for name, people in found.groups.items()} == {"teamalpha": 4}


def test_gradescope_roster_keeps_zeros_and_leaves_teachers_out(tmp_path: Path) -> None:
    found = roster.load(classes.gradescope_roster(tmp_path / "g.csv", (JANE, WEI)))
    assert [(one.name, one.ids["sid"]) for one in found.people] == [
        ("Jane Doe", "00001"),
        ("伟 王", "00004"),
    ]
    assert [(note.kind, note.who) for note in found.notes] == [("ignored", "Ada Teacher")]


def test_classroom_roster_gives_the_user_and_the_identifier(tmp_path: Path) -> None:
    (person,) = roster.load(classes.classroom_roster(tmp_path / "r.csv", (JANE,))).people
    assert person.ids == {"github": "gh-learner1", "roster": "learner1@school.example"}


def test_classroom_grades_give_the_same(tmp_path: Path) -> None:
    head = "assignment_name,github_username,roster_identifier,student_repository_name"
    person = only(tmp_path, f"{head}\nA,jd,Jane Doe,a-jd\n")
    assert (person.name, dict(person.ids)) == ("Jane Doe", {"github": "jd", "roster": "Jane Doe"})


def test_a_username_beside_a_github_id_is_a_github_user(tmp_path: Path) -> None:
    head = "username,first_name,last_name,email,section,github_id"
    assert only(tmp_path, f"{head}\njd,Jane,Doe,j@x.example,A,5\n").ids == {"github": "jd"}


# ---------------------------------------------------------------------------------- people's tables


@pytest.mark.parametrize(
    ("text", "name", "email", "ids"),
    [
        ("NAME,E-Mail\nJane,j@x.example\n", "Jane", "j@x.example", {}),
        ("e_mail\tLast Name\tFirst\nj@x.example\tDoe\tJane\n", "Jane Doe", "j@x.example", {}),
        ("Student ID;Surname;Given name\n007;Doe;Jane\n", "Jane Doe", "", {"sid": "007"}),
        ("id,name\n1,Jane\n", "Jane", "", {"sid": "1"}),
        ("id,student id,name\n1,2,Jane\n", "Jane", "", {"sid": "2"}),
        ("\n\n login , name \n jd , Jane \n", "Jane", "", {"sis_login": "jd"}),
        ('SID,Name\n"=""00123""",Jane\n', "Jane", "", {"sid": "00123"}),
        ("name,sid\nJane\n", "Jane", "", {}),
    ],
)
def test_columns_are_found_in_any_order_and_case(
    tmp_path: Path, text: str, name: str, email: str, ids: dict[str, str]
) -> None:
    person = only(tmp_path, text)
    assert (person.name, person.email, dict(person.ids)) == (name, email, ids)


def test_a_table_from_excel_as_unicode_text(tmp_path: Path) -> None:
    assert only(tmp_path, "Name\tSID\nZoë\t1\n".encode("utf-16")).name == "Zoë"


def test_a_row_that_is_there_twice_counts_once_and_is_told(tmp_path: Path) -> None:
    found = given_table(tmp_path, 'sid,name\n1,Jane Doe\n1,"Doe, Jane"\n')
    assert len(found.people) == 1
    assert [note.kind for note in found.notes] == ["duplicate"]


def test_an_id_that_two_learners_share_is_not_used(tmp_path: Path) -> None:
    found = given_table(tmp_path, "sid,name\n1.2E+10,Jane Doe\n1.2E+10,Bob Roe\n")
    assert [(one.name, dict(one.ids)) for one in found.people] == [
        ("Jane Doe", {"sid": "1.2E+10"}),
        ("Bob Roe", {}),
    ]
    assert [(note.kind, note.who) for note in found.notes] == [("ambiguous", "Bob Roe")]


# ------------------------------------------------------------------------------------ what is wrong


@pytest.mark.parametrize(
    ("raw", "what"),
    [
        (b"", "has no column that says who a row is about"),
        (b"a,b\n1,2\n", "has no column that says who a row is about"),
        ("name\nZo\u00eb\n".encode("latin-1"), "line 2: not UTF-8 text"),
        (b'name\n"' + b"x" * 200_000 + b'"\n', "is no table"),
    ],
)
def test_what_is_no_roster_says_what_to_do(tmp_path: Path, raw: bytes, what: str) -> None:
    with pytest.raises(UsageProblem, match=what) as caught:
        given_table(tmp_path, raw)
    assert caught.value.next_step


@pytest.mark.parametrize("name", ["none.csv", ".", "\0"])
def test_a_roster_that_cannot_be_read_is_a_usage_problem(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageProblem, match="cannot be read"):
        roster.load(tmp_path / name)


@relaxed
@given(
    st.binary(max_size=120) | st.text(alphabet='name,id;\t"\n=\r\0é', max_size=60).map(str.encode)
)
def test_garbage_never_raises_anything_but_a_usage_problem(
    tmp_path_factory: pytest.TempPathFactory, raw: bytes
) -> None:
    with contextlib.suppress(UsageProblem):
        given_table(tmp_path_factory.getbasetemp(), b"name,id\n" + raw)
    with contextlib.suppress(UsageProblem):
        given_table(tmp_path_factory.getbasetemp(), raw)


# -------------------------------------------------------------------------------- names as compared


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Doe, Jane", "Jane Doe"),
        ("doejane", "Jane Doe"),
        ("jane_doe", "DOE Jane"),
        ("Van der Berg, Jo", "Jo van der Berg"),
        ("O'Neil, Bob", "oneilbob"),
        ("Zoe\u0308", "zoë"),
        ("Straße", "STRASSE"),
        ("王, 伟", "王伟"),
    ],
)
def test_spellings_of_one_name_meet(one: str, other: str) -> None:
    assert roster.forms(one) & roster.forms(other)


@pytest.mark.parametrize(("one", "other"), [("Jane Doe", "Jane Roe"), ("Zoë", "Zoe"), ("", "")])
def test_different_names_do_not_meet(one: str, other: str) -> None:
    assert not roster.forms(one) & roster.forms(other)
