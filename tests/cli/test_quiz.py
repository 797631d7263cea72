"""`grade quiz` asks the checkpoint, and says of every choice why it is right or not."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from grader import answers
from grader.answers import Quiz
from grader.catalog.course import Course
from grader.catalog.load import entry
from tests.cli.test_predict import state, typed
from tests.command import EXERCISE, ROOT, Ran, run
from tests.test_audit import small_course

pytestmark = pytest.mark.once
RUBRIC = entry(Course(ROOT), EXERCISE).rubric


def quiz(cwd: Path, *args: str | Path) -> Ran:
    return run("quiz", EXERCISE, *args, cwd=cwd, env={"XDG_STATE_HOME": str(cwd / "state")})


def test_a_wrong_answer_says_why_and_may_be_tried_again(tmp_path: Path) -> None:
    assert RUBRIC.checkpoint is not None
    ran = typed(tmp_path, "a\nwhat\n (B) \nC\nd\n", "quiz", EXERCISE)
    assert (ran.returncode, ran.stderr) == (0, "")
    said = " ".join(ran.stdout.split())
    shown = [text in said for text in RUBRIC.checkpoint.feedback.values()]
    assert shown == [True, True, True, False]
    assert said.count("Not this one; try again.") == 2
    assert "That is none of a, b, c, d." in said
    assert said.endswith(
        "Right at try 3; the first answer was a. The receipt shows it beside your points."
    )
    assert answers.quiz(EXERCISE, state(tmp_path)) == Quiz("a", "c", 3)


def test_once_it_is_right_nothing_more_is_counted(tmp_path: Path) -> None:
    right = quiz(tmp_path, "--answer", "c")
    assert right.code == 0 and "Right at the first try." in right.stdout
    again = quiz(tmp_path, "--answer", "b")
    assert again.code == 1 and "Neither of the two" in again.stdout
    asked = typed(tmp_path, "a\n\n", "quiz", EXERCISE)
    assert "You answered it right before." in asked.stdout
    assert answers.quiz(EXERCISE, state(tmp_path)) == Quiz("c", "c", 1)


def test_who_leaves_finds_it_as_it_was(tmp_path: Path) -> None:
    ran = typed(tmp_path, "", "quiz", EXERCISE)
    assert ran.returncode == 0
    assert ran.stdout.endswith(f"Left as it was. `grade quiz {EXERCISE}` asks again.\n")
    assert not (tmp_path / "state").exists()
    ran = typed(tmp_path, "d\n\n", "quiz", EXERCISE)
    assert ran.stdout.endswith(f"What you answered is kept. `grade quiz {EXERCISE}` asks again.\n")
    assert answers.quiz(EXERCISE, state(tmp_path)) == Quiz("d", "d", 1)


def test_a_choice_that_is_not_there_is_told(tmp_path: Path) -> None:
    for letter in ("e", "", "cc", "\x1b[2J"):
        ran = quiz(tmp_path, "--answer", letter)
        assert ran.code == 2
        assert re.fullmatch(
            rf"grade: the checkpoint of {EXERCISE} has no choice '[^\x1b]*'\n"
            r"  Next: one of a, b, c, d\n",
            ran.stderr,
        )
    assert not (tmp_path / "state").exists()


def test_what_cannot_be_kept_gives_nothing_away(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("in the way")
    ran = quiz(tmp_path, "--answer", "c")
    assert (ran.code, ran.stdout) == (4, "")
    assert ran.stderr.startswith("grade: the answers cannot be kept: ")


def shown(tmp_path: Path, text: str, name: str = f"{EXERCISE}.py") -> str:
    (tmp_path / name).write_text(text)
    ran = quiz(tmp_path, "--answer", "c")
    assert ran.code == 0
    return ran.stdout.splitlines()[-1].strip()


def test_an_answer_in_a_submission_here_is_said_to_count(tmp_path: Path) -> None:
    counts = (
        f"But {EXERCISE}.py answers it as well, at line 2, and a grade of that file counts what"
        " the file says: change it there."
    )
    same = f"{EXERCISE}.py says the same at line 2, and a grade of it shows that."
    nothing = "The receipt shows it beside your points."
    assert shown(tmp_path, '"""\n"""; x = 1\nif x:\n    checkpoint = "b"\n') == nothing
    assert shown(tmp_path, '"""a\ncheckpoint = \'b\'\n"""\n# checkpoint = 1\n') == nothing
    assert shown(tmp_path, "\ncheckpoint = ...\ncheckpoint == 3\n") == nothing
    assert shown(tmp_path, '\ncheckpoint = "b"\n\nif (\n') == counts
    assert shown(tmp_path, '\ncheckpoint = chosen("c")\n') == counts
    assert shown(tmp_path, '\ncheckpoint: str = "(C)"  # mine\n') == same
    (tmp_path / f"{EXERCISE}.py").write_bytes(b"\xff\x00" + b"(" * 5000)
    assert shown(tmp_path, 'checkpoint = "b"\n', "distributed-02.py") == nothing
    assert shown(tmp_path, 'checkpoint = "b"\n', "solution.py") == nothing


def test_a_notebook_and_a_file_that_was_graded_are_looked_at_too(tmp_path: Path) -> None:
    cells = [{"cell_type": kind, "source": ["%time\n", 'checkpoint = "c"']}
             for kind in ("markdown", "code")]  # fmt: skip
    told = shown(tmp_path, json.dumps({"cells": cells}), f"my_{EXERCISE}.ipynb")
    assert told == (
        f"my_{EXERCISE}.ipynb says the same at cell 2, line 2, and a grade of it shows that."
    )
    (tmp_path / f"my_{EXERCISE}.ipynb").unlink()
    (tmp_path / "receipts" / EXERCISE).mkdir(parents=True)
    (tmp_path / "receipts" / EXERCISE / "solution.json").touch()
    assert shown(tmp_path, 'checkpoint = "a"\n', "solution.py").startswith(
        "But solution.py answers it as well, at line 1, "
    )


@pytest.mark.parametrize(
    ("file", "old", "new", "told"),
    [
        (
            "rubrics/{}/rubric.toml", "\nb = ", "\n# b = ",
            "rubric.toml has no feedback for the checkpoint's choice 'b'",
        ),
        (
            "exercises/{}/questions.toml", "\nd = ", "\n# d = ",
            "questions.toml does not have the checkpoint's choice 'd'",
        ),
        (
            "exercises/{}/questions.toml", "\nc = ", "\n# c = ",
            "rubric.toml: the checkpoint's answer 'c' is no choice of questions.toml",
        ),
        (
            "exercises/{}/questions.toml", 'programs = ["gather"]', 'programs = ["gathers"]',
            "questions.toml: gather: there is no program 'gathers'",
        ),
    ],
)  # fmt: skip
def test_questions_and_rubric_that_do_not_fit_are_told(
    tmp_path: Path, file: str, old: str, new: str, told: str
) -> None:
    course = small_course(tmp_path)
    path = course / file.format(EXERCISE)
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")
    ran = quiz(tmp_path, "--answer", "a", "--course", course)
    assert (ran.code, ran.stdout) == (3, "")
    assert ran.stderr.startswith(f"grade: {told} (")


def test_an_exercise_without_a_checkpoint_says_so(tmp_path: Path) -> None:
    course = small_course(tmp_path)
    (course / "exercises" / EXERCISE / "questions.toml").unlink()
    ran = quiz(tmp_path, "--course", course)
    assert (ran.code, ran.stderr) == (
        2,
        f"grade: {EXERCISE} has no checkpoint\n  Next: grade show {EXERCISE}\n",
    )
