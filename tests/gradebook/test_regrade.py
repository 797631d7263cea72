"""Grading again, points set by hand, marks: nothing changes in silence, nothing is lost."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.command import EXERCISE, TIMEOUT_S, Ran, command, environment, run
from tests.gradebook import classes
from tests.gradebook.bulk import book, broken, course_with, export, files, grade, receipt, root


def regrade(cwd: Path, *args: str | Path) -> Ran:
    return run("regrade", "results", *args, cwd=cwd)


def override(cwd: Path, *wanted: str, why: str = "right by another road") -> Ran:
    return regrade(cwd, "--override", *wanted, "--why", why, "--by", "Prof. X")


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graded")
    classes.write(folder / "in", {"amy.py": broken(1), "bob.py": broken(2)})
    ran = grade(folder, "in")
    assert ran.code == 0, ran.said
    return folder


@pytest.fixture
def graded(original: Path, tmp_path: Path) -> Path:
    """Return a graded class of the test's own."""
    return shutil.copytree(original, tmp_path, dirs_exist_ok=True)


# ---------------------------------------------------------------------------------------- overrides


def test_an_override_is_in_every_file_with_both_values_and_the_reason(graded: Path) -> None:
    ran = override(graded, "amy", "values", "20")
    assert ran.code == 0
    assert ran.stdout == "amy: values 0 -> 20, by Prof. X\n  counts in all 20 of 100 points\n"
    line = book(graded)["amy"]
    assert (line["points"], line["check_values"]) == ("20", "20")
    assert line["overrides"].startswith("values: 0 -> 20 by Prof. X at 2")
    assert line["overrides"].endswith(": right by another road")
    assert book(graded)["bob"]["points"] == "0"
    # The receipt is the machine's, and stays.
    assert receipt(graded, "amy")["points"] == 0
    (row,) = [
        one
        for one in json.loads(export(graded, "json")["gradebook.json"])["rows"]
        if one["person"]["key"] == "amy"
    ]
    assert row["overrides"][0]["was"] == 0
    assert row["overrides"][0]["points"] == 20
    page = (root(graded) / "report.html").read_text(encoding="utf-8")
    assert page.count(">set by hand</span>") == 1
    said = run("inspect", "results", "amy", cwd=graded).said
    assert "override values: 0 -> 20 by Prof. X" in said


def test_the_last_override_is_in_force(graded: Path) -> None:
    override(graded, "amy", "values", "20")
    ran = override(graded, "amy", "values", "3", why="not so right")
    assert ran.code == 0
    assert ran.stdout == "amy: values 20 -> 3, by Prof. X\n  counts in all 3 of 100 points\n"
    assert book(graded)["amy"]["points"] == "3"


def test_several_overrides_of_a_check_are_a_chain_back_to_its_own_points(graded: Path) -> None:
    override(graded, "amy", "values", "20")
    override(graded, "amy", "values", "3", why="not so right")
    # The way back to what the check itself gave is a change like any other.
    override(graded, "amy", "values", "0", why="as it was")
    override(graded, "amy", "momentum", "7", why="told me")
    said = run("inspect", "results", "amy", cwd=graded).stdout.splitlines()
    lines = [line for line in said if line.startswith(("override", "counts"))]
    changes = [line.split(" by ")[0] + line[line.rindex(": ") :] for line in lines[:4]]
    assert changes == [
        "override  values: 0 -> 20: right by another road",
        "override  values: 20 -> 3: not so right",
        "override  values: 3 -> 0: as it was",
        "override  momentum: 0 -> 7: told me",
    ]
    assert all(" by Prof. X, 2" in line for line in lines[:4])
    assert lines[4:] == [
        "counts    values: 0 of 24; the check itself gave 0",
        "counts    momentum: 7 of 15; the check itself gave 0",
        "counts    in all 7 of 100 points",
    ]
    line = book(graded)["amy"]
    assert (line["points"], line["check_values"], line["check_momentum"]) == ("7", "0", "7")
    assert [one.split(" by ")[0] for one in line["overrides"].split("; ")] == [
        "values: 0 -> 20", "values: 20 -> 3", "values: 3 -> 0", "momentum: 0 -> 7",
    ]  # fmt: skip
    (row,) = [
        one
        for one in json.loads(export(graded, "json")["gradebook.json"])["rows"]
        if one["person"]["key"] == "amy"
    ]
    assert [(one["was"], one["points"]) for one in row["overrides"]] == [
        (0, 20), (20, 3), (3, 0), (0, 7),
    ]  # fmt: skip


