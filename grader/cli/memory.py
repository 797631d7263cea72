"""What `grade predict`, `quiz` and `hint` remember, in the receipt of a learner's own grade."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from grader import answers, hints
from grader.errors import ContentProblem, EnvironmentProblem
from grader.receipt.escape import visible_line

if TYPE_CHECKING:
    from grader.catalog.load import Entry
    from grader.catalog.questions import Questions
    from grader.engine import Grade

# Who says one of these grades for somebody else, or may do so.
_FOR_OTHERS = ("learner", "instructor", "sign", "not_mine")


def is_own(asked: Mapping[str, Any]) -> bool:
    """Return whether the options of a grade leave it to whoever works at this machine."""
    return not any(asked[name] for name in _FOR_OTHERS)


def told(grade: Grade, entry: Entry) -> Grade:
    """Return the grade with what is remembered of its exercise in the receipt.

    Effects: remembers that there was a graded try, unless it was left undecided.
    """
    from grader.receipt import recalled

    exercise = entry.exercise.id
    memory = recalled.Memory(
        answers.given(exercise), answers.quiz(exercise), hints.hints_used(exercise)
    )
    receipt = grade.receipt
    if memory != recalled.Memory({}, None, {}):
        receipt = recalled.with_memory(
            receipt, entry.rubric, _questions(entry), grade.observations, memory
        )
    if receipt.verdict != "undecided":
        # Where that cannot be kept no prediction can, so nothing is told wrongly.
        with contextlib.suppress(EnvironmentProblem):
            answers.try_once(exercise, receipt.created_at)
    return replace(grade, receipt=receipt)


def known(exercise: str) -> str:
    """Return what is remembered of an exercise for this user, as a list in words; else nothing."""
    parts, quiz = [], answers.quiz(exercise)
    first = first_try(exercise)
    if first:
        parts.append(f"a graded try, the first on {first}")
    predictions = len(answers.given(exercise))
    if predictions:
        parts.append("1 prediction" if predictions == 1 else f"{predictions} predictions")
    if quiz is not None:
        parts.append("an answer to the quiz")
    used = sum(hints.hints_used(exercise).values())
    if used:
        parts.append("1 hint" if used == 1 else f"{used} hints")
    return ", ".join(parts)


def first_try(exercise: str) -> str:
    """Return the day and minute of the first graded try, empty where none is remembered."""
    at = answers.tried(exercise)
    if at is None:
        return ""
    try:
        when = datetime.fromisoformat(at)
    except ValueError:
        return visible_line(at[:40])
    return f"{when:%Y-%m-%d %H:%M} {when.tzname() or ''}".strip()


def _questions(entry: Entry) -> Questions:
    from grader.catalog import questions

    try:
        return entry.questions
    except ContentProblem:  # the verdict stands without; `grade predict` says what is wrong
        return questions.Questions()
