"""Files of the results are made once, and again where they, or what they are made from, changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from grader.gradebook import stamps
from grader.gradebook.ledger import Ledger, Written
from grader.gradebook.receipts import Shelf
from grader.records.receipt import Receipt
from grader.trust import page
from tests.gradebook.factory import ADA, MARY, named, row
from tests.gradebook.graded import ledger
from tests.receipt import factory

FORMS = ("html", "json", "md")
PLACES = [f"receipts/ada/my_solution.{form}" for form in FORMS]
PASSED = row(ADA, factory.passed())


class Renderer:
    """Counts what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, receipt: Receipt, form: str) -> str:
        self.asked.append(form)
        return f"{form} of {receipt.points}"


# What is written of the page that the renderer gives: with the record in it.
PAGE = page.with_receipt(b"html of 100", b"json of 100")


@contextmanager
def shelf(folder: Path, tools: str = "t1") -> Iterator[tuple[Shelf, Renderer]]:
    """Open the shelf of a run, and keep what it knows at the end of the block."""
    render = Renderer()
    with ledger(folder) as book:
        made = Shelf(folder, book, render, tools)
        yield made, render
        made.close()


def names(folder: Path) -> list[str]:
    return sorted(str(one.relative_to(folder)) for one in folder.rglob("receipts/**/*.*"))


def test_receipts_are_rendered_once(tmp_path: Path) -> None:
    with shelf(tmp_path) as (one, render):
        assert one.write(PASSED, 1)
        assert not one.write(PASSED, 1)
        assert sorted(render.asked) == list(FORMS)
    assert names(tmp_path) == PLACES
    with shelf(tmp_path) as (again, render):
        assert not again.write(PASSED, 1)
        assert (render.asked, again.mended) == ([], [])


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("how", ["gone", "changed", "a folder's link"])
def test_what_somebody_touched_is_made_again_alone_and_told(
    tmp_path: Path, name: str, how: str
) -> None:
    with shelf(tmp_path) as (one, _):
        one.write(PASSED, 1)
    before = (tmp_path / name).read_bytes()
    (tmp_path / name).unlink()
    if how == "changed":
        # Of the same length, and no older: neither size nor time may be what is looked at.
        (tmp_path / name).write_bytes(before[:-1] + b"1")
    elif how == "a folder's link":
        (tmp_path / name).symlink_to(tmp_path)
    with shelf(tmp_path) as (again, render):
        assert again.write(PASSED, 1)
        # All are made, because the page holds the record; one is written.
        assert sorted(render.asked) == list(FORMS)
        assert again.mended == [name]
    assert (tmp_path / name).read_bytes() == before


@pytest.mark.parametrize("what", ["attempt", "name", "tools", "more"])
def test_receipts_follow_everything_that_they_are_made_from(tmp_path: Path, what: str) -> None:
    with shelf(tmp_path) as (one, _):
        one.write(PASSED, 1)
    changed = row(ADA, named(factory.passed(), "other.py")) if what == "name" else PASSED
    with shelf(tmp_path, "t2" if what == "tools" else "t1") as (again, render):
        again.write(changed, 2 if what == "attempt" else 1, also="x" if what == "more" else "")
        assert sorted(render.asked) == list(FORMS)
        assert again.mended == []


def test_another_attempt_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    with shelf(tmp_path) as (one, _):
        one.write(row(ADA, factory.failed()), 1)
        assert one.write(PASSED, 2)
    texts = {(tmp_path / name).read_text() for name in PLACES}
    assert texts == {PAGE.decode(), "json of 100", "md of 100"}


def test_a_row_without_a_receipt_gives_no_file(tmp_path: Path) -> None:
    with shelf(tmp_path) as (one, _):
        assert not one.write(row(MARY, None), 0)
    assert names(tmp_path) == []


def test_a_run_that_was_killed_has_its_receipts_made_again_and_tells_nothing(
    tmp_path: Path,
) -> None:
    render = Renderer()
    with ledger(tmp_path) as book:
        Shelf(tmp_path, book, render, "t1").write(PASSED, 1)  # and never closed
    with shelf(tmp_path) as (again, _):
        assert not again.write(PASSED, 1)
        assert again.mended == []


