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
    from grader.catalog.course import Course
    from grader.catalog.load import Entry
    from grader.sandbox.host import Host

_HOSTS = pytest.StashKey["dict[str, Host]"]()
# The exercises of which has been said that nothing of them can be graded.
_TOLD = pytest.StashKey[set[str]]()


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
    config.stash[_TOLD] = set()
    config.addinivalue_line("markers", "itself: an exercise of a course, apart from its files")
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
    from grader.catalog import course as courses

    return CourseFolder.from_parent(parent, path=path, course=courses.find(course))


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the processes that the trials shared."""
    for host in config.stash.get(_HOSTS, {}).values():
        host.close()


class Folder(pytest.Directory):
    """A folder of a course, whose node has the folder's own path: its tests can be named again."""

    def __init__(self, *, course: Course, **named: Any) -> None:
        super().__init__(**named)
        self._course = course

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return what is wrong with a course in our own words."""
        from grader.errors import GradeError

        problem = excinfo.value
        return (
            problem.sentence() if isinstance(problem, GradeError) else super().repr_failure(excinfo)
        )


class CourseFolder(Folder):
    """A course: its `exercises/`, then its `solutions/`."""

    def collect(self) -> Iterator[pytest.Collector]:
        """Give the two folders."""
        for name in ("exercises", "solutions"):
            yield PartFolder.from_parent(self, path=self.path / name, course=self._course)


class PartFolder(Folder):
    """`exercises/` or `solutions/`: a folder for each exercise."""

    def collect(self) -> Iterator[pytest.Collector]:
        """Give each exercise."""
        for exercise in self._course.ids():
            yield ExerciseFolder.from_parent(self, path=self.path / exercise, course=self._course)


class ExerciseFolder(Folder):
    """What one exercise has in a part: itself and its starter, or its solutions by role."""

    def collect(self) -> Iterator[pytest.Collector]:
        """Give one file for each test; what is wrong with all of them fails here, once."""
        from grader import audit, checks
        from grader.catalog.load import entry
        from grader.errors import GradeError

        try:
            loaded = entry(self._course, self.name)
            checks.load(loaded.rubric, loaded.exercise)
            found = audit.trials(loaded)
        except GradeError:
            told = self.config.stash[_TOLD]
            if self.name in told:
                return
            told.add(self.name)
            raise
        if self.path == loaded.folder:
            place = self.path / "exercise.toml"
            yield OneFile.from_parent(self, path=place, entry=loaded, trial=None)
        for role in dict.fromkeys(trial.role for trial in found):
            files = [t for t in found if t.role == role and self.path in t.path.parents]
            if role == "starter":
                yield from (_one(self, loaded, trial) for trial in files)
            elif files:
                named: dict[str, Any] = {"entry": loaded, "trials": files}
                folder = files[0].path.parent
                yield RoleFolder.from_parent(self, path=folder, course=self._course, **named)


class RoleFolder(Folder):
    """The accepted, rejected or hostile files of an exercise."""

    def __init__(self, *, entry: Entry, trials: list[Trial], **named: Any) -> None:
        super().__init__(**named)
        self._entry, self._trials = entry, trials

    def collect(self) -> Iterator[pytest.Collector]:
        """Give each file."""
        yield from (_one(self, self._entry, trial) for trial in self._trials)


def _one(parent: pytest.Collector, entry: Entry, trial: Trial) -> pytest.Collector:
    made: pytest.Collector = OneFile.from_parent(parent, path=trial.path, entry=entry, trial=trial)
    return made


class OneFile(pytest.File):
    """A file with the one test that it is."""

    def __init__(self, *, entry: Entry, trial: Trial | None, **named: Any) -> None:
        super().__init__(**named)
        self._entry, self._trial = entry, trial

    def collect(self) -> Iterator[pytest.Item]:
        """Give the test."""
        if self._trial is None:
            yield ItselfItem.from_parent(self, name="itself", entry=self._entry)
        else:
            yield TrialItem.from_parent(self, name="graded", entry=self._entry, trial=self._trial)


class Surprise(Exception):
    """A solution was graded otherwise than it is meant to be, or an exercise is not sound."""


class ItselfItem(pytest.Item):
    """The exercise itself: what can be found wrong with it before anything is graded."""

    def __init__(self, *, entry: Entry, **named: Any) -> None:
        super().__init__(**named)
        self._entry = entry
        self.add_marker("itself")
        self.extra_keyword_matches.add(entry.exercise.id)

    def runtest(self) -> None:
        """Look at the exercise. Raises: Surprise with a line for each problem."""
        from grader import audit

        problems = list(audit.itself(self._entry))
        if problems:
            raise Surprise("\n".join(problems))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the problems alone."""
        from grader.errors import GradeError

        problem = excinfo.value
        if isinstance(problem, GradeError):
            return problem.sentence()
        if isinstance(problem, Surprise):
            return "\n".join(
                f"{self._entry.exercise.id}: {one}" for one in str(problem).split("\n")
            )
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return where the exercise lies and what the test is called."""
        return self.path, None, f"{self._entry.exercise.id} itself"


class TrialItem(pytest.Item):
    """One file, graded as a learner's would be and held against what it is meant to show."""

    def __init__(self, *, entry: Entry, trial: Trial, **named: Any) -> None:
        super().__init__(**named)
        self._entry, self._trial = entry, trial
        self.add_marker(trial.role)
        self.extra_keyword_matches.add(entry.exercise.id)

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
        return self._trial.path, None, f"{self._trial.role}/{self._trial.path.name}"


def _host(config: pytest.Config, entry: Entry) -> Host:
    """Return what starts the children of an exercise; one for all of its trials in this process."""
    from grader.cli import early

    hosts = config.stash[_HOSTS]
    if entry.exercise.id not in hosts:
        place = early.cache_place(entry.course, entry.exercise.id)
        hosts[entry.exercise.id] = early.take(entry.course, place)
    return hosts[entry.exercise.id]
