"""`grade watch EXERCISE FILE`: grade a file again each time it is saved."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from grader import intake, secret
from grader.catalog import course as courses
from grader.cli import early, memory, options, run, signing
from grader.cli.saves import Saves, signs
from grader.cli.watching import Voice
from grader.errors import GradeError, Undecided, UsageProblem
from grader.sandbox import cache
from grader.sandbox.host import open_host
from grader.sandbox.standby import Standby

if TYPE_CHECKING:
    from grader.catalog.load import Entry
    from grader.engine import Grade
    from grader.records.receipt import Receipt
    from grader.records.submission import Submission

# Some editors take the file away, or empty it, before they write it anew.
ABSENT_S = 0.4
EMPTY_S = 0.2


@click.command("watch")
@click.argument("exercise")
@click.argument("file")
@click.option("--out", metavar="DIR", help="Where receipts go (receipts).")
@click.option("--no-receipt", is_flag=True, help="Show verdicts, write nothing.")
@click.option("--no-cache", is_flag=True, help="Do without the cache of compiled programs.")
@options.require_confinement
@options.course
def command(exercise: str, file: str, **asked: Any) -> int:
    """Grade FILE as a solution of EXERCISE, and again each time you save it.

    Each try is a grade like any other, with hidden inputs and a receipt of its own. After the first
    it shows what you gained and lost, and the first check that is open. Ctrl-C ends it, with exit
    code 0.

    Example: grade watch distributed-03 my_solution.py
    """
    found = courses.find(asked["course"])
    if exercise not in found.ids():
        run.complain_about(found, exercise)
    _refuse(file)
    terms = _Terms(
        found,
        exercise,
        Path(os.path.abspath(file)),
        None if asked["no_receipt"] else Path(asked["out"] or "receipts"),
        None if asked["no_cache"] else early.cache_place(found, exercise),
        signing.only_full(asked["require_confinement"], None),
        secret.read(),
        os.getcwd(),
    )
    watch = _Watch(terms, file)
    try:
        watch.follow()
    except KeyboardInterrupt:
        watch.goodbye()
    finally:
        watch.close()
    return 0


def _refuse(file: str) -> None:
    """Raise UsageProblem for what can never become a submission; a file may still come."""
    shown = file if file.isprintable() else repr(file)
    if not file or (os.path.exists(file) and not os.path.isfile(file)):
        intake.read(file)
    if not file.lower().endswith((".py", ".ipynb")) and not os.path.lexists(file):
        raise UsageProblem(
            f"there is no file {shown}", next_step="name a file that ends in .py or .ipynb"
        )
    folder = os.path.dirname(file)
    if folder and not os.path.isdir(folder):
        raise UsageProblem(
            f"there is no folder {folder if folder.isprintable() else repr(folder)}",
            next_step="make it, or name a file in a folder that is there",
        )


@dataclass(frozen=True)
class _Terms:
    """What is watched, and how it is graded; `home` is where the command was given."""

    found: courses.Course
    exercise: str
    file: Path
    out: Path | None
    place: Path | None
    only_full: bool
    course_secret: bytes | None
    home: str


@dataclass(frozen=True)
class _Saved:
    """One state of the file: what is graded, and what tells it from another save of the same."""

    submission: Submission
    signs: tuple[int, ...]

    @property
    def content(self) -> tuple[object, ...]:
        return self.submission.raw, self.submission.siblings


class _Watch:
    """One session: what was graded last, and what grades next."""

    def __init__(self, terms: _Terms, shown: str) -> None:
        self._terms = terms
        self._shown = self._name = shown
        self._voice = Voice(shown)
        self._host = self._open()
        self._entry: Entry | None = None
        self._graded: _Saved | None = None
        self._saves: Saves | None = None

    # ------------------------------------------------------------------------------- the session

    def follow(self) -> None:
        """Grade, wait for the next save, and so on, until somebody ends it."""
        from grader.catalog.load import entry

        terms = self._terms
        self._entry = entry(terms.found, terms.exercise)
        beside = [terms.file.parent / name for name in self._entry.exercise.siblings]
        self._saves = Saves([terms.file, *beside], self._drop_if_outdated)
        self._saves.start()
        self._warm_up(self._entry)
        while True:
            wait = self._turn(self._entry, self._saves)
            if self._voice.unheard:
                return
            if wait:
                self._saves.wait()

    def goodbye(self) -> None:
        """Say how far it came."""
        self._host.drop()
        self._voice.goodbye()

    def close(self) -> None:
        """End every process and thread of this session, and remove its folders."""
        if self._saves is not None:
            self._saves.stop()
        self._host.close()

    def _open(self) -> Standby:
        terms = self._terms
        usable = cache.usable(terms.place) if terms.place else None
        return Standby(open_host(early.forbidden(terms.found), usable, many=True))

    def _reopen(self) -> None:
        self._host.close()
        self._host = self._open()

    def _warm_up(self, entry: Entry) -> None:
        """Load what grading and showing need while the server still loads JAX."""
        from grader import engine  # noqa: F401
        from grader.cli import terminal  # noqa: F401
        from grader.receipt import changes, recalled  # noqa: F401

        if self._terms.out is not None:
            run.prepare(entry)

    # ---------------------------------------------------------------------------------- one turn

    def _turn(self, entry: Entry, saves: Saves) -> bool:
        """Look at the file, and grade it if it is another one; returns whether to wait now."""
        self._go_home()
        try:
            saved = self._read(entry, saves)
        except UsageProblem as problem:
            self._voice.missing(problem, self._terms.file)
            return True
        away = self._voice.found_again()
        before, self._graded = self._graded, saved
        if before is not None and before.content == saved.content:
            if away or before.signs[:4] != saved.signs[:4]:
                self._voice.unchanged("is back" if away else "saved")
            return True
        try:
            self._try(entry, saved.submission)
        except GradeError as problem:
            self._graded = None
            if self._host.dropped:
                return False
            if self._voice.last is None and not isinstance(problem, Undecided):
                raise
            self._voice.problem(problem)
            self._voice.waiting()
        return True

    def _go_home(self) -> None:
        """Enter the folder of the command again: it may have been replaced by another one."""
        self._name = str(self._terms.file)
        with contextlib.suppress(OSError):
            os.chdir(self._terms.home)
            self._name = self._shown

    def _read(self, entry: Entry, saves: Saves) -> _Saved:
        """Return the file as it is now, after a moment where it may be half saved."""
        for patience in (EMPTY_S, 0.0):
            try:
                saved = self._submission(entry)
            except UsageProblem:
                if patience and not signs(self._terms.file):
                    saves.wait(ABSENT_S)
                    continue
                raise
            if not patience or (saved.submission.raw and saved.signs == signs(self._terms.file)):
                return saved
            saves.wait(patience)
        return self._submission(entry)

    def _submission(self, entry: Entry) -> _Saved:
        at = signs(self._terms.file)
        found = intake.read(self._name)
        return _Saved(intake.with_siblings(found, entry.exercise.siblings), at)

    def _drop_if_outdated(self) -> None:
        """Drop the grade that runs if its file is another one; called in the watching thread."""
        graded, entry = self._graded, self._entry
        if graded is None or entry is None:
            return
        with contextlib.suppress(UsageProblem):
            now = self._submission(entry)
            if now.submission.raw and now.content != graded.content:
                self._host.drop()

    # ----------------------------------------------------------------------------------- one try

    def _try(self, entry: Entry, submission: Submission) -> None:
        """Grade the file as it is now, show what is new, then write the receipts."""
        if not self._host.alive():
            self._reopen()
        self._host.begin()
        with self._voice.progress(submission.name):
            result = self._grade(entry, submission)
        if self._host.dropped:
            raise Undecided("this grade was dropped")
        result = memory.told(result, entry)
        self._voice.show(result.receipt)
        if result.receipt.verdict == "undecided":
            self._graded = None  # to save it again is to try again
        self._write(result.receipt, entry, submission)
        self._voice.waiting()
        self._fill_cache(result.receipt, entry)
        self._host.prepare()

    def _grade(self, entry: Entry, submission: Submission) -> Grade:
        from grader import engine

        terms = self._terms
        return engine.grade(
            entry,
            submission,
            self._host,
            course_secret=terms.course_secret,
            only_full=terms.only_full,
            started=time.monotonic(),
        )

    def _write(self, receipt: Receipt, entry: Entry, submission: Submission) -> None:
        """Write the receipts of a try; a folder that cannot be written ends nothing."""
        terms = self._terms
        if terms.out is None:
            return
        origin = os.path.realpath(submission.path)
        try:
            written = run.write_receipts(receipt, None, entry, origin, terms.out, None)
        except GradeError as problem:
            self._voice.problem(problem)
            return
        self._voice.written(written.html)

    def _fill_cache(self, receipt: Receipt, entry: Entry) -> None:
        place = self._terms.place
        if place is None or cache.state(place) or receipt.verdict == "undecided":
            return
        from grader import warming

        self._voice.line("preparing faster grading on this machine (once, a few seconds)")
        try:
            warming.warm(entry, place)
        except (OSError, GradeError) as error:
            self._voice.line(f"the cache of compiled programs is not available: {error}")
        if cache.usable(place):
            self._reopen()
