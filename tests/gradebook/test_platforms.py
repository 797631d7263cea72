"""What a platform gives goes in with one command, and comes out in the platform's own form."""

from __future__ import annotations

import base64
import csv
import io
import json
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.gradebook import classes
from tests.gradebook.bulk import (
    FULL,
    PARTIAL,
    book,
    broken,
    export,
    grade,
    handing_in,
    receipt,
)
from tests.gradebook.classes import BOB, CLASS, JANE, WEI, ZOE

pytestmark = [pytest.mark.slow, pytest.mark.once]
CHECKS = (
    "values", "shard_shapes", "collectives", "momentum", "permutation", "label_reversal",
    "byte_budget",
)  # fmt: skip


def rows(data: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))


def members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


def test_canvas(tmp_path: Path) -> None:
    jane, bob, zoe = handing_in(FULL, PARTIAL, broken("zoe"))
    # Handed in twice: Canvas numbers the second, and the later attachment counts.
    twice = replace(zoe, files={"my_solution.py": FULL, "my_solution-1.py": broken("later")})
    classes.canvas_zip(tmp_path, (jane, bob, twice), late=[2])
    sheet = classes.canvas_roster(tmp_path / "grades.csv")
    ran = grade(tmp_path, "submissions.zip", "--roster", "grades.csv")
    assert ran.code == 0, ran.said
    assert "canvas: 3 submissions: 3 to grade" in ran.stderr
    assert "superseded: " in ran.stderr
    assert "1 of 3 passed, 1 handed in nothing" in ran.stdout
    found = book(tmp_path)
    keys = {line["id_canvas_user"]: key for key, line in found.items()}
    part = receipt(tmp_path, keys["1002"])["points"]
    assert 0 < part < 100
    assert {
        (line["name"], line["status"], line["verdict"], line["points"]) for line in found.values()
    } == {
        ("Doe, Jane", "graded", "passed", "100"),
        ("O'Neil, Bob", "graded", "failed", str(part)),
        ("Šťastná, Zoë", "graded", "error", "0"),
        ("王, 伟", "missing", "", ""),
    }
    line = found[keys["1002"]]
    assert (line["late"], line["id_sis_user"], line["id_sis_login"]) == (
        "yes",
        "S00002",
        "learner2",
    )
    assert line["submission"].endswith("oneilbob_LATE_1002_50020_my_solution.py")

    # Their own sheet comes back with one column filled, of the ten points that it is worth there.
    before = rows(sheet.read_bytes())
    after = rows(export(tmp_path, "canvas", "--template", "grades.csv", "--column", "991")[
        "grades.csv"
    ])  # fmt: skip
    column = before[0].index("Assignment 3 (991)")
    wanted = {"Doe, Jane": "10.00", "O'Neil, Bob": f"{part / 10:.2f}", "Šťastná, Zoë": "0.00"}
    for old, new in zip(before, after, strict=True):
        assert [*old[:column], *old[column + 1 :]] == [*new[:column], *new[column + 1 :]]
        assert new[column] == wanted.get(old[0], old[column]), old[0]


def test_canvas_feedback(tmp_path: Path) -> None:
    classes.canvas_zip(tmp_path, handing_in(*map(broken, range(3))), late=[2])
    assert grade(tmp_path, "submissions.zip").code == 0
    comments = members(export(tmp_path, "canvas-feedback")["canvas-feedback.zip"])
    assert sorted(comments) == [
        "doejane_1001_50010_receipt-distributed-03.html",
        "oneilbob_LATE_1002_50020_receipt-distributed-03.html",
        "šťastnázoë_1003_50030_receipt-distributed-03.html",
    ]
    assert all(raw.lower().startswith(b"<!doctype html>") for raw in comments.values())


