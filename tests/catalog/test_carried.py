"""A file's name, or the names in it, tell which exercise it belongs to."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from grader.catalog.carried import asked, carried, notes
from grader.catalog.course import Course
from grader.catalog.load import entry
from grader.records.evidence import Claim, Evidence, Outcome, Program
from tests.command import ROOT

pytestmark = pytest.mark.once
COURSE = Course(ROOT)
IDS = COURSE.ids()
FIRST, SECOND = (entry(COURSE, f"distributed-0{number}") for number in (1, 2))


@pytest.mark.parametrize(
    ("name", "exercise"),
    [
        ("distributed-03.py", "distributed-03"),
        ("my_distributed-03_v2.ipynb", "distributed-03"),
        ("Distributed_03 (1).py", "distributed-03"),
        ("distributed-02b.py", "distributed-02"),
        ("distributed-033.py", None),
        ("undistributed-03.py", None),
        ("distributed-01-or-distributed-02.py", None),
        ("solution.py", None),
        ("", None),
    ],
)
def test_an_id_in_a_name_is_a_word_of_its_own(name: str, exercise: str | None) -> None:
    assert carried(name, IDS) == exercise


def test_the_longer_of_two_ids_that_overlap_is_meant() -> None:
    assert carried("big-ring-01.py", ["ring-01", "big-ring-01"]) == "big-ring-01"


def evidence(names: Sequence[str] = (), **more: dict[str, Program] | dict[str, Claim]) -> Evidence:
    return Evidence(Outcome("finished"), names=tuple(names), **more)  # type: ignore[arg-type]


def test_a_file_of_another_exercise_by_its_name_is_told() -> None:
    told = (
        "distributed-02.py looks like distributed-02's: "
        "did you mean `grade distributed-02 distributed-02.py`?"
    )
    assert notes(FIRST, "distributed-02.py", evidence()) == [told]
    missing = {"by_rows": Claim("by_rows", "missing"), "checkpoint": Claim("checkpoint", "text")}
    assert notes(FIRST, "distributed-02.py", evidence(claims=missing)) == [told]
    assert notes(SECOND, "distributed-02.py", evidence()) == []
    assert notes(FIRST, "solution.py", evidence(["mesh", "x"])) == []


def test_a_file_of_another_exercise_by_its_names_is_told() -> None:
    theirs = sorted(asked(SECOND.exercise))[:3]
    told = notes(FIRST, "my solution.py", evidence(theirs))
    assert told == [
        "my solution.py looks like distributed-02's: did you mean `grade distributed-02 FILE`?"
    ]
    assert notes(FIRST, "distributed-01.py", evidence(theirs))
    assert notes(FIRST, "my.py", evidence(theirs[:1])) == []


def test_a_file_that_defines_something_that_is_asked_for_is_no_slip() -> None:
    program = FIRST.exercise.programs[0].name
    begun = evidence(programs={program: Program(program, "refused")})
    assert notes(FIRST, "distributed-02.py", begun) == []
