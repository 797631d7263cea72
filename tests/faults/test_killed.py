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
from tests.faults.moments import MOMENTS, NAME
from tests.faults.processes import forks_of, server_of
from tests.hostile.stage import Ended, Running, Stage

pytestmark = [
    pytest.mark.slow,
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


def kill_fork(number: int) -> Callable[[Running], None]:
    return lambda grade: os.kill(forks_of(grade.pid)[number].pid, signal.SIGKILL)


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
    ended = graded(stage, "replaying", kill_fork(0))
    # Either it was done once more, or nobody knows.
    assert ended.code in (0, 5), ended.stdout + ended.stderr
    assert ended.left == []
    the_next_run_works(stage)


@pytest.mark.parametrize("moment", ["running", "exporting"])
def test_the_end_of_the_modules_process_is_told_as_that(moment: str, tmp_path: Path) -> None:
    # From the outside nobody can tell whether it ended itself.
    stage = Stage(tmp_path / "stage")
    ended = graded(stage, moment, kill_fork(0))
    assert ended.code in (1, 5), ended.stdout + ended.stderr
    assert ended.left == []
    nothing_is_half_done(stage)
    if ended.code == 1:
        receipt = Receipt.model_validate_json(stage.receipts("solution")["json"])
        assert receipt.outcome.kind == ("killed" if moment == "running" else "finished")
        assert receipt.verdict == ("error" if moment == "running" else "failed")
    the_next_run_works(stage)
