"""The results.json of one learner, for use inside a Gradescope autograder."""

from __future__ import annotations

import json
from typing import Any

from grader.gradebook.exports.parts.figures import figure
from grader.gradebook.exports.parts.record import Export, Options, one_row
from grader.gradebook.looks import Part, has_grade, mistakes, next_step, parts, state
from grader.gradebook.rounding import scores
from grader.gradebook.ungraded import standing
from grader.receipt.escape import markdown, markdown_code, visible_line
from grader.receipt.exhibits import place
from grader.receipt.layout import prose
from grader.receipt.view import summary
from grader.records.gradebook import Gradebook, Row
from grader.records.receipt import Receipt

NAME = "gradescope"
NEEDS: tuple[str, ...] = ()
TAKES = ("learner", "scale_to", "hidden", "visibility", "receipt_bytes")

_MOST_OUTPUT = 30_000
_OURS = "**Undecided.** The grader could not reach a verdict; the submission is not to blame."
_PROVISIONAL = (
    "The score is provisional: Gradescope accepts no result without one. Run the autograder again, "
    "or ask your instructor."
)


def make(gradebook: Gradebook, options: Options) -> Export:
    """Return `results.json`; it is whole and valid whatever the verdict.

    Raises: UsageProblem when several learners are there and none is named.
    """
    row = one_row(gradebook, options)
    record = _results(row, gradebook, options)
    text = json.dumps(record, indent=2, ensure_ascii=True, allow_nan=False)
    remarks = () if has_grade(row) else (
        "No verdict was reached: the score in results.json is provisional, and its text says so.",
    )  # fmt: skip
    return Export((("results.json", f"{text}\n".encode()),), remarks)


def _results(row: Row, gradebook: Gradebook, options: Options) -> dict[str, Any]:
    found = [part for part in parts(row) if part.points or part.max_points or part.finding]
    figures = scores(
        [part.points for part in found], [part.max_points for part in found], options.scale_to
    )
    decided = has_grade(row)
    record: dict[str, Any] = {
        "score": figure(sum(score for score, _ in figures)),
        "output": _output(row, options),
        "output_format": "md",
        "test_output_format": "md",
        "test_name_format": "text",
        "visibility": options.visibility,
        "stdout_visibility": "hidden",
        "tests": [
            _test(number, part, figure(score), figure(best), options, row.receipt)
            for number, (part, (score, best)) in enumerate(
                zip(found, figures, strict=True), start=1
            )
        ],
        "extra_data": {
            "exercise": gradebook.exercise,
            "decided": decided,
            "mistakes": [id_ for id_, _ in mistakes(row) if id_ in _open_mistakes(found, options)],
        },
    }
    if row.receipt:
        record["execution_time"] = round(row.receipt.wall_s, 3)
        record["extra_data"] |= {
            "verdict": row.receipt.verdict,
            "submission_sha256": row.receipt.submission.sha256,
            "evidence_digest": row.receipt.evidence_digest,
        }
    return record


def _open_mistakes(found: list[Part], options: Options) -> set[str | None]:
    return {
        part.finding.mistake for part in found if part.finding and part.id not in options.hidden
    }


def _test(
    number: int,
    part: Part,
    score: int | float,
    best: int | float,
    options: Options,
    receipt: Receipt | None,
) -> dict[str, Any]:
    unsure = " (undecided: not your fault)" if part.status == "undecided" else ""
    hidden = part.id in options.hidden
    return {
        "number": str(number),
        "name": visible_line(part.title) + unsure,
        "name_format": "text",
        "score": score,
        "max_score": best,
        "status": "passed" if part.status == "passed" else "failed",
        "visibility": "hidden" if hidden else options.visibility,
        "output": _said(part, receipt),
        "output_format": "md",
        "tags": [part.id, part.status],
    }


def _said(part: Part, receipt: Receipt | None) -> str:
    """Return what a check found, as Markdown in which nothing of the learner's acts."""
    finding = part.finding
    if finding is None:
        return _marked(part.said)
    lines = [_marked(finding.message)]
    if finding.status != "passed":
        if finding.mistake is not None:
            lines.append(f"**Mistake it matches:** {_marked(finding.mistake_title or '')}")
        if finding.hint:
            lines.append(f"**What to try:** {_marked(finding.hint)}")
        if finding.line is not None and receipt is not None:
            lines.append(f"{place(receipt, finding.line).capitalize()}.")
    items = [
        f"* {_marked(item.id)}: {item.status}, {item.points} of {item.max_points}"
        + (f". {_marked(item.message)}" if item.message not in ("", finding.message) else "")
        for item in finding.items
    ]
    if part.said:
        lines.append(_marked(part.said))
    return "\n\n".join([*lines, "\n".join(items)] if len(items) > 1 else lines)


def _marked(text: str) -> str:
    return prose(text, markdown, markdown_code)


def _output(row: Row, options: Options) -> str:
    if row.receipt is None:
        if standing(row) in ("ambiguous", "refused"):
            return f"**{markdown(state(row))}.** {_marked(next_step(row))}"
        return _OURS if row.status == "undecided" else "Nothing was handed in."
    head = f"**{markdown(state(row))}.** {markdown(summary(row.receipt))}"
    if not has_grade(row):
        head = f"{_OURS}\n\n{_PROVISIONAL}"
    outcome = row.receipt.outcome
    if outcome.kind != "finished":
        where = f" at {place(row.receipt, outcome.line)}" if outcome.line is not None else ""
        head += f"\n\nThe module stopped{where}: {_marked(outcome.message)}"
    if options.receipt_bytes is not None and not options.hidden:
        # The whole receipt names every check, so it is left out as soon as one is to be hidden.
        text = options.receipt_bytes(row, "md").decode("utf-8", errors="replace")
        if len(text) <= _MOST_OUTPUT:
            return f"{head}\n\n{text}"
    return head