def test_what_is_known_is_kept_while_a_long_run_goes_on(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        one = Shelf(tmp_path, book, Renderer(), "t1")
        for number in range(1000):
            one.put(f"receipts/{number}", "x", b"")
        assert len(book.written()) > 800


def test_what_no_run_is_about_any_more_is_forgotten_and_not_removed(tmp_path: Path) -> None:
    with shelf(tmp_path) as (one, _):
        one.write(PASSED, 1)
        one.put("summary.json", "x", b"{}")
    with shelf(tmp_path) as (again, _):
        again.put("summary.json", "x", b"{}")
        assert set(again.ledger.written()) == {*PLACES, "summary.json"}
    with ledger(tmp_path) as book:
        assert set(book.written()) == {"summary.json"}
    assert names(tmp_path) == PLACES


def test_untouched_means_every_file(tmp_path: Path) -> None:
    with shelf(tmp_path) as (one, _):
        one.write(PASSED, 1)
        one.put("summary.json", "x", b"{}")
    with ledger(tmp_path) as book:
        one = Shelf(tmp_path, book, Renderer(), "t1")
        assert one.untouched("summary.json", "x")
        assert not one.untouched("summary.json", "y")
        assert not one.untouched("report.html", "x")
        (tmp_path / PLACES[0]).write_text("another")
        assert not one.untouched("summary.json", "x")


def test_a_receipt_is_taken_from_where_it_was_written(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        number = _of_class(book)
    with shelf(tmp_path) as (one, _):
        one.write(PASSED, number)
    with ledger(tmp_path) as book:
        render = Renderer()
        one = Shelf(tmp_path, book, render, "t1")
        assert one.content(PASSED, "html") == PAGE
        assert render.asked == []
        (tmp_path / PLACES[0]).write_text("100 of 100, says Ada")
        assert one.content(PASSED, "html") == PAGE
        (tmp_path / PLACES[2]).unlink()
        assert one.content(PASSED, "md") == b"md of 100"
        assert render.asked == ["html", "md", "json"] * 2
        other = Shelf(tmp_path, book, render, "t2")
        other.content(PASSED, "json")
        assert render.asked[6:] == ["html", "md", "json"]


def _of_class(book: Ledger) -> int:
    """Make Ada the class, with one attempt; returns its number."""
    from tests.gradebook.graded import attempt, collected, hand_in

    number = book.add(attempt(submission="ada"))
    book.set_class(collected([hand_in("ada")]), {0: "ada:r1:e1"})
    return number


def test_a_ledger_that_an_earlier_version_wrote_knows_nothing_yet(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        book._db.execute("DROP TABLE written")
    with ledger(tmp_path) as book:
        assert book.written() == {}
        book.note_written({"a": Written("x", "y")})
        assert book.written() == {"a": Written("x", "y")}


# ------------------------------------------------------------------------------------------ digests


def test_no_two_lists_of_parts_look_alike() -> None:
    made = [("ab", "c"), ("a", "bc"), ("abc",), ("abc", ""), ("", "abc"), ("\udc80",)]
    assert len({stamps.digest(*parts) for parts in made}) == len(made)


def test_a_template_that_changes_or_appears_changes_what_all_is_made_with(tmp_path: Path) -> None:
    (tmp_path / "receipt.md.j2").write_text("one")
    found = [stamps.tools([tmp_path])]
    (tmp_path / "receipt.md.j2").write_text("two")
    found.append(stamps.tools([tmp_path]))
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "foot.j2").write_text("foot")
    found += [stamps.tools([tmp_path]), stamps.tools([tmp_path, tmp_path]), stamps.tools([])]
    assert len(set(found)) == len(found)
    assert stamps.tools([tmp_path]) == found[2]


def test_a_file_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert stamps.held(tmp_path / "nowhere") == stamps.held(tmp_path) == ""
