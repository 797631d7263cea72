"""What a person sees while a grade runs and when it is done.

Every text that comes from a receipt is shown as plain text: never as markup, never with a control
character in it.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from grader.cli import language
from grader.receipt import exhibits, view
from grader.receipt.escape import visible, visible_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from grader.receipt.store import Written
    from grader.records.finding import Finding, Status
    from grader.records.receipt import Receipt

_STYLES: dict[Status, str] = {
    "passed": "green",
    "failed": "red",
    "blocked": "yellow",
    "undecided": "magenta",
}
_VERDICTS = {"passed": "green", "failed": "red", "error": "red", "undecided": "magenta"}
_PLAIN_GLYPHS: dict[Status, str] = {
    "passed": "+",
    "failed": "x",
    "blocked": "-",
    "undecided": "?",
}
# What a check says where it is not about the check.
_WHOLE = (
    "is open: nothing is filled in yet",
    "nothing of the file could run",
    "is not defined: the module stopped",
)
_MOST_FRAMES = 12
_LEAST_TITLE = 8
_LABEL, _WIDEST_LABEL = 8, 10


def make_console(*, stderr: bool = False) -> Console:
    """Return a console that colours only on a terminal, honours NO_COLOR, and reads no markup.

    When whoever reads it goes away it falls silent: a verdict does not depend on being read.
    """
    from rich.console import Console

    class Quiet(Console):
        def on_broken_pipe(self) -> None:
            self.quiet = True
            _discard(self.file)

    return Quiet(stderr=stderr, markup=False, emoji=False, highlight=False)


def print_whole(text: str) -> None:
    """Print `text` as it is on standard output, unless whoever reads it has gone away."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _discard(sys.stdout)


def _discard(stream: IO[str]) -> None:
    """Send what is still to be written to `stream` nowhere."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextmanager
def spinner(console: Console, text: str) -> Iterator[None]:
    """Show `text` with a moving sign while the block runs; nothing at all when not a terminal."""
    if not console.is_terminal:
        yield
        return
    sign = "dots" if _can_show(console, "⠋") else "line"
    with console.status(_text(console, _said(console, text)), spinner=sign):
        yield


def show_receipt(console: Console, receipt: Receipt, written: Written | None) -> None:
    """Print the checks, what failed and what to try, the total, and where the receipts are."""
    _Printer(console, receipt).everything(written)


def show_again(console: Console, receipt: Receipt, clock: str, said: Sequence[str]) -> None:
    """Print a further try: the verdict with what is new in it, and the first check that is open.

    `said` begins with the points, and goes on with what became of the try before.
    """
    _Printer(console, receipt).again(clock, said)


def is_of_the_whole(check: Finding) -> bool:
    """Return whether a check says nothing but what keeps all of a module back."""
    return bool(_of_the_whole([check.message, *_messages(check)]))


def _messages(check: Finding) -> list[str]:
    return [part.message for part in check.items if part.status != "passed" and part.message]


def _of_the_whole(messages: list[str]) -> str:
    """Return why nothing of a module counts, where every message of a check says just that."""
    for reason in _WHOLE:
        if all(reason in message for message in messages):
            return reason
    return ""


def _can_show(console: Console, text: str) -> bool:
    try:
        text.encode(console.encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _fit(console: Console, text: str) -> str:
    """Return `text` in the characters that the console's encoding has."""
    if _can_show(console, text):
        return text
    for ours, plain in (("·", "-"), ("…", "..."), ("–", "-"), ("µ", "u"), ("×", "x")):
        text = text.replace(ours, plain)
    return text.encode(console.encoding, "backslashreplace").decode(console.encoding)


def _said(console: Console, text: str) -> str:
    return language.said(text, console.encoding)


def _text(console: Console, text: str, style: str = "") -> Text:
    from rich.text import Text

    return Text(_fit(console, visible_line(text)), style)


