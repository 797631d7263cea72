"""Arranges a learner's attempts for one page: progress, answers apart from it, environments.

It judges nothing: every verdict and every point is what a receipt says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from grader.portfolio.chart import Chart, chart, share
from grader.portfolio.gather import Attempt
from grader.receipt.view import checkpoint, explanations, prediction
from grader.records.receipt import Checkpoint, Prediction, Receipt

Links = Callable[[Attempt], Sequence[tuple[str, str]]]


@dataclass(frozen=True)
class Line:
    """One attempt: its number within the exercise, and links (what, address) to its files."""

    number: int
    receipt: Receipt
    links: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Answer:
    """A checkpoint answer and the attempts that gave it."""

    attempts: str
    checkpoint: Checkpoint


@dataclass(frozen=True)
class Separate:
    """What is tracked apart from the points: the latest of each that was given, and by whom.

    The numbers are those of the attempts that gave it last.
    """

    predictions: list[Prediction]
    predicted_in: int
    answers: list[Answer]
    explanations: list[tuple[str, str]]
    explained_in: int


@dataclass(frozen=True)
class Exercise:
    """One exercise with its attempts, oldest first; `best` is the one with the most points."""

    id: str
    title: str
    passed: bool
    best: Receipt | None
    last: Receipt
    lines: list[Line]
    chart: Chart
    separate: Separate


@dataclass(frozen=True)
class Surroundings:
    """An environment as a receipt tells it, and the attempts that were graded in it."""

    facts: list[tuple[str, str]]
    attempts: str


@dataclass(frozen=True)
class Portfolio:
    """Everything the page says; `learners` are those that the receipts name."""

    learners: list[str]
    exercises: list[Exercise]
    surroundings: list[Surroundings]
    attempts: int
    submissions: int
    first: str
    last: str

    @property
    def passed(self) -> int:
        """Return how many exercises are passed."""
        return sum(one.passed for one in self.exercises)


def portfolio(attempts: Sequence[Attempt], submissions: int, links: Links) -> Portfolio:
    """Return the arrangement; `attempts` come oldest first, and there is at least one."""
    ordered = sorted(attempts, key=lambda one: one.receipt.exercise)
    grouped = [list(own) for _, own in groupby(ordered, key=lambda one: one.receipt.exercise)]
    return Portfolio(
        learners=list(dict.fromkeys(filter(None, map(_learner, attempts)))),
        exercises=[_exercise(own, links) for own in grouped],
        surroundings=_surroundings(grouped),
        attempts=len(attempts),
        submissions=submissions,
        first=attempts[0].receipt.created_at,
        last=attempts[-1].receipt.created_at,
    )


def _learner(one: Attempt) -> str:
    who = one.receipt.learner
    return "" if who is None else who.name or who.id or who.email


def _exercise(own: Sequence[Attempt], links: Links) -> Exercise:
    decided = [one for one in own if one.receipt.verdict != "undecided"]
    # Of equal ones the latest, which is what its learner would show.
    best = max(reversed(decided), key=share, default=None)
    last = own[-1].receipt
    return Exercise(
        id=last.exercise,
        title=last.exercise_title,
        passed=any(one.receipt.verdict == "passed" for one in own),
        best=best.receipt if best else None,
        last=last,
        lines=[Line(number, one.receipt, links(one)) for number, one in enumerate(own, 1)],
        chart=chart(own),
        separate=_separate([one.receipt for one in own]),
    )


def _separate(own: Sequence[Receipt]) -> Separate:
    numbered = list(enumerate(own, 1))
    predicted = [(n, one) for n, one in numbered if prediction(one.separate)]
    explained = [(n, one) for n, one in numbered if one.separate.explanation]
    return Separate(
        predictions=prediction(predicted[-1][1].separate) or [] if predicted else [],
        predicted_in=predicted[-1][0] if predicted else 0,
        answers=_answers(numbered),
        explanations=explanations(explained[-1][1].separate) if explained else [],
        explained_in=explained[-1][0] if explained else 0,
    )


def _answers(numbered: Iterable[tuple[int, Receipt]]) -> list[Answer]:
    """Return the answers in order, equal ones that follow each other as one."""
    given = [(n, answer) for n, one in numbered if (answer := checkpoint(one.separate))]
    found = []
    for _, same in groupby(given, key=lambda one: one[1]):
        run = list(same)
        found.append(Answer(_numbers([n for n, _ in run]), run[0][1]))
    return found


def _surroundings(grouped: Sequence[Sequence[Attempt]]) -> list[Surroundings]:
    """Return each environment once, with the attempts that ran in it, most attempts first."""
    used: dict[tuple[tuple[str, str], ...], dict[str, list[int]]] = {}
    for own in grouped:
        for number, one in enumerate(own, 1):
            ran = used.setdefault(tuple(_facts(one.receipt)), {})
            ran.setdefault(one.receipt.exercise, []).append(number)
    by_use = sorted(used.items(), key=lambda one: -sum(map(len, one[1].values())))
    return [
        Surroundings(
            list(facts),
            "; ".join(f"{exercise}: {_numbers(numbers)}" for exercise, numbers in ran.items()),
        )
        for facts, ran in by_use
    ]


def _facts(receipt: Receipt) -> list[tuple[str, str]]:
    at = receipt.environment
    return [
        ("Grader", at.grader),
        ("Python", at.python),
        ("JAX", f"{at.jax}, jaxlib {at.jaxlib}, NumPy {at.numpy}"),
        ("Platform", f"{at.platform}, {at.told_devices()}"),
        ("Confinement", at.confinement.level),
    ]


def _numbers(numbers: Sequence[int]) -> str:
    """Return numbers as a reader writes them: `attempts 1 to 3 and 5`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    said = [str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
    text = said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"
    return f"attempt{'' if len(numbers) == 1 else 's'} {text}"
