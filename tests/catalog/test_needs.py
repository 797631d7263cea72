"""An exercise that uses a package which is not installed says so before anything runs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from grader.catalog import needs
from grader.catalog.models import Need
from tests.command import EXERCISE, ROOT, STARTER_FILLED, run

pytestmark = pytest.mark.once
PACKAGE = "a-package-that-nobody-has"
TOLD = f"{EXERCISE} uses {PACKAGE}, not installed here; nothing was run"


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a course whose exercise uses a package that is in no environment."""
    found = tmp_path_factory.mktemp("needs") / "course"
    for name in ("exercises", "rubrics"):
        shutil.copytree(ROOT / name / EXERCISE, found / name / EXERCISE)
    (found / "solutions" / EXERCISE / "accepted").mkdir(parents=True)
    place = found / "exercises" / EXERCISE / "exercise.toml"
    line = f'needs = [{{ package = "{PACKAGE}", extra = "orbax" }}]\n\n[separate]'
    text = place.read_text(encoding="utf-8").replace("[separate]", line)
    place.write_text(text, encoding="utf-8")
    return found


@pytest.mark.parametrize("how", ["one", "class", "audit"])
def test_what_is_missing_is_said_with_the_command_that_brings_it(
    course: Path, tmp_path: Path, how: str
) -> None:
    (tmp_path / "hand-ins").mkdir()
    (tmp_path / "hand-ins" / "a.py").write_text("print('it ran')\n", encoding="utf-8")
    command = {
        "one": (EXERCISE, STARTER_FILLED),
        "class": (EXERCISE, "hand-ins"),
        "audit": ("audit", EXERCISE),
    }[how]
    ran = run(*command, "--course", course, cwd=tmp_path)
    said = " ".join((ran.stdout + ran.stderr).split())
    assert ran.code == 4, said
    assert TOLD in said
    assert "Next: pip install 'shardgrade[orbax]'" in said
    assert "it ran" not in said


@pytest.mark.slow
def test_doctor_shows_what_is_there_and_what_is_missing(course: Path, tmp_path: Path) -> None:
    ran = run("doctor", "--course", course, cwd=tmp_path)
    assert (
        f"package      {PACKAGE} missing; pip install 'shardgrade[orbax]' (for {EXERCISE})"
        in ran.stdout
    )


def test_a_package_of_no_extra_is_installed_by_its_own_name() -> None:
    assert needs.install(Need(package="optax")) == "pip install optax"
    assert needs.version(Need(package="numpy")) is not None
    assert needs.version(Need(package=PACKAGE)) is None
