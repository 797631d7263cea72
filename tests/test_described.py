"""What is made from the models is in step with them, and accepts what the models accept."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from grader import checks, described
from tests import command
from tests.documents import documents

pytestmark = pytest.mark.once
RUBRICS = sorted(command.ROOT.glob("rubrics/*/rubric.toml"))
EXERCISES = sorted(command.ROOT.glob("exercises/*/exercise.toml"))
QUESTIONS = sorted(command.ROOT.glob("exercises/*/questions.toml"))
MISTAKES = sorted(command.ROOT.glob("rubrics/*/mistakes.toml"))


def read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def errors(name: str, value: dict[str, Any]) -> list[str]:
    schema = described.file_schema(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    return [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(value)]


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.name)
def test_what_is_made_is_in_step(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == documents()[path], (
        "run `python -m tests.documents` to write it anew"
    )


@pytest.mark.parametrize("path", RUBRICS, ids=lambda path: path.parent.name)
def test_the_course_s_rubrics_fit_their_schema(path: Path) -> None:
    assert errors("rubric", read(path)) == []


@pytest.mark.parametrize("path", EXERCISES, ids=lambda path: path.parent.name)
def test_the_course_s_exercises_fit_their_schema(path: Path) -> None:
    assert errors("exercise", read(path)) == []


@pytest.mark.parametrize("path", QUESTIONS, ids=lambda path: path.parent.name)
def test_the_course_s_questions_fit_their_schema(path: Path) -> None:
    assert errors("questions", read(path)) == []


@pytest.mark.parametrize("path", MISTAKES, ids=lambda path: path.parent.name)
def test_the_course_s_mistakes_fit_their_schema(path: Path) -> None:
    assert errors("mistakes", read(path)) == []


def test_a_key_that_a_kind_does_not_take_is_seen_by_an_editor() -> None:
    rubric = read(RUBRICS[-1])
    rubric["checks"][0]["items"][0]["pionts"] = 3
    assert any("pionts" in message for message in errors("rubric", rubric))


def test_a_parameter_of_another_kind_is_seen_by_an_editor() -> None:
    rubric = read(RUBRICS[-1])
    rubric["checks"][0]["params"]["layout_mistakes"] = {}
    assert any("layout_mistakes" in message for message in errors("rubric", rubric))


def test_a_kind_there_is_not_is_seen_by_an_editor() -> None:
    rubric = read(RUBRICS[-1])
    rubric["checks"][0]["kind"] = "program_value"
    assert any("program_value" in message for message in errors("rubric", rubric))


def test_every_kind_has_its_section_with_each_key() -> None:
    page = described.kinds_page()
    for kind in checks.kinds():
        assert f"## `{kind}`" in page
        for key in described.params_of(kind).model_fields:
            assert key == "items" or f"| `{key}` |" in described.kind_section(kind)


def test_the_command_prints_one_kind_and_names_the_nearest(tmp_path: Path) -> None:
    shown = command.run("kinds", "metamorphic", cwd=tmp_path)
    assert shown.code == 0
    assert shown.stdout.startswith("## `metamorphic`")
    wrong = command.run("kinds", "metamorfic", cwd=tmp_path)
    assert wrong.code == 2
    assert wrong.stderr == (
        "grade: there is no kind 'metamorfic'\n"
        "  Next: did you mean metamorphic? `grade kinds` shows them all\n"
    )


def test_the_command_prints_the_schema_of_a_file(tmp_path: Path) -> None:
    shown = command.run("schema", "rubric", cwd=tmp_path)
    assert shown.code == 0
    assert '"rubrics/<id>/rubric.toml"' in shown.stdout
