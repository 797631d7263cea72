"""A second run looks nothing up twice, and still finds whatever has changed in between."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from grader.gradebook.book import gradebook, standing, told
from tests.command import ROOT, run
from tests.gradebook import classes
from tests.gradebook.bulk import book, broken, course_with, files, grade, root
from tests.gradebook.graded import attempt, collected, entry, hand_in, ledger
from tests.receipt import factory

MENDED = "changed or removed by somebody, now as graded: "
AMY = "receipts/amy/amy.html"


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder where a class of three was graded, also without names."""
    folder = tmp_path_factory.mktemp("class")
    classes.write(folder / "in", {f"{name}.py": broken(name) for name in ("amy", "bob", "cat")})
    assert grade(folder, "in", "--anonymize").code == 0
    return folder


@pytest.fixture
def place(graded: Path, tmp_path: Path) -> Path:
    """Return a copy of it, in which nothing was done since."""
    shutil.copytree(graded, tmp_path / "copy")
    return tmp_path / "copy"


def changes(folder: Path, before: dict[str, bytes]) -> set[str]:
    after = files(root(folder))
    return {name for name in {*before, *after} if after.get(name) != before.get(name)}


# ------------------------------------------------------------------------- what somebody touched


def test_nothing_is_written_where_nothing_has_changed(place: Path) -> None:
    before = {name: (root(place) / name).stat().st_mtime_ns for name in files(root(place))}
    assert MENDED not in grade(place, "in").stderr
    assert before == {name: (root(place) / name).stat().st_mtime_ns for name in before}


@pytest.mark.parametrize(
    "name",
    [AMY, "receipts/bob/bob.json", "receipts/cat/cat.md", "gradebook.csv", "report.html",
     "summary.json", "pseudonyms.csv", "anonymous/gradebook.csv",
     "anonymous/learner-001/learner-001.html"],
)  # fmt: skip
def test_a_file_that_was_changed_or_removed_is_as_graded_again_and_told(
    place: Path, name: str
) -> None:
    before = files(root(place))
    (root(place) / name).write_bytes(b"100 of 100" + before[name][10:])
    other = "receipts/amy/amy.md"
    (root(place) / other).unlink()
    ran = grade(place, "in")
    assert ran.code == 0, ran.said
    line = next(line for line in ran.stderr.splitlines() if MENDED in line)
    assert set(line.partition(MENDED)[2].split(", ")) == {name, other}
    # A report that is made again says so; everything else has its bytes back.
    assert changes(place, before) <= {"report.html"} & {name}
    assert MENDED not in grade(place, "in").stderr


# ----------------------------------------------------------------------------- what it is made from


def test_a_template_of_the_course_reaches_every_receipt(tmp_path: Path) -> None:
    course = course_with(tmp_path / "course")
    classes.write(tmp_path / "in", {f"{name}.py": broken(name) for name in ("amy", "bob")})
    grade(tmp_path, "in", "--course", course)
    before = files(root(tmp_path))
    template = course / "templates" / "receipt.md.j2"
    template.write_text(template.read_text(encoding="utf-8") + "\nSchool of Ada\n")
    ran = grade(tmp_path, "in", "--course", course)
    assert "0 to grade, 2 graded before" in ran.stderr
    assert MENDED not in ran.stderr
    wanted = {"receipts/amy/amy.md", "receipts/bob/bob.md"}
    assert wanted <= changes(tmp_path, before) <= {*wanted, "report.html"}
    assert "School of Ada" in (root(tmp_path) / "receipts/amy/amy.md").read_text(encoding="utf-8")


def test_an_override_reaches_the_files_of_the_class_and_no_receipt(place: Path) -> None:
    before = files(root(place))
    wanted = ("--override", "amy", "momentum", "7", "--why", "told me")
    assert run("regrade", "results", *wanted, cwd=place).code == 0
    assert book(place)["amy"]["check_momentum"] == "7"
    touched = changes(place, before)
    assert {"gradebook.csv", "report.html", "anonymous/report.html"} <= touched
    assert not {name for name in touched if "receipts/" in name}


