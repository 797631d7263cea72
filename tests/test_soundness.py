"""What an audit says of an exercise's files and tolerances: a small one, with one fault each."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader import checks
from grader.audit import Audit, Trial, _agreeing, _problem, itself
from grader.catalog import starter
from grader.catalog.course import Course, shipped
from grader.catalog.load import entry
from grader.errors import ContentProblem
from grader.records.receipt import Receipt
from grader.soundness import _truth, unsound
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
            "check values: centre lets pass the right values rounded to bfloat16",
            "check values: centre lets pass the right values rounded to float16",
        ],
    ),
    "a tolerance for 16 bits": (
        replaced(
            f"rubrics/{ID}/rubric.toml",
            "relative_tolerance = 4e-6\nopen",
            "relative_tolerance = 1e-2\nopen",
        ),
        [
            "check values: centre lets pass the right values rounded to bfloat16",
            "check values: centre lets pass the right values rounded to float16",
        ],
    ),
    "a tolerance for float16 alone": (
        replaced(
            f"rubrics/{ID}/rubric.toml",
            "relative_tolerance = 4e-6\nopen",
            "relative_tolerance = 6e-4\nopen",
        ),
        ["check values: centre lets pass the right values rounded to float16"],
    ),
    "a tolerance for 16 bits that is meant": (
        replaced(
            f"rubrics/{ID}/rubric.toml",
            "relative_tolerance = 4e-6\nopen",
            "relative_tolerance = 1e-2\nsixteen_bits = true\nopen",
        ),
        [],
    ),
    "a mistake that is right": (
        replaced(
            f"rubrics/{ID}/oracle.py", '"sum-not-mean": x - x.sum()', '"sum-not-mean": x - x.mean()'
        ),
        [
            "oracle.py: mistakes() gives for sum-not-mean of centre the right answer in every"
            " case, so nothing tells it"
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


UNANSWERED: dict[str, tuple[Change, str]] = {
    "an open case that there is not": (
        replaced(f"rubrics/{ID}/rubric.toml", '"lesson"', '"leson"'),
        "oracle.py: cases() gives nothing for 'leson', which rubric.toml asks about",
    ),
    "a written answer that there is not": (
        replaced(f"rubrics/{ID}/oracle.py", '"values_per_device": right', '"per_device": right'),
        "oracle.py: claims() gives nothing for 'values_per_device', which rubric.toml asks about",
    ),
    "a program that a case leaves out": (
        replaced(f"rubrics/{ID}/oracle.py", '{"centre": [XH]}', "{}"),
        "oracle.py: cases() gives no inputs of 'centre' in 'lesson', which the check values asks"
        " about",
    ),
    "no hidden cases": (
        replaced(f"rubrics/{ID}/oracle.py", "hidden_", "secret_"),
        "oracle.py: cases() gives no hidden_… inputs for 'centre'",
    ),
    "a misspelt program": (
        replaced(f"rubrics/{ID}/oracle.py", '{"centre": [_draw', '{"center": [_draw'),
        "oracle.py: cases() gives inputs of 'center' in 'hidden_0', and exercise.toml has no such"
        " program",
    ),
    "a starter that is no Python": (
        replaced(f"exercises/{ID}/starter.py", "# %% Part 2: counting", "def :"),
        f"no notebook can be made of the starter of {ID}: invalid syntax at line 35",
    ),
}


@pytest.mark.parametrize("fault", UNANSWERED)
def test_what_no_file_can_be_graded_with_is_said_once_and_first(fault: str, root: Path) -> None:
    change, sentence = UNANSWERED[fault]
    change(root)
    with pytest.raises(ContentProblem) as caught:
        list(itself(entry(Course(root), ID)))
    assert caught.value.what == sentence
    assert caught.value.next_step


def without(path: str) -> Change:
    return lambda root: shutil.rmtree(root / path)


SHOWN: dict[str, tuple[Change, list[str]]] = {
    "no right solution": (
        without(f"solutions/{ID}/accepted"),
        ["accepted/ holds no solution: nothing shows that the exercise can be solved"],
    ),
    "a mistake that no file shows": (
        replaced(
            f"rubrics/{ID}/rubric.toml",
            "# What the kinds",
            '[[mistakes]]\nid = "new"\ntitle = "t"\nhint = "h"\n# What the kinds',
        ),
        [
            "mistake new is shown by no rejected file",
            "mistakes.toml explains the mistake new 0 times, not once",
        ],
    ),
    "no words for what a kind names": (
        replaced(f"rubrics/{ID}/rubric.toml", '"low-precision"', '"sum-in-16-bits"'),
        [
            "mistake sum-in-16-bits is shown by no rejected file",
            "the rubric has no words for low-precision, which the kind program_values can name",
            "mistakes.toml explains the mistake sum-in-16-bits 0 times, not once",
            "mistakes.toml explains low-precision, which is no mistake of the rubric",
        ],
    ),
    "a file whose mistake has no words": (
        copied(
            f"solutions/{ID}/rejected/values--local-mean.py",
            f"solutions/{ID}/rejected/values--other.py",
        ),
        ["the rubric has no words for the mistake other"],
    ),
    "a file that promises no mistake": (
        copied(
            f"solutions/{ID}/rejected/values--local-mean.py",
            f"solutions/{ID}/rejected/own-ring.py",
        ),
        [],
    ),
}


@pytest.fixture
def whole(root: Path) -> Path:
    """The same course with its notebook, as `grade new` leaves it."""
    folder = root / "exercises" / ID
    (folder / "starter.ipynb").write_bytes(starter.of(folder, ID))
    return root


@pytest.mark.parametrize("fault", SHOWN)
def test_what_the_solutions_leave_out_is_said(fault: str, whole: Path) -> None:
    change, sentences = SHOWN[fault]
    change(whole)
    assert list(itself(entry(Course(whole), ID))) == sentences


def test_the_pattern_has_nothing_wrong_with_it(whole: Path) -> None:
    assert list(itself(entry(Course(whole), ID))) == []


def test_a_name_without_a_mistake_and_a_starter_that_stops_are_told() -> None:
    text = (command.ROOT / "tests" / "golden" / "rejected.json").read_text(encoding="utf-8")
    receipt = Receipt.model_validate_json(text)
    assert _problem(Trial("rejected", Path("own-ring.py")), receipt) == (
        "its name promises no mistake; it must be CHECK--MISTAKE.py"
    )
    told = "ValueError: it raises at its end"
    outcome = receipt.outcome.model_copy(update={"kind": "raised", "message": told, "line": 9})
    stopped = receipt.model_copy(update={"outcome": outcome})
    assert _problem(Trial("starter", Path("starter.py")), stopped) == (
        f"it does not run to its end: line 9: {told}"
    )


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


@pytest.mark.parametrize(
    ("part", "value", "sentence"),
    [
        ("figures", {}, "oracle.py: figures() gives nothing for 'ring_all_bytes'"),
        ("rows", {}, "oracle.py: rows() gives nothing for 'right'"),
        ("rows", {"right": {}}, "oracle.py: rows() gives nothing for 2"),
    ],
)
def test_numbers_that_the_oracle_leaves_out_are_told_without_a_file(
    part: str, value: Any, sentence: str
) -> None:
    found = entry(Course(shipped()), command.EXERCISE)
    loaded = checks.load(found.rubric, found.exercise)
    truth = _truth(found)
    checks.answered(loaded, truth)
    with pytest.raises(ContentProblem) as caught:
        checks.answered(loaded, replace(truth, **{part: value}))
    assert caught.value.what == f"{sentence}, which rubric.toml asks about"
