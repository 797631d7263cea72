"""Made-up gradebooks: one of every kind of row, and large classes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from grader.records.gradebook import Gradebook, Mark, Note, Override, Person, Row
from grader.records.receipt import Receipt
from tests.receipt import factory

CHECKS = tuple(factory.TITLES)
LATER = "2026-03-02T10:00:00Z"
FULL = sum(sum(points) for points in factory.POINTS.values())

ADA = Person(
    "ada",
    "Ada Lovelace",
    "ada@example.org",
    {"canvas_user": "1001", "sis_user": "S001", "sis_login": "ada", "moodle_participant": "501",
     "github": "ada-l", "roster": "Lovelace, Ada"},
)  # fmt: skip
BLAISE = Person(
    "blaise",
    "Blaise Pascal",
    "blaise@example.org",
    {"canvas_user": "1002", "sis_user": "S002", "sis_login": "blaise", "moodle_participant": "502"},
)
CHEN = Person("chen", "Chen, Wei 陳", "chen@example.org", {"canvas_user": "1003"})
EVIL = Person("evil", '=HYPERLINK("http://x","<script>alert(1)</script>")', "+1@example.org", {})
MARY = Person("mary", "Mary Cartwright", "mary@example.org", {"moodle_participant": "505"})
ZORA = Person("zora", "Zora Neale", "zora@example.org", {"canvas_user": "1006"})

NOTES = (
    Note("missing", "mary", "Mary Cartwright handed in nothing."),
    Note("unmatched", "ghost_9.py", "ghost_9.py belongs to nobody in the class list."),
    Note("duplicate", "blaise", "Blaise Pascal and Ada Lovelace handed in the same bytes."),
    Note("superseded", "ada", "Ada Lovelace handed in two files; the later one counts."),
)


def named(receipt: Receipt, name: str, number: int = 1) -> Receipt:
    """Return the receipt of a file of that name."""
    part = receipt.submission.model_copy(update={"name": name, "sha256": f"{number:064x}"})
    return receipt.model_copy(update={"submission": part})


def row(person: Person, receipt: Receipt | None, **more: Any) -> Row:
    """Return a graded row, unless `more` says otherwise."""
    user = person.ids.get("canvas_user", "0")
    given: dict[str, Any] = {
        "status": "graded",
        "receipt_folder": f"receipts/{person.key}",
        "submitted_at": "2026-03-01T09:00:00Z",
        "shown": f"{person.key}_{user}_90{user}_my_solution.py",
        "ids": {"canvas_attachment": f"90{user}"},
        **more,
    }
    return Row(person, receipt=receipt, **given)


def small(**more: Any) -> Gradebook:
    """Return a class of six: full marks, failed, stopped, hostile, missing and undecided."""
    rows = (
        row(ADA, named(factory.passed(), "ada_lovelace.py", 1)),
        row(
            BLAISE,
            named(factory.failed(), "my_solution.py", 2),
            late=True,
            overrides=(
                Override("byte_budget", 4, 10, "Prof. X", LATER, "rows were right"),
            ),
        ),
        row(
            CHEN,
            named(factory.error(), "solution.ipynb", 3),
            marks=(Mark("explanation", 2.5, 5.0, "half of it"),),
        ),
        row(EVIL, named(factory.failed(), '<img src=x onerror="alert(1)">.py', 4), late=True),
        Row(MARY, "missing"),
        row(ZORA, named(factory.undecided(), "zora.py", 6), status="undecided"),
    )  # fmt: skip
    given: dict[str, Any] = {
        "exercise": "distributed-03",
        "title": "Communication-efficient algorithms",
        "max_points": FULL,
        "checks": CHECKS,
        "layout": "canvas",
        "rows": rows,
        "notes": NOTES,
        **more,
    }
    return Gradebook(**given)


def only(*rows: Row) -> Gradebook:
    """Return the small class with these rows alone."""
    return small(rows=rows)


def large(number: int) -> Gradebook:
    """Return a class of that many, in which every sort of grade comes again and again."""
    makers = (
        factory.passed, factory.failed, factory.passed, factory.error, factory.failed,
        factory.passed, factory.undecided,
    )  # fmt: skip
    made = [maker() for maker in makers]
    rows = []
    for n in range(number):
        person = Person(f"p{n:04d}", f"Learner Number{n:04d}", f"p{n}@example.org", {})
        if n % 17 == 5:
            rows.append(Row(person, "missing"))
            continue
        receipt = named(made[n % len(made)], "my_solution.py", n + 1)
        wanted = Override("values", 20, 20 - n % 13, "Prof. X", LATER, "")
        status = "undecided" if receipt.verdict == "undecided" else "graded"
        changed = (wanted,) if n % 5 == 0 and status == "graded" else ()
        rows.append(row(person, receipt, status=status, late=n % 9 == 0, overrides=changed))
    return replace(small(), rows=tuple(rows), notes=NOTES)
