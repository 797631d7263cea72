"""What a person sees while a class is graded: a bar on a terminal, plain lines elsewhere, nothing.

Everything goes to standard error; names and messages of learners are shown as plain text.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

import click

from grader.cli.terminal import make_console
from grader.gradebook.runner import Done
from grader.receipt.escape import visible

EVERY_S = 5.0


class Display(Protocol):
    """Shows how far a run is."""

    def say(self, text: str) -> None:
        """Show a line of its own."""

    def advance(self, done: Done, who: Sequence[str] = ()) -> None:
        """Count one result, which is that of these learners."""

    def close(self) -> None:
        """Leave the terminal as it was."""


class Silent:
    """Shows nothing."""

    def say(self, text: str) -> None:
        """Show nothing."""

    def advance(self, done: Done, who: Sequence[str] = ()) -> None:
        """Show nothing."""

    def close(self) -> None:
        """Do nothing."""


class _Count:
    """How many are done, how they ended, and how fast it goes."""

    def __init__(self, total: int) -> None:
        self.total, self.done = total, 0
        self.ends: dict[str, int] = {}
        self._began = time.monotonic()

    def add(self, done: Done) -> None:
        self.done += 1
        end = done.receipt.verdict if done.receipt else "undecided"
        self.ends[end] = self.ends.get(end, 0) + 1

    def text(self) -> str:
        passed = self.ends.get("passed", 0)
        parts = [f"{self.done}/{self.total}", f"{passed} passed"]
        parts += [f"{n} {end}" for end, n in sorted(self.ends.items()) if end != "passed"]
        took = time.monotonic() - self._began
        if self.done and took > 0:
            left = (self.total - self.done) * took / self.done
            parts += [f"{self.done / took:.1f}/s", f"{_span(left)} left"]
        return ", ".join(parts)


def _span(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole // 60} min {whole % 60:02d} s" if whole >= 60 else f"{whole} s"


def _open(done: Done, who: Sequence[str]) -> str:
    """Return what is said of a result that is none."""
    said = f"undecided: {done.problem}"
    said += f" ({', '.join(who)})" if who else ""
    return f"{said}; next: {done.next_step}" if done.next_step else said


class Lines:
    """A line now and then, for logs."""

    def __init__(self, total: int) -> None:
        self._count = _Count(total)
        self._said = time.monotonic()

    def say(self, text: str) -> None:
        """Print the line."""
        click.echo(visible(text), err=True)

    def advance(self, done: Done, who: Sequence[str] = ()) -> None:
        """Count, and say how far it is when some seconds have passed, and at the end."""
        self._count.add(done)
        if done.problem:
            self.say(_open(done, who))
        last = self._count.done == self._count.total
        if last or time.monotonic() - self._said >= EVERY_S:
            self._said = time.monotonic()
            self.say(self._count.text())

    def close(self) -> None:
        """Do nothing."""


class Bar:
    """A bar that redraws itself on a terminal."""

    def __init__(self, total: int) -> None:
        from rich.progress import BarColumn, Progress, TextColumn

        self._console = make_console(stderr=True)
        self._count = _Count(total)
        self._progress = Progress(
            BarColumn(), TextColumn("{task.description}", markup=False), console=self._console
        )
        self._task = self._progress.add_task(self._count.text(), total=total)
        if total:
            self._progress.start()

    def say(self, text: str) -> None:
        """Print the line above the bar."""
        self._console.print(visible(text), soft_wrap=True)

    def advance(self, done: Done, who: Sequence[str] = ()) -> None:
        """Count, and draw."""
        self._count.add(done)
        if done.problem:
            self.say(_open(done, who))
        self._progress.update(self._task, advance=1, description=self._count.text())

    def close(self) -> None:
        """Stop drawing."""
        self._progress.stop()


@contextmanager
def display(total: int, quiet: bool) -> Iterator[Display]:
    """Give what fits standard error, and close it at the end of the block."""
    shown: Display = Silent()
    if not quiet:
        shown = Bar(total) if make_console(stderr=True).is_terminal else Lines(total)
    try:
        yield shown
    finally:
        shown.close()
