"""How two receipts of one submission differ is told part by part, and only where it matters."""

from __future__ import annotations

from typing import Any

import pytest

from grader.receipt import differences
from grader.records.receipt import Receipt
from tests.receipt import factory

pytestmark = pytest.mark.once


def told(found: list[differences.Difference]) -> dict[str, tuple[str, str]]:
    return {one.what: (one.was, one.now) for one in found}


def changed(**more: Any) -> Receipt:
    was = factory.passed()
    return was.model_copy(update={"environment": was.environment.model_copy(update=more)})


def test_equal_receipts_differ_in_nothing() -> None:
    was, now = factory.passed(), factory.passed(created_at="2027-01-01T00:00:00Z", wall_s=9.0)
    assert differences.circumstances(was.environment, now.environment) == []
    assert differences.results(was, now) == []


def test_versions_and_machine_are_told_with_the_rubric_first() -> None:
    was = factory.environment()
    now = changed(
        rubric_sha256="77" * 32,
        grader="0.2.0",
        python="3.13.1",
        jax="0.12.0",
        packages={**was.packages, "jinja2": "4.0", "scipy": "1.17"},
        platform="Darwin arm64",
        confinement=was.confinement.model_copy(update={"level": "none"}),
    ).environment
    found = differences.circumstances(was, now)
    assert found[0].what == "rubric"
    by_name = told(found)
    assert by_name["jax"] == ("0.10.2", "0.12.0")
    assert by_name["jinja2"] == ("3.1.6", "4.0")
    assert by_name["platform"] == ("Linux x86_64", "Darwin arm64")
    assert by_name["confinement"][1] == "none, without network namespace"
    assert set(by_name) == {
        *("rubric", "grade", "Python", "jax", "jinja2", "platform", "confinement")
    }


def test_a_package_that_only_one_of_them_lists_is_no_difference() -> None:
    was, now = factory.environment(), changed(packages={"scipy": "1.17"}).environment
    assert differences.circumstances(was, now) == []


def test_results_are_told_by_check_item_and_program() -> None:
    by_name = told(differences.results(factory.passed(), factory.failed()))
    assert by_name["verdict"] == ("passed", "failed")
    assert by_name["points"] == ("100 of 100", "84 of 100")
    assert by_name["collectives, shard_gradient"] == (
        "passed, 6 of 6",
        "failed, 0 of 6, psum-slice",
    )
    assert "collectives, gather" not in by_name
    assert by_name["byte_budget, compiled"] == ("passed, 6 of 6", "blocked, 0 of 6")
    compiled = by_name["shard_gradient, compiled collectives"]
    assert compiled[0] == "reduce-scatter of f32[8] among 4, 1 times"
    assert compiled[1] == "all-reduce of f32[8] among 4, 1 times"


def test_a_program_or_check_that_is_gone_is_told() -> None:
    was, now = factory.passed(), factory.undecided(checks=[])
    by_name = told(differences.results(was, now))
    assert by_name["values"] == ("passed, 20 of 20", "nothing")
    assert by_name["gather, stored shapes"][1] == "nothing"


def test_the_digest_follows_from_what_the_receipt_says() -> None:
    first = differences.recomputed(factory.passed())
    assert first == differences.recomputed(factory.passed(wall_s=7.0))
    assert first != differences.recomputed(factory.passed(points=99))
    assert first != differences.recomputed(factory.failed())