def test_an_override_of_a_check_that_is_gone_is_told(tmp_path: Path) -> None:
    from grader.records.gradebook import Override
    from tests.gradebook.graded import AT, ledger

    classes.write(tmp_path / "in", {"amy.py": broken(1)})
    grade(tmp_path, "in")
    with ledger(root(tmp_path)) as kept:
        kept.override("amy", Override("beauty", 1, 9, "Prof. X", AT, "very"))
    ran = grade(tmp_path, "in")
    says = "override of beauty of amy, which this rubric does not have: it does not count"
    assert says in ran.stderr
    assert book(tmp_path)["amy"]["points"] == "0"
    said = run("inspect", "results", "amy", cwd=tmp_path).stdout
    assert f"override  beauty: 9 by Prof. X, {AT}: very (no check of this rubric, so it" in said


def test_an_override_follows_a_regrade_and_another_rubric(tmp_path: Path) -> None:
    course = course_with(tmp_path / "course")
    classes.write(tmp_path / "in", {"amy.py": broken(1)})
    grade(tmp_path, "in", "--course", course)
    override(tmp_path, "amy", "values", "20")
    path = course / "rubrics" / EXERCISE / "rubric.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("is divided by 16", "is shared by 16"), encoding="utf-8")
    ran = grade(tmp_path, "in", "--course", course)
    assert "1 again, because rubric or versions changed" in ran.stderr
    assert book(tmp_path)["amy"]["points"] == "20"
    assert "values: 0 -> 20 by Prof. X" in book(tmp_path)["amy"]["overrides"]


@pytest.mark.parametrize(
    ("wanted", "why", "says"),
    [
        (("amy", "values", "20"), " ", "an override needs a reason"),
        (("amy", "values", "25"), "x", "'25' is no number of points for values"),
        (("amy", "values", "2.5"), "x", "give 0 to 24"),
        (("amy", "values", "9" * 5000), "x", "give 0 to 24"),
        (("amy", "beauty", "1"), "x", "there is no graded check 'beauty' of amy"),
        (("carl", "values", "1"), "x", "there is no learner 'carl'"),
    ],
)
def test_an_override_that_makes_no_sense_changes_nothing(
    graded: Path, wanted: tuple[str, ...], why: str, says: str
) -> None:
    before = files(root(graded))
    ran = override(graded, *wanted, why=why)
    assert (ran.code, ran.stdout) == (2, "")
    assert says in ran.stderr
    assert files(root(graded)) == before


@pytest.mark.parametrize("more", [["--preview"], ["in"]])
def test_an_override_is_not_mixed_with_grading(graded: Path, more: list[str]) -> None:
    before = files(root(graded))
    ran = regrade(graded, "--override", "amy", "values", "3", "--why", "x", *more)
    assert ran.code == 2
    assert "--override sets points by hand, and grades and previews nothing" in ran.stderr
    assert files(root(graded)) == before


# ------------------------------------------------------------------------------------ grading again


def test_a_regrade_without_a_path_says_what_it_needs(graded: Path) -> None:
    ran = regrade(graded)
    assert (ran.code, ran.stdout) == (2, "")
    assert "nothing to grade again: no path was named" in ran.stderr


def test_a_folder_by_another_name_is_not_graded_into_a_third_place(graded: Path) -> None:
    root(graded).rename(graded / "week3")
    ran = run("regrade", "week3", "in", cwd=graded)
    assert ran.code == 2
    assert "week3 holds results of distributed-03 and has another name" in ran.stderr
    assert sorted(one.name for one in graded.iterdir() if one.is_dir()) == [
        "in",
        "results",
        "week3",
    ]


@pytest.mark.slow
def test_a_preview_shows_old_and_new_and_writes_nothing(graded: Path) -> None:
    before = files(root(graded))
    classes.write(graded / "in", {"amy.py": "ring_all_bytes = 48.0\n", "carl.py": broken(3)})
    ran = regrade(graded, "in", "--preview", "--quiet")
    assert (ran.code, ran.stderr) == (0, ""), ran.said
    lines = ran.stdout.splitlines()
    assert lines[0].startswith("* amy: 0 (error) -> 2 (failed)"), lines
    assert lines[1:] == [
        "  bob: 0 (error) -> 0 (error)",
        "* carl: none -> 0 (error)",
        "2 would change; nothing was written",
    ]
    assert files(root(graded)) == before
    assert "amy" in book(graded)
    assert "carl" not in book(graded)


def test_a_preview_counts_what_a_person_gave(graded: Path) -> None:
    override(graded, "amy", "values", "20")
    override(graded, "amy", "momentum", "5")
    text = "key,points,max_points\nbob,2.5,5\n"
    (root(graded) / "marks.csv").write_text(text, encoding="utf-8")
    classes.write(graded / "in", {"amy.py": broken("other")})
    ran = regrade(graded, "in", "--preview", "--quiet")
    assert ran.stdout.splitlines() == [
        "  amy: 25 (error, 2 checks set by hand) -> 25 (error, 2 checks set by hand)",
        "  bob: 2.5 (error, with marks) -> 2.5 (error, with marks)",
        "0 would change; nothing was written",
    ], ran.said


