"""Make one verdict from all findings and the outcome; pure arithmetic over records."""

from __future__ import annotations

from collections.abc import Sequence

from grader.records.evidence import Outcome
from grader.records.finding import Finding, Verdict


def verdict(findings: Sequence[Finding], outcome: Outcome) -> Verdict:
    """Return the verdict and the sum of points.

    A finding that our side could not decide makes the whole undecided: it must never look like a
    failed grade. A module that did not run to its end keeps its points under the verdict `error`.
    """
    points = sum(finding.points for finding in findings)
    most = sum(finding.max_points for finding in findings)
    if any(finding.status == "undecided" for finding in findings):
        return Verdict(verdict="undecided", points=points, max_points=most, blame="grader")
    if outcome.kind != "finished":
        return Verdict(verdict="error", points=points, max_points=most, blame="learner")
    if findings and all(finding.status == "passed" for finding in findings):
        return Verdict(verdict="passed", points=points, max_points=most, blame=None)
    return Verdict(verdict="failed", points=points, max_points=most, blame="learner")
