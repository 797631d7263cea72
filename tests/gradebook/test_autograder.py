"""The autograder for Gradescope: what is in the zip, and what it writes whatever happens."""

from __future__ import annotations

import io
import json
import shutil
import stat
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from grader import __version__
from grader.catalog import course as courses
from grader.catalog.load import entry as load
from grader.errors import EnvironmentProblem
from grader.gradebook import autograder
from tests import command
from tests.receipt import factory

ENTRY = load(courses.Course(command.ROOT), command.EXERCISE)
WHEEL = f"shardgrade-{__version__}-py3-none-any.whl"
RIGHT = command.STARTER_FILLED.read_text(encoding="utf-8")
WRONG = (command.SOLUTIONS / "rejected" / "values--sign.py").read_text(encoding="utf-8")
NO_GRADE = "This is not a grade, and no fault of the submission"
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the container is Linux")


@dataclass(frozen=True)
class Container:
    """A folder laid out like the container, with the zip unpacked and its wheel in the path."""

    root: Path
    site: Path

    def run(self, files: Mapping[str, str], points: object = "100.0", **changes: str) -> Any:
        """Hand files in and run the autograder; returns the results."""
        submission = self.root / "submission"
        for name, content in files.items():
            (submission / name).parent.mkdir(parents=True, exist_ok=True)
            (submission / name).write_text(content, encoding="utf-8")
        metadata = {"assignment": {"total_points": points}}
        (self.root / "submission_metadata.json").write_text(json.dumps(metadata))
        place = {"GRADE_PYTHON": sys.executable, "PYTHONPATH": str(self.site), **changes}
        done = subprocess.run(
            ["bash", str(self.root / "source" / "run_autograder"), "--root", str(self.root)],
            cwd=self.root,
            env={**command.environment(), **place},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=command.TIMEOUT_S,
        )
        assert done.returncode == 0, done.stderr
        results = json.loads((self.root / "results" / "results.json").read_text())
        return {**results, "printed": done.stdout + done.stderr}


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("packed")
    done = command.run(
        "gradescope-autograder", command.EXERCISE, "--require-confinement", "auto", cwd=folder
    )
    assert done.code == 0, done.said
    assert done.said == "wrote autograder.zip"
    return (folder / "autograder.zip").read_bytes()


