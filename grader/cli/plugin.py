"""`pytest --course DIR`: each solution file of a course is a test, for an author's own CI.

A plugin of pytest, found by its entry point; without `--course` it does nothing, imports nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from grader.audit import Trial
    from grader.catalog.load import Entry
    from grader.sandbox.host import Host

_HOSTS = pytest.StashKey["dict[str, Host]"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.getgroup("grade").addoption(
        "--course", metavar="DIR", help="Grade every solution of the course in DIR, one test each."
    )


def pytest_configure(config: pytest.Config) -> None:
    """Take the course in place of the tests of this folder where nothing else was named."""
    course = config.getoption("--course")
    if course is None:
        return
    _refuse_what_is_no_course(course)
    config.stash[_HOSTS] = {}
    for role in ("starter", "accepted", "rejected", "hostile"):
        config.addinivalue_line("markers", f"{role}: a file of that part of a course")
    if config.args_source != pytest.Config.ArgsSource.ARGS:
        config.args = [str(Path(course).resolve())]


def _refuse_what_is_no_course(given: str) -> None:
    from grader.catalog import course as courses
    from grader.errors import GradeError

    try:
        if not courses.find(given).ids():
            raise pytest.UsageError(f"--course {given}: there is no exercise in it")
    except (GradeError, OSError) as error:
        said = error.sentence() if isinstance(error, GradeError) else error
        raise pytest.UsageError(str(said)) from error


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect the course, and nothing else of its folder."""
    course = parent.config.getoption("--course")
    if course is None or path != Path(course).resolve():
        return None
    return CourseCollector.from_parent(parent, path=path)


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the processes that the trials shared."""
    for host in config.stash.get(_HOSTS, {}).values():
        host.close()


class CourseCollector(pytest.Directory):
    """A course: its exercises, as folders of trials."""

    def collect(self) -> Iterator[pytest.Collector]:
        """Give each exercise."""
        from grader.catalog import course as courses

        course = courses.find(str(self.path))
        for exercise in course.ids():
            yield ExerciseCollector.from_parent(self, name=exercise, course=course)


class ExerciseCollector(pytest.Collector):
    """One exercise: its starter and its solutions."""

    def __init__(self, *, course: Any, **named: Any) -> None:
        super().__init__(**named)
        self._course = course

    def collect(self) -> Iterator[pytest.Item]:
        """Give one test for each file; what is wrong with the exercise fails here."""
        from grader import audit, checks
        from grader.catalog.load import entry

        loaded = entry(self._course, self.name)
        checks.load(loaded.rubric, loaded.exercise)
        for trial in audit.trials(loaded):
            name = f"{trial.role}/{trial.path.name}"
            yield TrialItem.from_parent(self, name=name, entry=loaded, trial=trial)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return what is wrong with a course in our own words."""
        from grader.errors import GradeError

        problem = excinfo.value
        return (
            problem.sentence() if isinstance(problem, GradeError) else super().repr_failure(excinfo)
        )


class Surprise(Exception):
    """A solution was graded otherwise than it is meant to be."""


class TrialItem(pytest.Item):
    """One file, graded as a learner's would be and held against what it is meant to show."""

    def __init__(self, *, entry: Entry, trial: Trial, **named: Any) -> None:
        super().__init__(**named)
        self._entry, self._trial = entry, trial
        self.add_marker(trial.role)

    def runtest(self) -> None:
        """Grade the file. Raises: Surprise with what is wrong."""
        from grader import audit

        judged = audit.tried(self._entry, self._trial, _host(self.config, self._entry))
        if judged.problem:
            raise Surprise(judged.problem)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the sentence alone: whose lines led to it says nothing to an author."""
        if isinstance(excinfo.value, Surprise):
            return f"{self._trial.path.name}: {excinfo.value}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return where the file lies and what the test is called."""
        return self._trial.path, None, f"{self._entry.exercise.id}::{self.name}"


def _host(config: pytest.Config, entry: Entry) -> Host:
    """Return what starts the children of an exercise; one for all of its trials in this process."""
    from grader.cli import early
    from grader.sandbox import cache
    from grader.sandbox.host import open_host

    hosts = config.stash[_HOSTS]
    if entry.exercise.id not in hosts:
        place = early.cache_place(entry.course, entry.exercise.id)
        usable = cache.usable(place) if place else None
        hosts[entry.exercise.id] = open_host(early.forbidden(entry.course), usable)
    return hosts[entry.exercise.id]