class _Printer:
    """Prints one receipt on one console."""

    def __init__(self, console: Console, receipt: Receipt) -> None:
        self.console = console
        self.receipt = receipt
        self.plain = not _can_show(console, "✓✗…")
        self.id_width = max((len(check.id) for check in receipt.checks), default=0)
        self.apart = True
        self.last: object = None
        self.told: dict[tuple[str | None, str], list[int | None]] = {}
        self.label_width = max(_LABEL, *(n for n in self.place_widths() if n <= _WIDEST_LABEL), 0)
        self.whole = ""

    def everything(self, written: Written | None) -> None:
        self.gap()
        self.line(f"{self.receipt.exercise} · {self.receipt.exercise_title}", "bold", quoted=True)
        self.line(self.receipt.submission.name, "dim", quoted=True)
        self.gap()
        self.outcome()
        for note in self.receipt.notes:
            self.line(note, label="note")
        self.gap()
        for check in self.receipt.checks:
            self.check(check)
        self.total()
        self.where(written)

    def again(self, clock: str, said: Sequence[str]) -> None:
        receipt = self.receipt
        self.apart = False
        self.gap()
        headline = f"{self.said(view.headline(receipt))}: {self.said(said[0])}"
        style = f"bold {_VERDICTS[receipt.verdict]}"
        self.line(f"{clock}  {headline}", style, quoted=True)
        for text in said[1:]:
            self.line(text, indent=len(clock) + 2)
        self.outcome()
        waiting = [check for check in receipt.checks if check.status != "passed"]
        told = next((check for check in waiting if not is_of_the_whole(check)), None)
        if told is not None:
            self.gap()
            self.check(told)
        rest = [check.id for check in waiting if check is not told]
        if rest and told is not None:
            self.line(f"also open: {', '.join(rest)}", "dim")

    def gap(self) -> None:
        """Print one empty line, unless there is one already."""
        if not self.apart:
            self.console.print()
        self.apart = True

    def line(
        self,
        text: str,
        style: str = "",
        indent: int = 0,
        label: str = "",
        *,
        quoted: bool = False,
    ) -> None:
        """Print a paragraph that wraps in its own column, beside `label` where there is one.

        It is in the reader's language, unless it is `quoted`: somebody's own words.
        """
        from rich.text import Text

        text, label = text if quoted else self.said(text), self.said(label)
        lead = " " * indent + (f"{label:<{self.label_width}} " if label else "")
        room = max(self.console.width - len(lead), 10)
        for number, part in enumerate(_text(self.console, text, style).wrap(self.console, room)):
            part.rstrip()
            start = lead if number == 0 else " " * len(lead)
            self.console.print(Text.assemble((start, "dim"), part), soft_wrap=True)
        self.apart = False

    def said(self, text: str) -> str:
        return _said(self.console, text)

    def check(self, check: Finding) -> None:
        from rich.text import Text

        mark = _PLAIN_GLYPHS[check.status] if self.plain else view.glyph(check.status)
        start = Text.assemble(
            (f"{mark} {self.said(view.word(check.status))}".ljust(12), _STYLES[check.status]),
            (f"{check.id:<{self.id_width}}", "bold"),
            f"{check.points:>5}/{check.max_points:<3}  ",
        )
        for row in self.rows(start, check):
            row.rstrip()
            self.console.print(row, soft_wrap=True)
        self.apart = False
        if check.status != "passed":
            self.details(check)

    def rows(self, start: Text, check: Finding) -> list[Text]:
        """Return the lines of one check; of what has to be read, the whole title is shown."""
        from rich.text import Text

        title = _text(self.console, check.title)
        room = self.console.width - start.cell_len
        if room <= _LEAST_TITLE:
            return [start]
        if check.status == "passed" or room < 2 * _LEAST_TITLE:
            title.truncate(room, overflow="crop" if self.plain else "ellipsis")
            return [start + title]
        first, *rest = title.wrap(self.console, room)
        return [start + first, *(Text(" " * start.cell_len) + line for line in rest)]

    def details(self, check: Finding) -> None:
        """Print what was observed, which mistake that matches, and what to try."""
        reason = _of_the_whole([check.message, *_messages(check)])
        if reason and reason == self.whole:
            return  # once is enough for what keeps all of it back
        self.whole = reason or self.whole
        said, advised = view.observed(check), exhibits.advice(check)
        if (said, advised) == self.last:
            self.line("the same as above", "dim", 4)
            return
        self.last = said, advised
        for number, message in enumerate(said[: view.MOST_MESSAGES]):
            self.line(message, indent=4, label=" " if number else "observed")
        for one in advised:
            self.advice(one)
        self.gap()

    def advice(self, one: exhibits.Advice) -> None:
        """Print a mistake and what to try; of what an earlier check said, no more than that."""
        known = (one.mistake, one.hint)
        if not any(known) or known not in self.told:
            self.whole_advice(one)
        else:
            told = "the same as above" if known == [*self.told][-1] else one.title or one.hint
            self.line(told, indent=4, label="mistake" if one.mistake else "try")
        if one.line not in self.told.get(known, []):
            self.source(one.line)
        # The last one told stands last.
        self.told[known] = [*self.told.pop(known, []), one.line]

    def whole_advice(self, one: exhibits.Advice) -> None:
        if one.mistake:
            self.line(one.title, indent=4, label="mistake")
        if one.hint:
            self.line(one.hint, indent=4, label="try")
        if one.mistake:
            more = f"grade explain {self.receipt.exercise} {one.mistake}"
            self.line(more, indent=4, label="more")

    def source(self, line: int | None) -> None:
        text = exhibits.line_text(self.receipt, line)
        if text is not None:
            place = exhibits.place(self.receipt, line or 0)
            self.line(text.strip(), "cyan", indent=4, label=place, quoted=True)

    def place_widths(self) -> Iterator[int]:
        """Yield how wide each place is that may be named beside a line."""
        for check in self.receipt.checks:
            for one in exhibits.advice(check) if check.status != "passed" else ():
                yield len(self.said(exhibits.place(self.receipt, one.line or 0)))

    def outcome(self) -> None:
        outcome = self.receipt.outcome
        if not view.stopped(outcome):
            return
        self.gap()
        where = f" at {exhibits.place(self.receipt, outcome.line)}" if outcome.line else ""
        self.line(self.said(view.sentence(outcome.kind)) + self.said(where), "bold red")
        self.line(outcome.message, indent=2)
        for frame in outcome.traceback[-_MOST_FRAMES:]:
            for part in visible(frame).rstrip("\n").split("\n"):
                self.line(part, "dim", indent=4, quoted=True)
        if outcome.next_step:
            self.line(outcome.next_step, indent=2, label="try")
        self.gap()

    def total(self) -> None:
        receipt = self.receipt
        self.gap()
        so_far = " so far" if receipt.verdict == "undecided" else ""
        points = f"{receipt.points} of {receipt.max_points} points{so_far}"
        headline = self.said(view.headline(receipt))
        self.line(f"{headline}: {self.said(points)}", f"bold {_VERDICTS[receipt.verdict]}")
        if receipt.verdict == "undecided":
            self.line(view.summary(receipt))
        parts = "; ".join(view.separate_summary(receipt))
        self.line(f"Tracked separately, no points: {parts}", "dim")

    def where(self, written: Written | None) -> None:
        if written is None:
            return
        self.gap()
        forms = (written.html, written.md, written.json, written.instructor)
        paths = [path for path in forms if path is not None]
        for number, path in enumerate(paths):
            # Unwrapped, so that a long path can still be copied or clicked.
            shown = f"{'' if number else self.said('receipt'):<9}{path}"
            self.console.print(_text(self.console, shown), soft_wrap=True)
        if written.message:
            self.line(written.message, "dim")
