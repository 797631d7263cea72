from __future__ import annotations

from typing import get_args

import pytest

from grader.records.evidence import Outcome, OutcomeKind
from grader.records.finding import Finding, Status, Verdict
from grader.scoring import verdict

FINISHED = Outcome("finished")


def finding(status: Status, points: int = 0, most: int = 10) -> Finding:
    return Finding(
        id="a",
        kind="claims",
        title="",
        status=status,
        points=points,
        max_points=most,
        message="",
        mistake=None,
        hint="",
        line=None,
        items=[],
        evidence=[],
    )


PASSED, FAILED = finding("passed", 10), finding("failed", 3)
BLOCKED, UNDECIDED = finding("blocked"), finding("undecided", 2)


def test_everything_passed_is_a_pass_and_nobody_is_to_blame() -> None:
    assert verdict([PASSED, PASSED], FINISHED) == Verdict(
        verdict="passed", points=20, max_points=20, blame=None
    )


@pytest.mark.parametrize("other", [FAILED, BLOCKED], ids=["failed", "blocked"])
def test_one_check_that_did_not_pass_is_a_fail_with_the_points_there_are(other: Finding) -> None:
    assert verdict([PASSED, other], FINISHED) == Verdict(
        verdict="failed", points=10 + other.points, max_points=20, blame="learner"
    )


@pytest.mark.parametrize("kind", [k for k in get_args(OutcomeKind) if k != "finished"])
@pytest.mark.parametrize("findings", [[PASSED], [PASSED, FAILED], [BLOCKED]], ids=str)
def test_a_module_that_stopped_is_an_error_and_keeps_its_points(
    kind: OutcomeKind, findings: list[Finding]
) -> None:
    given = verdict(findings, Outcome(kind))
    assert (given.verdict, given.blame) == ("error", "learner")
    assert given.points == sum(f.points for f in findings)


@pytest.mark.parametrize("kind", get_args(OutcomeKind))
@pytest.mark.parametrize("others", [[PASSED], [FAILED], [BLOCKED, FAILED]], ids=str)
def test_what_our_side_could_not_decide_is_never_a_grade(
    kind: OutcomeKind, others: list[Finding]
) -> None:
    given = verdict([*others, UNDECIDED], Outcome(kind))
    assert (given.verdict, given.blame) == ("undecided", "grader")


def test_points_are_the_sum_in_any_order() -> None:
    findings = [PASSED, FAILED, BLOCKED]
    assert verdict(findings, FINISHED) == verdict(findings[::-1], FINISHED)
    assert verdict(findings, FINISHED).max_points == 30


def test_no_finding_at_all_is_no_pass() -> None:
    assert verdict([], FINISHED).verdict != "passed"
