"""Grade a whole class: what is known already is taken from the ledger, the rest is graded.

It prints nothing: whoever calls it is told of each result. Order and number of jobs change nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from grader.gradebook.executors import Executor, Result, Task
from grader.gradebook.ledger import Attempt, Key, Ledger
from grader.intake import MOST_BYTES
from grader.records.gradebook import Collected, HandIn
from grader.records.receipt import Receipt
from grader.records.submission import Submission

SUBMISSION = "submission"


@dataclass(frozen=True)
class Done:
    """One submission that has its result now; `receipt` is None where none could be made.

    `number` is the ledger's for the attempt, 0 where it is not kept.
    """

    key: str
    receipt: Receipt | None
    problem: str = ""
    next_step: str = ""
    number: int = 0


@dataclass
class Plan:
    """What has to be graded, and what the ledger knows already."""

    keys: dict[int, Key]
    pending: dict[str, HandIn]
    reused: set[str]
    changed: set[str]
    shared: int
    siblings: tuple[str, ...] = ()


Progress = Callable[[Done], None]


@dataclass(frozen=True)
class Known:
    """What every submission of a class is graded under.

    `rubric` is the rubric's digest, `environment` the versions that a grade depends on, `siblings`
    the files beside a submission that the exercise allows.
    """

    rubric: str
    environment: str
    siblings: tuple[str, ...] = ()


def submission_of(hand_in: HandIn, siblings: Sequence[str]) -> Submission:
    """Return the file of a hand-in with those beside it that are allowed, read now."""
    allowed = [name for name in siblings if name in hand_in.beside and name != hand_in.name]
    beside = tuple((name, hand_in.beside[name]()) for name in allowed)
    raw = hand_in.read()
    whole = hand_in.whole() if hand_in.whole and len(raw) > MOST_BYTES else None
    return Submission(hand_in.name, hand_in.shown, raw, whole, siblings=beside)


def under_one_name(submission: Submission) -> Submission:
    """Return it under the name that all of its format are graded by.

    Equal bytes count for everybody who handed them in, so no grade may depend on what one of them
    called the file.
    """
    ending = ".ipynb" if submission.format == "ipynb" else ".py"
    return replace(submission, name=f"{SUBMISSION}{ending}")


def identity(submission: Submission) -> str:
    """Return the SHA-256 by which two hand-ins are the same: bytes, format, and what is beside."""
    if not submission.siblings and submission.format != "ipynb":
        return submission.sha256
    digest = hashlib.sha256(f"{submission.format} {submission.sha256}".encode())
    for name, raw in submission.siblings:
        digest.update(hashlib.sha256(name.encode()).digest() + hashlib.sha256(raw).digest())
    return digest.hexdigest()


def plan(collected: Collected, ledger: Ledger, known: Known, *, again: bool = False) -> Plan:
    """Return what has to be done.

    Args:
        collected: the class.
        ledger: what was graded before.
        known: what everybody is graded under.
        again: whether to grade what the ledger knows as well.
    """
    keys = {
        position: Key(
            identity(submission_of(hand_in, known.siblings)), known.rubric, known.environment
        )
        for position, hand_in in enumerate(collected.hand_ins)
    }
    decided = set() if again else ledger.decided()
    seen, tried = ledger.submissions(), ledger.tried()
    first: dict[str, HandIn] = {}
    for position, key in keys.items():
        first.setdefault(key.text(), collected.hand_ins[position])
    submissions = {key.text(): key.submission for key in keys.values()}
    pending = {text: one for text, one in first.items() if text not in decided}
    changed = {text for text in pending if submissions[text] in seen and text not in tried}
    return Plan(
        keys=keys,
        pending=pending,
        reused=set(first) - set(pending),
        changed=changed,
        shared=len(keys) - len(first),
        siblings=known.siblings,
    )


def grade_all(made: Plan, ledger: Ledger | None, executor: Executor, progress: Progress) -> None:
    """Grade what is pending; each result is in the ledger before the next is waited for.

    Without a ledger nothing is kept.

    Raises: EnvironmentProblem where the machine may not grade many at all.
    Effects: writes the ledger, and tells `progress` of each result.
    """
    keys = {key.text(): key for key in made.keys.values()}
    for result in executor.run(_tasks(made)):
        progress(_keep(result, keys[result.key], ledger))


def _tasks(made: Plan) -> Iterator[Task]:
    # One at a time, so that a thousand files are never in memory together.
    for key, hand_in in made.pending.items():
        yield Task(key, under_one_name(submission_of(hand_in, made.siblings)))


def _keep(result: Result, key: Key, ledger: Ledger | None) -> Done:
    if not result.receipt:
        return Done(result.key, None, result.problem, result.next_step)
    try:
        receipt = Receipt.model_validate_json(result.receipt)
    except ValueError:  # one learner's row, and not the end of everybody's run
        told = "the receipt that was made of it cannot be read back"
        return Done(result.key, None, told, "report it: this is a bug in the grader")
    if ledger is None:
        return Done(result.key, receipt)
    # The engine brings what grades, which a run that knows everything already does without.
    from grader.engine import now

    kept = Attempt(key, receipt.verdict, receipt.points, result.receipt, result.seed, now())
    return Done(result.key, receipt, number=ledger.add(kept))
