"""`grade export`: what would change is shown first, and only what changes is written."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from grader.gradebook import exports
from tests.command import Ran, run
from tests.gradebook import classes
from tests.gradebook.bulk import broken, files, grade, handing_in, root


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graded")
    classes.canvas_zip(folder, handing_in(broken(1), broken(2)))
    classes.canvas_roster(folder / "sheet.csv")
    ran = grade(folder, "submissions.zip", "--roster", "sheet.csv")
    assert ran.code == 0, ran.said
    return folder


@pytest.fixture
def graded(original: Path, tmp_path: Path) -> Path:
    """Return a graded class of the test's own."""
    return shutil.copytree(original, tmp_path, dirs_exist_ok=True)


def export(cwd: Path, form: str, *options: str | Path) -> Ran:
    return run("export", "results", "--to", form, *options, cwd=cwd)


def test_the_forms_are_listed(tmp_path: Path) -> None:
    ran = run("export", "--list", cwd=tmp_path)
    assert (ran.code, ran.stderr) == (0, "")
    assert [line.split()[0] for line in ran.stdout.splitlines()] == exports.names()


def test_an_unknown_form_is_told_with_those_there_are(graded: Path) -> None:
    ran = export(graded, "blackboard")
    assert (ran.code, ran.stdout) == (2, "")
    assert "There is no format 'blackboard'" in ran.stderr
    assert "canvas, canvas-feedback, csv" in ran.stderr


def test_a_dry_run_shows_what_would_change_and_writes_nothing(graded: Path) -> None:
    before = {one: one.read_bytes() for one in graded.rglob("*") if one.is_file()}
    ran = export(graded, "canvas", "--template", "sheet.csv", "--column", "991", "--dry-run")
    assert ran.code == 0, ran.said
    lines = ran.stdout.splitlines()
    assert lines[0].split() == ["new", "results/distributed-03/exports/canvas/sheet.csv"]
    assert lines[1:] == [
        "  Doe, Jane: Assignment 3 (991): '' -> '0.00'",
        "  O'Neil, Bob: Assignment 3 (991): '' -> '0.00'",
    ]
    after = {one: one.read_bytes() for one in graded.rglob("*") if one.is_file()}
    assert {k: v for k, v in after.items() if "ledger" not in k.name} == {
        k: v for k, v in before.items() if "ledger" not in k.name
    }


def test_a_dry_run_over_an_earlier_export_shows_the_lines(graded: Path) -> None:
    assert export(graded, "csv").code == 0
    assert export(graded, "csv", "--dry-run").stdout.split()[0] == "same"
    why = ("--override", "learner1", "values", "3", "--why", "x")
    assert run("regrade", "results", *why, cwd=graded).code == 0
    ran = export(graded, "csv", "--dry-run")
    assert ran.stdout.startswith("changed ")
    assert sum(line.startswith("  -") for line in ran.stdout.splitlines()) == 2


def test_an_export_says_what_it_wrote_and_what_was_the_same(graded: Path) -> None:
    first, second = export(graded, "junit"), export(graded, "junit")
    place = "results/distributed-03/exports/junit/junit.xml"
    assert first.stdout.split() == ["wrote", place]
    assert second.stdout.split() == ["same", place]


def test_an_export_goes_where_it_is_told(graded: Path) -> None:
    before = files(root(graded))
    ran = export(graded, "csv", "--out", "elsewhere/deep", "--bom")
    assert ran.code == 0, ran.said
    assert (graded / "elsewhere/deep/grades.csv").read_bytes().startswith(b"\xef\xbb\xbfkey,")
    assert files(root(graded)) == before


def test_a_template_is_never_written_over(graded: Path) -> None:
    before = (graded / "sheet.csv").read_bytes()
    assert export(graded, "canvas", "--template", "sheet.csv", "--column", "991").code == 0
    assert (graded / "sheet.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["canvas"], "The format canvas needs --template FILE"),
        (["canvas", "--template", "sheet.csv", "--column", "x"], "no assignment column 'x'"),
        (["canvas", "--template", "nowhere.csv"], "nowhere.csv"),
        (["csv", "--scale-to", "ten"], "--scale-to 'ten' is no maximum of points"),
        (["csv", "--scale-to", "nan"], "--scale-to 'nan' is no maximum of points"),
        (["csv", "--scale-to", "0"], "--scale-to '0' is no maximum of points"),
        (["gradescope"], "Which learner?"),
        (["gradescope", "--learner", "nobody"], "there is no learner 'nobody'"),
        (["github-classroom", "--assignment", "week3"], "--assignment 'week3' is not NAME=VALUE"),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, list) else "",
)
def test_what_an_export_lacks_is_told(graded: Path, options: list[str], says: str) -> None:
    ran = export(graded, *options)
    assert (ran.code, ran.stdout) == (2, ""), ran.said
    assert says in ran.stderr
    assert not (root(graded) / "exports").exists()


def test_results_that_are_none_are_told(tmp_path: Path) -> None:
    for given in (".", "nowhere"):
        ran = run("export", given, "--to", "csv", cwd=tmp_path)
        assert ran.code == 2
        assert f"there are no results in {given}" in ran.stderr
    assert list(tmp_path.iterdir()) == []


def test_results_of_several_exercises_are_told_apart(graded: Path) -> None:
    other = graded / "results" / "other-01"
    other.mkdir()
    (other / "ledger.sqlite").write_bytes((root(graded) / "ledger.sqlite").read_bytes())
    ran = export(graded, "csv")
    assert ran.code == 2
    assert "name one: results/distributed-03, results/other-01" in ran.stderr
    assert run("export", "results/distributed-03", "--to", "csv", cwd=graded).code == 0
