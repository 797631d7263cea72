"""A name is the same name whether its accents are letters of their own (macOS) or not."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from grader.gradebook.sources import collect
from tests.gradebook import classes
from tests.gradebook.classes import WANTED

NAME = "Zoë Šťastná"
FORMS = (unicodedata.normalize("NFC", NAME), unicodedata.normalize("NFD", NAME))
SHAPES = ("{}/my_solution.py", "{}.py")


def write(folder: Path, shape: str, texts: tuple[str, str]) -> Path:
    members = {shape.format(name): text for name, text in zip(FORMS, texts, strict=True)}
    classes.write(folder, {**members, shape.format("amy"): "x = 0\n"})
    if len({one.name for one in folder.iterdir()}) < 3:
        pytest.skip("this file system holds both forms for one name")
    return folder


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("form", FORMS, ids=["one", "other"])
def test_a_roster_finds_a_name_in_either_form(tmp_path: Path, shape: str, form: str) -> None:
    for other in FORMS:
        folder = classes.write(tmp_path / "in", {shape.format(form): "x = 1\n"})
        roster = tmp_path / "people.csv"
        roster.write_text(f"Name,Email\n{other},zoe@school.example\n", encoding="utf-8")
        found = collect([str(folder)], wanted=WANTED, roster=roster)
        (one,) = found.hand_ins
        assert [person.email for person in one.people] == ["zoe@school.example"]
        assert [person.key for person in one.people] == [unicodedata.normalize("NFC", NAME)]
        assert found.notes == ()


@pytest.mark.parametrize("shape", SHAPES)
def test_two_forms_of_one_name_are_one_learner(tmp_path: Path, shape: str) -> None:
    folder = write(tmp_path / "in", shape, ("x = 1\n", "x = 2\n"))
    found = collect([str(folder)], wanted=WANTED)
    assert [person.key for person in found.people] == ["amy", unicodedata.normalize("NFC", NAME)]
    # Nobody can tell which of the two it is, and that is said.
    assert [one.people[0].key for one in found.hand_ins] == ["amy"]
    assert [note.kind for note in found.notes] == ["ambiguous"]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_same_file_in_both_forms_is_one_hand_in(tmp_path: Path, shape: str) -> None:
    folder = write(tmp_path / "in", shape, ("x = 1\n", "x = 1\n"))
    found = collect([str(folder)], wanted=WANTED)
    assert [one.people[0].key for one in found.hand_ins] == [
        "amy", unicodedata.normalize("NFC", NAME),
    ]  # fmt: skip
