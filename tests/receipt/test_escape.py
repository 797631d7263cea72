"""Text that somebody else wrote is shown in full and can do nothing."""

from __future__ import annotations

import json
import sys
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from grader.receipt.escape import (
    json_text,
    markdown,
    markdown_code,
    markdown_fence,
    visible,
    visible_line,
)

ACTS = [
    "\x1b[2J\x1b[1;32mPASSED\x1b[0m",
    "\x1b]8;;http://evil.example\x07click\x1b]8;;\x07",
    "\x9b31m",
    "\rPassed",
    "a\x00b\x08\x7f",
    "\u202egnp.exe\u202c",
    "\u2066\u2069\u200e\u200f\u061c",
    "zero\u200bwidth\u200d\u2060\ufeff\u00ad",
    "\u2028line\u2029",
    "\U000e0041\U000e007f",
    "\ud800",
    "\u3164\u115f\u034f\ufe01\U000e0100",
]
PLAIN = ["naïve Übergröße", "勾配 ∇f ≤ ε·‖g‖", "👍🏽 ❤️", "e\u0301", "x = [1, 2]  # ok", ""]


@pytest.mark.parametrize("text", ACTS)
def test_nothing_hidden_or_active_is_left(text: str) -> None:
    for shown in (visible(text), visible_line(text)):
        assert shown.replace("\n", "").replace("\t", "").isprintable()
        assert not set("\u3164\u115f\u034f\ufe01\U000e0100") & set(shown)


@pytest.mark.parametrize("text", PLAIN)
def test_ordinary_text_of_any_script_stays_as_it_is(text: str) -> None:
    assert visible(text) == text
    assert visible_line(text) == text


def test_every_character_is_either_kept_or_spelled_out() -> None:
    for code in range(sys.maxunicode + 1):
        shown = visible(chr(code))
        assert shown == chr(code) or (shown.isprintable() and shown), hex(code)


def test_an_escape_is_shown_by_its_picture_and_an_override_by_its_number() -> None:
    assert visible("\x1b[31m") == "␛[31m"
    assert visible("\u202e") == "\\u202e"
    assert visible("\x9b") == "\\x9b"
    assert visible("\U000e0041") == "\\U000e0041"


def test_line_ends_stay_in_a_block_and_are_spelled_out_on_a_line() -> None:
    assert visible("a\r\nb\n\tc\r") == "a\nb\n\tc␍"
    assert visible_line("no\nTotal: 100 of 100 points\n") == "no␊Total: 100 of 100 points"


MARKS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[click](http://evil.example)",
    "![pixel](http://evil.example/p.png)",
    "<http://evil.example>",
    "http://evil.example www.evil.example a@evil.example",
    "**bold** _it_ ~~gone~~ `code`",
    "a | b | c",
    "\\| \\` \\\\",
    "# heading",
    "1. list",
    "- list",
    "+ list",
    "---",
    "===",
    "> quote",
    "&lt;b&gt; &copy; $x$",
    "[^1] [x]: http://evil.example",
    "-3 1.2 2) x",
    "line\n\n# heading\n\n| a | b |",
]


class _Page(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def _rendered(markdown_text: str) -> _Page:
    reader = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    return _Page(reader.render(markdown_text))


@pytest.mark.parametrize("text", MARKS + PLAIN)
def test_markdown_shows_the_text_and_nothing_else(text: str) -> None:
    page = _rendered(f"{markdown(text)}\n")
    assert page.tags in (["p"], [])
    assert page.text.strip() == visible_line(text)


@pytest.mark.parametrize("text", MARKS)
def test_a_table_cell_holds_its_text_alone(text: str) -> None:
    page = _rendered(f"| a | b |\n| --- | --- |\n| {markdown(text)} | end |\n")
    assert page.tags == ["table", "thead", "tr", "th", "th", "tbody", "tr", "td", "td"]
    assert visible_line(text) in page.text


@pytest.mark.parametrize("text", MARKS)
def test_inline_code_cannot_be_left(text: str) -> None:
    page = _rendered(f"x {markdown_code(text)} y\n")
    assert page.tags in (["p", "code"], ["p"])
    assert page.text.strip() == f"x {visible_line(text)} y"


@pytest.mark.parametrize("text", [*MARKS, "```\n# out\n```", "````\n`````", "", "\n"])
def test_a_fence_cannot_be_closed_from_inside(text: str) -> None:
    page = _rendered(f"{markdown_fence(text)}\n")
    assert page.tags == ["pre", "code"]
    assert page.text.rstrip("\n") == visible(text).rstrip("\n")


@pytest.mark.parametrize("text", ACTS[:-2] + ACTS[-1:] + PLAIN)
def test_json_keeps_the_value_and_shows_what_is_hidden(text: str) -> None:
    shown = json_text(json.dumps({"text": text}, ensure_ascii=False))
    assert json.loads(shown) == {"text": text}
    assert shown.isprintable()
