"""`grade compare` takes receipts of any form and says what is none."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from grader.receipt import render
from grader.trust.seal import seal
from tests.command import ROOT, run
from tests.receipt import factory

pytestmark = pytest.mark.once
NOW = "2026-03-01T11:20:30Z"


def put(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return name


def test_two_receipts_are_compared_for_a_reader_and_for_a_script(tmp_path: Path) -> None:
    old = put(tmp_path, "old.json", render.to_json(factory.failed()))
    passed = factory.passed(created_at=NOW)
    forms = {form: render.render(passed, form, [ROOT / "templates"]) for form in ("json", "html")}
    new = put(tmp_path, "new.html", seal(forms, None)["html"])
    ran = run("compare", old, new, cwd=tmp_path, env={"COLUMNS": "80"})
    assert (ran.code, ran.stderr) == (0, "")
    assert ran.stdout.startswith(
        "distributed-03 · Communication-efficient algorithms\n"
        "  before   84/100  Not passed yet  2026-03-01 10:20:30 UTC  my_solution.py\n"
        "  now     100/100  Passed  2026-03-01 11:20:30 UTC  my_solution.py\n"
        "\n"
        "  - 100 of 100 points, 16 more than before.\n"
        "  - It passes now.\n"
    )
    assert max(map(len, ran.stdout.splitlines())) <= 80
    back = run("compare", new, old, "--json", cwd=tmp_path).graded
    assert (back["gained"], back["points"], back["swapped"]) == (-16, [100, 84], True)
    assert [one["id"] for one in back["checks"]] == ["collectives", "byte_budget"]
    assert back["checks"][1]["lost"] == ["rows", "compiled"]
    assert back["sentences"][-1].startswith("The one named first was graded later")


def test_a_command_is_never_broken_in_two(tmp_path: Path) -> None:
    old = put(tmp_path, "old.json", render.to_json(factory.passed()))
    new = put(tmp_path, "new.json", render.to_json(factory.failed(created_at=NOW)))
    ran = run("compare", old, new, cwd=tmp_path, env={"COLUMNS": "50"})
    assert "\n    grade explain distributed-03 psum-slice\n" in ran.stdout
    assert "\n    grade explain distributed-03 bits\n" in ran.stdout


def test_one_and_the_same_receipt_is_told(tmp_path: Path) -> None:
    name = put(tmp_path, "one.json", render.to_json(factory.failed()))
    ran = run("compare", name, name, cwd=tmp_path)
    assert ran.code == 0
    assert "  - The two are one and the same receipt.\n" in ran.stdout


def test_what_cannot_be_compared_is_told(tmp_path: Path) -> None:
    good = put(tmp_path, "good.json", render.to_json(factory.passed()))
    other = put(tmp_path, "other.json", render.to_json(factory.passed(exercise="distributed-02")))
    record = put(tmp_path, "record.json", json.dumps({"seed": "00", "exercise": "distributed-03"}))
    for args, message in [
        (
            (good, other),
            "grade: good.json is of distributed-03, and other.json is of distributed-02\n"
            "  Next: name two receipts of one exercise\n",
        ),
        (
            ("gone.json", good),
            "grade: there is no file gone.json\n  Next: check the name and the folder\n",
        ),
        (
            (good, record),
            "grade: record.json is an instructor's record, and a receipt is wanted here\n"
            "  Next: name the file beside it that is one\n",
        ),
        (
            (good,),
            "grade: missing argument 'NEW'\n  Next: `grade compare --help` shows what it takes\n",
        ),
    ]:
        ran = run("compare", *args, cwd=tmp_path)
        assert (ran.code, ran.stdout, ran.stderr) == (2, "", message)


def test_help_has_an_example(tmp_path: Path) -> None:
    for name in ("compare", "status", "reset"):
        assert re.search(rf"\n  Example: grade {name}", run(name, "--help", cwd=tmp_path).stdout)
