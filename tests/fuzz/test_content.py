"""Whatever stands in a course's files, loading them ends in records or in one declared problem."""

from __future__ import annotations

import contextlib
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader import checks
from grader.catalog import load
from grader.catalog.course import Course
from grader.errors import ContentProblem
from tests.catalog import course
from tests.command import EXERCISE, ROOT
from tests.fuzz import mutations

stable = settings(deadline=None, derandomize=True, max_examples=120)
FILES = {
    "exercise": f"exercises/{course.ID}/exercise.toml",
    "rubric": f"rubrics/{course.ID}/rubric.toml",
}
TEXTS = {"exercise": course.EXERCISE, "rubric": course.RUBRIC}
VALUES = {name: tomllib.loads(text) for name, text in TEXTS.items()}
SHIPPED = (ROOT / "rubrics" / EXERCISE / "rubric.toml").read_bytes()
both = pytest.mark.parametrize("which", sorted(FILES))


def loaded(which: str, data: bytes) -> None:
    """Load a course with one file spoilt."""
    with tempfile.TemporaryDirectory() as folder:
        small = course.make(Path(folder))
        (small.root / FILES[which]).write_bytes(data)
        load_all(small)


def load_all(small: Course) -> None:
    with contextlib.suppress(ContentProblem):
        found = load.entry(small, course.ID)
        checks.load(found.rubric, found.exercise)


def toml(value: Any) -> str:
    """Return a table as TOML; what has no spelling there is left out."""
    inner = ((key, spelled(item)) for key, item in value.items())
    return "".join(f"{spelled(key)} = {text}\n" for key, text in inner if text)


def spelled(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        marks = (f"\\U{ord(c):08x}" for c in value if not 0xD800 <= ord(c) < 0xE000)
        return f'"{"".join(marks)}"'
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list):
        return f"[{', '.join(filter(None, map(spelled, value)))}]"
    if isinstance(value, dict):
        pairs = ((spelled(key), spelled(item)) for key, item in value.items())
        return "{" + ", ".join(f"{key} = {text}" for key, text in pairs if text) + "}"
    return ""


def test_the_spelling_of_toml_is_read_back() -> None:
    assert tomllib.loads(toml(VALUES["rubric"])) == VALUES["rubric"]


@both
@stable
@given(st.data())
def test_spoilt_text_is_loaded_or_is_a_content_problem(which: str, data: st.DataObject) -> None:
    loaded(which, data.draw(mutations.spoilt(TEXTS[which].encode())))


@both
@stable
@given(st.data())
def test_altered_structure_is_loaded_or_is_a_content_problem(
    which: str, data: st.DataObject
) -> None:
    changed = data.draw(mutations.altered(VALUES[which]))
    loaded(which, toml(changed).encode())


@both
@stable
@given(st.binary(max_size=200))
def test_any_bytes_are_loaded_or_are_a_content_problem(which: str, raw: bytes) -> None:
    loaded(which, raw)


@settings(stable, max_examples=50)
@given(mutations.altered(tomllib.loads(SHIPPED.decode())))
def test_an_altered_rubric_of_the_shipped_course_is_loaded_or_is_a_content_problem(
    changed: Any,
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for part, name in (("exercises", "exercise.toml"), ("rubrics", "rubric.toml")):
            target = place / part / EXERCISE / name
            target.parent.mkdir(parents=True)
            target.write_bytes((ROOT / part / EXERCISE / name).read_bytes())
        target.write_text(toml(changed), encoding="utf-8")
        with contextlib.suppress(ContentProblem):
            found = load.entry(Course(place), EXERCISE)
            checks.load(found.rubric, found.exercise)
