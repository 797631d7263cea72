"""Pseudonyms: stable, in an order that tells nothing, and no name left anywhere."""

from __future__ import annotations

import csv
import io
import itertools
from dataclasses import replace

import pytest

from grader.gradebook import exports
from grader.gradebook.exports import Options, anonymize
from grader.records.gradebook import Mark, Override, Person, Row
from grader.records.receipt import OutcomePart, OutputPart, Receipt, SourceLine
from tests.gradebook.factory import large, named, only, row, small
from tests.receipt import factory

KEY = b"a key of this course"
JANE = Person(
    "jane-doe",
    "Jane Doe-Wíll",
    "jdoe7@example.org",
    {"canvas_user": "48151", "sis_login": "jdoe7", "github": "janedoe-gh"},
)


def told(receipt: Receipt) -> Receipt:
    """Return a receipt in which the learner wrote a name wherever one can be."""
    part = receipt.submission.model_copy(
        update={"name": "jane_doe_hw.py", "siblings": {"janedoe-gh.txt": "ab" * 32}}
    )
    said = "by JANE doe-wíll <jdoe7@example.org>, id 48151, with Blaise Pascal; print(doe)"
    return receipt.model_copy(
        update={
            "submission": part,
            "outcome": OutcomePart(
                kind="raised", message="ValueError: Jane was here", line=3,
                traceback=['File "jane_doe_hw.py", line 3, in jane'],
            ),
            "output": OutputPart(text=said, total_bytes=80, cut=False),
            "source_lines": [SourceLine(line=3, text="# Jane Doe-Wíll")],
            "separate": receipt.separate.model_copy(update={"explanation": {"why": said}}),
            "notes": ["jane_doe_hw.py was read as UTF-8."],
        }
    )  # fmt: skip


def written() -> str:
    one = row(
        JANE,
        told(factory.failed()),
        shown="doejane_48151_90_jane_doe_hw.py",
        overrides=(Override("values", 20, 20, "Prof. X", "2026", "Jane asked"),),
        marks=(Mark("explanation", 1.0, 2.0, "well said, Jane"),),
    )
    book = small(rows=(one, *small().rows))
    made = anonymize(book, KEY).gradebook
    files = [
        data
        for name in ("csv", "json", "junit", "github-classroom")
        for _, data in exports.export(name, made, Options()).files
    ]
    return b"\n".join(files).decode().casefold()


@pytest.mark.parametrize(
    "word",
    ["jane", "doe", "wíll", "jdoe7", "48151", "lovelace", "blaise", "pascal", "mary", "zora",
     "chen", "hyperlink", "onerror", "ghost_9"],
)  # fmt: skip
def test_no_name_address_or_id_is_left(word: str) -> None:
    assert word not in written()


def test_pseudonyms_are_stable_and_count_from_one() -> None:
    one, two = anonymize(small(), KEY), anonymize(small(), KEY)
    assert one == two
    assert [r.person.key for r in one.gradebook.rows] == [f"learner-{n:03d}" for n in range(1, 7)]
    assert anonymize(small(), b"another").people != one.people


def test_the_order_is_not_that_of_names() -> None:
    places = [int(person.key[1:]) for person in anonymize(large(200), KEY).people.values()]
    assert sorted(places) == list(range(200))
    rising = sum(a < b for a, b in itertools.pairwise(places))
    assert 70 < rising < 130


def test_the_same_class_in_another_order_gets_the_same_names() -> None:
    book = small()
    turned = replace(book, rows=tuple(reversed(book.rows)))
    assert anonymize(turned, KEY).people == anonymize(book, KEY).people


def test_a_large_class_gets_longer_numbers() -> None:
    assert next(iter(anonymize(large(1000), KEY).people)) == "learner-0001"


def test_grades_stay_as_they_were() -> None:
    made = anonymize(small(), KEY)
    for one in made.gradebook.rows:
        (was,) = [r for r in small().rows if r.person == made.people[one.person.key]]
        assert (one.status, one.points(), one.max_points()) == (
            was.status, was.points(), was.max_points()
        )  # fmt: skip
        assert not one.ids and not one.person.ids and not one.person.email


def test_a_receipt_keeps_its_digest_and_loses_its_file_name() -> None:
    (one,) = anonymize(only(row(JANE, told(factory.passed()))), KEY).gradebook.rows
    assert one.receipt is not None
    assert one.receipt.submission.name == one.shown == "learner-001.py"
    assert one.receipt.submission.siblings == {"file-1.txt": "ab" * 32}
    assert one.receipt.submission.sha256 == "a3" * 32
    assert one.receipt.outcome.traceback == [
        'File "learner-001.py", line 3, in learner-001'
    ]  # fmt: skip
    assert one.receipt.notes == ["learner-001.py was read as UTF-8."]


def test_our_own_words_are_not_taken_for_a_name() -> None:
    will = Person("w", "Will Check")
    (one,) = anonymize(only(row(will, named(factory.failed(), "x.py"))), KEY).gradebook.rows
    assert one.receipt is not None
    assert one.receipt.checks == factory.failed().checks


def test_the_way_back_is_one_table_apart() -> None:
    table = anonymize(small(), KEY).table().decode()
    lines = {line["pseudonym"]: line for line in csv.DictReader(io.StringIO(table, newline=""))}
    assert len(lines) == 6
    assert {line["key"] for line in lines.values()} == {r.person.key for r in small().rows}
    assert "'=HYPERLINK" in table


def test_notes_keep_their_kind_and_no_words() -> None:
    made = anonymize(small(), KEY)
    kinds = [note.kind for note in made.gradebook.notes]
    assert kinds == ["missing", "unmatched", "duplicate", "superseded"]
    assert made.people[made.gradebook.notes[0].who].key == "mary"
    assert made.gradebook.notes[1].who == "somebody"


def test_an_empty_key_is_refused() -> None:
    with pytest.raises(ValueError, match="empty key"):
        anonymize(small(), b"")


def test_rows_without_a_receipt_stay_without_one() -> None:
    (one,) = anonymize(only(Row(JANE, "missing")), KEY).gradebook.rows
    assert one == Row(Person("learner-001", "learner-001"), "missing")
