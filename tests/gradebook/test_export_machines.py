"""What other programs read: Gradescope's results, GitHub Classroom's result, JUnit XML."""

from __future__ import annotations

import base64
import csv
import io
import json
from decimal import Decimal
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.errors import UsageProblem
from grader.gradebook import exports
from grader.gradebook.exports import Options
from grader.gradebook.exports.junit import allowed
from grader.records.gradebook import Gradebook, Override, Row
from tests.gradebook.factory import ADA, CHECKS, MARY, ZORA, large, only, row, small
from tests.receipt import factory

ROWS = pytest.mark.parametrize("one", small().rows, ids=lambda one: one.person.key)
DERANDOMIZED = settings(derandomize=True, max_examples=120, deadline=None)


def parsed(data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(data, parse_constant=pytest.fail)
    return found


def results(one: Row, **more: Any) -> dict[str, Any]:
    ((name, data),) = exports.export("gradescope", only(one), Options(**more)).files
    assert name == "results.json"
    return parsed(data)


@ROWS
def test_results_are_valid_whatever_the_verdict(one: Row) -> None:
    found = results(one)
    assert set(found) <= {
        "score", "output", "output_format", "test_output_format", "test_name_format",
        "visibility", "stdout_visibility", "tests", "extra_data", "execution_time",
    }  # fmt: skip
    assert found["score"] == pytest.approx(sum(test["score"] for test in found["tests"]))
    for number, test in enumerate(found["tests"], start=1):
        assert test["number"] == str(number)
        assert test["status"] in ("passed", "failed")
        assert test["visibility"] == "visible"
        assert set(test) == {
            "number", "name", "name_format", "score", "max_score", "status", "visibility",
            "output", "output_format", "tags",
        }  # fmt: skip


@pytest.mark.parametrize("to", [None, 100, 10, 7, Decimal("12.5"), 1])
def test_the_maxima_sum_to_the_points_of_the_assignment(to: Any) -> None:
    scale = None if to is None else Decimal(to)
    found = results(row(ADA, factory.failed()), scale_to=scale)
    most = sum(Decimal(str(test["max_score"])) for test in found["tests"])
    assert most == (100 if scale is None else scale)
    total = sum(Decimal(str(test["score"])) for test in found["tests"])
    assert Decimal(str(found["score"])) == total


def test_a_failed_check_tells_mistake_and_hint() -> None:
    test = results(row(ADA, factory.failed()))["tests"][2]
    assert (test["score"], test["max_score"], test["status"]) == (10, 16, "failed")
    assert "**Mistake it matches:** An all-reduce and a slice" in test["output"]
    assert "`jax.lax.psum_scatter(..., tiled=True)`" in test["output"]
    assert "Line 41." in test["output"]
    assert "* gather: passed, 4 of 4" in test["output"]
    assert test["tags"] == ["collectives", "failed"]


def test_undecided_is_told_first_and_is_nobodys_fault() -> None:
    made = exports.export("gradescope", only(row(ZORA, factory.undecided(), status="undecided")))
    found = parsed(made.files[0][1])
    assert found["score"] == 0
    assert found["output"].startswith("**Undecided.**")
    assert "provisional" in found["output"]
    assert not found["extra_data"]["decided"]
    assert all(test["name"].endswith("(undecided: not your fault)") for test in found["tests"])
    assert "provisional" in made.remarks[0]


def test_an_error_tells_where_the_module_stopped() -> None:
    found = results(row(ADA, factory.error()))
    assert "stopped at line 57: ValueError: shapes (2,) and (8,)" in found["output"]
    assert found["score"] == 50


def test_a_hidden_check_is_hidden_in_every_place() -> None:
    found = results(
        row(ADA, factory.failed()),
        hidden=frozenset({"collectives"}),
        receipt_bytes=lambda row, form: b"# psum-slice in the receipt",
    )
    assert [test["visibility"] for test in found["tests"]].count("hidden") == 1
    assert found["tests"][2]["visibility"] == "hidden"
    assert found["extra_data"]["mistakes"] == ["bits"]
    assert "psum-slice" not in json.dumps(found["output"])


def test_the_receipt_is_the_output_where_it_is_given() -> None:
    found = results(row(ADA, factory.passed()), receipt_bytes=lambda row, form: form.encode())
    assert found["output"].endswith("\n\nmd")


def test_what_a_learner_wrote_is_no_markup() -> None:
    finding = factory.finding("values", status="failed", message="<script>x</script> [a](http://b)")
    said = results(row(ADA, factory.failed(checks=[finding])))["tests"][0]["output"]
    assert "<script>" not in said
    assert "\\[a\\]" in said


def test_one_learner_of_many_has_to_be_named() -> None:
    with pytest.raises(UsageProblem, match="Which learner"):
        exports.export("gradescope", small())
    with pytest.raises(UsageProblem, match="no learner 'nobody'"):
        exports.export("gradescope", small(), Options(learner="nobody"))
    made = exports.export("gradescope", small(), Options(learner="blaise"))
    assert parsed(made.files[0][1])["score"] == 90


# GitHub Classroom.


def test_grades_have_the_columns_of_github_classroom() -> None:
    told = {"name": "Lab 7", "url": "https://classroom.github.com/a/1"}
    book = only(row(ADA, factory.passed(), ids={"github_repository": "org/lab-7-ada"}))
    options = Options(assignment=told, scale_to=Decimal(10))
    ((name, data),) = exports.export("github-classroom", book, options).files
    assert name == "grades.csv"
    assert data.decode() == (
        "assignment_name,assignment_url,starter_code_url,github_username,roster_identifier,"
        "student_repository_name,student_repository_url,submission_timestamp,points_awarded,"
        "points_available\n"
        'Lab 7,https://classroom.github.com/a/1,,ada-l,"Lovelace, Ada",lab-7-ada,'
        "https://github.com/org/lab-7-ada,2026-03-01T09:00:00Z,10,10\n"
    )


def test_grades_of_a_class_leave_missing_ones_empty() -> None:
    made = exports.export("github-classroom", small())
    lines = list(csv.DictReader(io.StringIO(made.files[0][1].decode(), newline="")))
    assert [line["points_awarded"] for line in lines] == ["100", "90", "52.5", "84", "", ""]
    assert made.remarks == ("5 learners without a GitHub user name.",)


def reporter(book: Gradebook, key: str, **more: Any) -> dict[str, Any]:
    ((name, data),) = exports.export("github-classroom", book, Options(learner=key, **more)).files
    assert name == "result.txt"
    return parsed(base64.b64decode(data, validate=False))


@pytest.mark.parametrize(
    ("key", "status"),
    [("ada", "pass"), ("blaise", "fail"), ("chen", "fail"), ("zora", "error"), ("mary", "error")],
)
def test_the_reporter_gets_a_status_and_points(key: str, status: str) -> None:
    found = reporter(small(), key)
    assert (found["version"], found["status"]) == (1, status)
    assert {test["status"] for test in found["tests"]} <= {"pass", "fail", "error"}
    if key == "blaise":
        assert sum(test["score"] for test in found["tests"]) == 90
        assert found["max_score"] == 100
        assert found["tests"][2]["line_no"] == 41
    if status == "error":
        assert "not to blame" in found["message"]


def test_a_hidden_check_tells_the_reporter_nothing() -> None:
    found = reporter(small(), "blaise", hidden=frozenset({"collectives"}))
    assert found["tests"][2]["message"] == ""


# JUnit.


def suites(book: Gradebook) -> dict[str, ElementTree.Element]:
    ((name, data),) = exports.export("junit", book).files
    assert name == "junit.xml"
    root = ElementTree.fromstring(data)
    assert root.tag == "testsuites"
    return {suite.attrib["name"]: suite for suite in root}


def outcomes(suite: ElementTree.Element) -> dict[str, str]:
    found = {}
    for case in suite:
        tags = [child.tag for child in case if child.tag != "properties"]
        found[case.attrib["name"]] = tags[0] if tags else "passed"
    return found


def test_a_learners_fault_fails_and_ours_is_an_error() -> None:
    found = suites(small())
    assert set(outcomes(found["ada"]).values()) == {"passed"}
    assert outcomes(found["blaise"])["collectives"] == "failure"
    assert set(outcomes(found["zora"]).values()) == {"error"}
    (case,) = found["mary"]
    assert case.find("skipped") is not None
    assert case.find("skipped").attrib["message"] == "Nothing was handed in."  # type: ignore[union-attr]


@pytest.mark.parametrize("blame", ["environment", "grader", "content"])
def test_whatever_the_learner_is_not_blamed_for_is_an_error(blame: str) -> None:
    found = suites(only(row(ADA, factory.failed(blame=blame))))["ada"]
    assert outcomes(found)["collectives"] == "error"


def test_a_check_that_waits_is_skipped_with_its_reason() -> None:
    waits = factory.finding(
        "values", status="blocked", message="shard_shapes has not passed.",
        items=[factory.item("values", 0, "blocked")],
    )  # fmt: skip
    case = suites(only(row(ADA, factory.failed(checks=[waits]))))["ada"][0]
    skipped = case.find("skipped")
    assert skipped is not None
    assert skipped.attrib == {"type": "grade.blocked", "message": "shard_shapes has not passed."}


def test_the_counts_of_a_suite_are_those_of_its_cases() -> None:
    for suite in suites(large(60)).values():
        kinds = list(outcomes(suite).values())
        assert suite.attrib["tests"] == str(len(kinds))
        for attribute, kind in (("failures", "failure"), ("errors", "error"), ("skipped",) * 2):
            assert suite.attrib[attribute] == str(kinds.count(kind))
        assert list(suite.attrib) == [
            "name", "errors", "failures", "skipped", "tests", "time", "timestamp", "hostname"
        ]  # fmt: skip


def test_points_are_properties_and_a_hand_is_named() -> None:
    case = suites(small())["blaise"][CHECKS.index("byte_budget")]
    told = {one.attrib["name"]: one.attrib["value"] for one in case.iter("property")}
    assert told == {
        "points": "10", "max_points": "14", "set_by_hand": "Set by Prof. X: rows were right"
    }  # fmt: skip


def test_full_points_by_hand_pass() -> None:
    change = Override("collectives", 10, 16, "X", "", "")
    found = suites(only(row(ADA, factory.failed(), overrides=(change,))))["ada"]
    assert outcomes(found)["collectives"] == "passed"


def test_an_empty_undecided_row_is_an_error() -> None:
    assert set(outcomes(suites(only(Row(MARY, "undecided")))["mary"]).values()) == {"error"}


@DERANDOMIZED
@given(st.text(st.characters(), max_size=40) | st.text("\x00\x1b\r\n\t<&\"'\ud800￾ é", max_size=20))
def test_any_text_of_a_learner_is_well_formed_xml(text: str) -> None:
    finding = factory.finding("values", status="failed", message="x", line=1).model_copy(
        update={"message": text, "hint": text, "title": text}
    )
    receipt = factory.failed().model_copy(update={"checks": [finding]})
    case = suites(only(row(ADA, receipt)))["ada"][0]
    failure = case.find("failure")
    assert failure is not None
    assert failure.attrib["message"] == (allowed(text) or "Not passed.")
    assert f"hint: {allowed(text)}" in (failure.text or "") or not text


def test_control_characters_are_written_as_pytest_writes_them() -> None:
    assert allowed("\x1b[31m\x00 ok\n") == "#x1B[31m#x00 ok\n"
