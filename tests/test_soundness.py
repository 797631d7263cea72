"""What an audit says of an exercise's files and tolerances: a small one, with one fault each."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.audit import Audit, Trial, _agreeing
from grader.catalog.course import Course, shipped
from grader.catalog.load import entry
from grader.records.receipt import Receipt
from grader.soundness import unsound
from tests import command

pytestmark = pytest.mark.once
ID = "new-01"
PATTERN = command.ROOT / "templates" / "exercise"
Change = Callable[[Path], object]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A course with the exercise that `grade new` writes."""
    for part in ("exercises", "rubrics", "solutions"):
        shutil.copytree(PATTERN / part, tmp_path / part / ID)
    return tmp_path


def said(root: Path) -> list[str]:
    return list(unsound(entry(Course(root), ID)))


def replaced(path: str, old: str, new: str) -> Change:
    def change(root: Path) -> None:
        file = root / path
        text = file.read_text(encoding="utf-8")
        assert old in text
        file.write_text(text.replace(old, new), encoding="utf-8")

    return change


def made(path: str) -> Change:
    def change(root: Path) -> None:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("", encoding="utf-8")

    return change


def copied(source: str, target: str) -> Change:
    return lambda root: shutil.copy(root / source, root / target)


FAULTS: dict[str, tuple[Change, list[str]]] = {
    "stray of a learner": (
        made(f"exercises/{ID}/promt.md"),
        [f"exercises/{ID}/promt.md is read by nothing"],
    ),
    "stray of a rubric": (
        made(f"rubrics/{ID}/mistake.toml"),
        [f"rubrics/{ID}/mistake.toml is read by nothing"],
    ),
    "folder of a rubric": (
        made(f"rubrics/{ID}/warmth/one.py"),
        [f"rubrics/{ID}/warmth/ is read by nothing"],
    ),
    "solution in no folder": (
        made(f"solutions/{ID}/one.py"),
        [f"solutions/{ID}/one.py lies in none of the three folders"],
    ),
    "folder of solutions": (
        made(f"solutions/{ID}/wrong/one.py"),
        [f"solutions/{ID}/wrong/ is read by nothing"],
    ),
    "no solution": (
        made(f"solutions/{ID}/accepted/one.txt"),
        ["accepted/one.txt is no solution: it is neither .py nor .ipynb"],
    ),
    "the starter as a solution": (
        copied(f"exercises/{ID}/starter.py", f"solutions/{ID}/accepted/same.py"),
        ["accepted/same.py is the starter itself"],
    ),
    "a name that the prompt leaves out": (
        replaced(f"exercises/{ID}/prompt.md", "values_per_device", "the count"),
        ["prompt.md does not mention values_per_device"],
    ),
    "a name that the starter leaves out": (
        replaced(f"exercises/{ID}/starter.py", "values_per_device", "count"),
        ["starter.py does not mention values_per_device"],
    ),
    "a part that asks for nothing": (
        replaced(
            f"exercises/{ID}/starter.py",
            "# %% Where you",
            "# %% Part 3\n# TODO count\n\n# %% Where you",
        ),
        ["starter.py: no name that is graded is reached by '# %% Part 3'"],
    ),
    "no TODO": (
        replaced(f"exercises/{ID}/starter.py", "TODO", "Now"),
        ["starter.py has no TODO"],
    ),
    "a tolerance as large as the values": (
        replaced(
            f"rubrics/{ID}/rubric.toml",
            "relative_tolerance = 4e-6\nopen",
            "relative_tolerance = 3.0\nopen",
        ),
        [
            "check values: centre lets pass zeros",
            "check values: centre lets pass values of the wrong sign",
        ],
    ),
    "a tolerance that no float32 keeps": (
        replaced(
            f"rubrics/{ID}/rubric.toml",
            "relative_tolerance = 4e-6\nopen",
            "relative_tolerance = 1e-9\nopen",
        ),
        [
            "check values: centre refuses the right values in float32, another order of summation"
            " apart"
        ],
    ),
    "a written answer that may be zero": (
        replaced(
            f"rubrics/{ID}/oracle.py", '"value": LOCAL, "atol": 0.0', '"value": LOCAL, "atol": 9'
        ),
        ["claims(): values_per_device may be zero: atol is as large as its values"],
    ),
    "a written answer that no float32 holds": (
        replaced(f"rubrics/{ID}/oracle.py", '"value": LOCAL,', '"value": LOCAL + 0.1,'),
        ["claims(): values_per_device refuses the right value in float32: atol is too small"],
    ),
}


def test_the_pattern_itself_is_sound(root: Path) -> None:
    assert said(root) == []


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_said_in_one_sentence(fault: str, root: Path) -> None:
    change, sentences = FAULTS[fault]
    change(root)
    assert said(root) == sentences


@pytest.mark.parametrize("exercise", Course(shipped()).ids())
def test_every_exercise_of_the_course_is_sound(exercise: str) -> None:
    assert list(unsound(entry(Course(shipped()), exercise))) == []


def test_what_an_editor_leaves_behind_is_no_stray(root: Path) -> None:
    made(f"rubrics/{ID}/__pycache__/oracle.pyc")(root)
    made(f"exercises/{ID}/.DS_Store")(root)
    assert said(root) == []


def test_checks_that_fail_for_the_same_files_are_told() -> None:
    text = (command.ROOT / "tests" / "golden" / "rejected.json").read_text(encoding="utf-8")
    receipt = Receipt.model_validate_json(text)
    failed = [check.id for check in receipt.checks if check.status != "passed"]
    passed = [check.id for check in receipt.checks if check.status == "passed"]
    trials = (Trial("rejected", Path("a--one.py"), receipt),)
    assert list(_agreeing(Audit("x-01", (failed[0], *passed), trials))) == []
    assert list(_agreeing(Audit("x-01", (failed[0], passed[0], failed[1]), trials))) == [
        f"checks {failed[0]} and {failed[1]} fail for the same rejected files, so one tells nothing"
    ]
