"""A host for one file that is graded again and again.

A clean room waits warm for the next grade, and a grade that nobody wants any more ends at once.
It must never give a child of one grade to another, nor let a grade that was dropped reach a verdict
that is shown.
"""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path

from grader.errors import Undecided
from grader.process import Child
from grader.sandbox import rooms
from grader.sandbox.host import Host
from grader.sandbox.launching import Allowance

_AHEAD = "replay"


class Standby:
    """A host around another one, which it takes over and closes.

    Only the clean room can wait: a learner's child must find the submission when it is confined.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self.room = host.room
        self.dropped = False
        self._lock = threading.Lock()
        self._running: list[Child] = []
        self._allowance: Allowance | None = None
        self._spare: Child | None = None

    def start(self, entry: str, workdir: str, allowance: Allowance) -> Child:
        """Return the child that waits, where it is of this kind, else a new one; see `Host.start`.

        Raises:
            Undecided: the grade was dropped, or no child can be started.
        """
        self._insist_on_a_grade()
        child = self._waiting(allowance) if entry == _AHEAD else None
        child = child or self._host.start(entry, workdir, allowance)
        with self._lock:
            self._running.append(child)
        if self.dropped:
            child.kill()
        return child

    def begin(self) -> None:
        """Begin another grade: from here on nothing is dropped."""
        with self._lock:
            self.dropped = False
            self._running.clear()

    def drop(self) -> None:
        """End the grade that runs: its children are killed, and it can start no more of them."""
        with self._lock:
            self.dropped = True
            running = list(self._running)
        for child in running:
            child.kill()

    def prepare(self) -> None:
        """Have a clean room wait for the next grade, like the one that the last grade had.

        Effects: starts a process, which ends with this host. Where none can be started the next
        grade says so, if it cannot start one either.
        """
        if self._spare is not None or self._allowance is None or not self.alive():
            return
        with contextlib.suppress(Undecided, OSError):
            empty = Path(self.room, "standby")
            empty.mkdir(mode=0o700, exist_ok=True)
            self._spare = self._host.start(_AHEAD, str(empty), self._allowance)
            self._spare.send({"t": "warm"})

    def alive(self) -> bool:
        """Return whether children can still be started."""
        return self._host.alive()

    def close(self) -> None:
        """End every child, the one that waits too, and what starts them."""
        self.dropped = True
        self._host.close()
        # Of a host that is gone already, as after a kill from outside.
        rooms.remove(self.room)

    def _waiting(self, allowance: Allowance) -> Child | None:
        """Return the child that waits, if it may use as much and has not ended."""
        fits = allowance == self._allowance
        self._allowance = allowance
        child, self._spare = self._spare, None
        if child is None or (fits and not child.has_ended()):
            return child
        child.kill()
        child.finish()
        return None

    def _insist_on_a_grade(self) -> None:
        if self.dropped:
            raise Undecided("this grade was dropped: the file is another one by now")
