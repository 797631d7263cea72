"""A grade may be ended at any moment: it says so, leaves nothing, and the next one works."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.command import EXERCISE
from tests.faults.aftermath import nothing_is_half_done, the_next_run_works
from tests.faults.moments import MOMENTS, NAME
from tests.hostile.stage import Stage

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and process groups"),
]
CODES = {
    signal.SIGINT: 130,
    signal.SIGTERM: 128 + signal.SIGTERM,
    signal.SIGHUP: 128 + signal.SIGHUP,
    signal.SIGKILL: -signal.SIGKILL,
}
CASES = [
    *((signal.SIGINT, moment) for moment in MOMENTS),
    (signal.SIGTERM, "loading"),
    (signal.SIGTERM, "replaying"),
    (signal.SIGTERM, "writing"),
    (signal.SIGHUP, "exporting"),
    (signal.SIGKILL, "loading"),
    (signal.SIGKILL, "running"),
    (signal.SIGKILL, "replaying"),
    (signal.SIGKILL, "writing"),
]


def params() -> list[object]:
    """Return the cases; where an exception lands that stands for a signal is up to Python."""
    return [
        pytest.param(
            number,
            moment,
            id=f"{number.name}-{moment}",
            marks=[] if number == signal.SIGINT else [pytest.mark.once],
        )
        for number, moment in CASES
    ]


@pytest.mark.parametrize(("number", "moment"), params())
def test_a_grade_that_is_ended_leaves_nothing_and_hinders_no_other(
    number: signal.Signals, moment: str, tmp_path: Path
) -> None:
    stage = Stage(tmp_path / "stage")
    stage.set()
    stage.put(NAME, MOMENTS[moment].source)
    with stage.started(EXERCISE, "--no-cache", "--out", stage.out, "--", NAME) as grade:
        assert MOMENTS[moment].reached(grade)
        # As a terminal does: to everything in the group.
        os.killpg(grade.pid, number)
        ended = grade.ended()
    assert ended.code == CODES[number], ended.stdout + ended.stderr
    assert ended.left == []
    assert "Traceback" not in ended.stderr
    assert ("interrupted" in ended.stderr) == (number == signal.SIGINT)
    nothing_is_half_done(stage, tidied=number != signal.SIGKILL)
    assert stage.receipts("solution") == {}
    if number == signal.SIGKILL:
        # Nobody was left to remove its private folders; they are not in the way of the next.
        stage.before = stage.files()
    the_next_run_works(stage)
