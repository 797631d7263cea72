"""The tidy table, the JSON and what all formats share."""

from __future__ import annotations

import csv
import io
import json
from decimal import Decimal
from typing import Any

import pytest

from grader.errors import UsageProblem
from grader.gradebook import exports, looks
from grader.gradebook.exports import Options
from grader.gradebook.exports.parts.spreadsheet import plain
from grader.records.gradebook import Override, Row
from grader.records.receipt import Receipt
from tests.gradebook.factory import (
    ADA,
    BLAISE,
    CHECKS,
    CHEN,
    EVIL,
    FULL,
    ZORA,
    large,
    only,
    row,
    small,
)
from tests.receipt import factory

WITH_RECEIPTS = Options(receipt_bytes=lambda row, form: f"{row.person.key}.{form}".encode())


def table(options: Options | None = None) -> dict[str, dict[str, str]]:
    (_, data), *_ = exports.export("csv", small(), options).files
    rows = csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""))
    return {line["key"]: line for line in rows}


def test_a_format_is_a_file_of_the_package() -> None:
    assert exports.names() == [
        "canvas", "canvas-feedback", "csv", "github-classroom", "gradescope", "json", "junit",
        "moodle", "moodle-feedback",
    ]  # fmt: skip


@pytest.mark.parametrize("name", exports.names())
def test_every_format_says_its_name_and_what_it_needs(name: str) -> None:
    module = exports._module(name)
    known = set(Options.__dataclass_fields__)
    assert name == module.NAME
    assert set(exports.needs(name)) | set(exports.takes(name)) <= known
    assert exports.summary(name).endswith(".")


@pytest.mark.parametrize("name", [n for n in exports.names() if n not in ("canvas", "moodle")])
def test_equal_gradebooks_give_equal_bytes(name: str) -> None:
    options = Options(receipt_bytes=WITH_RECEIPTS.receipt_bytes, learner="ada")
    one, two = (exports.export(name, small(), options) for _ in range(2))
    assert one == two
    assert one.files


def test_an_unknown_format_is_named_with_those_there_are() -> None:
    with pytest.raises(UsageProblem, match="use one of canvas, canvas-feedback"):
        exports.export("blackboard", small())


@pytest.mark.parametrize("name", ["canvas", "moodle", "canvas-feedback"])
def test_a_missing_option_is_asked_for(name: str) -> None:
    with pytest.raises(UsageProblem, match="needs"):
        exports.export(name, small())


def test_a_row_of_the_table_field_by_field() -> None:
    assert table()["blaise"] == {
        "key": "blaise", "name": "Blaise Pascal", "email": "blaise@example.org",
        "id_canvas_user": "1002", "id_github": "", "id_moodle_participant": "502",
        "id_roster": "", "id_sis_login": "blaise", "id_sis_user": "S002",
        "status": "graded", "verdict": "failed",
        "points": "90", "max_points": "100", "percent": "90",
        "check_values": "20", "check_shard_shapes": "14", "check_collectives": "10",
        "check_momentum": "14", "check_permutation": "12", "check_label_reversal": "10",
        "check_byte_budget": "10", "mark_explanation": "",
        "mistakes": "psum-slice; bits", "late": "yes", "submitted_at": "2026-03-01T09:00:00Z",
        "submission": "blaise_1002_901002_my_solution.py", "sha256": f"{2:064x}",
        "receipt": "receipts/blaise",
        "overrides": "byte_budget: 4 -> 10 by Prof. X at 2026-03-02T10:00:00Z: rows were right",
        "marks": "", "note": "",
    }  # fmt: skip


def test_marks_count_and_have_their_own_column() -> None:
    chen = table()["chen"]
    assert (chen["points"], chen["max_points"], chen["percent"]) == ("52.5", "105", "50")
    assert chen["mark_explanation"] == "2.5"
    assert chen["marks"] == "explanation: 2.5/5 half of it"


def test_who_has_no_grade_has_no_zero() -> None:
    for key in ("mary", "zora"):
        line = table()[key]
        assert {line[c] for c in line if c.startswith("check_")} == {""}
        assert line["points"] == line["percent"] == ""
    (remark,) = exports.export("csv", small()).remarks
    assert remark == "2 learners without a grade: those cells are empty, not 0."


def test_a_scale_has_its_own_columns() -> None:
    line = table(Options(scale_to=Decimal(15)))["blaise"]
    assert (line["points"], line["scaled_points"], line["scaled_max"]) == ("90", "13.5", "15")


def test_no_cell_is_a_formula_and_every_text_comes_back() -> None:
    line = table()["evil"]
    assert line["name"].startswith("'=HYPERLINK")
    assert plain(line["name"]) == EVIL.name
    assert plain(line["email"]) == EVIL.email


def test_a_byte_order_mark_is_there_when_asked_for() -> None:
    assert exports.export("csv", small(), Options(bom=True)).files[0][1].startswith(b"\xef\xbb\xbf")
    assert exports.export("csv", small()).files[0][1].startswith(b"key,name")


