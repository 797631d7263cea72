"""Open the results of a class that was graded: the folder, its ledger, and its exercise."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from grader.catalog import course as courses
from grader.catalog.load import Entry
from grader.catalog.load import entry as load
from grader.cli import settle
from grader.errors import UsageProblem
from grader.gradebook import results
from grader.gradebook.book import gradebook
from grader.gradebook.ledger import Ledger
from grader.records.gradebook import Gradebook, Row


@dataclass(frozen=True)
class Opened:
    """Results on disk."""

    root: Path
    ledger: Ledger
    entry: Entry

    def book(self) -> Gradebook:
        """Return the gradebook with overrides and marks."""
        return gradebook(self.ledger, self.entry, settle.read_marks(self.root))


@contextmanager
def opened(given: str, course: str | None) -> Iterator[Opened]:
    """Open the results in a folder: that of one exercise, or its parent when it has only one.

    Raises: UsageProblem where there are none.
    """
    root = _root(Path(given))
    with Ledger(root / results.LEDGER) as ledger:
        exercise = ledger.about("exercise")
        if not exercise:
            raise UsageProblem(
                f"nothing was graded in {root} yet",
                next_step="run the same `grade EXERCISE FOLDER` again; it was ended very early",
            )
        found = courses.find(course or _known_course(ledger))
        yield Opened(root, ledger, load(found, exercise))


def _known_course(ledger: Ledger) -> str | None:
    kept = ledger.about("course")
    return kept if kept and courses.is_course(Path(kept)) else None


def _root(given: Path) -> Path:
    if (given / results.LEDGER).is_file():
        return given
    inner = sorted(place.parent for place in given.glob(f"*/{results.LEDGER}"))
    if len(inner) == 1:
        return inner[0]
    if inner:
        raise UsageProblem(
            f"{given} holds the results of several exercises",
            next_step=f"name one: {', '.join(map(str, inner))}",
        )
    raise UsageProblem(
        f"there are no results in {given}",
        next_step="name the folder that `grade EXERCISE FOLDER` wrote, such as results",
    )


def learner(book: Gradebook, wanted: str) -> Row:
    """Return the row of a learner, by key, name, e-mail or any id, in any case.

    Raises: UsageProblem where nobody or more than one is meant.
    """
    folded = _folded(wanted)
    found = [row for row in book.rows if folded in _names(row)]
    if not found and folded:
        # Part of a name will do where it is nobody else's.
        found = [row for row in book.rows if any(folded in name for name in _names(row))]
    if len(found) == 1:
        return found[0]
    if found:
        keys = ", ".join(row.person.key for row in found[:10])
        raise UsageProblem(f"{wanted!r} is more than one learner", next_step=f"say which: {keys}")
    every = sorted({name for row in book.rows for name in _names(row)})
    close = difflib.get_close_matches(folded, every, n=1, cutoff=0.5)
    raise UsageProblem(
        f"there is no learner {wanted!r} in these results",
        next_step=f"did you mean {close[0]!r}?" if close else "gradebook.csv lists them by key",
    )


def _names(row: Row) -> set[str]:
    person = row.person
    names = {person.key, person.name, person.email, *person.ids.values()}
    return {_folded(name) for name in names if name}


def _folded(name: str) -> str:
    # macOS hands out names with their accents apart.
    return unicodedata.normalize("NFC", name).casefold()
