"""Who is who: joins that are certain, and keys that stay."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.gradebook import sources
from grader.gradebook.roster import Roster, identity
from grader.gradebook.sources.people import Directory
from grader.receipt.naming import safe_stem
from grader.records.gradebook import Collected, Person
from tests.gradebook import classes
from tests.gradebook.classes import BOB, CLASS, JANE, WANTED, write, zipped

relaxed = settings(deadline=None, max_examples=200, derandomize=True)


def joined(roster: list[Person], *people: Person) -> tuple[Directory, list[tuple[str, ...]]]:
    directory = Directory(Roster(tuple(roster)), people)
    everybody = directory.keyed()
    return directory, [
        tuple(everybody[known].name for known in directory.who(one)) for one in people
    ]


def kinds(directory: Directory) -> list[str]:
    return [note.kind for note in directory.notes]


ROSTER = [
    Person("", "Doe, Jane", "jd@school.example", {"canvas_user": "1", "sis_login": "jd"}),
    Person("", "Roe, Bob", "br@school.example", {"canvas_user": "2", "sis_login": "br"}),
]


@pytest.mark.parametrize(
    "person",
    [
        Person("", "somebody", ids={"canvas_user": "1"}),
        Person("", "doejane"),
        Person("", "Jane Doe"),
        Person("", "x", "JD@school.example"),
        Person("", "jd", ids={"folder": "A/jd"}),
        Person("", "JD@SCHOOL.EXAMPLE", ids={"folder": "JD@SCHOOL.EXAMPLE"}),
        Person("", "jane_doe", ids={"folder": "jane_doe"}),
        Person("", "whoever", ids={"sid": "jd"}),
    ],
)
def test_a_person_is_found_by_whatever_is_known(person: Person) -> None:
    directory, names = joined(ROSTER, person)
    assert names == [("Doe, Jane",)]
    assert kinds(directory) == []


def test_the_local_part_of_a_school_address_is_a_login() -> None:
    roster = [Person("", "Doe, Jane", "jd7@school.example"), Person("", "Roe", "r@school.example")]
    folder = Person("", "jd7", ids={"folder": "jd7"})
    assert joined(roster, folder)[1] == [("Doe, Jane",)]
    # Anybody may be jd7 somewhere.
    private = [*roster, Person("", "Poe", "poe@elsewhere.example")]
    assert joined(private, folder)[1] == [("jd7",)]


def test_an_id_beats_an_e_mail_and_an_e_mail_a_name() -> None:
    by_id = Person("", "Roe, Bob", "br@school.example", {"canvas_user": "1"})
    by_mail = Person("", "Doe, Jane", "br@school.example")
    assert joined(ROSTER, by_id)[1] == [("Doe, Jane",)]
    assert joined(ROSTER, by_mail)[1] == [("Roe, Bob",)]


def test_a_strong_id_beats_a_weaker_one_that_differs() -> None:
    roster = [Person("", "Jane Doe", ids={"sid": "1", "github": "old"})]
    assert joined(roster, Person("", "x", ids={"sid": "1", "github": "new"}))[1] == [("Jane Doe",)]


def test_who_is_not_certain_takes_nobodys_place() -> None:
    roster = [
        Person("", "Jane Doe", ids={"sid": "1"}),
        Person("", "Bob Roe", ids={"canvas_user": "7", "sid": "1"}),
    ]
    directory, names = joined(roster, Person("", "Zoe Poe", ids={"sid": "1"}))
    assert names == [("Zoe Poe",)]
    assert kinds(directory) == ["ambiguous"]
    assert {one.name for one in directory.keyed().values()} == {"Jane Doe", "Bob Roe", "Zoe Poe"}


def test_a_name_is_no_proof_against_another_id() -> None:
    directory, names = joined(ROSTER, Person("", "Jane Doe", ids={"canvas_user": "99"}))
    assert names == [("Jane Doe",)]
    assert kinds(directory) == ["unmatched"]


def test_a_number_of_one_platform_says_nothing_on_another() -> None:
    directory, names = joined(ROSTER, Person("", "x", ids={"moodle_participant": "1"}))
    assert names == [("x",)]
    assert kinds(directory) == ["unmatched"]


def test_two_of_one_name_in_the_roster_are_ambiguous() -> None:
    roster = [Person("", "Jane Doe", ids={"sid": "1"}), Person("", "Doe, Jane", ids={"sid": "2"})]
    directory, names = joined(roster, Person("", "doejane"))
    assert names == [("doejane",)]
    assert kinds(directory) == ["ambiguous"]


@pytest.mark.parametrize("turned", [False, True])
def test_two_who_claim_one_row_by_name_get_nothing(turned: bool) -> None:
    roster = [Person("", "Jane Doe", ids={"sid": "1"})]
    claim = [Person("", "Jane Doe", ids={"github": name}) for name in ("a", "b")]
    directory, names = joined(roster, *(reversed(claim) if turned else claim))
    assert names == [("Jane Doe",)] * 2
    assert kinds(directory) == ["ambiguous"] * 2
    assert {known for one in claim for known in directory.who(one)} == {
        ("github", "a"),
        ("github", "b"),
    }


def test_the_better_claim_is_heard() -> None:
    roster = [Person("", "Jane Doe", "j@x.example", {"sid": "1"})]
    by_mail = Person("", "x", "j@x.example", {"github": "a"})
    by_name = Person("", "Jane Doe", ids={"github": "b"})
    directory, _ = joined(roster, by_name, by_mail)
    assert directory.who(by_mail) == (("sid", "1"),)
    assert directory.who(by_name) == (("github", "b"),)


def test_what_two_sources_know_comes_together() -> None:
    directory, _ = joined(ROSTER, Person("", "doejane", ids={"canvas_user": "1", "github": "jd"}))
    person = directory.keyed()["canvas_user", "1"]
    assert person.ids == {"canvas_user": "1", "sis_login": "jd", "github": "jd"}
    assert person.email == "jd@school.example"


def test_everybody_is_accounted_for(tmp_path: Path) -> None:
    path = zipped(
        tmp_path / "z.zip",
        [
            ("doejane_1001_7_a.py", "x"),
            ("stranger_5_8_a.py", "y"),
            ("oneilbob_1002_text.html", ""),
        ],
    )
    found: Collected = sources.collect(
        [str(path)], wanted=WANTED, roster=classes.canvas_roster(tmp_path / "r.csv")
    )
    assert {(note.kind, note.who) for note in found.notes} == {
        ("unmatched", "stranger"),
        ("ignored", "oneilbob"),
        ("missing", "Šťastná, Zoë"),
        ("missing", "王, 伟"),
        # The roster names no groups, so nothing tells whether somebody handed in for them.
        ("missing", "group work"),
    }
    assert len(found.hand_ins) == 2
    assert len(found.people) == len(CLASS) + 1


def test_two_files_of_one_row_of_the_roster_are_one_persons(tmp_path: Path) -> None:
    files = {"learner1/m.py": "x = 1", "Jane Doe/m.py": "x = 1", "bob oneil/m.py": "y"}
    found = sources.collect(
        [str(write(tmp_path / "c", files))],
        wanted=WANTED,
        roster=classes.gradescope_roster(tmp_path / "r.csv", (JANE, BOB)),
    )
    assert len(found.hand_ins) == len(found.people) == 2
    assert [note.kind for note in found.notes if note.kind != "ignored"] == ["duplicate"]


# --------------------------------------------------------------------------------------------- keys


def keys(*people: Person) -> dict[tuple[str, str], str]:
    return {known: one.key for known, one in Directory(None, people).keyed().items()}


def test_a_key_is_the_name_and_the_strongest_id() -> None:
    person = Person("", "Doe, Jane", ids={"github": "jd", "canvas_user": "7"})
    assert keys(person) == {("canvas_user", "7"): "Doe, Jane-7"}
    assert keys(Person("", "jane", ids={"folder": "A/jane"})) == {("folder", "A/jane"): "A_jane"}
    assert list(keys(Person("", "", "a@x.example")).values()) == ["a@x.example"]


def test_a_key_does_not_change_with_a_hand_in() -> None:
    known = Person("", "Doe, Jane", ids={"sid": "7"})
    person = Person("", "doejane", ids={"canvas_user": "1001"})
    before, after = (Directory(Roster((known,)), found).keyed() for found in ([], [person]))
    assert before["sid", "7"].key == after["sid", "7"].key == "Doe, Jane-7"
    assert after["sid", "7"].ids == {"sid": "7", "canvas_user": "1001"}


def test_a_long_name_does_not_push_out_the_id() -> None:
    (key,) = keys(Person("", "王" * 300, ids={"sid": "9" * 30})).values()
    assert key == "王" * 30 + "-" + "9" * 30


def test_keys_that_a_file_system_would_mix_up_are_told_apart() -> None:
    people = [
        Person("", name, ids={"folder": name}) for name in ("jane", "Jane", "JANE", "con", "nul.py")
    ]
    found = keys(*people)
    assert len({key.casefold() for key in found.values()}) == 5
    for order in itertools.permutations(people):
        assert keys(*order) == found


names = st.text(max_size=40)


@relaxed
@given(
    st.lists(
        st.builds(
            lambda name, email, kind, value: Person("", name, email, {kind: value}),
            names,
            names,
            st.sampled_from(["sid", "github", "canvas_user", "folder", "canvas_anonymous"]),
            st.text(max_size=60),
        ),
        max_size=8,
    )
)
def test_keys_are_unique_and_safe_for_anybody(people: list[Person]) -> None:
    found = keys(*people)
    assert found.keys() == {identity(one) for one in people}
    assert len({key.casefold() for key in found.values()}) == len(found)
    assert all(safe_stem(key) == key for key in found.values())
    assert keys(*reversed(people)).keys() == found.keys()
