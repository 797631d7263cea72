"""The gradebook has a row for everybody, says what stands, and follows what a person changed."""

from __future__ import annotations

from pathlib import Path

from grader.gradebook import runner
from grader.gradebook.book import gradebook, named, standing, standing_row
from grader.gradebook.ledger import Ledger
from grader.gradebook.looks import has_grade, points
from grader.gradebook.runner import Known
from grader.records.gradebook import Mark, Note, Override, Row
from grader.records.receipt import Receipt
from tests.gradebook.factory import CHECKS, FULL
from tests.gradebook.graded import (
    AT,
    KNOWN,
    Answer,
    Canned,
    collected,
    entry,
    hand_in,
    ledger,
    pass_all,
)
from tests.receipt import factory

AMY = collected([hand_in("amy")])
NEWER = Known("r2", "e1")


def grade(book: Ledger, answer: Answer = pass_all, known: Known = KNOWN, **more: bool) -> None:
    made = runner.plan(AMY, book, known, **more)
    book.set_class(AMY, {at: key.text() for at, key in made.keys.items()})
    runner.grade_all(made, book, Canned(answer), lambda _done: None)


def amy(book: Ledger) -> Row:
    (row,) = gradebook(book, entry()).rows
    return row


def undecided(_task: object) -> Receipt:
    return factory.undecided()


def failed(_task: object) -> Receipt:
    return factory.failed()


def test_the_gradebook_names_the_exercise_and_the_class(tmp_path: Path) -> None:
    notes = [Note("ignored", "x", "y")]
    source = collected([hand_in("zoe"), hand_in("amy")], silent=["bob"], notes=notes)
    with ledger(tmp_path) as book:
        book.set_class(source, {0: "k:r:e", 1: "k:r:e"})
        made = gradebook(book, entry())
    assert (made.exercise, made.max_points, made.checks) == ("distributed-03", FULL, CHECKS)
    assert (made.layout, made.notes) == ("plain", tuple(notes))
    assert [(r.person.key, r.status) for r in made.rows] == [
        ("amy", "undecided"), ("bob", "missing"), ("zoe", "undecided"),
    ]  # fmt: skip


def test_a_missing_row_has_nothing_that_could_be_taken_for_a_grade(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        book.set_class(collected([], silent=["bob"]), {})
        row = amy(book)
    assert row == Row(row.person, "missing")
    assert (row.points(), row.max_points(), has_grade(row)) == (None, None, False)


def test_what_was_handed_in_and_not_decided_is_undecided_and_not_zero(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        grade(book, undecided)
        row = amy(book)
    assert (row.status, row.receipt, row.points()) == ("undecided", None, None)
    assert row.shown == "sub/amy/my_solution.py"


def test_the_earlier_grade_stands_while_the_new_rubric_is_undecided(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        grade(book, failed)
        # From the moment that the new rubric is known until it has decided.
        made = runner.plan(AMY, book, NEWER)
        book.set_class(AMY, {at: key.text() for at, key in made.keys.items()})
        assert (amy(book).status, amy(book).points()) == ("graded", 84)
        grade(book, undecided, NEWER)
        assert (amy(book).status, amy(book).points()) == ("graded", 84)
        grade(book, pass_all, NEWER)
        assert (amy(book).status, amy(book).points()) == ("graded", 100)


def test_a_decided_grade_stands_when_it_is_graded_again_undecided(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        grade(book)
        grade(book, undecided, again=True)
        assert amy(book).points() == 100


def test_an_attempt_of_other_bytes_is_never_an_earlier_one(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        grade(book)
        assert standing(book, "another:r1:e1") is None


def test_one_row_is_the_row_of_the_whole(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        grade(book)
        assert standing_row(book, "amy") == amy(book)
        assert standing_row(book, "bob") is None


# ------------------------------------------------------------------------- equal bytes, other names


def test_a_receipt_is_shown_under_the_name_that_its_learner_gave_the_file() -> None:
    outcome = factory.error().outcome.model_copy(
        update={"message": "my_solution.py stops", "next_step": "mend my_solution.py"}
    )
    graded = factory.error(outcome=outcome, notes=["my_solution.py prints much"])
    shown = named(graded, "hers.py")
    assert shown.submission.name == "hers.py"
    assert (shown.outcome.message, shown.outcome.next_step) == ("hers.py stops", "mend hers.py")
    assert shown.notes == ["hers.py prints much"]
    assert shown.submission.sha256 == graded.submission.sha256
    assert named(graded, "my_solution.py") is graded
    assert named(graded, "") is graded


# ---------------------------------------------------------------------- what a person changes


def test_an_override_counts_and_both_values_are_kept(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        grade(book, failed)
        book.override("amy", Override("byte_budget", 4, 9, "X", AT, "reasons"))
        row = amy(book)
    (change,) = row.overrides
    now = next(c.points for c in factory.failed().checks if c.id == "byte_budget")
    assert (change.was, change.points, change.why) == (now, 9, "reasons")
    assert row.points() == 84 - now + 9


def test_an_override_follows_a_regrade(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        grade(book, failed)
        book.override("amy", Override("collectives", 10, 12, "X", AT, "half right"))
        assert points(amy(book)) == 84 + 2
        grade(book, pass_all, NEWER)
        row = amy(book)
    # The check has other points now, and the person's value stays.
    assert [(one.was, one.points) for one in row.overrides] == [(16, 12)]
    assert points(row) == 100 - 16 + 12


def test_an_override_of_a_check_that_is_gone_counts_no_more(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        grade(book)
        book.override("amy", Override("gone", 4, 9, "X", AT, "reasons"))
        assert (amy(book).overrides, amy(book).points()) == ((), 100)


def test_marks_are_joined_by_key(tmp_path: Path) -> None:
    mark = Mark("explanation", 2.5, 5.0, "half")
    with ledger(tmp_path) as book:
        grade(book)
        (row,) = gradebook(book, entry(), {"amy": (mark,), "nobody": (mark,)}).rows
    assert row.marks == (mark,)
    assert (row.points(), row.max_points()) == (102.5, 105.0)
