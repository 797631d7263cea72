"""Grade the mutants of a right solution: which of them a rubric lets pass though they differ.

A mutant that is the same to everything that is graded cannot be killed and says nothing of a
rubric; its results are held against the original's own, on the same hidden inputs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from grader import engine, intake
from grader.catalog.load import Entry
from grader.errors import ContentProblem, GradeError
from grader.mutants import Mutant, mutants
from grader.records.evidence import Claim, Shard
from grader.records.observation import Observation
from grader.records.submission import Submission
from grader.sandbox.host import Host

# killed: it lost points. same, rounding: nothing that is graded differs, or only in last digits.
Fate = Literal["killed", "same", "rounding", "survived", "undecided"]
OpenHost = Callable[[], Host]
_SEED = b"a seed for mutants"
# Of the largest value: far above another order of summation, far below any change of a formula.
_ROUNDING = 1e-5


@dataclass(frozen=True)
class Tried:
    """One mutant and what came of it: `checks` are those that did not pass."""

    mutant: Mutant
    fate: Fate
    points: int = 0
    checks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Mutation:
    """All mutants of one solution that were graded; `made` is how many there are."""

    exercise: str
    solution: str
    made: int
    tried: tuple[Tried, ...]

    @property
    def counts(self) -> Mapping[Fate, int]:
        """Return how many met each fate."""
        return Counter(one.fate for one in self.tried)

    @property
    def score(self) -> float:
        """Return the share of those that differ in what is graded, which were killed; 1 of none."""
        differing = self.counts["killed"] + self.counts["survived"]
        return self.counts["killed"] / differing if differing else 1.0


def run(
    entry: Entry,
    solution: Path,
    open_host: OpenHost,
    jobs: int,
    most: int,
    done: Callable[[Tried], None] = lambda _tried: None,
) -> Mutation:
    """Return the fates of a solution's mutants.

    Args:
        entry: the exercise.
        solution: a right solution, a `.py` file.
        open_host: gives the host that all share.
        jobs: how many are graded at a time.
        most: how many are graded; where there are more, they are taken at even distances.
        done: told of each as it ends, in no order.

    Raises:
        ContentProblem: the solution is no Python, or does not pass itself.
        EnvironmentProblem: libcst is not installed.
    """
    raw = solution.read_bytes()
    starter = (entry.folder / "starter.py").read_text(encoding="utf-8")
    apart = entry.exercise.separate.model_dump().values()
    made = mutants(raw.decode("utf-8"), starter, set(apart))
    host = open_host()
    try:
        right = engine.grade(entry, _submission(entry, solution, raw), host, seed=_SEED)
        if right.receipt.verdict != "passed":
            raise ContentProblem(
                f"{solution.name} itself gets {right.receipt.points} of"
                f" {right.receipt.max_points} points",
                where=str(solution),
                next_step="give a solution that passes",
            )
        with ThreadPoolExecutor(max_workers=jobs) as pool:

            def one(mutant: Mutant) -> Tried:
                found = _try(entry, solution, mutant, host, right)
                done(found)
                return found

            tried = tuple(pool.map(one, _some(made, most)))
    finally:
        host.close()
    return Mutation(entry.exercise.id, solution.name, len(made), tried)


def _some(made: Sequence[Mutant], most: int) -> list[Mutant]:
    if len(made) <= most:
        return list(made)
    return [made[number * len(made) // most] for number in range(most)]


def _submission(entry: Entry, path: Path, raw: bytes) -> Submission:
    return intake.with_siblings(Submission(path.name, str(path), raw), entry.exercise.siblings)


def _try(entry: Entry, path: Path, mutant: Mutant, host: Host, right: engine.Grade) -> Tried:
    raw = mutant.source.encode("utf-8")
    try:
        grade = engine.grade(entry, _submission(entry, path, raw), host, seed=_SEED, alone=False)
    except GradeError:
        return Tried(mutant, "undecided")
    receipt = grade.receipt
    lost = tuple(check.id for check in receipt.checks if check.status != "passed")
    if receipt.verdict == "undecided":
        return Tried(mutant, "undecided", receipt.points, lost)
    if receipt.verdict != "passed":
        return Tried(mutant, "killed", receipt.points, lost)
    return Tried(mutant, _apart(right, grade), receipt.points)


def _apart(right: engine.Grade, other: engine.Grade) -> Fate:
    """Return how a grade that passed differs from the original's."""
    same = rounding = True
    for name, seen in right.observations.items():
        found = other.observations.get(name)
        if found is None or found.compiled != seen.compiled:
            return "survived"
        for shards in _pairs(seen, found):
            same, rounding = same and _near(*shards, 0.0), rounding and _near(*shards, _ROUNDING)
    for name, claim in right.claims.items():
        found_claim = other.claims.get(name)
        if found_claim is None:
            return "survived"
        same = same and _claims_near(claim, found_claim, 0.0)
        rounding = rounding and _claims_near(claim, found_claim, _ROUNDING)
    return "same" if same else "rounding" if rounding else "survived"


def _pairs(seen: Observation, found: Observation) -> list[tuple[Sequence[Shard], Sequence[Shard]]]:
    """Return what both gave on the cases that they share; some follow from written answers."""
    return [
        (replay.shards, found.replays[case].shards)
        for case, replay in seen.replays.items()
        if case in found.replays
    ]


def _near(one: Sequence[Shard], other: Sequence[Shard], share: float) -> bool:
    if [(s.device, s.index) for s in one] != [(s.device, s.index) for s in other]:
        return False
    return all(_close(a.data, b.data, share) for a, b in zip(one, other, strict=True))


def _close(one: object, other: object, share: float) -> bool:
    a, b = np.asarray(one), np.asarray(other)
    if a.shape != b.shape or a.dtype.kind not in "biuf" or b.dtype.kind not in "biuf":
        return bool(np.array_equal(a, b))
    atol = share * float(np.abs(a.astype(np.float64)).max(initial=0.0))
    difference = np.abs(a.astype(np.float64) - b.astype(np.float64))
    return bool(np.all(difference <= atol))


def _claims_near(one: Claim, other: Claim, share: float) -> bool:
    if one.shards or other.shards:
        return _near(one.shards, other.shards, share)
    if one.kind in ("array", "number") and other.kind in ("array", "number"):
        return _close(one.value, other.value, share)
    return repr(one.value) == repr(other.value)
