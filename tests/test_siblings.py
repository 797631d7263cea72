"""Files beside a submission: only those that the exercise names, and none in place of a module."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from grader import intake
from grader.errors import UsageProblem
from grader.records.submission import Submission
from tests.command import EXERCISE, ROOT, STARTER_FILLED, Ran, grade

USES = 'from helper import HALF\nassert open("notes.txt").read() == "kept"\n'


def allowing(tmp_path: Path, *names: str) -> Path:
    course = tmp_path / "course"
    for folder in ("exercises", "rubrics"):
        shutil.copytree(ROOT / folder, course / folder)
    toml = course / "exercises" / EXERCISE / "exercise.toml"
    listed = ", ".join(f'"{name}"' for name in names)
    toml.write_text(f"siblings = [{listed}]\n" + toml.read_text(encoding="utf-8"))
    return course


def graded(tmp_path: Path, *names: str) -> Ran:
    place = tmp_path / "handed-in"
    place.mkdir()
    text = STARTER_FILLED.read_text(encoding="utf-8")
    head, future, rest = text.partition("import jax\n")
    (place / "solution.py").write_text(head + USES + future + rest, encoding="utf-8")
    (place / "helper.py").write_text("HALF = 0.5\n")
    (place / "notes.txt").write_text("kept")
    (place / "jax.py").write_text("raise SystemExit('a false jax')\n")
    course = allowing(tmp_path, *names)
    return grade(place / "solution.py", "--course", str(course), cwd=tmp_path)


def test_a_submission_may_use_the_files_that_the_exercise_names(tmp_path: Path) -> None:
    ran = graded(tmp_path, "helper.py", "notes.txt", "not-there.txt")
    assert ran.graded["verdict"] == "passed", ran.said
    assert sorted(ran.graded["submission"]["siblings"]) == ["helper.py", "notes.txt"]


def test_no_other_file_beside_it_is_there(tmp_path: Path) -> None:
    ran = graded(tmp_path, "notes.txt")
    assert ran.graded["outcome"]["kind"] == "raised"
    assert "No module named 'helper'" in ran.graded["outcome"]["message"]


def beside(folder: Path) -> Submission:
    return Submission("s.py", str(folder / "s.py"), b"")


def test_siblings_are_taken_as_raw_bytes_and_never_the_submission_itself(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"\xff\0")
    (tmp_path / "s.py").write_bytes(b"x = 1")
    found = intake.with_siblings(beside(tmp_path), ("a.bin", "s.py", "absent.py"))
    assert found.siblings == (("a.bin", b"\xff\0"),)


@pytest.mark.parametrize("kind", ["link", "folder", "large"])
def test_a_sibling_that_is_no_small_ordinary_file_is_a_usage_problem(
    tmp_path: Path, kind: str
) -> None:
    place = tmp_path / "a.txt"
    if kind == "link":
        (tmp_path / "elsewhere").write_text("of somebody else")
        place.symlink_to("elsewhere")
    elif kind == "folder":
        place.mkdir()
    else:
        place.write_bytes(bytes(intake.MOST_SIBLING_BYTES + 1))
    with pytest.raises(UsageProblem, match=r"no ordinary file|larger than 1 MiB"):
        intake.with_siblings(beside(tmp_path), ("a.txt",))
