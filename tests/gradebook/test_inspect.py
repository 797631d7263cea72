"""One learner can be looked at whole: what came of the submission, and how to repeat it."""

from __future__ import annotations

import shlex
import unicodedata
from pathlib import Path

import pytest

from tests.command import EXERCISE, Ran, run
from tests.gradebook import classes
from tests.gradebook.bulk import PARTIAL, broken, course_with, grade, handing_in, receipt, root


def inspect(cwd: Path, who: str, *options: str | Path) -> Ran:
    return run("inspect", "results", who, *options, cwd=cwd)


@pytest.fixture(scope="module")
def canvas(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a class that was graded; no test here changes it."""
    folder = tmp_path_factory.mktemp("canvas")
    classes.canvas_zip(folder, handing_in(broken(1), broken(2)), late=[2])
    classes.canvas_roster(folder / "roster.csv")
    ran = grade(folder, "submissions.zip", "--roster", "roster.csv")
    assert ran.code == 0, ran.said
    return folder


@pytest.mark.parametrize("who", ["O'Neil, Bob", "o'neil, bob", "1002", "S00002", "learner2"])
def test_a_learner_is_found_by_name_or_any_id(canvas: Path, who: str) -> None:
    ran = inspect(canvas, who)
    assert ran.code == 0, ran.said
    first, second = ran.stdout.splitlines()[:2]
    assert "O'Neil, Bob" in first
    assert "canvas_user 1002" in first
    assert second.startswith("handed in ")
    assert second.endswith("oneilbob_LATE_1002_50020_my_solution.py, late")
    assert "attempt   " in ran.stdout
    assert "error 0 (this rubric and these versions)" in ran.stdout


def test_who_handed_in_nothing_is_told_as_that(canvas: Path) -> None:
    ran = inspect(canvas, "learner4")
    assert (ran.code, ran.stdout.splitlines()[1:]) == (0, ["missing"])


@pytest.mark.parametrize(
    ("who", "says"),
    [("learner9", "there is no learner 'learner9' in these results"),
     ("learner22", "did you mean 'learner2'?"), ("", "there is no learner ''")],
)  # fmt: skip
def test_a_learner_who_is_not_there_is_told(canvas: Path, who: str, says: str) -> None:
    ran = inspect(canvas, who)
    assert (ran.code, ran.stdout) == (2, "")
    assert says in ran.stderr


def test_two_of_one_name_are_told_apart_by_key(tmp_path: Path) -> None:
    twins = [classes.Learner(n, "Ann", "Lee", {"my_solution.py": broken(n)}) for n in (1, 2)]
    classes.canvas_zip(tmp_path, twins)
    grade(tmp_path, "submissions.zip")
    ran = inspect(tmp_path, "leeann")
    assert ran.code == 2
    assert "'leeann' is more than one learner" in ran.stderr
    assert inspect(tmp_path, "leeann-1002").code == 0


def test_results_are_found_from_their_parent_and_told_where_there_are_none(canvas: Path) -> None:
    assert run("inspect", root(canvas), "1001", cwd=canvas).code == 0
    assert run("inspect", ".", "1001", cwd=root(canvas)).code == 0
    ran = run("inspect", ".", "1001", cwd=canvas)
    assert ran.code == 2
    assert "there are no results in ." in ran.stderr


def test_results_of_a_run_that_was_ended_at_once_are_told_as_empty(tmp_path: Path) -> None:
    from tests.gradebook.graded import ledger

    root(tmp_path).mkdir(parents=True)
    ledger(root(tmp_path)).close()
    ran = inspect(tmp_path, "amy")
    assert ran.code == 2
    assert "nothing was graded in results/distributed-03 yet" in ran.stderr


def test_what_a_learner_printed_acts_on_no_terminal(tmp_path: Path) -> None:
    classes.write(tmp_path / "in", {"amy.py": "print('\\x1b[2Jpassed \\u202e100')\n"})
    grade(tmp_path, "in")
    ran = inspect(tmp_path, "amy")
    assert "output (" in ran.stdout
    assert "\x1b" not in ran.stdout
    assert "\u202e" not in ran.stdout


@pytest.mark.slow
def test_the_command_it_names_makes_the_grade_again(tmp_path: Path) -> None:
    course = course_with(tmp_path / "course")
    classes.write(tmp_path / "in", {"my own.py": PARTIAL})
    assert grade(tmp_path, "in", "--course", course).code == 0
    before = receipt(tmp_path, "my own")
    # Another rubric has graded it since: the last attempt is not the first one.
    path = course / "rubrics" / EXERCISE / "rubric.toml"
    old = path.read_text(encoding="utf-8")
    path.write_text(old.replace("is divided by 16", "is shared by 16"), encoding="utf-8")
    assert grade(tmp_path, "in", "--course", course).code == 0
    path.write_text(old, encoding="utf-8")
    assert grade(tmp_path, "in", "--course", course).code == 0

    ran = inspect(tmp_path, "my own")
    attempts = [line for line in ran.stdout.splitlines() if line.startswith("attempt")]
    assert ["(this rubric" in line for line in attempts] == [True, False]
    (line,) = [one for one in ran.stdout.splitlines() if one.startswith("again")]
    command = shlex.split(line)[1:]
    assert command[0] == "grade"
    again = run(*command[1:], "--no-cache", cwd=tmp_path)
    for name in ("evidence_digest", "points", "verdict", "checks"):
        assert again.graded[name] == before[name]
    assert again.graded["environment"]["seed_sha256"] == before["environment"]["seed_sha256"]


def test_a_name_with_its_accents_apart_is_the_same_name(tmp_path: Path) -> None:
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "Zoë.py").write_text("x = (\n", encoding="utf-8")
    assert grade(tmp_path, "class").code == 0
    apart = unicodedata.normalize("NFD", "Zoë")
    assert inspect(tmp_path, apart).code == 0
