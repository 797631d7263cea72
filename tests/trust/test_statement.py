"""What is signed says what the receipt says, in the words of the test-result predicate."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from grader.errors import Undecided
from grader.receipt.render import to_json
from grader.trust import statement
from grader.trust.refused import Refused
from tests.receipt import factory
from tests.trust.signed import receipt

pytestmark = pytest.mark.once


def of(kind: str, **more: Any) -> dict[str, Any]:
    made = receipt(kind, **more)
    return statement.of(to_json(made).encode(), {"md": "1" * 64, "html": "2" * 64})


def test_the_statement_is_in_totos_and_its_types_are_named() -> None:
    made = of("passed")
    assert made["_type"] == "https://in-toto.io/Statement/v1"
    assert made["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
    assert set(made) == {"_type", "subject", "predicateType", "predicate"}
    assert set(made["predicate"]) == {
        "result", "configuration", "passedTests", "warnedTests", "failedTests",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "result"), [("passed", "PASSED"), ("failed", "FAILED"), ("error", "FAILED")]
)
def test_passed_is_passed_and_all_else_that_is_decided_is_failed(kind: str, result: str) -> None:
    assert of(kind)["predicate"]["result"] == result


def test_an_undecided_grade_is_not_signed() -> None:
    with pytest.raises(Undecided) as error:
        of("undecided")
    assert "an undecided grade is not signed" in str(error.value)
    assert "Next: grade it again" in str(error.value)


def test_every_check_is_named_once_and_one_that_waits_is_among_the_failed() -> None:
    checks = factory.failed().checks
    waiting = checks[2].model_copy(update={"status": "blocked", "points": 0})
    made = of("failed", checks=[*checks[:2], waiting, *checks[3:]])["predicate"]
    assert made["failedTests"] == [c.id for c in checks if c.status == "failed" or c is checks[2]]
    assert made["warnedTests"] == []
    assert sorted(made["passedTests"] + made["failedTests"]) == sorted(c.id for c in checks)


def test_the_subjects_are_the_submission_what_was_beside_it_and_every_form() -> None:
    part = factory.passed().submission.model_copy(update={"siblings": {"data.csv": "b" * 64}})
    raw = to_json(receipt("passed", submission=part)).encode()
    made = statement.of(raw, {"html": "2" * 64, "md": "1" * 64})
    digests = {one["name"]: one["digest"]["sha256"] for one in made["subject"]}
    assert digests == {
        "submission/my_solution.py": "a3" * 32,
        "beside/data.csv": "b" * 64,
        "receipt.json": hashlib.sha256(raw).hexdigest(),
        "receipt.html": "2" * 64,
        "receipt.md": "1" * 64,
    }
    assert len(made["subject"]) == len(digests)
    short = next(one for one in made["subject"] if one["name"] == "receipt.json")["annotations"]
    assert (short["verdict"], short["points"], short["maxPoints"]) == ("passed", 100, 100)
    assert short["learner"]["name"] == "Ada Lovelace"


def test_no_name_of_a_submission_can_pass_for_another_subject() -> None:
    part = factory.passed().submission.model_copy(
        update={"name": "receipt.json", "siblings": {"receipt.html": "b" * 64}}
    )
    raw = to_json(receipt("passed", submission=part)).encode()
    names = [one["name"] for one in statement.of(raw, {"html": "2" * 64})["subject"]]
    assert names == [
        "submission/receipt.json", "beside/receipt.html", "receipt.json", "receipt.html",
    ]  # fmt: skip


def test_the_configuration_is_rubric_exercise_and_environment() -> None:
    made = {
        one["name"]: one["digest"]["sha256"] for one in of("passed")["predicate"]["configuration"]
    }
    assert list(made) == ["rubric/distributed-03", "exercise/distributed-03", "environment"]
    assert made["rubric/distributed-03"] == "6b" * 32
    environment = json.loads(to_json(receipt("passed")))["environment"]
    text = json.dumps(environment, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert made["environment"] == hashlib.sha256(text.encode()).hexdigest()
    other = of("passed", exercise_title="Another")["predicate"]["configuration"][1]
    assert other["digest"]["sha256"] != made["exercise/distributed-03"]


@pytest.mark.parametrize("schema", ["2", "true", '"1"', "1.5", "null"])
def test_a_receipt_of_an_unknown_schema_is_not_signed(schema: str) -> None:
    text = to_json(receipt("passed")).replace('"schema_version": 1', f'"schema_version": {schema}')
    with pytest.raises(Refused) as error:
        statement.of(text.encode(), {})
    assert error.value.reason == "unknown schema"


def test_what_is_no_receipt_is_not_signed() -> None:
    for raw in (b"[]", b"{", b'{"schema_version": 1, "verdict": "passed"}', b"\xff", b"[" * 10**5):
        with pytest.raises(Refused):
            statement.of(raw, {})
