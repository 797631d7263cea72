"""How long a class was graded for, over all runs; the ledger keeps it.

What a run has spent is kept now and then, so that one that is killed loses seconds and no more.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from grader.engine import now
from grader.gradebook.ledger import Ledger
from grader.gradebook.report import Times

EVERY_S = 5.0
_SECONDS, _RUNS = "grading_s", "grading_runs"


def times(ledger: Ledger) -> Times:
    """Return what a report says of the time: of all runs that graded anything."""
    kept = ledger.about(_SECONDS)
    return Times(now(), float(kept) if kept else None, int(ledger.about(_RUNS) or 0))


class Spent:
    """Counts one run from the moment that it `began` on the clock."""

    def __init__(
        self, ledger: Ledger, began: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._ledger, self._began, self._clock = ledger, began, clock
        self._before = float(ledger.about(_SECONDS) or 0)
        self._runs = int(ledger.about(_RUNS) or 0) + 1
        self._kept = clock()

    def tick(self) -> None:
        """Keep the time where some has passed since it was kept last."""
        if self._clock() - self._kept >= EVERY_S:
            self.keep()

    def keep(self) -> None:
        """Keep the time."""
        self._kept = self._clock()
        seconds = self._before + self._kept - self._began
        self._ledger.note_about({_SECONDS: f"{seconds:.1f}", _RUNS: str(self._runs)})
