"""A private folder goes with the process that made it, at whatever moment it is told to end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from grader.sandbox import rooms

pytestmark = pytest.mark.once
# Ends as the command does: by an exception that a signal raises.
_ENDS = """
import os, signal, sys
signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
from grader.sandbox import rooms
rooms.make()
{then}
"""


def _run(then: str, scratch: Path) -> int:
    scratch.mkdir()
    line = [sys.executable, "-c", _ENDS.format(then=then)]
    return subprocess.run(line, env={**os.environ, "TMPDIR": str(scratch)}, timeout=60).returncode


@pytest.mark.parametrize(
    ("then", "code"),
    [
        ("os.kill(os.getpid(), signal.SIGTERM)", 128 + signal.SIGTERM),
        ("raise KeyboardInterrupt", -signal.SIGINT),
        ("sys.exit(3)", 3),
        ("open(rooms.make() + '/left', 'w').close()", 0),
    ],
)
def test_none_outlives_its_process(then: str, code: int, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    assert _run(then, scratch) == code
    assert list(scratch.iterdir()) == []


def test_a_fork_removes_none_of_its_parent_s(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    code = _run(
        "child = os.fork()\n"
        "if child == 0: sys.exit(0)\n"
        "os.waitpid(child, 0)\n"
        "sys.exit(len(os.listdir(os.environ['TMPDIR'])))",
        scratch,
    )
    assert code == 1
    assert list(scratch.iterdir()) == []


def test_an_end_that_comes_while_one_is_made_waits_for_its_name() -> None:
    room = rooms.make()
    try:
        assert not {signal.SIGINT, signal.SIGTERM, signal.SIGHUP} & signal.pthread_sigmask(
            signal.SIG_BLOCK, []
        )
    finally:
        rooms.remove(room)
    assert not Path(room).exists()
