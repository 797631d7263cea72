from __future__ import annotations

import os
from pathlib import Path

import pytest

from grader.catalog import course
from grader.errors import UsageProblem
from tests.catalog.course import ID, make

unnamed = pytest.mark.skipif("GRADE_COURSE" in os.environ, reason="a course is named around us")


@unnamed
def test_the_nearest_parent_course_is_found(tmp_path: Path) -> None:
    make(tmp_path)
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    assert course.find(None, deep).root == tmp_path.resolve()
    assert course.find(None, tmp_path).ids() == [ID]


def test_a_named_course_wins_over_the_one_around(tmp_path: Path) -> None:
    make(tmp_path / "one")
    make(tmp_path / "two")
    assert course.find(str(tmp_path / "two"), tmp_path / "one").root == (tmp_path / "two").resolve()


@unnamed
def test_without_a_course_around_the_shipped_one_is_used(tmp_path: Path) -> None:
    assert course.find(None, tmp_path).root == course.shipped()


@pytest.mark.parametrize("missing", ["exercises", "rubrics"])
def test_a_named_folder_that_is_no_course_is_a_usage_problem(tmp_path: Path, missing: str) -> None:
    make(tmp_path)
    (tmp_path / missing).rename(tmp_path / "away")
    with pytest.raises(UsageProblem) as caught:
        course.find(str(tmp_path))
    assert "is not a course: it has no exercises/ and rubrics/" in caught.value.what
    assert (caught.value.where, bool(caught.value.next_step)) == ("--course", True)


def test_only_folders_with_an_exercise_file_are_exercises(tmp_path: Path) -> None:
    made = make(tmp_path)
    (tmp_path / "exercises" / "notes").mkdir()
    (tmp_path / "exercises" / "README.md").write_text("", encoding="utf-8")
    assert made.ids() == [ID]


def test_everything_that_decides_a_grade_is_kept_from_learners(tmp_path: Path) -> None:
    secrets = make(tmp_path).secrets()
    for name in ("exercises", "solutions", "rubrics", "templates"):
        assert str(tmp_path / name) in secrets
    assert str(Path(course.__file__).parents[1]) in secrets


def test_a_course_may_bring_its_own_templates(tmp_path: Path) -> None:
    made = make(tmp_path)
    shipped = course.shipped() / "templates"
    assert made.templates == [shipped]
    (tmp_path / "templates").mkdir()
    assert made.templates == [tmp_path / "templates", shipped]
