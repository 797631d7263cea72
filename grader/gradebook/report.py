"""Turns a gradebook into one HTML page about the class: counted here, drawn by the template.

It decides nothing. The page has no outside resource; its style and its script are allowed by their
digests alone, and everything that comes from anybody else is escaped.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import quote

from grader.errors import ContentProblem
from grader.gradebook.looks import (
    Part,
    has_grade,
    max_points,
    mistakes,
    next_step,
    parts,
    points,
    remark,
    state,
)
from grader.gradebook.rounding import shown
from grader.receipt.escape import visible_line
from grader.receipt.naming import stem_of
from grader.receipt.view import glyph, moment, number, word
from grader.records.gradebook import Gradebook, Row
from grader.records.receipt import Receipt

TEMPLATE = "report.html.j2"
_BINS = 10
_MOST_MISTAKES = 3
_KINDS = {
    "missing": "Missing",
    "unmatched": "Not in the class",
    "ambiguous": "Fits several people",
    "duplicate": "The same file from several people",
    "superseded": "Handed in again",
    "empty": "Empty",
    "ignored": "Not a submission",
    "refused": "Could not be taken",
}


@dataclass(frozen=True)
class Times:
    """When the report was made (ISO 8601) and how long all runs that graded took together.

    What is not known is empty or None.
    """

    made_at: str = ""
    took_s: float | None = None
    runs: int = 1


@dataclass(frozen=True)
class Bin:
    """Learners whose share of the points lies between two percentages."""

    label: str
    count: int


@dataclass(frozen=True)
class CheckCount:
    """How the class did on one check, after overrides, and the mistakes met most often."""

    id: str
    title: str
    passed: int
    failed: int
    blocked: int
    undecided: int
    mistakes: list[tuple[str, int]]

    @property
    def graded(self) -> int:
        """Return how many learners the check was decided or tried for."""
        return self.passed + self.failed + self.blocked + self.undecided


@dataclass(frozen=True)
class Line:
    """One learner's line of the table; `cells` hold one entry per check, None where none is."""

    name: str
    key: str
    href: str
    state: str
    kind: str
    points: str
    of: str
    share: str
    cells: list[Part | None]
    mistakes: list[str]
    late: bool
    submitted: str
    by_hand: bool
    find: str
    note: str


def report(
    gradebook: Gradebook,
    templates: Sequence[Path],
    *,
    link: Callable[[Row], str] | None = None,
    times: Times | None = None,
) -> str:
    """Return the page; `templates` are searched in order for `report.html.j2`.

    `link` gives the path of a row's receipt relative to the page, empty for none. But for the part
    between the comments `times` and `end of times` equal gradebooks give equal pages.

    Raises: ContentProblem when the template is missing or wrong.
    """
    from jinja2 import TemplateError

    try:
        template = _environment(tuple(templates)).get_template(TEMPLATE)
        page: str = template.render(**_facts(gradebook, link or receipt_path, times or Times()))
        return page
    except TemplateError as error:
        where = f"line {line}" if (line := getattr(error, "lineno", None)) else ""
        raise ContentProblem(
            f"The template {TEMPLATE} is missing or wrong: {error.message or error}",
            where=where,
            next_step="correct it, or remove it to use the template that comes with grade",
        ) from error


def receipt_path(row: Row) -> str:
    """Return where a row's receipt is found: in its folder, under the file's own stem."""
    if row.receipt is None or not row.receipt_folder:
        return ""
    return f"{row.receipt_folder}/{stem_of(row.receipt.submission.name)}.html"


def _environment(templates: tuple[Path, ...]) -> Any:
    from jinja2 import FileSystemLoader, StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment
    from markupsafe import escape as html_escape

    def finalize(value: Any) -> Any:
        if hasattr(value, "__html__"):
            return value
        return html_escape(visible_line(value if isinstance(value, str) else number(value)))

    environment = ImmutableSandboxedEnvironment(
        loader=FileSystemLoader([str(folder) for folder in templates]),
        undefined=StrictUndefined,
        autoescape=True,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        glyph=glyph, word=word, shown=shown, moment=moment, digest=_digest, percent=_percent
    )
    return environment


