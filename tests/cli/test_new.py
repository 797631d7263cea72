"""`grade new`: what it writes is an exercise that works, and nothing that was there is touched."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from tests import command

WRITTEN = """\
wrote {0}exercises/sharding-01
wrote {0}rubrics/sharding-01
wrote {0}solutions/sharding-01
"""


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course that `grade new` made where there was no folder."""
    here = tmp_path_factory.mktemp("author")
    made = command.run("new", "sharding-01", "--course", "mine", cwd=here)
    assert made.code == 0, made.stderr
    assert made.stdout.startswith(WRITTEN.format("mine/"))
    assert "  Next: grade audit sharding-01 --course mine\n" in made.stdout
    return here / "mine"


@pytest.mark.slow
def test_it_passes_its_audit_at_once(course: Path) -> None:
    audit = command.run("audit", "sharding-01", "--course", str(course), cwd=course)
    assert audit.code == 0, audit.stdout
    assert "sharding-01: proved by 2 starter, 2 accepted, 6 rejected, 1 hostile" in audit.stdout


@pytest.mark.once
def test_nothing_of_the_pattern_s_own_is_left_in_it(course: Path) -> None:
    files = [path for path in course.rglob("*") if path.is_file()]
    assert len(files) == 20
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert "new-01" not in text and "SCHEMA" not in text, path
    assert not list(course.glob(".new-*"))


@pytest.mark.once
def test_editors_find_the_schema_that_a_file_names(course: Path) -> None:
    for path in course.rglob("*.toml"):
        first = path.read_text(encoding="utf-8").splitlines()[0]
        schema = (path.parent / first.removeprefix("#:schema ")).resolve()
        assert json.loads(schema.read_text(encoding="utf-8"))["title"].endswith(path.name)
        assert tomllib.loads(path.read_text(encoding="utf-8"))


@pytest.mark.once
def test_it_is_listed_and_can_be_started(course: Path, tmp_path: Path) -> None:
    listed = command.run("list", "--course", str(course), cwd=tmp_path)
    assert "sharding-01" in listed.stdout
    started = command.run("start", "sharding-01", "--course", str(course), cwd=tmp_path)
    assert started.code == 0 and (tmp_path / "sharding-01.py").is_file()


@pytest.mark.once
def test_in_a_course_it_is_written_beside_the_others(course: Path) -> None:
    made = command.run("new", "sharding-02", cwd=course)
    assert made.code == 0 and made.stdout.startswith("wrote exercises/sharding-02\n")
    assert {path.name for path in (course / "rubrics").iterdir()} == {"sharding-01", "sharding-02"}


@pytest.mark.once
def test_what_is_there_is_left_as_it_is(course: Path) -> None:
    before = {p: p.read_bytes() for p in course.rglob("*") if p.is_file()}
    again = command.run("new", "sharding-01", cwd=course)
    assert again.code == 2
    assert again.stderr == (
        f"grade: exercises/sharding-01 exists already and is left as it is ({course})\n"
        "  Next: take another id, or change what is there\n"
    )
    assert {p: p.read_bytes() for p in before} == before


@pytest.mark.once
@pytest.mark.parametrize("name", ["Sharding-01", "sharding", "sharding-1", "../x-01", "a-001"])
def test_an_id_that_would_never_be_found_is_refused(name: str, tmp_path: Path) -> None:
    refused = command.run("new", "--course", str(tmp_path / "c"), "--", name, cwd=tmp_path)
    assert refused.code == 2
    assert refused.stderr == (
        f"grade: {name!r} cannot be an exercise's id\n"
        "  Next: take lower-case letters, a dash and two digits, for example sharding-01\n"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.once
def test_a_file_is_no_folder_for_a_course(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    refused = command.run("new", "sharding-01", "--course", "file", cwd=tmp_path)
    assert refused.code == 2
    assert refused.stderr == "grade: file is not a folder\n  Next: name a folder with --course\n"
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.once
def test_without_a_course_around_it_nothing_is_written_anywhere(tmp_path: Path) -> None:
    refused = command.run("new", "sharding-99", cwd=tmp_path)
    assert refused.code == 2
    assert refused.stderr == (
        f"grade: there is no course here to write into ({tmp_path})\n"
        "  Next: `grade new sharding-99 --course my_course` makes one and writes into it\n"
    )
    assert list(tmp_path.iterdir()) == []
    assert not (command.ROOT / "exercises" / "sharding-99").exists()