@pytest.fixture(scope="module")
def site(packed: bytes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(io.BytesIO(packed)) as file:
        zipfile.ZipFile(io.BytesIO(file.read(WHEEL))).extractall(folder)
    return folder


@pytest.fixture
def container(packed: bytes, site: Path, tmp_path: Path) -> Container:
    root = tmp_path / "autograder"
    (root / "submission").mkdir(parents=True)
    zipfile.ZipFile(io.BytesIO(packed)).extractall(root / "source")
    return Container(root, site)


def is_our_fault(results: Mapping[str, Any]) -> bool:
    assert results["score"] == 0 and results["tests"] == []
    assert not results["extra_data"]["decided"]
    return results["output"].startswith("**Undecided.**") and NO_GRADE in results["output"]


# ------------------------------------------------------------------------------------- the zip


def test_the_zip_holds_grader_and_exercise_and_nothing_close_to_a_solution(packed: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(packed)) as file:
        names = set(file.namelist())
        modes = {one.filename: stat.S_IMODE(one.external_attr >> 16) for one in file.infolist()}
        constraints = file.read("constraints.txt").decode()
        readme = file.read("README.md").decode()
    assert {"setup.sh", "run_autograder", "README.md", "undecided.json", WHEEL} <= names
    assert f"course/rubrics/{command.EXERCISE}/oracle.py" in names
    # What `grade new` copies is an exercise's pattern, and no solution of one.
    ours = [name for name in names if not name.startswith("course/templates/exercise/")]
    assert not [name for name in ours if "solutions" in name or "/warm/" in name]
    assert modes["setup.sh"] == modes["run_autograder"] == 0o755
    assert "\njax==" in constraints
    assert "100 for this exercise" in readme
    assert "@" not in readme


def test_the_same_course_gives_the_same_zip() -> None:
    assert autograder.package(ENTRY, "full") == autograder.package(ENTRY, "full")
    assert autograder.package(ENTRY, "full") != autograder.package(ENTRY, "auto")


def test_writing_it_again_changes_nothing(tmp_path: Path) -> None:
    args = ("gradescope-autograder", command.EXERCISE, "--out", "a.zip")
    assert command.run(*args, cwd=tmp_path).said == "wrote a.zip"
    assert command.run(*args, cwd=tmp_path).said == "same a.zip"


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize("script", ["setup.sh", "run_autograder"])
def test_the_scripts_are_sound_bash(script: str, container: Container) -> None:
    path = container.root / "source" / script
    done = subprocess.run(["bash", "-n", str(path)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "@" not in path.read_text().replace('"$@"', "")


@pytest.mark.slow
@pytest.mark.once
def test_pip_installs_its_wheel(container: Container, tmp_path: Path) -> None:
    line = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    wheel = container.root / "source" / WHEEL
    done = subprocess.run(
        [*line, "--target", str(tmp_path / "site"), str(wheel)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "bin" / "grade").exists()
    there = {"PYTHONPATH": str(tmp_path / "site"), "GRADE_COURSE": str(wheel.parent / "course")}
    listed = command.run("list", cwd=tmp_path, env=there)
    assert (listed.code, listed.stdout[: len(command.EXERCISE)]) == (0, command.EXERCISE)


def test_a_grader_that_was_never_installed_cannot_be_packed() -> None:
    with pytest.raises(EnvironmentProblem) as caught:
        autograder._distribution("a-name-that-is-not-installed")
    assert "grade is not installed here" in caught.value.what
    assert "pip install -e ." in caught.value.next_step


def test_an_unknown_exercise_is_said(tmp_path: Path) -> None:
    done = command.run("gradescope-autograder", "distributed-99", cwd=tmp_path)
    assert done.code == 2
    assert "there is no exercise 'distributed-99'" in done.said
    assert not (tmp_path / "autograder.zip").exists()


# ------------------------------------------------------------------------------ in the container


@LINUX
@pytest.mark.slow
@pytest.mark.once
def test_a_right_answer_has_all_points_of_the_assignment(container: Container) -> None:
    results = container.run({"my_solution.py": RIGHT, "notes.txt": "x"}, points="20.0")
    assert results["score"] == 20
    assert sum(test["max_score"] for test in results["tests"]) == 20
    assert {test["status"] for test in results["tests"]} == {"passed"}
    assert results["output"].startswith("**Passed")


@LINUX
@pytest.mark.slow
@pytest.mark.once
def test_a_wrong_answer_names_its_mistake_whatever_it_prints(container: Container) -> None:
    printing = f"print('{{\"score\": 100}}')\n{WRONG}"
    results = container.run({"grader.py": printing})
    assert 0 < results["score"] < 100
    assert results["extra_data"]["verdict"] == "failed"
    assert results["extra_data"]["mistakes"]
    assert sum(test["score"] for test in results["tests"]) == results["score"]


@LINUX
@pytest.mark.slow
@pytest.mark.once
def test_a_file_that_is_no_python_is_the_learners_to_mend(container: Container) -> None:
    results = container.run({"my_solution.py": "x = (\n"})
    assert results["score"] == 0
    assert results["extra_data"]["verdict"] == "error"
    assert "The module stopped at line 1" in results["output"]
    assert NO_GRADE not in results["output"]


@LINUX
@pytest.mark.slow
@pytest.mark.once
def test_no_file_and_two_files_say_what_to_hand_in(container: Container) -> None:
    results = container.run({"notes.txt": "x"})
    assert results["output"].startswith("Nothing was handed in.")
    assert "no Python file or notebook; there is notes.txt" in results["output"]
    results = container.run({"a.py": RIGHT, "b.py": WRONG})
    assert results["score"] == 0 and NO_GRADE not in results["output"]
    assert "which file is it? a.py, b.py: keep one, or name it" in results["output"].replace(
        "\\", ""
    )
    results = container.run({f"{command.EXERCISE}.py": RIGHT})
    assert results["score"] == 100


@LINUX
@pytest.mark.slow
@pytest.mark.once
def test_without_a_working_python_a_result_says_whose_fault_it_is(container: Container) -> None:
    results = container.run({"my_solution.py": RIGHT}, GRADE_PYTHON="no-such-python")
    assert is_our_fault(results)
    assert "The grader did not finish (code 127)" in results["printed"]
    bare = container.root / "python-without-packages"
    bare.write_text(f'#!/usr/bin/env bash\nexec "{sys.executable}" -S "$@"\n')
    bare.chmod(0o755)
    results = container.run({"my_solution.py": RIGHT}, GRADE_PYTHON=str(bare))
    assert is_our_fault(results)


@LINUX
@pytest.mark.slow
@pytest.mark.once
def test_without_jax_a_result_says_whose_fault_it_is(container: Container) -> None:
    broken = container.root / "broken" / "jax"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise ImportError('no JAX here')\n")
    path = f"{broken.parent}:{container.site}"
    results = container.run({"my_solution.py": RIGHT}, PYTHONPATH=path)
    assert is_our_fault(results)
    assert "no JAX here" not in results["output"]
    assert "code " in results["printed"]


@LINUX
@pytest.mark.slow
@pytest.mark.once
def test_a_grader_that_takes_too_long_is_stopped_and_says_so(container: Container) -> None:
    (container.root / "submission" / "my_solution.py").write_text("import time\ntime.sleep(600)\n")
    source = container.root / "source"
    done = command.run(
        "gradescope-autograder", command.EXERCISE, "--root", container.root, "--course",
        source / "course", "--time-limit", "1", "--require-confinement", "auto",
        cwd=container.root,
    )  # fmt: skip
    assert done.code == 0, done.said
    results = json.loads((container.root / "results" / "results.json").read_text())
    assert is_our_fault(results)
    assert "The grader was stopped after 1 s." in results["output"]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (3, "The course's own files are wrong."),
        (4, "The container lacks something that the grader needs."),
        (5, "The grader could not reach a verdict."),
        (70, "The grader itself failed."),
        (1, "The grader itself failed."),
        (-9, "often for lack of memory"),
    ],
)
def test_every_end_without_a_receipt_is_ours(code: int, words: str) -> None:
    results = json.loads(autograder.results(ENTRY, fault=autograder.ended(code)))
    assert words in results["output"].replace("\\", "")
    assert is_our_fault(results)


def test_an_undecided_receipt_is_no_grade() -> None:
    results = json.loads(autograder.results(ENTRY, factory.undecided()))
    assert results["output"].startswith("**Undecided.**")
    assert "provisional" in results["output"]
    assert not results["extra_data"]["decided"]


@pytest.mark.parametrize(
    ("points", "wanted"),
    [("20.0", Decimal("20.0")), (20, Decimal(20)), ("0.0", None), ("x", None), (None, None)],
)
def test_the_points_of_the_assignment_are_read(points: object, wanted: Decimal | None) -> None:
    metadata = json.dumps({"assignment": {"total_points": points}}).encode()
    assert autograder.maximum(metadata) == wanted


@pytest.mark.parametrize("metadata", [b"", b"[]", b"{}", b'{"assignment": 1}', b"\xff"])
def test_odd_metadata_scales_nothing(metadata: bytes) -> None:
    assert autograder.maximum(metadata) is None
