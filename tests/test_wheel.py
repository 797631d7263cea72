"""What is installed can grade: the course travels in the wheel, the solutions do not."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from grader import __version__
from tests.command import EXERCISE, ROOT, STARTER_FILLED, environment, grade, run

pytestmark = pytest.mark.slow


def build(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-cache-dir"]
    return subprocess.run(
        [*line, *options, "--wheel-dir", str(folder), str(ROOT)],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    done = build(folder, "--no-build-isolation")
    if done.returncode != 0 and "hatchling" in done.stdout + done.stderr:
        done = build(folder)  # fetches hatchling, where there is a network
        if done.returncode != 0:
            pytest.skip("hatchling is neither installed nor to be had")
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as file:
        file.extractall(folder)
    return folder


def test_the_wheel_holds_course_and_program_and_no_solution(wheel: Path) -> None:
    assert wheel.name == f"shardgrade-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as file:
        names = set(file.namelist())
    course = {
        path.relative_to(ROOT).as_posix()
        for kind in ("exercises", "rubrics", "templates")
        for path in (ROOT / kind).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {f"grader/course/{name}" for name in course} <= names
    assert {f"exercises/{EXERCISE}/prompt.md", f"rubrics/{EXERCISE}/oracle.py"} <= course
    # What `grade new` copies is an exercise's pattern, and no solution of one.
    pattern = "grader/course/templates/exercise/"
    assert not [n for n in names if "solution" in n and not n.startswith(pattern)]
    assert not [name for name in names if "__pycache__" in name]
    assert f"{pattern}solutions/accepted/starter_filled.py" in names
    assert "grader/locale/de/LC_MESSAGES/grade.mo" in names
    assert {name.split("/")[0] for name in names} == {
        "grader",
        f"shardgrade-{__version__}.dist-info",
    }
    dist_info = [name.split("/", 1)[1] for name in names if ".dist-info/" in name]
    assert {"METADATA", "entry_points.txt", "licenses/LICENSE"} <= set(dist_info)


def test_the_unpacked_wheel_runs_from_anywhere(unpacked: Path, tmp_path: Path) -> None:
    installed = {"PYTHONPATH": str(unpacked)}
    where = subprocess.run(
        [sys.executable, "-P", "-c", "import grader; print(grader.__file__)"],
        cwd=tmp_path,
        env=environment(**installed),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert Path(where.stdout.strip()).is_relative_to(unpacked)
    listed = run("list", cwd=tmp_path, env=installed)
    assert listed.code == 0, listed.said
    assert f"{EXERCISE}  Communication-efficient algorithms (100 points)\n" in listed.stdout
    shown = run("show", EXERCISE, cwd=tmp_path, env=installed)
    prompt = ROOT / "exercises" / EXERCISE / "prompt.md"
    assert shown.stdout == prompt.read_text(encoding="utf-8")
    assert run("start", EXERCISE, cwd=tmp_path, env=installed).code == 0
    assert str(unpacked) in run("doctor", cwd=tmp_path, env=installed).stdout


def test_the_unpacked_wheel_grades_and_writes_every_receipt(unpacked: Path, tmp_path: Path) -> None:
    ran = grade(STARTER_FILLED, cwd=tmp_path, env={"PYTHONPATH": str(unpacked)})
    assert ran.code == 0, ran.said
    assert ran.graded["points"] == 100
    written = {path.suffix for path in (tmp_path / "receipts" / EXERCISE).glob("[!.]*")}
    assert written == {".json", ".md", ".html"}


def test_an_audit_of_the_wheel_says_that_its_solutions_are_in_the_checkout(
    unpacked: Path, tmp_path: Path
) -> None:
    ran = run("audit", EXERCISE, cwd=tmp_path, env={"PYTHONPATH": str(unpacked)})
    assert ran.code != 0
    assert "solutions" in ran.said
    assert "checkout" in ran.said
    assert "Traceback" not in ran.said
