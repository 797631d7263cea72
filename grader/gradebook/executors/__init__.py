"""Where many submissions are graded: on this machine or on a cluster, each in a file of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from grader.records.submission import Submission


@dataclass(frozen=True)
class Task:
    """One submission to grade; `key` is what its result is kept under."""

    key: str
    submission: Submission


@dataclass(frozen=True)
class Result:
    """What came of a task: a receipt's JSON and its seed, or why our side could not tell."""

    key: str
    receipt: bytes = b""
    seed: bytes = b""
    problem: str = ""
    next_step: str = ""


class Executor(Protocol):
    """Grades tasks side by side; a result comes as soon as it is there, in no order."""

    def run(self, tasks: Iterable[Task]) -> Iterator[Result]:
        """Give a result for every task. Closing the iterator ends what still runs."""

    def close(self) -> None:
        """Release whatever was started."""
