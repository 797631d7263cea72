"""Adds to a receipt what the learner's own commands remember; pure.

It stands apart from the points, outside of the evidence digest, and no other grade has to confirm
it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from grader import compare
from grader.answers import Answer
from grader.answers import Quiz as Answers
from grader.catalog.models import Rubric
from grader.catalog.questions import Question, Questions
from grader.records.observation import Observation
from grader.records.receipt import Answered, Predicted, Prediction, Quiz, Receipt

Observations = Mapping[str, Observation]
_MARKS = {True: "yes", False: "no"}


@dataclass(frozen=True)
class Memory:
    """What is remembered of one exercise: predictions by question, the quiz, hints by check."""

    answers: Mapping[str, Answer]
    quiz: Answers | None
    hints: Mapping[str, int]


def with_memory(
    receipt: Receipt,
    rubric: Rubric,
    questions: Questions,
    observations: Observations,
    memory: Memory,
) -> Receipt:
    """Return the receipt with what is remembered; what the submission says itself comes first."""
    checks = [check.id for check in rubric.checks]
    own = receipt.separate
    predicted = _predicted(questions, observations, memory.answers, own.prediction is not None)
    added = own.model_copy(
        update={
            "predicted": predicted,
            "quiz": _quiz(rubric, memory.quiz) if own.checkpoint is None else None,
            "hints": {check: memory.hints[check] for check in checks if check in memory.hints},
        }
    )
    return receipt.model_copy(update={"separate": added})


def beside(program: str, predicted: int | None, observations: Observations) -> Prediction:
    """Return a predicted number of values per device beside the one that was observed."""
    observed = _stored(observations.get(program))
    known = predicted is not None and observed is not None
    return Prediction(
        program=program,
        predicted=predicted,
        observed=observed,
        agrees=predicted == observed if known else None,
    )


def _predicted(
    questions: Questions,
    observations: Observations,
    answers: Mapping[str, Answer],
    counted: bool,
) -> Predicted | None:
    given = [
        (one, answers[one.id])
        for one in questions.predictions
        if one.id in answers and not (counted and one.kind == "values_per_device")
    ]
    given = [(one, answer) for one, answer in given if _fits(one, answer)]
    if not given:
        return None
    return Predicted(
        when=_when([answer for _, answer in given]),
        counts=[
            beside(one.programs[0], int(answer.value), observations)
            for one, answer in given
            if one.kind == "values_per_device"
        ],
        answers=[
            _answered(one, answer, observations)
            for one, answer in given
            if one.kind != "values_per_device"
        ],
    )


def _fits(question: Question, answer: Answer) -> bool:
    """Return whether an answer is of the question's kind: the question may be another by now."""
    wanted = {"values_per_device": int, "text": str}.get(question.kind, bool)
    return type(answer.value) is wanted


def _when(given: Sequence[Answer]) -> Literal["before", "partly after", "after", "changed after"]:
    when = {one.when for one in given}
    if "changed" in when:
        return "changed after"
    if when == {"before"}:
        return "before"
    return "after" if when == {"after"} else "partly after"


def _answered(question: Question, answer: Answer, observations: Observations) -> Answered:
    observed = _observed(question, observations)
    said = _MARKS[answer.value] if isinstance(answer.value, bool) else str(answer.value)
    return Answered(
        question=question.ask,
        answer=said,
        observed=None if observed is None else _MARKS[observed],
        agrees=None if observed is None else answer.value is observed,
    )


def _observed(question: Question, observations: Observations) -> bool | None:
    """Return what was observed of a question that a yes or a no answers, None for nothing."""
    if question.kind == "replicated":
        seen = observations.get(question.programs[0])
        return seen.replicated if seen is not None and seen.any_shards() else None
    if question.kind == "equal_storage":
        stored = [_stored(observations.get(program)) for program in question.programs]
        return None if None in stored else len(set(stored)) == 1
    return None


def _stored(seen: Observation | None) -> int | None:
    """Return how many values the first device stores of a result."""
    shapes = compare.stored(seen.any_shards()) if seen else []
    return math.prod(shapes[0]) if shapes else None


def _quiz(rubric: Rubric, found: Answers | None) -> Quiz | None:
    if found is None or rubric.checkpoint is None:
        return None
    return Quiz(
        answer=found.latest,
        correct=found.latest == rubric.checkpoint.answer,
        because=rubric.checkpoint.because,
        first=found.first,
        tries=found.tries,
    )
