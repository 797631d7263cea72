"""What every command about a class ends with: receipts, gradebook, report and summary as files."""

from __future__ import annotations

import functools
import hmac
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader import secret
from grader.catalog.load import Entry
from grader.cli.run import compiled_templates
from grader.errors import GradeError, UsageProblem
from grader.gradebook import receipts, results, stamps, strays, ungraded
from grader.gradebook.book import bare, gradebook, told
from grader.gradebook.ledger import Ledger, Stand
from grader.receipt.escape import visible_line
from grader.receipt.files import read_ordinary
from grader.records.gradebook import Gradebook, Note, Row
from grader.records.receipt import Receipt
from grader.sandbox import cache

if TYPE_CHECKING:
    from securesystemslib.signer import CryptoSigner

    from grader.gradebook.report import Times

# In the ledger: which key signed what lies in these results.
_SIGNED = "signed by"


def renderer(entry: Entry) -> receipts.Render:
    """Return what renders a receipt of this course in a form."""
    return functools.partial(_render, templates=entry.course.templates)


def _render(receipt: Receipt, form: Any, *, templates: list[Path]) -> str:
    from grader.receipt.render import render

    return render(receipt, form, templates, cache=compiled_templates())


def read_marks(root: Path) -> dict[str, tuple[Any, ...]]:
    """Return the marks that were filled in by hand, none where there is no such file."""
    from grader.gradebook import marks

    place = root / results.MARKS
    return marks.read(place) if place.exists() else {}


@dataclass(frozen=True)
class Finished:
    """How a class stands; `mended` are the files that somebody had changed or removed.

    `strays` says what in the results belongs to nobody, `aside` which receipts were moved.
    """

    graded: int
    passed: int
    missing: int
    undecided: frozenset[str]
    mended: tuple[str, ...] = ()
    strays: tuple[Note, ...] = ()
    aside: tuple[str, ...] = ()


def shelf(
    root: Path,
    ledger: Ledger,
    entry: Entry,
    signer: CryptoSigner | None = None,
    *,
    reading: bool = False,
) -> receipts.Shelf:
    """Return where the files of a class are written, and signed where there is a signer.

    Raises: UsageProblem where the results are signed and no key is given now, unless they are only
    read.
    """
    by = ledger.about(_SIGNED)
    if not (by or signer or reading):
        by = _signed_by(root)
    if by and signer is None and not reading:
        raise UsageProblem(
            f"these results are signed by key {by}, and this would take the signatures away",
            where=str(root),
            next_step="name the key with --sign KEY",
        )
    tools = stamps.tools(entry.course.templates)
    made = receipts.Shelf(root, ledger, renderer(entry), tools, signer)
    if reading:
        made.signed_by = by
    return made


def _signed_by(root: Path) -> str:
    """Return which key signed what lies there, where the ledger that knew it is gone."""
    for place in sorted((root / "receipts").glob("*/*.dsse.json")):
        try:
            signatures = json.loads(read_ordinary(place))["signatures"]
            return visible_line(str(signatures[0]["keyid"]))[:64] or "of an unknown name"
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            return "of an unknown name"
    return ""


def finish(
    shelf: receipts.Shelf,
    entry: Entry,
    *,
    anonymous: bool = False,
    times: Callable[[], Times | None] = lambda: None,
) -> Finished:
    """Write every learner's receipts and the files of the class; returns how it stands.

    With `anonymous`, and wherever that was asked for before, everything is written once more under
    pseudonyms into a folder that can be shown, and the table that leads back to the names stays
    outside of it.

    Effects: writes what has changed; where nothing has, no receipt is even read.
    """
    root, ledger = shelf.root, shelf.ledger
    if shelf.signed_by:
        ledger.note_about({_SIGNED: shelf.signed_by})
    stands = ledger.stands()
    key = secret.ensure() if anonymous or (root / results.ANONYMOUS).is_dir() else b""
    astray = strays.notes(root, stands, read_marks(root))
    made_from = _made_from(shelf, entry, stands, key, astray)
    # Looked at one by one only where that has to be: this is the common case of a second run.
    if not shelf.untouched("summary.json", made_from):
        _write_all(shelf, entry, stands, key, made_from, times(), astray)
    aside = tuple(strays.set_aside(root, stands))
    return replace(_finished(stands, shelf), strays=tuple(astray), aside=aside)


