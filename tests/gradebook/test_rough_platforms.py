"""What hangs, crashes or floods costs its own row alone, on each platform, there and back again."""

from __future__ import annotations

import base64
import csv
import io
import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.command import EXERCISE
from tests.gradebook import classes
from tests.gradebook.bulk import broken, course_with, export, grade, receipt
from tests.gradebook.rough import (
    PEOPLE,
    STOPPED,
    TEAM,
    Graded,
    all_apart,
    apart,
    check,
    check_feedback,
    check_filled,
    handing_in,
    notes,
    rows,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.once,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux confines what crashes"),
]
EVERYBODY = tuple(PEOPLE.values())


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return our course with limits that are used up soon."""
    return course_with(tmp_path_factory.mktemp("course") / "course", wall_s=6, output_mib=1)


def graded(cwd: Path, course: Path, *named: str) -> str:
    """Grade the class with one command; returns what it said."""
    ran = grade(cwd, *named, "--course", course, "--jobs", "3")
    assert ran.code == 0, ran.said
    assert "2 of " in ran.stdout
    assert "1 of equal bytes" in ran.stderr
    return ran.said


def test_canvas(tmp_path: Path, course: Path) -> None:
    members = classes.canvas_members(handing_in(), late=[2, 3])
    # An upload before that: Canvas numbers the second, and its attachment is a later one.
    first = next(name for name in members if name.startswith("oneilbob"))
    members[first.replace("my_solution", "my_solution-1").replace("_50020_", "_50029_")] = (
        members[first]
    )  # fmt: skip
    members[first] = broken("of Bob, who tried again")
    classes.zipped(tmp_path / "submissions.zip", all_apart(members))
    sheet = classes.canvas_roster(tmp_path / "the grades.csv", EVERYBODY)
    said = graded(tmp_path, course, "submissions.zip", "--roster", sheet.name)
    assert "canvas: 8 submissions: 7 to grade" in said
    found = check(tmp_path, lambda line: int(line["id_canvas_user"]) - 1000)
    assert {"superseded", "missing"} <= notes(tmp_path)
    assert {n for n, one in found.items() if one.line["late"] == "yes"} == {2, 3}
    for number, one in found.items():
        learner = one.learner
        assert one.line["name"] == f"{learner.last}, {learner.first}"
        assert one.line["id_sis_user"] == f"S{number:05}"
        assert one.line["id_sis_login"] == learner.login

    before = sheet.read_bytes()
    after = export(tmp_path, "canvas", "--template", sheet.name, "--column", "991")[sheet.name]
    first_learner = 3
    check_filled(
        before,
        after,
        {
            first_learner + number - 1: {"Assignment 3 (991)": f"{one.points / 10:.2f}"}
            for number, one in found.items()
        },
    )
    late = {2: "_LATE", 3: "_LATE"}
    check_feedback(
        tmp_path,
        export(tmp_path, "canvas-feedback")["canvas-feedback.zip"],
        {
            f"{named(one)}{late.get(n, '')}_{1000 + n}_{50020 + 9 if n == 2 else 50000 + 10 * n}"
            f"_receipt-{EXERCISE}.html": one
            for n, one in found.items()
        },
    )


def named(one: Graded) -> str:
    return classes.canvas_name(one.learner)


def moodle_sheet(path: Path) -> Path:
    lines = [
        "Identifier,Full name,Email address,Status,Group,Grade,Maximum Grade,Grade can be changed,"
        "Last modified (submission),Last modified (grade),Feedback comments"
    ]
    lines += [
        f"Participant {7000 + one.number},{one.name},{one.email},Submitted,"
        f"{'Team Zwölf' if one.number in TEAM else ''},,50.00,Yes,-,-,"
        for one in EVERYBODY
    ]
    path.write_text("\ufeff" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


STATES = {"passed": "Passed", "failed": "Not passed yet", "error": "Stopped before its end"}


def test_moodle(tmp_path: Path, course: Path) -> None:
    alone = [one for one in handing_in() if one.number not in TEAM]
    (flood,) = (one for one in handing_in() if one.number in TEAM)
    members = {
        **classes.moodle_members(alone),
        "Nil Nobody_7009_assignsubmission_file/": "",
        "Team Zwölf_7099_assignsubmission_file/my solution.py": flood.files["my solution.py"],
    }
    source = classes.zipped(tmp_path / "JAX-Assignment 3-991.zip", all_apart(members)).name
    sheet = moodle_sheet(tmp_path / "Grades JAX.csv")
    said = graded(tmp_path, course, source, "--roster", sheet.name)
    assert "moodle: 8 submissions: 7 to grade" in said
    numbers = {one.name: one.number for one in EVERYBODY}
    found = check(tmp_path, lambda line: numbers[line["name"]], [TEAM])
    # Somebody of the sheet with a folder that holds nothing.
    assert notes(tmp_path) & {"empty", "missing"}
    for number, one in found.items():
        assert one.line["id_moodle_participant"] == str(7000 + number)
        assert one.line["email"] == one.learner.email

    after = export(tmp_path, "moodle", "--template", sheet.name)[sheet.name]
    comments = {int(line[0][-4:]) - 7000: line[-1] for line in rows(after)[1:]}
    for number, one in found.items():
        start = f"{one.points / 2:g} of 50 points. {STATES[one.line['verdict']]}."
        assert comments[number].startswith(start)
    check_filled(
        sheet.read_bytes(),
        after,
        {
            number: {"Grade": f"{one.points / 2:.2f}", "Feedback comments": comments[number]}
            for number, one in found.items()
        },
    )
    check_feedback(
        tmp_path,
        export(tmp_path, "moodle-feedback")["moodle-feedback.zip"],
        {
            f"{one.learner.name}_{7000 + n}_assignsubmission_file/receipt-{EXERCISE}.html": one
            for n, one in found.items()
        },
    )


def test_gradescope(tmp_path: Path, course: Path) -> None:
    pytest.importorskip("yaml", reason="Gradescope's record is YAML")
    old = classes.Learner(2, "Bob", "O'Neil", {"my_solution.py": broken("of Bob, the first")})
    groups = [(old,)] + [
        (one, PEOPLE[10]) if one.number in TEAM else (one,) for one in handing_in()
    ]
    members = classes.gradescope_files(groups)
    members["submission_399/"] = ""
    record = classes.gradescope_record([PEOPLE[9]], "2026-03-02 11:00:00.000000000 -08:00")
    records = members["submission_metadata.yml"] + f"submission_399:\n{record}"
    members["submission_metadata.yml"] = apart(records)
    inside = {f"assignment_77_export/{apart(name)}": text for name, text in members.items()}
    classes.zipped(tmp_path / "submissions.zip", inside.items())
    said = graded(tmp_path, course, "submissions.zip")
    assert "gradescope: 8 submissions: 7 to grade" in said
    assert "superseded: " in said
    found = check(tmp_path, lambda line: int(line["id_sid"]), [TEAM])
    for number in (1, 2, *STOPPED, 10):
        check_results(tmp_path, found[number])


def check_results(cwd: Path, one: Graded) -> None:
    """Check what Gradescope gets of one learner against the receipt, field by field."""
    made = one.receipt
    data = export(cwd, "gradescope", "--learner", one.learner.email, "--scale-to", "20")
    given = json.loads(data["results.json"])
    assert given["score"] == pytest.approx(made["points"] / 5)
    assert sum(test["max_score"] for test in given["tests"]) == pytest.approx(20)
    assert [(test["tags"], test["name"]) for test in given["tests"]] == [
        ([check["id"], check["status"]], check["title"]) for check in made["checks"]
    ]
    for test, made_check in zip(given["tests"], made["checks"], strict=True):
        passed = made_check["status"] == "passed"
        assert test["status"] == ("passed" if passed else "failed")
        assert test["score"] == pytest.approx(made_check["points"] / 5, abs=0.02)
    assert given["output"].startswith(f"**{STATES[made['verdict']]}.** ")
    assert ("The module stopped" in given["output"]) == (made["verdict"] == "error")
    assert given["execution_time"] == round(made["wall_s"], 3)
    assert given["extra_data"] == {
        "exercise": EXERCISE,
        "decided": True,
        "mistakes": list(dict.fromkeys(c["mistake"] for c in made["checks"] if c["mistake"])),
        "verdict": made["verdict"],
        "submission_sha256": made["submission"]["sha256"],
        "evidence_digest": made["evidence_digest"],
    }


def test_github_classroom(tmp_path: Path, course: Path) -> None:
    folder = classes.classroom_folder(tmp_path, EVERYBODY)
    texts = {one.number: next(iter(one.files.values())) for one in handing_in()}
    for one in EVERYBODY:
        repository = folder / f"{EXERCISE}-gh-{one.login}"
        (repository / f"{EXERCISE}.py").unlink()
        (repository / "tests" / "test_it.py").unlink()
        if one.number in texts:
            classes.write(repository, {f"{EXERCISE}.py": texts[one.number]})
    (folder / f"{EXERCISE}-gh-{PEOPLE[9].login}" / "README.md").unlink()
    roster = classes.classroom_roster(tmp_path / "classroom_roster.csv", EVERYBODY)
    roster.write_text(apart(roster.read_text(encoding="utf-8")), encoding="utf-8")
    said = graded(tmp_path, course, folder.name, "--roster", roster.name)
    assert "classroom: 8 submissions: 7 to grade" in said
    assert "empty: " in said
    found = check(tmp_path, lambda line: int(line["id_github"].removeprefix("gh-learner")))
    for given in found.values():
        assert given.line["name"] == given.learner.name

    told = ("--assignment", "name=Week 3", "--assignment", "url=https://example.org/a")
    data = export(tmp_path, "github-classroom", *told)["grades.csv"]
    lines = {line["github_username"]: line for line in csv.DictReader(io.StringIO(data.decode()))}
    assert len(lines) == len(EVERYBODY)
    for number, learner in PEOPLE.items():
        its = found.get(number)
        assert lines[f"gh-{learner.login}"] == {
            "assignment_name": "Week 3",
            "assignment_url": "https://example.org/a",
            "starter_code_url": "",
            "github_username": f"gh-{learner.login}",
            "roster_identifier": learner.email,
            "student_repository_name": f"{EXERCISE}-gh-{learner.login}" if its else "",
            "student_repository_url": "",
            "submission_timestamp": "",
            "points_awarded": str(its.points) if its else "",
            "points_available": "100" if its else "",
        }
    for number in STOPPED:
        check_reported(tmp_path, found[number])


def check_reported(cwd: Path, one: Graded) -> None:
    """Check what the reporter of an autograding step gets of one learner."""
    raw = export(cwd, "github-classroom", "--learner", f"gh-{one.learner.login}")["result.txt"]
    given, made = json.loads(base64.b64decode(raw)), one.receipt
    all_passed = all(check["status"] == "passed" for check in made["checks"])
    assert (given["version"], given["max_score"]) == (1, 100)
    assert given["status"] == ("pass" if all_passed else "fail")
    assert [(test["name"], test["score"], test["status"]) for test in given["tests"]] == [
        (c["title"], c["points"], "pass" if c["status"] == "passed" else "fail")
        for c in made["checks"]
    ]


def test_a_zip_of_files_and_folders(tmp_path: Path, course: Path) -> None:
    members = {}
    for one in handing_in():
        ((name, text),) = one.files.items()
        # Some have a folder each, some only a file that has their name.
        members[f"{one.name}/{name}" if one.number % 2 else f"{one.name}.py"] = text
    members["README.txt"] = "notes of mine"
    inside = {f"class of 2026/{name}": text for name, text in members.items()}
    classes.zipped(tmp_path / "class of 2026.zip", all_apart(inside))
    roster = tmp_path / "people.csv"
    lines = [f"{one.name},{one.email},{one.number}" for one in EVERYBODY]
    roster.write_text("\n".join(["Name,Email,SID", *lines]) + "\n", encoding="utf-8")
    said = graded(tmp_path, course, "class of 2026.zip", "--roster", roster.name)
    assert "plain: 8 submissions: 7 to grade" in said
    found = check(tmp_path, lambda line: int(line["id_sid"]))
    assert {"missing", "ignored"} <= notes(tmp_path)

    table = export(tmp_path, "csv")["grades.csv"]
    assert table == (tmp_path / "results" / EXERCISE / "gradebook.csv").read_bytes()
    record = json.loads(export(tmp_path, "json")["gradebook.json"])
    assert {row["person"]["email"]: row["receipt"] for row in record["rows"]} == {
        one.email: found[n].receipt if n in found else None for n, one in PEOPLE.items()
    }
    tree = ElementTree.fromstring(export(tmp_path, "junit")["junit.xml"].decode())
    suites = {suite.get("name"): suite for suite in tree}
    assert len(suites) == len(EVERYBODY)
    for its in found.values():
        suite, statuses = suites[its.line["key"]], [c["status"] for c in its.receipt["checks"]]
        assert suite.get("errors") == "0"
        assert suite.get("tests") == str(len(statuses))
        assert suite.get("failures") == str(statuses.count("failed"))
        assert suite.get("skipped") == str(statuses.count("blocked"))
    assert receipt(tmp_path, found[1].line["key"])["submission"]["name"] == "my solution.py"
