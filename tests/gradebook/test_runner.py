"""A submission is graded once, and neither order nor jobs change what comes of a class."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from grader.gradebook import runner
from grader.gradebook.book import gradebook
from grader.gradebook.executors import Result, Task
from grader.gradebook.ledger import Ledger
from grader.gradebook.runner import Done, Known, Plan
from grader.records.gradebook import Collected, HandIn, Person
from grader.records.receipt import Receipt
from tests.gradebook.graded import (
    KNOWN,
    Canned,
    collected,
    entry,
    hand_in,
    ledger,
    pass_all,
    submission_key,
)
from tests.receipt import factory


def planned(book: Ledger, source: Collected, known: Known = KNOWN, again: bool = False) -> Plan:
    made = runner.plan(source, book, known, again=again)
    book.set_class(source, {at: key.text() for at, key in made.keys.items()})
    return made


def graded(book: Ledger, made: Plan, executor: Canned | None = None) -> list[Done]:
    done: list[Done] = []
    runner.grade_all(made, book, executor or Canned(), done.append)
    return done


def small() -> Collected:
    return collected([hand_in(name, raw=name.encode()) for name in ("amy", "bob", "carl")])


def test_a_new_class_is_all_to_grade(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        made = planned(book, small())
    assert set(made.pending) == {submission_key(n).text() for n in (b"amy", b"bob", b"carl")}
    assert (made.reused, made.changed, made.shared) == (set(), set(), 0)


def test_a_second_run_grades_nothing(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        graded(book, planned(book, small()))
        executor = Canned()
        made = planned(book, small())
        assert graded(book, made, executor) == []
        assert executor.asked == []
    assert (len(made.reused), made.pending) == (3, {})


def test_only_what_is_new_is_graded(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        graded(book, planned(book, small()))
        more = collected([*small().hand_ins, hand_in("dora", raw=b"dora")])
        made = planned(book, more)
    assert list(made.pending) == [submission_key(b"dora").text()]
    assert len(made.reused) == 3


@pytest.mark.parametrize("known", [Known("r2", "e1"), Known("r1", "e2")])
def test_another_rubric_or_environment_grades_again_and_says_so(
    tmp_path: Path, known: Known
) -> None:
    with ledger(tmp_path) as book:
        graded(book, planned(book, small()))
        made = planned(book, small(), known)
    assert made.changed == set(made.pending)
    assert (len(made.pending), made.reused) == (3, set())


def test_equal_bytes_are_graded_once_and_count_for_each(tmp_path: Path) -> None:
    same = [hand_in(name, raw=b"same", name=f"{name}.py") for name in ("amy", "bob", "carl")]
    executor = Canned()
    with ledger(tmp_path) as book:
        made = planned(book, collected([*same, hand_in("dora", raw=b"other")]))
        graded(book, made, executor)
        rows = gradebook(book, entry()).rows
    assert (made.shared, len(executor.asked)) == (2, 2)
    assert [row.receipt.submission.name for row in rows if row.receipt] == [
        "amy.py", "bob.py", "carl.py", "my_solution.py",
    ]  # fmt: skip


def test_a_groups_file_is_graded_once_and_counts_for_all(tmp_path: Path) -> None:
    executor = Canned()
    with ledger(tmp_path) as book:
        graded(book, planned(book, collected([hand_in("amy", "bob")])), executor)
        rows = gradebook(book, entry()).rows
    assert len(executor.asked) == 1
    assert [row.points() for row in rows] == [100, 100]


def test_asked_for_again_everything_is_graded_whatever_is_known(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        graded(book, planned(book, small()))
        made = planned(book, small(), again=True)
    # Nothing changed: somebody wished it.
    assert (len(made.pending), made.reused, made.changed) == (3, set(), set())


def test_an_undecided_attempt_is_tried_again(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        graded(book, planned(book, small()), Canned(lambda _task: factory.undecided()))
        made = planned(book, small())
    assert (len(made.pending), made.changed) == (3, set())


def test_what_our_side_could_not_do_is_told_and_leaves_no_attempt(tmp_path: Path) -> None:
    def answer(task: Task) -> Receipt | str:
        return "no room" if task.submission.raw == b"bob" else pass_all(task)

    with ledger(tmp_path) as book:
        done = graded(book, planned(book, small()), Canned(answer))
        rows = {row.person.key: row.status for row in gradebook(book, entry()).rows}
    failed = [(one.receipt, one.problem, one.next_step) for one in done if one.problem]
    assert failed == [(None, "no room", "run it again")]
    assert rows == {"amy": "graded", "bob": "undecided", "carl": "graded"}


def test_each_result_is_kept_before_the_next_is_waited_for(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        made = planned(book, small())
        seen: list[int] = []

        def look(_done: Done) -> None:
            other = sqlite3.connect(tmp_path / "ledger.sqlite")
            seen.append(other.execute("SELECT count(*) FROM attempts").fetchone()[0])
            other.close()

        runner.grade_all(made, book, Canned(), look)
    assert seen == [1, 2, 3]


def test_an_end_in_the_middle_loses_nothing_that_is_finished(tmp_path: Path) -> None:
    def stop(done: Done) -> None:
        raise KeyboardInterrupt

    with ledger(tmp_path) as book:
        with pytest.raises(KeyboardInterrupt):
            runner.grade_all(planned(book, small()), book, Canned(), stop)
        assert (len(book.decided()), len(planned(book, small()).pending)) == (1, 2)


def test_without_a_ledger_nothing_is_kept(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        done: list[Done] = []
        runner.grade_all(planned(book, small()), None, Canned(), done.append)
        assert (len(done), book.submissions()) == (3, set())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("jobs", [1, 3, 12])
def test_order_and_jobs_change_nothing(tmp_path: Path, seed: int, jobs: int) -> None:
    makers = (factory.passed, factory.failed, factory.error)

    def answer(task: Task) -> Receipt:
        return makers[int(task.submission.raw) % 3]()

    hand_ins = [hand_in(f"p{n:02d}", raw=str(n % 9).encode()) for n in range(12)]
    with ledger(tmp_path) as book:
        graded(book, planned(book, collected(hand_ins)), Canned(answer))
        expected = gradebook(book, entry())
    mixed = random.Random(seed).sample(hand_ins, len(hand_ins))
    with Ledger(tmp_path / "other.sqlite") as book:
        executor = Canned(answer, seed, jobs)
        graded(book, planned(book, collected(mixed)), executor)
        assert len(executor.asked) == 9
        assert gradebook(book, entry()) == expected


def test_files_are_never_in_memory_together(tmp_path: Path) -> None:
    read: list[int] = []

    def lazily(number: int) -> bytes:
        read.append(number)
        return str(number).encode()

    hand_ins = [
        HandIn((Person(f"p{n:04d}"),), "a.py", f"{n}.py", partial(lazily, n)) for n in range(150)
    ]

    def one_at_a_time(task: Task) -> Receipt:
        # Nothing is read before it is asked for.
        assert len(read) == executor.taken
        return factory.passed()

    executor = Canned(one_at_a_time)
    with ledger(tmp_path) as book:
        made = planned(book, collected(hand_ins))
        read.clear()
        runner.grade_all(made, None, executor, lambda _done: None)
    assert len(executor.asked) == 150


# ------------------------------------------------------------------------- what makes two the same


def beside(**files: bytes) -> HandIn:
    readers = {name.replace("_", "."): partial(bytes, raw) for name, raw in files.items()}
    return HandIn((Person("amy"),), "a.py", "a.py", partial(bytes, b"x"), readers)


def identity(one: HandIn, *allowed: str) -> str:
    return runner.identity(runner.submission_of(one, allowed))


def test_files_beside_count_where_the_exercise_allows_them() -> None:
    plain = identity(beside())
    assert identity(beside(data_csv=b"1")) == plain
    assert identity(beside(data_csv=b"1"), "data.csv") != plain
    assert identity(beside(data_csv=b"1"), "data.csv") != identity(
        beside(data_csv=b"2"), "data.csv"
    )
    assert identity(beside(a_csv=b"1"), "a.csv", "b.csv") != identity(
        beside(b_csv=b"1"), "a.csv", "b.csv"
    )


def test_an_answer_for_a_task_of_nobody_is_no_result(tmp_path: Path) -> None:
    class Confused(Canned):
        def run(self, tasks: object) -> Iterator[Result]:
            yield Result("another", problem="?")

    with ledger(tmp_path) as book, pytest.raises(KeyError):
        runner.grade_all(planned(book, small()), book, Confused(), lambda _done: None)
