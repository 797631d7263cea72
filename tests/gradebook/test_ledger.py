"""The ledger keeps every attempt, lets no undecided one count, and says why it cannot be used."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from grader.errors import EnvironmentProblem
from grader.gradebook.ledger import Ledger
from grader.records.gradebook import Note, Override, Person
from tests.gradebook.graded import AT, attempt, collected, hand_in, key, ledger
from tests.receipt import factory


def test_an_attempt_comes_back_as_it_was_kept(tmp_path: Path) -> None:
    kept = attempt(factory.failed())
    with ledger(tmp_path) as book:
        book.add(kept)
    with ledger(tmp_path) as book:
        found = book.standing(kept.key.text())
    assert found == kept
    assert found.read() == factory.failed()


def test_the_file_survives_its_writer_because_it_is_written_ahead(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        book.add(attempt())
        # Another process sees it at once, while this one still has the file open.
        with sqlite3.connect(tmp_path / "ledger.sqlite") as other:
            assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            assert other.execute("SELECT count(*) FROM attempts").fetchone() == (1,)
        other.close()


def test_undecided_never_replaces_decided(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        book.add(attempt(factory.failed()))
        book.add(attempt(factory.undecided()))
        found = book.standing(key().text())
        assert found is not None
        assert found.verdict == "failed"
        assert book.decided() == {key().text()}


def test_undecided_alone_is_known_and_not_decided(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        book.add(attempt(factory.undecided()))
        found = book.standing(key().text())
        assert found is not None
        assert found.verdict == "undecided"
        assert book.decided() == set()
        assert book.submissions() == {"s1"}


@pytest.mark.parametrize("made", [factory.passed, factory.failed, factory.error])
def test_every_verdict_but_undecided_is_decided(tmp_path: Path, made: object) -> None:
    with ledger(tmp_path) as book:
        book.add(attempt(made()))  # type: ignore[operator]
        assert book.decided() == {key().text()}


def test_the_last_decided_attempt_counts(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        book.add(attempt(factory.failed()))
        book.add(attempt(factory.passed()))
        book.add(attempt(factory.undecided()))
        found = book.standing(key().text())
        assert found is not None
        assert found.verdict == "passed"


def test_an_earlier_rubric_gives_its_last_decided_attempt(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        book.add(attempt(factory.failed(), rubric="r0"))
        book.add(attempt(factory.passed(), rubric="r1"))
        book.add(attempt(factory.undecided(), rubric="r1"))
        book.add(attempt(factory.error(), submission="s2", rubric="r1"))
        found = book.earlier("s1", key(rubric="r2").text())
        assert found is not None
        assert (found.key.rubric, found.verdict) == ("r1", "passed")
        assert book.earlier("s1", key(rubric="r1").text()) == attempt(factory.failed(), rubric="r0")
        assert book.earlier("s3", "") is None


def test_the_history_is_everything_the_oldest_first(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        for verdict in (factory.failed, factory.undecided, factory.passed):
            book.add(attempt(verdict()))
        book.add(attempt(submission="s2"))
        assert [one.verdict for one in book.history(["s1"])] == ["failed", "undecided", "passed"]
        assert book.history([]) == []


# --------------------------------------------------------------------------------------- the class


def test_the_class_is_in_order_and_each_has_the_own_hand_in(tmp_path: Path) -> None:
    source = collected([hand_in("zoe"), hand_in("bob", "amy")], silent=["carl"])
    with ledger(tmp_path) as book:
        book.set_class(source, {0: "k0", 1: "k1"})
        found = book.members()
    assert [(one.person.key, one.key) for one in found] == [
        ("amy", "k1"), ("bob", "k1"), ("carl", ""), ("zoe", "k0"),
    ]  # fmt: skip
    assert found[0].facts is not None
    assert found[0].facts["people"] == ["bob", "amy"]
    assert found[2].facts is None


def test_a_class_takes_the_place_of_the_last_and_no_attempt_is_lost(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        book.add(attempt())
        first = collected([hand_in("amy")], notes=[Note("ignored", "x", "y")])
        book.set_class(first, {0: "k0"})
        book.set_class(collected([hand_in("bob")]), {0: "k1"})
        assert [one.person for one in book.members()] == [Person("bob", "Bob")]
        assert book.member("amy") is None
        assert book.notes() == ()
        assert book.about("layout") == "plain"
        assert book.standing(key().text()) is not None


def test_a_class_that_cannot_be_kept_leaves_the_last(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        book.set_class(collected([hand_in("amy")]), {0: "k0"})
        note = Note("ignored", "x", object())  # type: ignore[arg-type]
        with pytest.raises(EnvironmentProblem, match="the ledger cannot be used"):
            book.set_class(collected([hand_in("bob")], notes=[note]), {0: "k1"})
        assert [one.person.key for one in book.members()] == ["amy"]


# --------------------------------------------------------------------------------------- overrides


def test_every_override_is_told_in_its_order_and_stays_in_the_file(
    tmp_path: Path,
) -> None:
    first = Override("values", 10, 12, "X", AT, "half")
    second = Override("values", 10, 20, "Y", AT, "whole")
    other = Override("momentum", 0, 3, "X", AT, "some")
    with ledger(tmp_path) as book:
        for one in (first, other, second):
            book.override("amy", one)
        # Those before are told too; `book.in_force` joins them to a chain.
        assert book.overrides("amy") == (first, other, second)
        assert book.overrides("bob") == ()
    with sqlite3.connect(tmp_path / "ledger.sqlite") as file:
        rows = file.execute("SELECT was, points, by FROM overrides ORDER BY id").fetchall()
    file.close()
    assert rows == [(10, 12, "X"), (0, 3, "X"), (10, 20, "Y")]


# ------------------------------------------------------------------------------ what cannot be used


def test_another_versions_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    place = tmp_path / "ledger.sqlite"
    with sqlite3.connect(place) as file:
        file.execute("CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
        file.execute("INSERT INTO about VALUES ('schema', '2')")
        # Has not the columns that our index would need.
        file.execute("CREATE TABLE attempts (id INTEGER PRIMARY KEY)")
    file.close()
    with pytest.raises(EnvironmentProblem) as raised:
        Ledger(place)
    assert raised.value.sentence() == (
        f"this ledger has the form 2, and this version of grade knows 1 ({place})\n"
        "  Next: use the version that wrote it, or another results folder with --out"
    )
    with sqlite3.connect(place) as file:
        tables = file.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    file.close()
    assert sorted(tables) == [("about",), ("attempts",)]


def test_a_file_that_is_none_is_told(tmp_path: Path) -> None:
    place = tmp_path / "ledger.sqlite"
    place.write_bytes(b"no database at all, but long enough to be taken for one\n" * 40)
    with pytest.raises(EnvironmentProblem, match="the ledger cannot be used: file is not a data"):
        Ledger(place)


def test_a_file_whose_pages_are_damaged_is_told_when_it_is_read(tmp_path: Path) -> None:
    place = tmp_path / "ledger.sqlite"
    with Ledger(place) as book:
        for number in range(40):
            book.add(attempt(factory.failed(), submission=f"s{number}"))
    raw = bytearray(place.read_bytes())
    raw[4096 * 3 :] = b"\xff" * (len(raw) - 4096 * 3)
    place.write_bytes(raw)
    with pytest.raises(EnvironmentProblem) as raised, Ledger(place) as book:
        book.history([f"s{number}" for number in range(40)])
    assert raised.value.what.startswith("the ledger cannot be used: ")
    assert raised.value.where == str(place)
    assert "whether the disk is full" in raised.value.next_step


def test_a_file_that_another_process_writes_to_is_told(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        other = sqlite3.connect(tmp_path / "ledger.sqlite", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(EnvironmentProblem, match="database is locked"):
            book.add(attempt())
        # Reading goes on meanwhile.
        assert book.decided() == set()
        other.execute("ROLLBACK")
        other.close()
        book.add(attempt())
        assert book.decided() == {key().text()}


def test_a_place_where_no_file_can_be_is_told(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="unable to open database file"):
        Ledger(tmp_path / "nowhere" / "ledger.sqlite")
    (tmp_path / "ledger.sqlite").mkdir()
    with pytest.raises(EnvironmentProblem, match="unable to open database file"):
        ledger(tmp_path)


def test_a_full_disk_is_told_as_that(tmp_path: Path) -> None:
    long = attempt(factory.failed(), at=AT * 10_000)
    with ledger(tmp_path) as book:
        pages = book._db.execute("PRAGMA page_count").fetchone()[0]
        book._db.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(EnvironmentProblem, match="database or disk is full"):
            book.add(long)
