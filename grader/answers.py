"""Keep what a learner answered to `grade predict` and `grade quiz`, in a private file.

The answers are the learner's own: they are shown beside a grade and never change one. When the
first graded try was is kept with them, because a prediction made after it is another thing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

from grader import remembered

# Before the first graded try, after it, or before it and then made another one.
When = Literal["before", "after", "changed"]
Value = int | bool | str
LONGEST = 2000
MOST_COUNT = 2**53 - 1
MOST_TRIES = 99
_NAME = "answers.json"
_WHAT = "the answers"


@dataclass(frozen=True)
class Answer:
    """One answer to a question of `grade predict`."""

    value: Value
    when: When


@dataclass(frozen=True)
class Quiz:
    """The answers to the checkpoint: letters of the first and the latest, and how many."""

    first: str
    latest: str
    tries: int


def predicted(exercise: str, folder: Path | None = None) -> dict[str, Value] | None:
    """Return the answers to `grade predict` by question, None where there is none."""
    return {key: one.value for key, one in given(exercise, folder).items()} or None


def checkpoint(exercise: str, folder: Path | None = None) -> str | None:
    """Return the letter of the latest answer to `grade quiz`, None where there is none."""
    found = quiz(exercise, folder)
    return found.latest if found else None


def given(exercise: str, folder: Path | None = None) -> dict[str, Answer]:
    """Return the answers to `grade predict` by question, each with when it was given."""
    found = remembered.read(_NAME, exercise, folder).get("predictions")
    answers = {key: _answer(one) for key, one in found.items()} if isinstance(found, dict) else {}
    return {key: one for key, one in answers.items() if one is not None}


def quiz(exercise: str, folder: Path | None = None) -> Quiz | None:
    """Return what is remembered of `grade quiz`, None where nothing was answered."""
    found = remembered.read(_NAME, exercise, folder).get("quiz")
    if not isinstance(found, dict):
        return None
    first, latest, tries = (found.get(key) for key in ("first", "latest", "tries"))
    known = isinstance(first, str) and isinstance(latest, str) and type(tries) is int
    if not known or not 0 < cast(int, tries) <= MOST_TRIES:
        return None
    return Quiz(str(first)[:1], str(latest)[:1], cast(int, tries))


def tried(exercise: str, folder: Path | None = None) -> str | None:
    """Return the date of the first graded try's receipt, None where none is remembered."""
    found = remembered.read(_NAME, exercise, folder).get("first_try")
    return found if isinstance(found, str) else None


def predict(exercise: str, answers: Mapping[str, Value], folder: Path | None = None) -> None:
    """Remember answers to `grade predict`, those of other questions staying as they are.

    Raises:
        EnvironmentProblem: they cannot be kept.
    """
    known = given(exercise, folder)
    late = tried(exercise, folder) is not None
    for key, value in answers.items():
        known[key] = Answer(value, _when(known.get(key), value, late))
    kept = {key: {"answer": one.value, "when": one.when} for key, one in known.items()}
    _keep(exercise, {"predictions": kept}, folder)


def answer_quiz(exercise: str, letter: str, folder: Path | None = None) -> Quiz:
    """Remember an answer to `grade quiz`, and return all that is remembered of them.

    Raises:
        EnvironmentProblem: it cannot be kept; nothing may be said about it then.
    """
    was = quiz(exercise, folder)
    tries = min(was.tries + 1, MOST_TRIES) if was else 1
    now = Quiz(was.first if was else letter, letter, tries)
    _keep(
        exercise,
        {"quiz": {"first": now.first, "latest": now.latest, "tries": now.tries}},
        folder,
    )
    return now


def try_once(exercise: str, at: str, folder: Path | None = None) -> None:
    """Remember that there was a graded try, if this is the first; `at` is its receipt's date.

    Raises:
        EnvironmentProblem: it cannot be kept.
    """
    if tried(exercise, folder) is None:
        _keep(exercise, {"first_try": at}, folder)


def forget(exercise: str, folder: Path | None = None) -> None:
    """Forget the predictions, the quiz and the first graded try of an exercise.

    Raises:
        EnvironmentProblem: that cannot be kept; all is as it was.
    """
    if remembered.read(_NAME, exercise, folder):
        remembered.write(_NAME, exercise, {}, _WHAT, folder)


def _when(was: Answer | None, value: Value, late: bool) -> When:
    if not late:
        return "before"
    if was is None:
        return "after"
    if type(was.value) is type(value) and was.value == value:
        return was.when
    return "after" if was.when == "after" else "changed"


def _keep(exercise: str, part: Mapping[str, Any], folder: Path | None) -> None:
    known = remembered.read(_NAME, exercise, folder)
    remembered.write(_NAME, exercise, {**known, **part}, _WHAT, folder)


def _answer(one: object) -> Answer | None:
    if not isinstance(one, dict) or one.get("when") not in get_args(When):
        return None
    value = one.get("answer")
    if isinstance(value, str):
        # A receipt is UTF-8, which has no half characters.
        value = value.encode("utf-8", "replace").decode("utf-8")[:LONGEST]
    elif type(value) not in (int, bool) or not 0 <= cast(int, value) <= MOST_COUNT:
        return None
    return Answer(cast(Value, value), one["when"])