def test_a_mark_by_hand_reaches_the_gradebook(place: Path) -> None:
    assert run("marks", "results", cwd=place).code == 0
    sheet = root(place) / "marks.csv"
    lines = sheet.read_text(encoding="utf-8-sig").splitlines()
    titles, cells = lines[0].split(","), lines[1].split(",")
    cells[titles.index("points")], cells[titles.index("max_points")] = "3", "5"
    sheet.write_text("\n".join([lines[0], ",".join(cells), *lines[2:]]) + "\n", encoding="utf-8")
    assert grade(place, "in").code == 0
    marked = {key: line["points"] for key, line in book(place).items()}
    assert sorted(marked.values()) == ["0", "0", "3"]


def test_a_name_in_the_roster_reaches_the_gradebook_and_the_report(tmp_path: Path) -> None:
    classes.write(tmp_path / "in", {"amy.py": broken(1), "bob.py": broken(2)})
    for name in ("Amy Old", "Amy New"):
        (tmp_path / "class.csv").write_text(
            f"name,email,id\n{name},amy@x.example,amy\nBob,bob@x.example,bob\n", encoding="utf-8"
        )
        ran = grade(tmp_path, "in", "--roster", "class.csv")
        assert ran.code == 0, ran.said
        assert name in (root(tmp_path) / "gradebook.csv").read_text(encoding="utf-8")
        assert name in (root(tmp_path) / "report.html").read_text(encoding="utf-8")


def test_one_new_file_leaves_the_receipts_of_the_others(place: Path) -> None:
    before = files(root(place))
    classes.write(place / "in", {"dan.py": broken("dan")})
    assert grade(place, "in").code == 0
    touched = {name for name in changes(place, before) if name.startswith("receipts/")}
    assert touched == {f"receipts/dan/dan.{form}" for form in ("html", "json", "md")}


# ----------------------------------------------------------------------------- in one look at all


@pytest.mark.parametrize("seed", range(20))
def test_one_look_gives_the_attempt_that_two_questions_give(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    names = [f"p{n}" for n in range(6)]
    ends = (factory.passed, factory.failed, factory.error, factory.undecided, factory.undecided)
    with ledger(tmp_path) as kept:
        for _ in range(25):
            made = draw.choice(ends)()
            kept.add(attempt(made, submission=draw.choice(names), rubric=draw.choice("rs")))
        source = collected([hand_in(name) for name in names], silent=["zoe"])
        kept.set_class(source, {n: f"{name}:r:e1" for n, name in enumerate(names)})
        stands = kept.stands()
        assert [one.member for one in stands] == kept.members()
        for one in stands:
            found = standing(kept, one.member.key) if one.member.key else None
            assert (one.number, one.verdict) == (
                (found.number, found.verdict) if found else (0, "")
            )


# ----------------------------------------------------------------------------- less of each receipt


def test_the_files_of_a_class_need_no_more_than_is_told(place: Path) -> None:
    from grader.catalog import course
    from grader.catalog.load import entry as load
    from grader.cli import settle
    from grader.gradebook import exports, report

    found = load(course.find(str(ROOT)), "distributed-03")
    with ledger(root(place)) as kept:
        whole, less = gradebook(kept, found), gradebook(kept, found, each=told)
    assert all(
        not check.evidence for row in less.rows if row.receipt for check in row.receipt.checks
    )
    assert exports.export("csv", less) == exports.export("csv", whole)
    assert settle.summary(less) == settle.summary(whole)
    templates = found.course.templates
    assert report.report(less, templates) == report.report(whole, templates)


def test_a_row_without_a_receipt_is_told_as_it_is(tmp_path: Path) -> None:
    with ledger(tmp_path) as kept:
        kept.set_class(collected([], silent=["bob"]), {})
        assert gradebook(kept, entry(), each=told) == gradebook(kept, entry())
