"""What a terminal shows of a receipt: everything needed, in any width, and no text that acts."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from grader.cli.terminal import show_receipt, spinner
from grader.receipt.store import Written
from grader.records.receipt import OutcomePart, Receipt, SourceLine
from tests.receipt import factory

RECEIPTS = {
    "passed": factory.passed(),
    "failed": factory.failed(),
    "error": factory.error(),
    "undecided": factory.undecided(),
}
WRITTEN = Written(
    Path("receipts/distributed-03/my_solution.json"),
    Path("receipts/distributed-03/my_solution.md"),
    Path("receipts/distributed-03/my_solution.html"),
    "The earlier receipt is kept as history/my_solution.2026-03-01T10-20-30Z.json.",
)


def shown(receipt: Receipt, written: Written | None = WRITTEN, **options: Any) -> str:
    encoding = options.pop("encoding", "utf-8")
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding, newline="\n")
    given = {
        "_environ": {},
        "width": 80,
        "markup": False,
        "emoji": False,
        "highlight": False,
        **options,
    }
    show_receipt(Console(file=file, **given), receipt, written)
    file.flush()
    return raw.getvalue().decode(encoding)


def flat(text: str) -> str:
    return re.sub(r"\s+", " ", text)


@pytest.mark.parametrize("name", RECEIPTS)
def test_each_check_takes_one_line_with_mark_word_and_points(name: str) -> None:
    lines = shown(RECEIPTS[name]).splitlines()
    marks = {"passed": "✓ passed", "failed": "✗ failed", "undecided": "? undecided"}
    for check in RECEIPTS[name].checks:
        found = [line for line in lines if re.search(rf"\b{check.id} +{check.points}/", line)]
        assert len(found) == 1
        assert found[0].startswith(marks[check.status])
        assert f"{check.points}/{check.max_points}" in found[0]


def test_a_failed_check_says_what_was_observed_which_mistake_and_what_to_try() -> None:
    text = flat(shown(RECEIPTS["failed"]))
    check = RECEIPTS["failed"].checks[2]
    assert f"observed {check.message}" in text
    assert f"mistake {check.mistake_title}" in text
    assert f"try {check.hint}" in text
    assert "line 41 return jax.lax.psum(local_contribution(x, y, w), 'data')" in text


def test_every_part_that_did_not_pass_is_told() -> None:
    text = flat(shown(RECEIPTS["failed"]))
    assert "`budget` counts bits in 3 of 3 rows collectives has not passed." in text


def test_a_passed_check_says_no_more_than_its_line() -> None:
    lines = shown(RECEIPTS["passed"]).splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("✓"))
    assert all(line.startswith("✓") for line in lines[first : first + 7])


def test_a_stopped_module_shows_where_it_stopped_in_the_learners_own_lines() -> None:
    text = flat(shown(RECEIPTS["error"]))
    assert "Raised at line 57 ValueError: shapes (2,) and (8,) cannot be added" in text
    assert 'File "my_solution.py", line 52, in step return 0.9 * v + g' in text
    assert "try Slice the gradient" in text


def test_a_finished_module_has_no_word_about_its_end() -> None:
    assert "ran to its end" not in shown(RECEIPTS["passed"])


@pytest.mark.parametrize("name", RECEIPTS)
def test_the_total_and_the_receipts_places_are_shown(name: str) -> None:
    receipt = RECEIPTS[name]
    text = shown(receipt)
    assert f"{receipt.points} of {receipt.max_points} points" in text
    assert "Tracked separately, no points:" in text
    for path in (WRITTEN.html, WRITTEN.md, WRITTEN.json):
        assert str(path) in text
    assert WRITTEN.message in flat(text)


def test_an_undecided_grade_is_not_the_submissions_fault() -> None:
    text = flat(shown(RECEIPTS["undecided"]))
    assert "The submission is not to blame." in text
    assert "nothing was taken away" in text
    assert "points so far" in text


def test_what_is_said_of_several_checks_is_said_once() -> None:
    text = flat(shown(RECEIPTS["undecided"]))
    assert text.count(RECEIPTS["undecided"].checks[0].message) == 1
    assert text.count("the same as above") == 6


OPEN = "is open: nothing is filled in yet"
STOPPED = "is not defined: the module stopped at line 57 first"


@pytest.mark.parametrize(
    "message", [f"`{{}}` {OPEN}", "nothing of the file could run, so no name is defined", STOPPED]
)
def test_what_keeps_the_whole_back_is_said_once(message: str) -> None:
    given = factory.failed()
    checks = []
    for number, check in enumerate(given.checks):
        told = message.format(f"name_{number}")
        items = [
            one.model_copy(update={"status": "failed", "message": told}) for one in check.items
        ]
        changes = {"status": "failed", "message": told, "items": items, "mistake": None}
        checks.append(check.model_copy(update={**changes, "hint": "begin", "line": None}))
    text = flat(shown(given.model_copy(update={"checks": checks})))
    assert text.count("try begin") == 1
    assert text.count("✗ failed") == len(checks)
    assert "the same as above" not in text


def test_a_mistake_is_followed_by_the_command_that_explains_it() -> None:
    receipt = RECEIPTS["failed"]
    named = [check.mistake for check in receipt.checks if check.mistake]
    text = flat(shown(receipt))
    assert named and all(f"more grade explain distributed-03 {one}" in text for one in named)


def blamed(*checks: tuple[str, list[tuple[str, str | None, str, int | None]]]) -> Receipt:
    """Return a receipt of checks whose items say (message, mistake, what to try, line)."""
    found = []
    for check, told in checks:
        items = [
            factory.item(
                check, at, "failed", message=message, mistake=mistake, line=line,
                mistake_title=f"title of {mistake}" if at and mistake else None,
                hint=hint if at else "",
            )
            for at, (message, mistake, hint, line) in enumerate(told)
        ]  # fmt: skip
        message, mistake, hint, line = told[0]
        title = f"title of {mistake}" if mistake else None
        found.append(factory.finding(
            check, items, [], status="failed", message=message, mistake=mistake,
            mistake_title=title, hint=hint, line=line,
        ))  # fmt: skip
    source = [SourceLine(line=n, text=f"code {n}") for n in range(1, 200)]
    return factory.failed(checks=found, source_lines=source)


def details(receipt: Receipt) -> list[str]:
    text = shown(receipt, None, width=100)
    return [line.rstrip() for line in text.splitlines() if line.startswith("    ")]


def test_advice_that_was_given_is_not_given_again() -> None:
    """As of P() for all inputs: other checks see other things, and the mistake is the same."""
    told = details(
        blamed(
            ("values", [("`a` is whole", "replicated", "Split it.", 3)]),
            ("collectives", [("`a` sends nothing", "replicated", "Split it.", 3)]),
            ("byte_budget", [("`a` sends 0 bytes", "replicated", "Split it.", 4)]),
            ("momentum", [("`v` is open", None, "Fill it in.", None)]),
            ("permutation", [("`r` is open", None, "Fill it in.", None)]),
            ("label_reversal", [("`l` is whole", "replicated", "Split it.", 3)]),
        )
    )
    assert told == [
        "    observed `a` is whole",
        "    mistake  title of replicated",
        "    try      Split it.",
        "    more     grade explain distributed-03 replicated",
        "    line 3   code 3",
        "    observed `a` sends nothing",
        "    mistake  the same as above",
        "    observed `a` sends 0 bytes",
        "    mistake  the same as above",
        "    line 4   code 4",
        "    observed `v` is open",
        "    try      Fill it in.",
        "    observed `r` is open",
        "    try      the same as above",
        "    observed `l` is whole",
        "    mistake  title of replicated",
    ]


def test_each_mistake_of_a_check_is_named_once() -> None:
    told = details(
        blamed(
            (
                "values",
                [
                    ("`a` is wrong", "one", "Do one.", 3),
                    ("`b` is wrong", "two", "Do two.", 8),
                    ("`c` is odd", "one", "Do one.", 9),
                ],
            )
        )
    )
    assert told == [
        "    observed `a` and `b` are wrong",
        "             `c` is odd",
        "    mistake  title of one",
        "    try      Do one.",
        "    more     grade explain distributed-03 one",
        "    line 3   code 3",
        "    mistake  title of two",
        "    try      Do two.",
        "    more     grade explain distributed-03 two",
        "    line 8   code 8",
    ]


def test_a_line_of_three_digits_stands_in_the_column() -> None:
    told = details(blamed(("values", [("`a` is wrong", "one", "Do one.", 102)])))
    assert told[-1] == "    line 102 code 102"
    assert told[0] == "    observed `a` is wrong"


def test_nothing_is_said_of_receipts_that_were_not_written() -> None:
    assert "receipts/" not in shown(RECEIPTS["passed"], None)


@pytest.mark.parametrize("width", [40, 60, 80, 200])
@pytest.mark.parametrize("name", RECEIPTS)
def test_lines_fit_the_terminal(name: str, width: int) -> None:
    for line in shown(RECEIPTS[name], None, width=width).splitlines():
        assert len(line) <= width
        assert line == line.rstrip()


def test_a_path_is_never_broken() -> None:
    deep = Path("/" + "/".join(["a-folder-with-a-name"] * 12) + "/my_solution.html")
    assert str(deep) in shown(RECEIPTS["passed"], Written(None, None, deep, ""), width=60)


def test_colour_is_for_terminals_alone() -> None:
    assert "\x1b" not in shown(RECEIPTS["failed"])
    terminal: dict[str, Any] = {"force_terminal": True, "color_system": "standard"}
    assert "\x1b[31m" in shown(RECEIPTS["failed"], **terminal)
    assert not re.search(r"\x1b\[[\d;]*3\dm", shown(RECEIPTS["failed"], no_color=True, **terminal))


def test_no_color_in_the_environment_is_honoured() -> None:
    code = "import grader.cli.terminal as t; print(t.make_console().no_color)"
    for setting, expected in (({"NO_COLOR": "1"}, "True"), ({}, "False")):
        clean = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
        ended = subprocess.run(
            [sys.executable, "-c", code], env={**clean, **setting}, capture_output=True, check=True
        )
        assert ended.stdout.decode().strip() == expected


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "latin-1", "cp437"])
@pytest.mark.parametrize("name", RECEIPTS)
def test_a_terminal_without_our_signs_gets_plain_ones(name: str, encoding: str) -> None:
    text = shown(RECEIPTS[name], encoding=encoding)
    plain = {"passed": "+ passed", "failed": "x failed", "undecided": "? undecided"}
    for check in RECEIPTS[name].checks:
        assert plain[check.status] in text


def test_a_learners_text_in_a_narrow_encoding_is_spelled_out() -> None:
    text = shown(factory.passed(notes=["Σ x · 勾配 …"]), encoding="ascii")
    assert "\\u03a3 x - \\u52fe\\u914d ..." in flat(text)


def test_a_learners_text_is_never_markup_or_a_control_sequence() -> None:
    evil = "[red]x[/red] [link=http://evil.example]y[/link] :smile: \x1b[2J\x1b]0;t\x07\r\u202eok"
    checks = [
        factory.finding(
            "values", status="failed", message=evil, mistake="m", mistake_title=evil, line=3,
            hint=evil,
        )
    ]  # fmt: skip
    outcome = OutcomePart(
        kind="raised", message=evil, line=3, next_step=evil, traceback=[evil + "\nx"]
    )
    receipt = factory.error(
        checks=checks, outcome=outcome, notes=[evil], source_lines=[SourceLine(line=3, text=evil)]
    )
    text = shown(receipt)
    assert text.replace("\n", "").isprintable()
    assert "[red]x[/red]" in text
    assert ":smile:" in text
    assert "␛[2J" in text
    assert "\\u202e" in text


def test_a_message_cannot_pass_for_lines_of_ours() -> None:
    checks = [factory.finding("values", status="failed", message="no\n\nPassed: 100 of 100 points")]
    text = shown(factory.failed(checks=checks))
    assert not re.search(r"(?m)^Passed:", text)


def test_a_spinner_shows_nothing_when_not_on_a_terminal() -> None:
    file = io.StringIO()
    with spinner(Console(file=file), "grading"):
        pass
    assert file.getvalue() == ""


def test_a_spinner_names_what_is_going_on_on_a_terminal() -> None:
    file = io.StringIO()
    with spinner(Console(file=file, force_terminal=True), "grading my_solution.py"):
        pass
    assert "grading my_solution.py" in file.getvalue()
