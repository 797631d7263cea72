"""Read one exercise and its rubric from TOML; a wrong file is named with its key."""

from __future__ import annotations

import hashlib
import re
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic import ValidationError

from grader.catalog import wrong
from grader.catalog.course import Course
from grader.catalog.models import Content, Exercise, Explanations, Rubric
from grader.catalog.questions import Questions
from grader.errors import ContentProblem, UsageProblem

if TYPE_CHECKING:
    from grader.catalog.oracle import Oracle

Model = TypeVar("Model", bound=Content)


@dataclass(frozen=True)
class Entry:
    """One exercise with everything that belongs to it."""

    course: Course
    exercise: Exercise
    rubric: Rubric

    @property
    def folder(self) -> Path:
        """Return the folder a learner sees."""
        return self.course.root / "exercises" / self.exercise.id

    @property
    def rubric_folder(self) -> Path:
        """Return the folder that no learner may see."""
        return self.course.root / "rubrics" / self.exercise.id

    @cached_property
    def given_names(self) -> frozenset[str]:
        """Return every word of the starter: names a learner did not make up."""
        try:
            text = (self.folder / "starter.py").read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return frozenset()
        return frozenset(re.findall(r"[A-Za-z_]\w*", text))

    @property
    def solutions(self) -> Path:
        """Return the folder of accepted, rejected and hostile files; it may be missing."""
        return self.course.root / "solutions" / self.exercise.id

    @cached_property
    def oracle(self) -> Oracle:
        """Return the exercise's truth, loaded on first use."""
        # NumPy comes with it, which takes longer than all else that a command without a grade does.
        from grader.catalog.oracle import Oracle

        return Oracle.load(self.rubric_folder / "oracle.py")

    @cached_property
    def explanations(self) -> Explanations:
        """Return the explanations of mistakes; there need not be any. Raises: ContentProblem."""
        path = self.rubric_folder / "mistakes.toml"
        return _read(path, Explanations) if path.exists() else Explanations()

    @cached_property
    def questions(self) -> Questions:
        """Return what is asked before and after; there need not be any. Raises: ContentProblem."""
        path = self.folder / "questions.toml"
        return _read(path, Questions) if path.exists() else Questions()

    @cached_property
    def digest(self) -> str:
        """Return the hex SHA-256 over exercise.toml, rubric.toml and oracle.py."""
        digest = hashlib.sha256()
        for path in (
            self.folder / "exercise.toml",
            self.rubric_folder / "rubric.toml",
            self.rubric_folder / "oracle.py",
        ):
            try:
                data = path.read_bytes()
            except OSError as error:
                gone = isinstance(error, FileNotFoundError)
                what = "is missing" if gone else f"cannot be read: {error.strerror}"
                raise ContentProblem(
                    f"{path.name} {what}",
                    where=str(path),
                    next_step="restore the file",
                ) from error
            digest.update(len(data).to_bytes(8, "big") + data)
        return digest.hexdigest()


def entry(course: Course, exercise_id: str) -> Entry:
    """Return one exercise with its rubric.

    Raises:
        UsageProblem: no exercise has this id.
        ContentProblem: a file is missing or wrong.
    """
    known = course.ids()
    if exercise_id not in known:
        raise UsageProblem(
            f"there is no exercise {exercise_id!r}",
            where=str(course.root),
            next_step=_suggestion(exercise_id, known),
        )
    exercise = _read(course.root / "exercises" / exercise_id / "exercise.toml", Exercise)
    rubric = _read(course.root / "rubrics" / exercise_id / "rubric.toml", Rubric)
    for name, found in (("exercise.toml", exercise.id), ("rubric.toml", rubric.exercise)):
        if found != exercise_id:
            raise ContentProblem(
                f"{name} of {exercise_id} says it belongs to {found!r}",
                next_step=f"write {exercise_id!r} there",
            )
    return Entry(course, exercise, rubric)


def _suggestion(wanted: str, known: list[str]) -> str:
    import difflib

    close = difflib.get_close_matches(wanted, known, n=max(len(known), 1), cutoff=0.4)
    if close:
        # Of equally near ones, that whose characters only changed places.
        nearest = min(close, key=lambda one: sorted(one) != sorted(wanted))
        return f"did you mean {nearest}? `grade list` shows them all"
    return "`grade list` shows the exercises there are"


def _read(path: Path, model: type[Model]) -> Model:
    try:
        text = path.read_bytes().decode("utf-8")
        given = tomllib.loads(text)
        return model.model_validate(given)
    except FileNotFoundError:
        raise ContentProblem(
            f"{path.name} is missing", where=str(path), next_step="restore the file"
        ) from None
    except UnicodeDecodeError as error:
        raise ContentProblem(
            f"{path.name} is not UTF-8 text (byte {error.start})",
            where=str(path),
            next_step="save it as UTF-8",
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise ContentProblem(
            f"{path.name} is not TOML: {error}", where=str(path), next_step="mend that line"
        ) from error
    except ValidationError as error:
        found = wrong.faults(error, model, given, text)
        step = "mend that file; `grade schema` says what each file may hold"
        raise wrong.problem(path.name, found, where=str(path), step=step) from error