def _digest(text: str) -> str:
    """Return a text's SHA-256 as a content security policy has it."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _percent(part: int | Fraction, whole: int) -> int:
    """Return a share in whole percent, half up: nothing here is a grade."""
    return floor(Fraction(100 * part, whole) + Fraction(1, 2)) if whole else 0


def _facts(gradebook: Gradebook, link: Callable[[Row], str], times: Times) -> dict[str, Any]:
    rows = gradebook.rows
    graded = [row for row in rows if has_grade(row)]
    found = [part for row in graded for part in parts(row) if part.finding]
    shares = [_share(row) for row in graded]
    receipts = [row.receipt for row in rows if row.receipt]
    states = Counter(_kind(row) for row in rows)
    return {
        "book": gradebook,
        "states": {kind: states[kind] for kind in ("passed", "failed", "undecided", "missing")},
        "graded": len(graded),
        "median": _percent(median(shares), 100) if shares else None,
        "mean": _percent(sum(shares, Fraction(0)), 100 * len(shares)) if shares else None,
        "bins": _bins(shares),
        "checks": [
            _count(check, [part for part in found if part.id == check])
            for check in gradebook.checks
        ],
        "lines": [_line(row, gradebook, link(row)) for row in rows],
        "missing": [row.person for row in rows if row.status == "missing"],
        "undecided": [row.person for row in rows if _kind(row) == "undecided"],
        "open": [(row.person, state(row), next_step(row)) for row in rows if next_step(row)],
        "notes": _notes(gradebook),
        "made_with": _made_with(receipts),
        "times": times,
        "took": [receipt.wall_s for receipt in receipts],
        "typical": median([receipt.wall_s for receipt in receipts]) if receipts else None,
    }


def _share(row: Row) -> Fraction:
    got, all_ = points(row), max_points(row)
    return Fraction(0) if got is None or not all_ else 100 * got / all_


def _kind(row: Row) -> str:
    """Return passed, failed, undecided or missing; what stopped early has not passed."""
    if row.status == "missing":
        return "missing"
    if not has_grade(row):
        return "undecided"
    return "passed" if state(row) == "Passed" else "failed"


def _bins(shares: Sequence[Fraction]) -> list[Bin]:
    wide = 100 // _BINS
    counts = Counter(min(max(int(share) // wide, 0), _BINS - 1) for share in shares)
    return [Bin(f"{n * wide}–{(n + 1) * wide}", counts[n]) for n in range(_BINS)]


def _count(check: str, found: Sequence[Part]) -> CheckCount:
    statuses = Counter(part.status for part in found)
    met = Counter(
        part.finding.mistake_title or part.finding.mistake
        for part in found
        if part.finding and part.finding.mistake and part.status == "failed"
    )
    common = sorted(met.items(), key=lambda one: (-one[1], one[0]))[:_MOST_MISTAKES]
    title = next((part.title for part in found), check)
    return CheckCount(
        check, title, statuses["passed"], statuses["failed"], statuses["blocked"],
        statuses["undecided"], common,
    )  # fmt: skip


def _line(row: Row, gradebook: Gradebook, path: str) -> Line:
    person = row.person
    got, all_ = points(row), max_points(row)
    found = {part.id: part for part in parts(row) if part.finding} if got is not None else {}
    named = [title for _, title in mistakes(row)] if got is not None else []
    said = state(row)
    return Line(
        name=person.name or person.key,
        key=person.key,
        href=_href(path),
        state=said,
        kind=_kind(row),
        points=shown(got) if got is not None else "",
        of=shown(all_) if all_ is not None else "",
        share=shown(_share(row)) if got is not None else "-1",
        cells=[found.get(check) for check in gradebook.checks],
        mistakes=named,
        late=row.late,
        submitted=moment(row.submitted_at).removesuffix(" UTC"),
        by_hand=bool(row.overrides or row.marks),
        find=" ".join((person.name, person.key, person.email, said, *named)).casefold(),
        note=remark(row),
    )


def _href(path: str) -> str:
    """Return a path as a relative address; the dot keeps a colon from making a scheme of it."""
    return f"./{quote(path.replace(chr(92), '/').lstrip('/'))}" if path else ""


def _notes(gradebook: Gradebook) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the notes as groups of one kind: its words, and who and what of each."""
    groups: dict[str, list[tuple[str, str]]] = {kind: [] for kind in _KINDS}
    for note in gradebook.notes:
        groups[note.kind].append((note.who, note.text))
    return [(_KINDS[kind], group) for kind, group in groups.items() if group]


def _made_with(receipts: Sequence[Receipt]) -> list[tuple[str, list[tuple[str, int]]]]:
    """Return each fact about the environment with its values, and how many grades have each."""

    def told(receipt: Receipt) -> dict[str, str]:
        at = receipt.environment
        off = [layer.name for layer in at.confinement.layers if not layer.on]
        without = f", without {', '.join(off)}" if off else ""
        return {
            "Confinement": f"{at.confinement.level}{without}",
            "Grader": at.grader,
            "Python": at.python,
            "JAX": f"{at.jax}, jaxlib {at.jaxlib}, NumPy {at.numpy}",
            "Platform": f"{at.platform}, {at.told_devices()}",
            "Rubric": at.rubric_sha256[:16],
        }

    counts: dict[str, Counter[str]] = {}
    # A file that is no Python was never run, so nothing was there to be told.
    for receipt in (one for one in receipts if one.environment.python):
        for label, value in told(receipt).items():
            counts.setdefault(label, Counter())[value] += 1
    return [
        (label, sorted(count.items(), key=lambda one: (-one[1], one[0])))
        for label, count in counts.items()
    ]