def _write_all(
    shelf: receipts.Shelf,
    entry: Entry,
    stands: list[Stand],
    key: bytes,
    made_from: str,
    times: Times | None,
    astray: list[Note],
) -> None:
    numbers = {one.member.person.key: one.number for one in stands}

    def each(row: Row) -> Row:
        shelf.write(row, numbers[row.person.key])
        return row if key else told(row)

    book = gradebook(shelf.ledger, entry, read_marks(shelf.root), each)
    book = replace(book, notes=(*book.notes, *astray))
    if key:
        from grader.gradebook import exports

        hidden = exports.anonymize(book, key)
        within = f"{results.ANONYMOUS}/"
        shelf.put(results.PSEUDONYMS, made_from, hidden.table())
        for row in hidden.gradebook.rows:
            number = numbers[hidden.people[row.person.key].key]
            shelf.write(row, number, within=within, also=made_from)
        known = {row.person.key for row in hidden.gradebook.rows if row.receipt}
        strays.clear_pseudonyms(shelf.root, known)
        _write(shelf, hidden.gradebook, entry, made_from, times, within)
    _write(shelf, book, entry, made_from, times)
    shelf.close()


def _made_from(
    shelf: receipts.Shelf, entry: Entry, stands: list[Stand], key: bytes, astray: list[Note]
) -> str:
    """Return a digest of everything that the files of the class are made from."""
    marked = shelf.root / results.MARKS
    exercise = (entry.exercise.id, entry.exercise.title, entry.rubric.max_points)
    checks = [check.id for check in entry.rubric.checks]
    return stamps.digest(
        shelf.tools,
        shelf.signed_by,
        repr((exercise, checks, stands, shelf.ledger.all_facts(), astray)),
        stamps.held(marked) if marked.exists() else "none",
        # The pseudonyms follow from it, and nothing of it can be read from this.
        hmac.digest(key, b"stamp", "sha256") if key else b"",
    )


def _finished(stands: list[Stand], shelf: receipts.Shelf) -> Finished:
    decided = [one.verdict for one in stands if one.decided]
    rest = ungraded.explained(shelf.ledger, [bare(s.member) for s in stands if not s.decided])
    return Finished(
        graded=len(decided),
        passed=decided.count("passed"),
        missing=sum(row.status == "missing" for row in rest),
        undecided=frozenset(row.person.key for row in rest if row.status == "undecided"),
        mended=tuple(shelf.mended),
    )


def _write(
    shelf: receipts.Shelf,
    book: Gradebook,
    entry: Entry,
    made_from: str,
    times: Times | None,
    within: str = "",
) -> None:
    """Write the files of the whole class, each only where it is not there as it should be."""

    from grader.gradebook import exports, report

    def table() -> bytes:
        ((_, data),) = exports.export("csv", book).files
        return data

    def page() -> bytes:
        return report.report(book, entry.course.templates, times=times).encode()

    for name, made in (
        ("gradebook.csv", table),
        ("report.html", page),
        ("summary.json", lambda: summary(book).encode()),
    ):
        if not shelf.holds(f"{within}{name}", made_from):
            shelf.put(f"{within}{name}", made_from, made())


def summary(book: Gradebook) -> str:
    """Return the figures of a class as JSON."""
    verdicts: dict[str, int] = {}
    checks: dict[str, dict[str, int]] = {check: {} for check in book.checks}
    for row in book.rows:
        end = row.receipt.verdict if row.receipt else ungraded.standing(row)
        verdicts[end] = verdicts.get(end, 0) + 1
        for finding in row.receipt.checks if row.receipt else ():
            known = checks.setdefault(finding.id, {})
            known[finding.status] = known.get(finding.status, 0) + 1
    facts = {
        "exercise": book.exercise,
        "learners": len(book.rows),
        "verdicts": verdicts,
        "checks": checks,
        "notes": [{"kind": n.kind, "who": n.who, "text": n.text} for n in book.notes],
    }
    return json.dumps(facts, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def warmed(entry: Entry, place: Path | None) -> Path | None:
    """Fill the cache of compiled programs before many are graded; a failure only costs time."""
    from grader import warming

    if place is not None and not cache.state(place):
        try:
            warming.warm(entry, place)
        except (OSError, GradeError):
            return None
    return place
