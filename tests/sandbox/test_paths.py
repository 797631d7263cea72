"""What a confined process may read: enough for JAX, and never a way to anything private."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import grader
from grader.sandbox.landlock import is_within
from grader.sandbox.paths import readable_paths

CHECKOUT = Path(grader.__file__).resolve().parents[1]
PACKAGING = Path(pytest.importorskip("packaging").__file__).resolve().parent


def reachable(path: object, forbidden: tuple[str, ...] = ()) -> bool:
    real = os.path.realpath(str(path))
    return any(is_within(real, allowed) for allowed in readable_paths(forbidden))


@pytest.mark.parametrize(
    "private", ["/", Path.home(), tempfile.gettempdir(), CHECKOUT, Path(grader.__file__).parent]
)
def test_private_directories_are_never_named_nor_an_ancestor_of_theirs(private: object) -> None:
    real = os.path.realpath(str(private))
    assert not [allowed for allowed in readable_paths(()) if is_within(real, allowed)]


@pytest.mark.parametrize("module", ["jax", "jaxlib", "numpy", "scipy", "ml_dtypes", "json"])
def test_what_a_lesson_imports_is_readable(module: str) -> None:
    assert reachable(pytest.importorskip(module).__file__)


def test_the_course_and_the_grader_are_not_readable() -> None:
    for place in ("grader", "rubrics", "exercises", "solutions", ".git"):
        assert not reachable(CHECKOUT / place / "anything")


def test_a_forbidden_package_is_left_out_and_its_neighbours_stay() -> None:
    assert reachable(PACKAGING / "version.py")
    assert not reachable(PACKAGING / "version.py", (str(PACKAGING),))
    assert reachable(pytest.importorskip("iniconfig").__file__, (str(PACKAGING),))


def test_a_forbidden_file_inside_a_package_is_left_out_alone() -> None:
    forbidden = (str(PACKAGING / "tags.py"),)
    assert not reachable(PACKAGING / "tags.py", forbidden)
    assert reachable(PACKAGING / "version.py", forbidden)


def test_a_course_around_the_environment_does_not_take_jax_away() -> None:
    assert reachable(PACKAGING / "version.py", (str(Path(sys.prefix).parent), sys.prefix))


def test_an_installed_grader_is_left_out_of_its_own_site_packages(tmp_path: Path) -> None:
    site_packages = tmp_path / "site-packages"
    shutil.copytree(CHECKOUT / "grader", site_packages / "grader")
    for name in ("shardgrade-1.0.dist-info", "_shardgrade.pth", "neighbour"):
        (site_packages / name).mkdir()
    script = "from grader.sandbox.paths import readable_paths; print(*readable_paths(()), sep='|')"
    answer = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": str(site_packages)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    beneath = [path for path in answer.stdout.strip().split("|") if is_within(path, str(tmp_path))]
    assert beneath == [str(site_packages / "neighbour")]


def test_no_path_lies_within_another() -> None:
    paths = [path for path in readable_paths(()) if not path.startswith("/proc/self")]
    assert not [(a, b) for a in paths for b in paths if a != b and is_within(a, b)]
