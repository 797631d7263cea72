"""The whole path with other hosts than the usual one: spawned processes, and hosts that fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader import engine, intake
from grader.catalog import course
from grader.catalog.load import Entry, entry
from grader.errors import Undecided
from grader.process import Child
from grader.records.finding import VerdictKind
from grader.sandbox.host import ForkServer, Host, SpawnHost
from grader.sandbox.launching import Allowance

ROOT = Path(__file__).resolve().parents[1]
SOLUTIONS = ROOT / "solutions" / "distributed-03"


@pytest.fixture(scope="module")
def exercise() -> Entry:
    return entry(course.Course(ROOT), "distributed-03")


class Failing:
    """A host that gives `good` children of a kind, then ends whatever it starts of that kind."""

    def __init__(self, inner: Host, entry_name: str, good: int = 0) -> None:
        self._inner, self._entry, self._good = inner, entry_name, good
        self.room = inner.room

    def start(self, entry: str, workdir: str, allowance: Allowance) -> Child:
        child = self._inner.start(entry, workdir, allowance)
        if entry == self._entry:
            self._good -= 1
            if self._good < 0:
                child.kill()
        return child

    def alive(self) -> bool:
        return self._inner.alive()

    def close(self) -> None:
        self._inner.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "verdict", "points"),
    [
        ("accepted/lesson_form.py", "passed", 100),
        ("rejected/values--local-mean.py", "failed", 69),
        ("hostile/exit_zero.py", "error", 0),
    ],
)
def test_spawned_processes_reach_the_same_verdict(
    exercise: Entry, file: str, verdict: VerdictKind, points: int
) -> None:
    host = SpawnHost(None)
    try:
        receipt = engine.grade(exercise, intake.read(str(SOLUTIONS / file)), host).receipt
    finally:
        host.close()
    assert (receipt.verdict, receipt.points) == (verdict, points)
    assert receipt.environment.confinement.level == "none"
    assert any("confinement on this machine lacks" in note for note in receipt.notes)


def test_a_learner_child_that_never_starts_is_undecided(exercise: Entry) -> None:
    host = Failing(SpawnHost(None), "learner")
    submission = intake.read(str(SOLUTIONS / "accepted" / "starter_filled.py"))
    try:
        with pytest.raises(Undecided, match="the confined process did not start"):
            engine.grade(exercise, submission, host)
    finally:
        host.close()


def test_a_clean_room_that_never_starts_leaves_the_grade_undecided(exercise: Entry) -> None:
    host = Failing(ForkServer(exercise.course.secrets(), None), "replay")
    submission = intake.read(str(SOLUTIONS / "accepted" / "starter_filled.py"))
    try:
        receipt = engine.grade(exercise, submission, host).receipt
    finally:
        host.close()
    assert (receipt.verdict, receipt.blame) == ("undecided", "grader")
    assert receipt.checks[0].status == "undecided"
    assert "could not be judged" in receipt.checks[0].message


def test_one_seed_gives_one_digest_and_another_gives_another(exercise: Entry) -> None:
    host = ForkServer(exercise.course.secrets(), None)
    submission = intake.read(str(SOLUTIONS / "accepted" / "starter_filled.py"))
    try:
        digests = [
            engine.grade(exercise, submission, host, seed=seed).receipt.evidence_digest
            for seed in (b"one", b"one", b"two")
        ]
    finally:
        host.close()
    assert digests[0] == digests[1]
    assert digests[0] != digests[2]
