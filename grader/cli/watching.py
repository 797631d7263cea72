"""What `grade watch` says: each try once, what is new in it, and what it waits for.

It writes below what is there, and never wipes or moves what a terminal shows already.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from grader.cli.paragraphs import say
from grader.cli.saves import signs
from grader.errors import GradeError
from grader.receipt.escape import visible_line

if TYPE_CHECKING:
    from grader.records.receipt import Receipt

# A grade that takes no longer than this would only make a sign of progress flicker.
PATIENCE_S = 0.8


class Voice:
    """Says what becomes of one file, and remembers what was said.

    `last` is the try that the next one is compared with.
    """

    def __init__(self, shown: str) -> None:
        from grader.cli.terminal import make_console

        self._shown = shown
        self._console = make_console()
        self.last: Receipt | None = None
        # When that try was, and whether one that did not run came after it.
        self._at, self._between = "", False
        self._away, self._points = "", ""
        self._tries, self._best = 0, 0

    @property
    def unheard(self) -> bool:
        """Whether whoever read it has gone away."""
        return self._console.quiet

    @contextlib.contextmanager
    def progress(self, name: str) -> Iterator[None]:
        """Show that something happens: at once in the first grade, and later if it takes long."""
        from grader.cli.terminal import make_console, spinner

        with contextlib.ExitStack() as shown:
            lock, over = threading.Lock(), threading.Event()

            def show() -> None:
                with lock:
                    if not over.is_set():
                        console = make_console(stderr=True)
                        shown.enter_context(spinner(console, f"grading {name}"))

            later = threading.Timer(PATIENCE_S, show)
            later.daemon = True
            if self.last is None:
                show()
            else:
                later.start()
            try:
                yield
            finally:
                later.cancel()
                with lock:
                    over.set()

    def show(self, receipt: Receipt) -> None:
        """Show the first try whole, and of a later one what is new beside the last that ran."""
        from grader.cli.terminal import show_again, show_receipt

        if self.last is None:
            show_receipt(self._console, receipt, None)
        else:
            at = self._at if self._between else ""
            show_again(self._console, receipt, _clock(), news(self.last, receipt, at))
        self._between = self.last is not None and _ran(self.last) and not _ran(receipt)
        if self.last is None or _ran(receipt):
            self.last, self._at = receipt, _clock()
        self._points = f"{receipt.points} of {receipt.max_points} points"
        self._tries += 1
        self._best = max(self._best, receipt.points)

    def written(self, page: Path | None) -> None:
        """Say where receipts are, after the first try alone."""
        if self._tries == 1 and page is not None:
            self.line("")
            self.line(f"receipt  {page}")
            self.line("         each save writes it again; earlier ones are kept in history/")

    def waiting(self) -> None:
        """Say that the next save is waited for."""
        self.line(f"watching {self._shown}: save it to grade again, Ctrl-C to stop")

    def unchanged(self, what: str) -> None:
        """Say that the file is there as it was graded."""
        self.line(f"{_clock()}  {what} without a change: still {self._points}")

    def missing(self, problem: GradeError, file: Path) -> None:
        """Say once what keeps the file from being read."""
        if problem.sentence() == self._away:
            return
        self._away = problem.sentence()
        if self._tries and not signs(file):
            self.line(f"{_clock()}  {self._shown} is not there any more")
        else:
            self.problem(problem)
        self.line(f"waiting for {self._shown}; Ctrl-C to stop")

    def found_again(self) -> bool:
        """Return whether it was said that the file cannot be read, which it can now."""
        away, self._away = bool(self._away), ""
        return away

    def problem(self, problem: GradeError) -> None:
        """Say what went wrong, and that nothing ends with it."""
        where = f" ({problem.where})" if problem.where else ""
        self.line(f"{_clock()}  {problem.what}{where}")
        if problem.next_step:
            self.line(f"          Next: {problem.next_step}")

    def goodbye(self) -> None:
        """Say how far it came."""
        tries = f"{self._tries} {'try' if self._tries == 1 else 'tries'}"
        best = f", at best {self._best} of {self.last.max_points} points" if self.last else ""
        self.line("")
        self.line(f"stopped watching {self._shown}: {tries}{best}")

    def line(self, text: str) -> None:
        """Print one line, in which nothing acts."""
        say(visible_line(text))


def news(before: Receipt, now: Receipt, at: str = "") -> list[str]:
    """Return what a try gained and lost; of a file that is no Python yet nothing but that.

    `at` is when the try before was, where one that did not run came between.
    """
    from grader.cli.terminal import is_of_the_whole
    from grader.receipt import view
    from grader.receipt.changes import changes, lines

    if not _ran(now):
        return ["nothing of it was judged"]
    found = changes(before, now)
    held_back = {check.id for check in now.checks if is_of_the_whole(check)}
    points, *said = lines(
        replace(
            found,
            # Why a module stopped is told in full below, and which checks wait for that.
            stopped=("", "") if view.stopped(now.outcome) else found.stopped,
            checks=tuple(check for check in found.checks if check.id not in held_back),
            # Each try has hidden inputs of its own.
            causes=(),
        ),
        at,
    )
    notes = [f"note: {note}" for note in now.notes if note not in before.notes]
    return [points, *map(visible_line, notes), *said]


def _clock() -> str:
    return time.strftime("%H:%M:%S")


def _ran(receipt: Receipt) -> bool:
    return receipt.outcome.kind != "syntax_error"
