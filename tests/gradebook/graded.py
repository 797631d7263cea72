"""Made-up attempts and classes for the ledger and what is built on it; nothing is graded here."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from grader.gradebook.executors import Result, Task
from grader.gradebook.ledger import Attempt, Key, Ledger
from grader.gradebook.runner import Known
from grader.receipt.render import to_json
from grader.records.gradebook import Collected, HandIn, Note, Person
from grader.records.receipt import Receipt
from tests.gradebook.factory import CHECKS, FULL
from tests.receipt import factory

AT = "2026-03-02T10:00:00.000Z"
KNOWN = Known(rubric="r1", environment="e1")


def key(submission: str = "s1", rubric: str = "r1", environment: str = "e1") -> Key:
    return Key(submission, rubric, environment)


def attempt(receipt: Receipt | None = None, at: str = AT, **of_key: str) -> Attempt:
    """Return one attempt; `of_key` are parts of its key."""
    made = receipt or factory.passed()
    return Attempt(
        key(**of_key), made.verdict, made.points, to_json(made).encode(), b"\x01\x02", at
    )


def ledger(folder: Path) -> Ledger:
    return Ledger(folder / "ledger.sqlite", patience_s=0.1)


def hand_in(*names: str, raw: bytes = b"x = 1\n", name: str = "my_solution.py") -> HandIn:
    """Return the file of one learner or of a group."""
    people = tuple(Person(one, one.title()) for one in names)
    return HandIn(people, name, f"sub/{'-'.join(names)}/{name}", partial(bytes, raw))


def collected(
    hand_ins: Iterable[HandIn], silent: Sequence[str] = (), notes: Sequence[Note] = ()
) -> Collected:
    """Return a class with these files; the silent ones handed in nothing."""
    made = tuple(hand_ins)
    people = {p.key: p for one in made for p in one.people}
    people |= {name: Person(name, name.title()) for name in silent}
    return Collected("plain", made, tuple(people.values()), tuple(notes))


def submission_key(raw: bytes, rubric: str = "r1", environment: str = "e1") -> Key:
    return Key(hashlib.sha256(raw).hexdigest(), rubric, environment)


def entry() -> Any:
    """Return what a gradebook needs to know of an exercise."""
    checks = [SimpleNamespace(id=one) for one in CHECKS]
    exercise = SimpleNamespace(id="distributed-03", title="Communication-efficient algorithms")
    return SimpleNamespace(
        exercise=exercise, rubric=SimpleNamespace(max_points=FULL, checks=checks)
    )


Answer = Callable[[Task], Receipt | str]


def pass_all(task: Task) -> Receipt:
    part = factory.passed().submission.model_copy(update={"name": task.submission.name})
    return factory.passed(submission=part)


class Canned:
    """An executor with canned answers, in an order that `seed` decides, so many taken at a time.

    An answer is a receipt, or the words of what our side could not do.
    """

    def __init__(self, answer: Answer = pass_all, seed: int = 0, jobs: int = 1) -> None:
        self._answer, self._order, self._jobs = answer, random.Random(seed), jobs
        self.asked: list[str] = []
        self.taken = 0

    def run(self, tasks: Iterable[Task]) -> Iterator[Result]:
        """Give the results; see `Executor.run`."""
        waiting, hand = iter(tasks), list[Task]()
        while True:
            while len(hand) < self._jobs and (task := next(waiting, None)) is not None:
                self.taken += 1
                hand.append(task)
            if not hand:
                return
            task = hand.pop(self._order.randrange(len(hand)))
            self.asked.append(task.key)
            made = self._answer(task)
            if isinstance(made, str):
                yield Result(task.key, problem=made, next_step="run it again")
            else:
                yield Result(task.key, to_json(made).encode(), b"seed")

    def close(self) -> None:
        """Do nothing."""
