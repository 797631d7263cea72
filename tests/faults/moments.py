"""Moments of a grade at which something may happen to it, each held until a test has acted.

A submission tells by the name of its own process how far it is: that can be seen from outside, and
needs no clock.
"""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass

from tests.command import EXERCISE, STARTER_FILLED
from tests.faults.processes import Seen, children, forks_of, look, server_of, until
from tests.hostile.stage import Running, Stage

FILLED = STARTER_FILLED.read_text(encoding="utf-8")
NAME = "solution.py"
_SAY = """
import ctypes, signal
def say(text):
    ctypes.CDLL(None).prctl(15, text, 0, 0, 0)
"""
_WAITS = (
    _SAY
    + """
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
say(b"running")
signal.sigwait([signal.SIGUSR1])
"""
)
_TRACED = (
    _SAY
    + """
right = all_gradient
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
def all_gradient(x, y, w):
    say(b"exporting")
    signal.sigwait([signal.SIGUSR1])
    return right(x, y, w)
"""
)


@dataclass(frozen=True)
class Moment:
    """A submission, and how to tell that the grade of it has come so far."""

    source: str
    reached: Callable[[Running], bool]


def _calls_itself(grade: Running, name: str) -> Seen | None:
    return next((one for one in forks_of(grade.pid) if one.name == name), None)


def waiting(grade: Running, but: int) -> int | None:
    """Return the process of a module that waits, unless it is `but`; None where there is none."""
    found = (one for one in forks_of(grade.pid) if one.name in ("running", "exporting"))
    return next((one.pid for one in found if one.pid != but), None)


def _loading(grade: Running) -> bool:
    return until(lambda: server_of(grade.pid) is not None)


def _running(grade: Running) -> bool:
    return until(lambda: _calls_itself(grade, "running"))


def _exporting(grade: Running) -> bool:
    return until(lambda: _calls_itself(grade, "exporting"))


def _replaying(grade: Running) -> bool:
    """Stop the clean room while the module waits, then let it end: its programs are there."""
    assert until(lambda: len(forks_of(grade.pid)) == 2 and _calls_itself(grade, "running"))
    learner, clean_room = forks_of(grade.pid)
    # It has been set up when it waits for work; were it not, the same must come of it.
    until(lambda: _idle(clean_room.pid), within_s=30)
    os.kill(clean_room.pid, signal.SIGSTOP)
    os.kill(learner.pid, signal.SIGUSR1)
    return until(lambda: [one.pid for one in forks_of(grade.pid)] == [clean_room.pid])


def _idle(pid: int) -> bool:
    seen = look(pid)
    if seen is None or seen.cpu_ticks < 10 or seen.state != "S":
        return False
    until(lambda: False, within_s=0.2)
    later = look(pid)
    return later is not None and later.cpu_ticks == seen.cpu_ticks


def _writing(grade: Running) -> bool:
    """Wait until only the receipts are left to do, while this test holds their lock."""
    hold_lock(grade.stage)
    assert until(lambda: len(forks_of(grade.pid)) == 2)
    server = server_of(grade.pid)
    return until(lambda: server is not None and not children(server))


def hold_lock(stage: Stage) -> None:
    """Hold the lock of the receipts' folder as a grade of another command would."""
    lock = stage.out / EXERCISE / ".lock"
    lock.write_text(f"{os.getpid()} {socket.gethostname()} 0\n", encoding="utf-8")
    stage.before[lock] = lock.read_bytes()


def let_go(stage: Stage) -> None:
    """Release what `hold_lock` took, if it did."""
    lock = stage.out / EXERCISE / ".lock"
    lock.unlink(missing_ok=True)
    stage.before.pop(lock, None)


MOMENTS = {
    "loading": Moment(FILLED, _loading),
    "running": Moment(FILLED + _WAITS, _running),
    "exporting": Moment(FILLED + _TRACED, _exporting),
    "replaying": Moment(FILLED + _WAITS, _replaying),
    "writing": Moment(FILLED, _writing),
}