def test_what_only_shows_makes_no_course_secret_and_fills_no_cache(graded: Path) -> None:
    home = graded / "home"
    env = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / "config"),
           "XDG_CACHE_HOME": str(home / "cache")}  # fmt: skip
    before = files(root(graded))
    ran = run("regrade", "results", "in", "--preview", "--quiet", cwd=graded, env=env)
    assert ran.code == 0, ran.said
    assert ran.stdout.endswith("0 would change; nothing was written\n")
    assert ran.stderr == "no course secret yet: this preview draws inputs of its own\n"
    wanted = ("--to", "csv", "--anonymize", "--dry-run")
    ran = run("export", "results", *wanted, cwd=graded, env=env)
    assert ran.code == 0, ran.said
    assert "note: no course secret yet, so the real pseudonyms will differ" in ran.stderr
    assert files(root(graded)) == before
    # Where templates are compiled to is a cache of this program's own, and no matter of a class.
    left = [one for one in home.rglob("*") if one.is_file() and "templates" not in one.parts]
    assert left == []


@pytest.mark.slow
def test_a_regrade_grades_everything_and_keeps_the_history(graded: Path) -> None:
    for args, where in ((("results", "in"), graded), ((".", "../../in"), root(graded))):
        done = subprocess.run(
            command("regrade", *args),
            cwd=where,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "plain: 2 submissions: 2 to grade\n" in done.stderr
    assert not (root(graded) / EXERCISE).exists()
    said = run("inspect", "results", "amy", cwd=graded).stdout
    assert said.count("(this rubric and these versions)") == 3


# -------------------------------------------------------------------------------------------- marks


def sheet(cwd: Path) -> list[dict[str, str]]:
    text = (root(cwd) / "marks.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(io.StringIO(text)))


def test_marks_are_filled_in_by_hand_and_merged_by_every_export(graded: Path) -> None:
    ran = run("marks", "results", cwd=graded)
    assert ran.code == 0, ran.said
    assert [line["key"] for line in sheet(graded)] == ["amy", "bob"]
    place = root(graded) / "marks.csv"
    text = place.read_text(encoding="utf-8")
    # As a spreadsheet of another country saves it.
    filled = text.replace("amy,amy,explanation,,,,", 'amy,amy,explanation,"2,5",5,good,')
    assert filled != text
    place.write_text("\ufeff" + filled.replace("\n", "\r\n"), encoding="utf-8")

    found = csv.DictReader(io.StringIO(export(graded, "csv")["grades.csv"].decode()))
    lines = {line["key"]: line for line in found}
    assert (lines["amy"]["points"], lines["amy"]["max_points"]) == ("2.5", "105")
    assert (lines["amy"]["mark_explanation"], lines["amy"]["marks"]) == (
        "2.5", "explanation: 2.5/5 good",
    )  # fmt: skip
    assert (lines["bob"]["points"], lines["bob"]["max_points"]) == ("0", "100")

    # Written again it has them, and so has a run after it.
    assert run("marks", "results", cwd=graded).code == 0
    assert [(line["key"], line["points"]) for line in sheet(graded)] == [
        ("amy", "2.5"),
        ("bob", ""),
    ]
    assert grade(graded, "in").code == 0
    assert book(graded)["amy"]["points"] == "2.5"


def test_a_mark_outlives_a_week_without_its_learner(graded: Path) -> None:
    run("marks", "results", cwd=graded)
    place = root(graded) / "marks.csv"
    text = place.read_text(encoding="utf-8")
    place.write_text(text.replace("amy,explanation,,,,", "amy,explanation,2,5,,"), encoding="utf-8")
    (graded / "in" / "amy.py").rename(graded / "amy.py")
    grade(graded, "in")
    run("marks", "results", cwd=graded)
    assert [(line["key"], line["points"]) for line in sheet(graded)] == [
        ("bob", ""),
        ("amy", "2.0"),
    ]
    (graded / "amy.py").rename(graded / "in" / "amy.py")
    grade(graded, "in")
    assert book(graded)["amy"]["points"] == "2"


def test_a_sheet_that_is_spoilt_stops_every_export_and_says_where(graded: Path) -> None:
    (root(graded) / "marks.csv").write_text("key,points,max_points\namy,many,5\n", encoding="utf-8")
    ran = run("export", "results", "--to", "csv", cwd=graded)
    assert ran.code == 2
    assert "the marks file, line 2: points is 'many', not a number of points" in ran.stderr


def test_a_sheet_can_go_elsewhere_first(graded: Path) -> None:
    ran = run("marks", "results", "--out", "mine.csv", cwd=graded)
    assert ran.code == 0, ran.said
    assert (graded / "mine.csv").exists()
    assert "then put it at results/distributed-03/marks.csv" in ran.stdout
    assert not (root(graded) / "marks.csv").exists()
