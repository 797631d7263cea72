"""The Containerfile says what it needs, what it copies is enough, and its image confines fully."""

from __future__ import annotations

import re
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command import ROOT

TEXT = (ROOT / "Containerfile").read_text(encoding="utf-8")


def copied() -> set[str]:
    found: set[str] = set()
    for line in re.findall(r"^COPY (.+)$", TEXT, re.MULTILINE):
        found.update(line.split()[:-1])
    return found


def test_everything_that_is_copied_is_there_and_let_through() -> None:
    let_through = {
        line.removeprefix("!")
        for line in (ROOT / ".containerignore").read_text().splitlines()
        if line.startswith("!")
    }
    assert copied() == let_through
    assert all((ROOT / name).exists() for name in copied())


def test_docker_and_podman_leave_out_the_same() -> None:
    assert (ROOT / ".containerignore").read_text() == (ROOT / ".dockerignore").read_text()


def test_what_is_copied_is_what_the_package_is_built_from() -> None:
    built = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for name in ("exercises", "rubrics", "templates"):
        assert f'"{name}" = "grader/course/{name}"' in built
    needed = {"grader", "exercises", "rubrics", "templates", "README.md", "LICENSE"}
    assert needed | {"pyproject.toml"} == copied()


def test_the_lines_that_docs_show_are_those_of_the_file() -> None:
    lines = re.findall(r"^# +(docker .+)$", TEXT, re.MULTILINE)
    security = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    assert [line for line in lines[:2] if line not in security] == []


@pytest.mark.skipif(sys.platform != "linux", reason="seccomp filters need Linux")
def test_where_a_container_refuses_namespaces_doctor_still_says_full(tmp_path: Path) -> None:
    without = Path(__file__).with_name("without.py")
    command = [sys.executable, str(without), "unshare=EPERM", "mount=EPERM", "--"]
    done = subprocess.run(
        [*command, sys.executable, "-m", "grader", "doctor"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "confinement  full" in done.stdout, done.stdout
    assert re.search(r"OFF namespaces +\S", done.stdout)
    assert re.search(r"OFF scratch +\S", done.stdout)


def container_engine() -> str:
    """Return the program that builds and runs containers here; skips where there is none."""
    reasons = []
    for name in ("docker", "podman"):
        if shutil.which(name) is None:
            reasons.append(f"{name} is not installed")
            continue
        done = subprocess.run([name, "info"], capture_output=True, text=True, timeout=120)
        if done.returncode == 0:
            return name
        words = done.stderr.strip().splitlines() or ["no word"]
        reasons.append(f"`{name} info` says: {words[-1]}")
    pytest.skip("; ".join(reasons))


@pytest.fixture
def image() -> Iterator[tuple[str, str]]:
    """Give the program and the name of an image that it built, which is gone afterwards."""
    engine, name = container_engine(), f"grade-test-{secrets.token_hex(6)}"
    try:
        built = subprocess.run(
            [engine, "build", "-t", name, "-f", "Containerfile", "."],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=1800,
        )
        assert built.returncode == 0, (built.stdout + built.stderr)[-3000:]
        yield engine, name
    finally:
        subprocess.run([engine, "image", "rm", "--force", name], capture_output=True, timeout=300)


@pytest.mark.slow
@pytest.mark.once
def test_the_image_is_built_and_its_doctor_says_full(image: tuple[str, str]) -> None:
    engine, name = image
    done = subprocess.run(
        [engine, "run", "--rm", name, "doctor"], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "confinement  full" in done.stdout, done.stdout