def test_the_table_of_a_large_class_has_a_line_each() -> None:
    data = exports.export("csv", large(300)).files[0][1]
    assert len(list(csv.reader(io.StringIO(data.decode(), newline="")))) == 301


def record() -> dict[str, Any]:
    (_, data), *_ = exports.export("json", small(), Options(scale_to=Decimal(20))).files
    loaded: dict[str, Any] = json.loads(data, parse_constant=pytest.fail)
    return loaded


def test_the_json_holds_whole_receipts() -> None:
    first = record()["rows"][0]
    assert Receipt.model_validate(first["receipt"], strict=False) == small().rows[0].receipt
    assert first["person"] == {
        "key": "ada", "name": "Ada Lovelace", "email": "ada@example.org", "ids": dict(ADA.ids)
    }  # fmt: skip


def test_the_json_is_canonical() -> None:
    data = exports.export("json", small()).files[0][1].decode()
    again = json.dumps(json.loads(data), indent=2, sort_keys=True, ensure_ascii=False)
    assert data == f"{again}\n"


def test_points_in_the_json_are_whole_where_they_are() -> None:
    rows = {line["person"]["key"]: line for line in record()["rows"]}
    assert repr(rows["ada"]["points"]) == "100"
    assert (rows["chen"]["points"], rows["chen"]["scaled_points"]) == (52.5, 10)
    assert rows["mary"]["points"] is rows["mary"]["scaled_points"] is None


@pytest.mark.parametrize("one", small().rows, ids=lambda one: one.person.key)
def test_parts_sum_to_the_points_of_the_row(one: Row) -> None:
    got = looks.points(one)
    if got is None:
        return
    assert sum(part.points for part in looks.parts(one)) == got == one.points()
    assert sum(part.max_points for part in looks.parts(one)) == looks.max_points(one)


def test_an_override_of_a_check_that_is_gone_still_counts() -> None:
    gone = Override("old_check", 0, 3, "X", "", "")
    one = row(ADA, factory.failed(), overrides=(gone,))
    assert looks.points(one) == one.points() == sum(p.points for p in looks.parts(one)) == 87
    assert looks.parts(one)[-1].id == "other"


def test_undecided_is_no_grade_until_every_open_check_is_decided_by_hand() -> None:
    def by_hand(*checks: str) -> Row:
        made = tuple(Override(check, 0, 5, "X", "", "") for check in checks)
        return row(ZORA, factory.undecided(), overrides=made)

    assert not looks.has_grade(by_hand())
    assert not looks.has_grade(by_hand(*CHECKS[:-1]))
    assert looks.points(by_hand(*CHECKS)) == 5 * len(CHECKS)


def test_a_comment_says_the_points_and_each_open_check() -> None:
    said = looks.comment(row(BLAISE, factory.failed()))
    assert said == (
        "84 of 100 points. Not passed yet. "
        "The programs communicate the way they were asked to: "
        "An all-reduce and a slice where a reduce-scatter was asked for. "
        "Bytes per rank, by the ring model and in the programs: Bits counted for bytes."
    )
    assert looks.comment(row(ADA, factory.passed())) == f"{FULL} of {FULL} points. Passed."
    assert looks.comment(row(CHEN, None, status="missing")) == ""


def test_a_dry_run_tells_new_same_and_changed_files() -> None:
    made = exports.export("csv", only(row(ADA, factory.passed())))
    (name, data), *_ = made.files
    assert exports.difference(made, {})[0].state == "new"
    assert exports.difference(made, {name: data})[0].state == "same"
    (changed,) = exports.difference(made, {name: data.replace(b"Ada", b"Eve")})
    assert changed.state == "changed"
    assert sorted(line[0] for line in changed.lines[2:]) == ["+", "-", "@"]


def test_a_dry_run_shows_no_bytes_of_an_archive() -> None:
    made = exports.export("canvas-feedback", small(), WITH_RECEIPTS)
    (found,) = exports.difference(made, {made.files[0][0]: b"old"})
    assert (found.state, found.lines) == ("changed", ())


def test_a_comment_tells_the_reason_of_an_override_and_blames_nothing_that_waited() -> None:
    receipt = factory.failed()
    wrong, waits = receipt.checks[0], receipt.checks[1]
    checks = [
        wrong.model_copy(update={"status": "failed", "points": 0, "message": "is wrong"}),
        waits.model_copy(update={"status": "blocked", "points": 0, "message": "mend it first"}),
        *receipt.checks[2:],
    ]
    one = row(ADA, receipt.model_copy(update={"checks": checks}))
    assert "mend it first" in looks.comment(one)
    change = Override(wrong.id, 0, wrong.max_points, "Prof. X", "2026-01-01", "another road")
    said = looks.comment(row(ADA, one.receipt, overrides=(change,)))
    assert f"{wrong.title}: Set by Prof. X: another road." in said
    assert f"{waits.title}: not judged, it waited for another check." in said
    assert "mend it first" not in said


def test_a_remark_says_why_a_module_stopped() -> None:
    receipt = factory.error()
    assert looks.remark(row(ADA, receipt)).startswith(receipt.outcome.message[:40])
    assert looks.remark(row(ADA, factory.passed())) == ""