def moodle_sheet(path: Path) -> Path:
    lines = [
        "Identifier,Full name,Email address,Status,Grade,Maximum Grade,Grade can be changed,"
        "Last modified (submission),Last modified (grade),Feedback comments"
    ]
    lines += [
        f"Participant {7000 + one.number},{one.name},{one.email},Submitted,,50.00,Yes,-,-,"
        for one in CLASS
    ]
    path.write_text("\ufeff" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_moodle(tmp_path: Path) -> None:
    classes.moodle_zip(tmp_path, handing_in(FULL, PARTIAL, broken("zoe")))
    sheet = moodle_sheet(tmp_path / "Grades-JAX.csv")
    source = "JAX-Assignment 3-991.zip"
    ran = grade(tmp_path, source, "--roster", sheet.name)
    assert ran.code == 0, ran.said
    assert "moodle: 3 submissions: 3 to grade" in ran.stderr
    by_name = {line["name"]: line for line in book(tmp_path).values()}
    part = int(by_name[BOB.name]["points"])
    assert by_name[JANE.name]["id_moodle_participant"] == "7001"
    assert by_name[WEI.name]["status"] == "missing"

    after = rows(export(tmp_path, "moodle", "--template", sheet.name)["Grades-JAX.csv"])
    before = rows(sheet.read_bytes())
    filled = {line[1]: (line[4], line[9]) for line in after[1:]}
    assert filled[JANE.name] == ("50.00", "50 of 50 points. Passed.")
    assert filled[BOB.name][0] == f"{part / 2:.2f}"
    assert filled[BOB.name][1].startswith(f"{part / 2:g} of 50 points. Not passed yet. ")
    assert filled[ZOE.name][0] == "0.00"
    assert filled[WEI.name] == ("", "")
    assert [[*one[:4], *one[5:9]] for one in after] == [[*one[:4], *one[5:9]] for one in before]

    receipts = members(export(tmp_path, "moodle-feedback")["moodle-feedback.zip"])
    assert sorted(receipts) == sorted(
        f"{one.name}_{7000 + one.number}_assignsubmission_file/receipt-distributed-03.html"
        for one in (JANE, BOB, ZOE)
    )


def test_gradescope(tmp_path: Path) -> None:
    pytest.importorskip("yaml", reason="Gradescope's record is YAML")
    jane, bob, zoe, wei = handing_in(FULL, PARTIAL, broken("zoe"), broken("wei"))
    classes.gradescope_zip(tmp_path, [(jane, wei), (bob,), (zoe,)])
    ran = grade(tmp_path, "submissions.zip")
    assert ran.code == 0, ran.said
    assert "gradescope: 3 submissions: 3 to grade" in ran.stderr
    by_name = {line["name"]: line for line in book(tmp_path).values()}
    # One folder, two people: one grading, two rows.
    assert by_name[JANE.name]["sha256"] == by_name[WEI.name]["sha256"]
    assert (by_name[WEI.name]["points"], by_name[WEI.name]["id_sid"]) == ("100", "00004")
    assert by_name[JANE.name]["submitted_at"] == "2026-03-02T18:00:30Z"

    part = receipt(tmp_path, by_name[BOB.name]["key"])
    who = ("--learner", BOB.email, "--scale-to", "20")
    found = json.loads(export(tmp_path, "gradescope", *who)["results.json"])
    assert found["score"] == pytest.approx(part["points"] / 5)
    assert [test["tags"][0] for test in found["tests"]] == list(CHECKS)
    assert sum(test["max_score"] for test in found["tests"]) == pytest.approx(20)
    assert {t["tags"][0]: t["status"] for t in found["tests"]} == {
        check["id"]: "passed" if check["status"] == "passed" else "failed"
        for check in part["checks"]
    }
    assert found["extra_data"]["evidence_digest"] == part["evidence_digest"]


def test_github_classroom(tmp_path: Path) -> None:
    given = handing_in(FULL, PARTIAL, broken("zoe"))
    folder = classes.classroom_folder(tmp_path)
    for one in given:
        repository = folder / f"distributed-03-gh-{one.login}"
        (repository / "distributed-03.py").write_text(one.files["my_solution.py"], encoding="utf-8")
    shutil.rmtree(folder / f"distributed-03-gh-{WEI.login}" / "tests")
    (folder / f"distributed-03-gh-{WEI.login}" / "distributed-03.py").unlink()
    roster = classes.classroom_roster(tmp_path / "classroom_roster.csv")
    ran = grade(tmp_path, folder.name, "--roster", roster.name)
    assert ran.code == 0, ran.said
    assert "classroom: 3 submissions: 3 to grade" in ran.stderr
    assert "empty: " in ran.stderr
    by_name = {line["name"]: line for line in book(tmp_path).values()}
    part = by_name[BOB.name]["points"]

    told = ("--assignment", "name=Week 3", "--assignment", "url=https://example.org/a")
    data = export(tmp_path, "github-classroom", *told)["grades.csv"]
    lines = {line["github_username"]: line for line in csv.DictReader(io.StringIO(data.decode()))}
    assert {name: line["points_awarded"] for name, line in lines.items()} == {
        "gh-learner1": "100", "gh-learner2": part, "gh-learner3": "0", "gh-learner4": "",
    }  # fmt: skip
    assert lines["gh-learner2"] == {
        "assignment_name": "Week 3",
        "assignment_url": "https://example.org/a",
        "starter_code_url": "",
        "github_username": "gh-learner2",
        "roster_identifier": BOB.email,
        "student_repository_name": "distributed-03-gh-learner2",
        "student_repository_url": "",
        "submission_timestamp": "",
        "points_awarded": part,
        "points_available": "100",
    }
    one = export(tmp_path, "github-classroom", "--learner", "gh-learner1")["result.txt"]
    assert json.loads(base64.b64decode(one))["status"] == "pass"


def test_tables_and_machines(tmp_path: Path) -> None:
    folder = tmp_path / "class"
    texts = {"jane.py": FULL, "bob.py": PARTIAL, "zoe.py": broken("zoe")}
    classes.write(folder, texts)
    assert grade(tmp_path, "class").code == 0

    lines = book(tmp_path)
    assert (
        export(tmp_path, "csv")["grades.csv"].decode()
        == (tmp_path / "results" / "distributed-03" / "gradebook.csv").read_bytes().decode()
    )
    for key, line in lines.items():
        made = receipt(tmp_path, key)
        assert line["points"] == str(made["points"])
        assert line["sha256"] == made["submission"]["sha256"]
        assert [line[f"check_{c['id']}"] for c in made["checks"]] == [
            str(c["points"]) for c in made["checks"]
        ]
        mistakes = [c["mistake"] for c in made["checks"] if c["mistake"]]
        assert line["mistakes"].split("; ") == (list(dict.fromkeys(mistakes)) or [""])

    found = json.loads(export(tmp_path, "json")["gradebook.json"])
    assert {one["person"]["key"]: one["receipt"] for one in found["rows"]} == {
        key: receipt(tmp_path, key) for key in lines
    }

    tree = ElementTree.fromstring(export(tmp_path, "junit")["junit.xml"].decode())
    suites = {suite.get("name"): suite for suite in tree}
    assert set(suites) == set(lines)
    for key, suite in suites.items():
        cases = {case.get("name"): case for case in suite}
        statuses = {c["id"]: c["status"] for c in receipt(tmp_path, key)["checks"]}
        assert {
            name: "failed" if case.find("failure") is not None
            else "blocked" if case.find("skipped") is not None else "passed"
            for name, case in cases.items()
        } == statuses  # fmt: skip
        assert suite.get("errors") == "0"
