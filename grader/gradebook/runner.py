"""Grade a whole class: what is known already is taken from the ledger, the rest is graded.

It prints nothing: whoever calls it is told of each result. Order and number of jobs change nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from grader.gradebook.executors import Executor, Result, Task
from grader.gradebook.ledger import Attempt, Key, Ledger
from grader.records.gradebook import Collected, HandIn
from grader.records.receipt import Receipt
from grader.records.submission import Submission


@dataclass(frozen=True)
class Done:
    """One submission that has its result now; `receipt` is None where none could be made."""

    key: str
    receipt: Receipt | None
    problem: str = ""
    next_step: str = ""


@dataclass
class Plan:
    """What has to be graded, and what the ledger knows already."""

    keys: dict[int, Key]
    pending: dict[str, HandIn]
    reused: set[str]
    changed: set[str]
    shared: int
    undecided: list[Done] = field(default_factory=list)


Progress = Callable[[Done], None]


def submission_of(hand_in: HandIn) -> Submission:
    """Return the file of a hand-in with what came beside it, read now."""
    beside = tuple((name, read()) for name, read in sorted(hand_in.beside.items()))
    return Submission(hand_in.name, hand_in.shown, hand_in.read(), siblings=beside)


def identity(submission: Submission) -> str:
    """Return the SHA-256 by which two hand-ins are the same: the bytes, and those beside them."""
    if not submission.siblings:
        return submission.sha256
    digest = hashlib.sha256(submission.sha256.encode())
    for name, raw in submission.siblings:
        digest.update(hashlib.sha256(name.encode()).digest() + hashlib.sha256(raw).digest())
    return digest.hexdigest()


def plan(
    collected: Collected, ledger: Ledger, rubric: str, environment: str, *, again: bool = False
) -> Plan:
    """Return what has to be done.

    Args:
        collected: the class.
        ledger: what was graded before.
        rubric: digest of the exercise's rubric.
        environment: the versions that a grade depends on.
        again: whether to grade what the ledger knows as well.
    """
    keys = {
        position: Key(identity(submission_of(hand_in)), rubric, environment)
        for position, hand_in in enumerate(collected.hand_ins)
    }
    decided = set() if again else ledger.decided()
    seen = ledger.submissions()
    first: dict[str, HandIn] = {}
    for position, key in keys.items():
        first.setdefault(key.text(), collected.hand_ins[position])
    submissions = {key.text(): key.submission for key in keys.values()}
    pending = {text: one for text, one in first.items() if text not in decided}
    changed = {text for text in pending if submissions[text] in seen}
    return Plan(
        keys=keys,
        pending=pending,
        reused=set(first) - set(pending),
        changed=changed,
        shared=len(keys) - len(first),
    )


def grade_all(made: Plan, ledger: Ledger, executor: Executor, progress: Progress) -> None:
    """Grade what is pending; each result is in the ledger before the next is waited for.

    Raises: EnvironmentProblem where the machine may not grade many at all.
    Effects: writes the ledger, and tells `progress` of each result.
    """
    keys = {key.text(): key for key in made.keys.values()}
    for result in executor.run(_tasks(made)):
        done = _keep(result, keys[result.key], ledger)
        if done.receipt is None or done.receipt.verdict == "undecided":
            made.undecided.append(done)
        progress(done)


def _tasks(made: Plan) -> Iterator[Task]:
    # One at a time, so that a thousand files are never in memory together.
    for key, hand_in in made.pending.items():
        yield Task(key, submission_of(hand_in))


def _keep(result: Result, key: Key, ledger: Ledger) -> Done:
    if not result.receipt:
        return Done(result.key, None, result.problem, result.next_step)
    receipt = Receipt.model_validate_json(result.receipt)
    at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    ledger.add(Attempt(key, receipt.verdict, receipt.points, result.receipt, result.seed, at))
    return Done(result.key, receipt)
