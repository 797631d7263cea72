"""A process of ours that is ended from outside costs a learner nothing and leaves nothing."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.records.receipt import Receipt
from tests.command import EXERCISE
from tests.faults.aftermath import nothing_is_half_done, the_next_run_works
from tests.faults.moments import MOMENTS, NAME, waiting
from tests.faults.processes import forks_of, server_of, until
from tests.hostile.stage import Ended, Running, Stage

pytestmark = [
    pytest.mark.slow,
    pytest.mark.once,
    pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and a fork server"),
]


def graded(stage: Stage, moment: str, act: Callable[[Running], None]) -> Ended:
    """Grade until a moment is reached, act, and return how it ended."""
    stage.set()
    stage.put(NAME, MOMENTS[moment].source)
    with stage.started(EXERCISE, "--no-cache", "--out", stage.out, "--", NAME) as grade:
        assert MOMENTS[moment].reached(grade)
        act(grade)
        return grade.ended()


def kill_server(grade: Running) -> None:
    server = server_of(grade.pid)
    assert server is not None
    os.kill(server, signal.SIGKILL)


def kill_clean_room(grade: Running) -> None:
    os.kill(forks_of(grade.pid)[0].pid, signal.SIGKILL)


def kill_learner(grade: Running) -> int:
    """End the module's process; returns that which tries it once more, as soon as it waits."""
    killed = forks_of(grade.pid)[0].pid
    os.kill(killed, signal.SIGKILL)
    assert until(lambda: waiting(grade, but=killed))
    again = waiting(grade, but=killed)
    assert again is not None
    return again


def kill_learner_once(grade: Running) -> None:
    os.kill(kill_learner(grade), signal.SIGUSR1)


def kill_learner_twice(grade: Running) -> None:
    os.kill(kill_learner(grade), signal.SIGKILL)


@pytest.mark.parametrize("moment", ["loading", "running", "exporting", "replaying"])
def test_the_end_of_the_server_leaves_a_grade_undecided(moment: str, tmp_path: Path) -> None:
    stage = Stage(tmp_path / "stage")
    ended = graded(stage, moment, kill_server)
    assert ended.code == 5, ended.stdout + ended.stderr
    assert ended.left == []
    assert "Traceback" not in ended.stderr
    nothing_is_half_done(stage)
    the_next_run_works(stage)


def test_the_end_of_the_clean_room_is_never_the_learners_fault(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "stage")
    ended = graded(stage, "replaying", kill_clean_room)
    # Either it was done once more, or nobody knows.
    assert ended.code in (0, 5), ended.stdout + ended.stderr
    assert ended.left == []
    the_next_run_works(stage)


@pytest.mark.parametrize("moment", ["running", "exporting"])
def test_a_module_whose_process_is_ended_once_gets_its_whole_verdict(
    moment: str, tmp_path: Path
) -> None:
    stage = Stage(tmp_path / "stage")
    ended = graded(stage, moment, kill_learner_once)
    assert (ended.code, ended.left) == (0, []), ended.stdout + ended.stderr
    receipt = Receipt.model_validate_json(stage.receipts("solution")["json"])
    assert (receipt.outcome.kind, receipt.verdict) == ("finished", "passed")
    assert receipt.points == receipt.max_points
    the_next_run_works(stage)


@pytest.mark.parametrize("moment", ["running", "exporting"])
def test_a_module_whose_process_is_ended_twice_is_left_undecided(
    moment: str, tmp_path: Path
) -> None:
    # No module can do that to itself, so it is not what it is judged by.
    stage = Stage(tmp_path / "stage")
    ended = graded(stage, moment, kill_learner_twice)
    assert (ended.code, ended.left) == (5, []), ended.stdout + ended.stderr
    assert "ended from outside" in " ".join(ended.stderr.split())
    assert "Next: " in ended.stderr
    assert "Traceback" not in ended.stderr
    nothing_is_half_done(stage)
    the_next_run_works(stage)
