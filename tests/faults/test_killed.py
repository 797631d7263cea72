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
from tests.faults.moments import MOMENTS, NAME, wake
from tests.faults.processes import forks_of, server_of, until
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


def kill_clean_room(grade: Running) -> None:
    os.kill(forks_of(grade.pid)[0].pid, signal.SIGKILL)


def kill_learner(grade: Running) -> None:
    """End the module's process; should it be tried once more, let that one go on."""
    killed = forks_of(grade.pid)[0].pid
    os.kill(killed, signal.SIGKILL)
    assert until(lambda: grade.warden.poll() is not None or wake(grade, but=killed))


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
def test_the_end_of_the_modules_process_takes_no_points_for_what_stands(
    moment: str, tmp_path: Path
) -> None:
    # From the outside nobody can tell whether it ended itself: tried again, or told as it looks.
    stage = Stage(tmp_path / "stage")
    ended = graded(stage, moment, kill_learner)
    assert ended.code in (0, 1, 5), ended.stdout + ended.stderr
    assert ended.left == []
    if ended.code == 1:
        receipt = Receipt.model_validate_json(stage.receipts("solution")["json"])
        assert receipt.outcome.kind == ("killed" if moment == "running" else "finished")
        assert receipt.verdict == ("error" if moment == "running" else "failed")
        # What one statement or one program was worth, and no more.
        assert receipt.points >= 30
    the_next_run_works(stage)
