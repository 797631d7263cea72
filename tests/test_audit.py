"""The exercise proves itself, and an exercise that does not is told so."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from grader.catalog.course import Course, shipped
from grader.catalog.load import entry
from tests.command import EXERCISE, ROOT, run

COURSE = Course(shipped())


def small_course(folder: Path, **keep: list[str]) -> Path:
    """Copy the course with only a few solution files, so that an audit takes seconds."""
    course = folder / "course"
    for name in ("exercises", "rubrics"):
        shutil.copytree(ROOT / name, course / name)
    for role, names in keep.items():
        target = course / "solutions" / EXERCISE / role
        target.mkdir(parents=True)
        for name in names:
            shutil.copy(ROOT / "solutions" / EXERCISE / role / name, target / name)
    return course


@pytest.mark.slow
@pytest.mark.parametrize("exercise", COURSE.ids())
def test_every_solution_does_what_its_folder_and_name_promise(
    exercise: str, tmp_path: Path
) -> None:
    ran = run("audit", exercise, "--course", ROOT, cwd=tmp_path)
    assert ran.code == 0, ran.stdout
    assert f"{exercise}: proved by" in ran.stdout
    assert "!!" not in ran.stderr
    rows = [line for line in ran.stdout.splitlines() if "--" in line.split("  ")[0]]
    assert len(rows) >= len(entry(COURSE, exercise).rubric.mistakes) >= 8
    assert all(" N" in row for row in rows), "each wrong solution is named by some check"


def test_a_rubric_that_is_too_lax_fails_its_audit(tmp_path: Path) -> None:
    course = small_course(tmp_path, rejected=["values--sign.py"], accepted=["starter_filled.py"])
    rubric = course / "rubrics" / EXERCISE / "rubric.toml"
    text = rubric.read_text(encoding="utf-8")
    rubric.write_text(text.replace("relative_tolerance = 4e-6", "relative_tolerance = 1e3"))
    ran = run("audit", EXERCISE, "--course", course, cwd=tmp_path)
    assert ran.code == 3
    assert "rejected/values--sign.py: it passes values" in ran.stdout


def test_a_truth_that_is_wrong_fails_its_audit(tmp_path: Path) -> None:
    course = small_course(tmp_path, accepted=["starter_filled.py"])
    oracle = course / "rubrics" / EXERCISE / "oracle.py"
    text = oracle.read_text(encoding="utf-8")
    oracle.write_text(text.replace("return 2 * x.T @ (x @ w - y) / ROWS", "return x.T @ x @ w"))
    ran = run("audit", EXERCISE, "--course", course, cwd=tmp_path)
    assert ran.code == 3
    assert "accepted/starter_filled.py: a right solution got" in ran.stdout


def test_a_mistake_that_no_file_shows_is_reported(tmp_path: Path) -> None:
    course = small_course(tmp_path, accepted=["starter_filled.py"])
    ran = run("audit", EXERCISE, "--course", course, cwd=tmp_path)
    assert ran.code == 3
    assert "mistake sign is shown by no rejected file" in ran.stdout
    assert "check values kills none of the rejected files" in ran.stdout


def test_a_notebook_that_is_behind_its_starter_fails_the_audit(tmp_path: Path) -> None:
    course = small_course(tmp_path, accepted=["starter_filled.py"])
    folder = course / "exercises" / EXERCISE
    kept = (folder / "starter.ipynb").read_bytes()
    starter = folder / "starter.py"
    starter.write_text(starter.read_text(encoding="utf-8").replace("TODO 1f  Try", "TODO 1f  Use"))
    ran = run("audit", EXERCISE, "--course", course, cwd=tmp_path)
    assert ran.code == 3
    assert (
        f"starter.ipynb is not what starter.py gives: `grade audit {EXERCISE} --renew-notebook`"
        " writes it anew" in ran.stdout
    )
    renewed = run("audit", EXERCISE, "--renew-notebook", "--course", course, cwd=tmp_path)
    assert (renewed.code, renewed.stderr) == (0, "")
    assert renewed.stdout.endswith("starter.ipynb\n")
    made = (folder / "starter.ipynb").read_bytes()
    assert b"Use them" in made
    assert b"Use them" not in kept


def test_an_audit_without_solutions_says_where_they_are(tmp_path: Path) -> None:
    course = small_course(tmp_path)
    ran = run("audit", EXERCISE, "--course", course, cwd=tmp_path)
    assert ran.code == 4
    assert f"no solutions of {EXERCISE} are here: they stay in the checkout" in ran.stderr
    assert "run the audit in a checkout, or name one with --course" in ran.stderr


@pytest.mark.once
def test_a_place_that_cannot_be_written_is_told_before_anything_is_graded(tmp_path: Path) -> None:
    for option in ("--json", "--html"):
        ran = run("audit", EXERCISE, option, "no/such/file", cwd=tmp_path)
        assert ran.code == 2
        assert (ran.stdout, ran.stderr) == (
            "",
            f"grade: no/such/file cannot be written: the folder {tmp_path}/no/such is not there\n"
            "  Next: name another file\n",
        )


@pytest.mark.once
def test_a_misspelt_program_is_told_before_anything_is_graded(tmp_path: Path) -> None:
    course = small_course(tmp_path, accepted=["starter_filled.py"])
    oracle = course / "rubrics" / EXERCISE / "oracle.py"
    text = oracle.read_text(encoding="utf-8")
    first = entry(COURSE, EXERCISE).exercise.programs[0].name
    oracle.write_text(
        text
        + f"""

_right = cases


def cases(rng):
    return {{c: {{n.replace({first!r}, "stp"): i for n, i in given.items()}}
            for c, given in _right(rng).items()}}
"""
    )
    ran = run("audit", EXERCISE, "--course", course, cwd=tmp_path)
    assert (ran.code, ran.stdout) == (3, "")
    assert ran.stderr == (
        "grade: oracle.py: cases() gives inputs of 'stp' in 'hidden_0', and exercise.toml has no"
        " such program (oracle.py)\n"
        "  Next: correct the name, or add the program to exercise.toml\n"
    )
