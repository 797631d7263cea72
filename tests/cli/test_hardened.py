"""What a stranger's folder, course or text may not do to who types `grade` beside it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from grader.catalog.course import Course, shipped
from grader.cli import language
from tests.command import EXERCISE, ROOT, command, environment, run

pytestmark = pytest.mark.once
NOBODY = 65534


def completed(*words: str, cwd: Path, typed: str = "") -> str:
    """Return what a shell is told may come next."""
    asked = "\n".join(["grade", *words, typed])
    there = {
        "_GRADE_COMPLETE": "bash_complete",
        "COMP_WORDS": asked,
        "COMP_CWORD": str(len(words) + 1),
    }
    done = subprocess.run(
        command(), cwd=cwd, env=environment(**there), capture_output=True, text=True, timeout=120
    )
    return done.stdout


def a_course(folder: Path) -> Path:
    for part in ("exercises", "rubrics"):
        shutil.copytree(ROOT / part / EXERCISE, folder / part / EXERCISE)
    return folder


def test_nothing_that_a_shell_would_run_is_offered(tmp_path: Path) -> None:
    course = a_course(tmp_path)
    (course / "exercises" / "q$(touch x)").mkdir()
    (course / "exercises" / "q$(touch x)" / "exercise.toml").write_text("")
    rubric = course / "rubrics" / EXERCISE / "rubric.toml"
    text = rubric.read_text(encoding="utf-8")
    rubric.write_text(text.replace('id = "values"', 'id = "values$(touch x)"', 1), encoding="utf-8")
    offered = completed("show", cwd=course)
    assert EXERCISE in offered and "touch" not in offered
    offered = completed("hint", EXERCISE, cwd=course)
    assert "momentum" in offered and "touch" not in offered


def test_only_what_can_be_named_is_an_exercise(tmp_path: Path) -> None:
    course = a_course(tmp_path)
    for name in ("q$(touch x)", "Distributed-03", "distributed-3", "a b-01"):
        (course / "exercises" / name).mkdir()
        (course / "exercises" / name / "exercise.toml").write_text("")
    assert Course(course).ids() == [EXERCISE]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
@pytest.mark.parametrize("part", ["", "rubrics"])
def test_another_user_s_course_around_a_folder_is_not_taken(part: str, tmp_path: Path) -> None:
    course = a_course(tmp_path / "theirs")
    ran = course / "ran"
    oracle = course / "rubrics" / EXERCISE / "oracle.py"
    oracle.write_text(f"open({str(ran)!r}, 'w')\n" + oracle.read_text(encoding="utf-8"))
    os.chown(course / part, NOBODY, NOBODY)
    inside = course / "handed-in"
    inside.mkdir()
    (inside / "mine.py").write_text("x = 1\n")
    for line in ((EXERCISE, "mine.py"), ("list",), ("hint", EXERCISE)):
        done = run(*line, cwd=inside)
        assert done.code == 2, done.said
        assert done.stderr == (
            f"grade: the course around this folder belongs to another user: {course / part}\n"
            "  Next: name it if you trust it (its oracle.py runs as you): --course"
            f" {course}\n"
        )
    assert not ran.exists()
    assert run("list", "--course", course, cwd=inside).code == 0


@pytest.fixture(scope="module")
def german() -> language.Catalog:
    found = language.load(ROOT / "grader" / "locale" / "de" / "LC_MESSAGES" / "grade.mo")
    assert found is not None
    return found


@pytest.mark.parametrize(
    "text",
    [
        "Next: " * 220,
        "grade: " * 5000,
        "Example: " * 100,
        " x (AError" * 100_000,
        "`a` and " * 50_000,
        "a, b; c: d " * 60,
        "\n".join(["not a message, however long it is: " * 15] * 5000),
    ],
    ids=lambda text: text[:12],
)
def test_no_text_of_a_stranger_is_too_much_to_translate(
    german: language.Catalog, text: str
) -> None:
    # Without bounds some of these took minutes, or all of the stack.
    assert len(german.said(text)) >= len(text) // 2


def test_the_course_that_ships_is_found_from_anywhere(tmp_path: Path) -> None:
    assert run("list", cwd=tmp_path).code == 0
    assert EXERCISE in Course(shipped()).ids()
