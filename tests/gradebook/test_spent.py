"""The time of a class is that of all its runs, also of one that was killed."""

from __future__ import annotations

import re
from pathlib import Path

from grader.gradebook import spent
from grader.gradebook.report import Times, report
from tests.command import ROOT
from tests.gradebook.bulk import broken, grade, root
from tests.gradebook.classes import write
from tests.gradebook.factory import small
from tests.gradebook.graded import ledger


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


def test_runs_add_up(tmp_path: Path) -> None:
    clock = Clock()
    with ledger(tmp_path) as kept:
        assert (spent.times(kept).took_s, spent.times(kept).runs) == (None, 0)
        for seconds in (7.0, 30.5):
            one = spent.Spent(kept, clock.at, clock)
            clock.at += seconds
            one.keep()
            one.keep()
        assert (spent.times(kept).took_s, spent.times(kept).runs) == (37.5, 2)


def test_a_run_that_is_killed_loses_seconds_and_no_more(tmp_path: Path) -> None:
    clock = Clock()
    with ledger(tmp_path) as kept:
        one = spent.Spent(kept, clock.at, clock)
        clock.at += spent.EVERY_S - 1
        one.tick()
        assert spent.times(kept).took_s is None
        clock.at += 1
        one.tick()
        clock.at += 1
        one.tick()
        assert spent.times(kept).took_s == spent.EVERY_S


def test_the_report_says_of_how_many_runs_it_is() -> None:
    def said(times: Times) -> str:
        text = report(small(), [ROOT / "templates"], times=times)
        found = re.search(r"Grading took [^.]*\.?[^.]*\.", text)
        return found[0] if found else ""

    assert said(Times("", 12.5, 1)) == "Grading took 12.5 s in all."
    assert said(Times("", 12.5, 3)) == "Grading took 12.5 s in all, in 3 runs."
    assert said(Times("", None, 0)) == ""


def test_a_second_run_that_grades_somebody_is_added(tmp_path: Path) -> None:
    write(tmp_path / "in", {"amy.py": broken(1)})
    grade(tmp_path, "in")
    grade(tmp_path, "in")
    page = root(tmp_path) / "report.html"
    assert ", in " not in page.read_text(encoding="utf-8").partition("<!-- times -->")[2][:200]
    write(tmp_path / "in", {"bob.py": broken(2)})
    grade(tmp_path, "in")
    assert " s in all, in 2 runs." in page.read_text(encoding="utf-8")
