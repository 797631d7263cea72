"""JUnit XML as pytest writes it (xunit2): one suite per learner, one case per check."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape, quoteattr

from grader.gradebook.exports.parts.record import Export, Options
from grader.gradebook.looks import Part, next_step, parts, state
from grader.gradebook.rounding import shown
from grader.gradebook.ungraded import why
from grader.records.gradebook import Gradebook, Row

NAME = "junit"
NEEDS: tuple[str, ...] = ()
TAKES: tuple[str, ...] = ()

# Everything outside the characters that XML 1.0 allows.
_FORBIDDEN = re.compile(
    "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufdcf\ufdf0-\ufffd\U00010000-\U0010ffff]"
)
_ATTRIBUTE = {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}


def make(gradebook: Gradebook, options: Options) -> Export:
    """Return `junit.xml`: what a learner missed fails, what our side could not do is an error."""
    suites = [_suite(row, gradebook) for row in gradebook.rows]
    head = '<?xml version="1.0" encoding="utf-8"?>\n<testsuites name="grade">\n'
    text = f"{head}{''.join(suites)}</testsuites>\n"
    return Export((("junit.xml", text.encode()),))


def allowed(text: str) -> str:
    """Return `text` with what XML 1.0 forbids written as pytest writes it: `#x1B`."""
    return _FORBIDDEN.sub(lambda found: f"#x{ord(found[0]):02X}", text)


def _text(text: str) -> str:
    # A bare carriage return would be read back as a line feed.
    return escape(allowed(text), {"\r": "&#13;"})


def _attribute(text: str) -> str:
    return quoteattr(allowed(text), _ATTRIBUTE)


def _suite(row: Row, gradebook: Gradebook) -> str:
    name = f"{gradebook.exercise}.{row.person.key}"
    cases = [_case(part, row, name) for part in parts(row)] or [_nothing(row, gradebook, name)]
    kinds = [kind for kind, _ in cases]
    receipt = row.receipt
    taken = f"{receipt.wall_s:.3f}" if receipt else "0.000"
    when = receipt.created_at if receipt else "1970-01-01T00:00:00Z"
    head = " ".join(
        f"{key}={_attribute(value)}"
        for key, value in (
            ("name", row.person.key),
            ("errors", str(kinds.count("error"))),
            ("failures", str(kinds.count("failure"))),
            ("skipped", str(kinds.count("skipped"))),
            ("tests", str(len(cases))),
            ("time", taken),
            ("timestamp", when),
            ("hostname", "localhost"),
        )
    )
    return f"<testsuite {head}>\n{''.join(xml for _, xml in cases)}</testsuite>\n"


def _nothing(row: Row, gradebook: Gradebook, name: str) -> tuple[str, str]:
    if row.status == "missing":
        inner = _element("skipped", "Nothing was handed in.", kind="grade.missing")
        return "skipped", _testcase(name, gradebook.exercise, inner)
    said = f"{state(row)}. {next_step(row)}" if why(row) else ""
    inner = _element("error", f"The grader could not reach a verdict. {said}".rstrip())
    return "error", _testcase(name, gradebook.exercise, inner)


def _case(part: Part, row: Row, name: str) -> tuple[str, str]:
    kind, message = _outcome(part, row)
    inner = _properties(part)
    if kind == "skipped":
        inner += _element("skipped", message, kind="grade.blocked")
    elif kind != "passed":
        inner += _element(kind, message, _detail(part))
    return kind, _testcase(name, part.id, inner)


def _outcome(part: Part, row: Row) -> tuple[str, str]:
    """Return the kind of a case and its message; only a learner's own fault is a failure."""
    message = part.finding.message if part.finding else part.said
    if part.status == "passed":
        return "passed", ""
    if part.status == "blocked":
        return "skipped", message or "It waits for another check."
    blame = row.receipt.blame if row.receipt else None
    if part.status == "undecided" or blame not in (None, "learner"):
        return "error", message or "The grader could not tell."
    return "failure", message or "Not passed."


def _detail(part: Part) -> str:
    finding = part.finding
    if finding is None:
        return part.said
    lines = [finding.title]
    if finding.mistake is not None:
        lines.append(f"mistake: {finding.mistake}: {finding.mistake_title or finding.mistake}")
    lines += [
        f"{item.id}: {item.status}, {item.points} of {item.max_points}. {item.message}".strip()
        for item in finding.items
    ]
    if finding.hint:
        lines.append(f"hint: {finding.hint}")
    if part.said:
        lines.append(part.said)
    return "\n".join(lines)


def _properties(part: Part) -> str:
    known = [("points", shown(part.points)), ("max_points", shown(part.max_points))]
    if part.finding is not None and part.said:
        known.append(("set_by_hand", part.said))
    inner = "".join(
        f"<property name={_attribute(key)} value={_attribute(value)} />" for key, value in known
    )
    return f"<properties>{inner}</properties>"


def _element(tag: str, message: str, text: str = "", kind: str = "") -> str:
    of_kind = f" type={_attribute(kind)}" if kind else ""
    return f"<{tag}{of_kind} message={_attribute(message)}>{_text(text)}</{tag}>"


def _testcase(classname: str, name: str, inner: str) -> str:
    head = f'classname={_attribute(classname)} name={_attribute(name)} time="0.000"'
    return f"  <testcase {head}>{inner}</testcase>\n"
