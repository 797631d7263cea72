"""`pytest --course DIR` as an author's CI runs it: a process of its own, on a small course."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import EXERCISE, ROOT

pytestmark = pytest.mark.once
SOLUTIONS = ROOT / "solutions" / EXERCISE
WRONG = "values--sign.py"


def run(*args: str, cwd: Path) -> tuple[int, str]:
    """Run pytest with our plugin; its exit code and what it printed."""
    line = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--color=no", *args]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(line, cwd=cwd, env=kept, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course with two right files, of which one is in the wrong place, and a test of its own."""
    root = tmp_path_factory.mktemp("course")
    for part in ("exercises", "rubrics"):
        shutil.copytree(ROOT / part / EXERCISE, root / part / EXERCISE)
    for role in ("accepted", "rejected", "hostile"):
        (root / "solutions" / EXERCISE / role).mkdir(parents=True)
    ours = root / "solutions" / EXERCISE
    shutil.copy(SOLUTIONS / "rejected" / WRONG, ours / "rejected" / WRONG)
    shutil.copy(SOLUTIONS / "rejected" / WRONG, ours / "accepted" / "thought_right.py")
    (root / "test_of_theirs.py").write_text("def test_it():\n    raise ValueError\n")
    return root


@pytest.mark.slow
def test_each_file_is_a_test_and_a_surprise_fails_with_its_sentence(course: Path) -> None:
    code, said = run("--course", str(course), "-n", "2", "-rA", cwd=course)
    assert code == 1
    assert f"PASSED solutions/{EXERCISE}/rejected/{WRONG}::graded" in said
    assert f"PASSED exercises/{EXERCISE}/starter.py::graded" in said
    assert "thought_right.py: a right solution got " in said
    assert f"FAILED exercises/{EXERCISE}/exercise.toml::itself" in said
    assert f"{EXERCISE}: mistake local-mean is shown by no rejected file" in said
    assert "2 failed, 3 passed" in said
    assert "Traceback" not in said and "test_of_theirs" not in said


def test_files_are_chosen_by_name_and_by_part(course: Path, tmp_path: Path) -> None:
    chosen = ("--course", str(course), "--collect-only", "-q")
    code, said = run(*chosen, "-k", "sign and not accepted", cwd=tmp_path)
    shown = f"solutions/{EXERCISE}/rejected/{WRONG}::graded"
    assert code == 0 and shown in said and "thought" not in said
    code, said = run(*chosen, "-m", "accepted", cwd=tmp_path)
    assert code == 0 and "thought_right.py" in said and WRONG not in said
    code, said = run(*chosen, "-k", "no-such-01", cwd=tmp_path)
    assert code == 5


def test_what_pytest_calls_a_test_runs_it_again(course: Path) -> None:
    chosen = ("--course", str(course), "--collect-only", "-q")
    _, said = run(*chosen, "-m", "rejected or itself", cwd=course)
    ids = [line for line in said.splitlines() if "::" in line]
    assert len(ids) == 2
    code, again = run(*chosen, *ids, cwd=course)
    assert code == 0 and [line for line in again.splitlines() if "::" in line] == ids


def test_a_folder_that_is_no_course_is_told(tmp_path: Path) -> None:
    code, said = run("--course", str(tmp_path), cwd=tmp_path)
    assert code == 4
    assert f"{tmp_path} is not a course: it has no exercises/ and rubrics/ (--course)" in said
    assert "Next: name a directory that has both, or leave the option out" in said


def test_a_broken_exercise_is_told_in_our_words(course: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(course, broken)
    rubric = broken / "rubrics" / EXERCISE / "rubric.toml"
    rubric.write_text(rubric.read_text().replace("max_points = 100", "max_points = 99"))
    code, said = run("--course", str(broken), cwd=tmp_path)
    assert code == 2
    assert said.count("the items' points sum to 100, max_points says 99 (rubric.toml)\n") == 1
    assert "Traceback" not in said


def test_without_the_option_it_does_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text("def test_it():\n    pass\n")
    code, said = run(cwd=tmp_path)
    assert code == 0 and "1 passed" in said
