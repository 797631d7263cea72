"""Say why a file is no Python: the character, the mark or the habit that is in the way.

It must never parse the file: it reads what the child's parser said, and one line of source.
"""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Mapping
from typing import Any

from grader.records.evidence import Outcome
from grader.sandbox.words import at, code

NEAR_CHARS = 30
COLUMNS = 100_000
# What word processors, web pages and input methods put in, and what Python wants there.
_INSTEAD = {
    "\u2018": "'",
    "\u2019": "'",
    "\u201a": "'",
    "\u201b": "'",
    "\u2032": "'",
    "\u00b4": "'",
    "\u201c": '"',
    "\u201d": '"',
    "\u201e": '"',
    "\u2033": '"',
    "\u00ab": '"',
    "\u00bb": '"',
    "\u2010": "-",
    "\u2011": "-",
    "\u2012": "-",
    "\u2013": "-",
    "\u2014": "-",
    "\u2212": "-",
    "\u00d7": "*",
    "\u00f7": "/",
    "\u2044": "/",
    "\u2264": "<=",
    "\u2265": ">=",
    "\u2260": "!=",
    "\u2192": "->",
    "\u00a0": "a plain space",
    "\u2026": "...",
}
_INVISIBLE = "delete it: it cannot be seen; copying from a web page or a chat puts it in"
_CHARACTER = re.compile(r"U\+([0-9A-F]{4,6})")
_HABITS = (
    (r"\s*[!%]+\s*[A-Za-z]", "is a command of a notebook, no Python", "delete that line"),
    (r"\s*(>>>|\.\.\.) ", "begins with a prompt, `>>>`", "delete the prompts, keep what follows"),
    (r"\s*In \[\d*\]:", "begins with a notebook's prompt", "delete the prompt"),
    (r"(<{7}|={7}|>{7})( |$)", "is a mark of a merge conflict", "keep one version, delete marks"),
    (r"\s*(```|~~~)", "is a mark of Markdown", "delete that line"),
)
_WORDS = (
    ("Missing parentheses in call to 'print'", "write print(…): this is Python 3"),
    ("inconsistent use of tabs", "indent with four spaces, and with no tab anywhere"),
    ("unindent does not match", "give that line the indentation of the block it belongs to"),
    ("unexpected indent", "take the blanks at the beginning of that line away"),
    ("expected an indented block", "indent what belongs to it by four spaces, or write pass"),
    ("was never closed", "close that bracket"),
    ("unmatched", "delete that bracket, or open it before"),
    ("does not match opening", "close the inner bracket first, with its own kind"),
    ("unterminated", "close the quotes of that text"),
    ("unicodeescape", r"write r before the quotes, or \\ for each \ in that text"),
    ("null byte", "save the file as plain text: it holds NUL bytes"),
    ("can't decode", "save the file as UTF-8"),
    ("unknown encoding", "correct the coding line at the top, or delete it"),
    ("encoding problem", "correct the coding line at the top, or delete it"),
    ("'await' outside", "leave await out, or put it into an async function"),
    ("'return' outside", "delete that return: only a function returns"),
    ("too many nested", "split that expression"),
    ("RecursionError", "split the longest expression of the file"),
    ("MemoryError", "split the longest expression of the file"),
)


def told(name: str, message: str, line: int | None, detail: Mapping[str, Any]) -> Outcome:
    """Return the outcome of a file that is no Python.

    Args:
        name: file name of the submission.
        message: what the parser said.
        line: where it said so.
        detail: what the child sent: `text` is that line, `offset` the column from 1.
    """
    raw_text, raw_offset = detail.get("text"), detail.get("offset")
    text = raw_text if isinstance(raw_text, str) else ""
    column = raw_offset if type(raw_offset) is int and 0 < raw_offset < COLUMNS else 0
    char = _character(message, text)
    if char is not None:
        what, step = _of_character(char)
        column = text.find(char) + 1 or column
        says = f"it has {what}" + _column(column, line)
    else:
        what, step = _of_habit(name, message, text)
        here = code(text[column - 1 :].split("\n")[0][:NEAR_CHARS]) if column else ""
        says = f"{what}{_column(column, line)}" + (f", at {here}" if here and line else "")
    return Outcome("syntax_error", f"{name} is not Python{at(line)}: {says}", line, (), step)


def _column(column: int, line: int | None) -> str:
    return f" in column {column}" if column and line else ""


def _character(message: str, text: str) -> str | None:
    """Return the character that does not belong there, if that is what the error is about."""
    found = _CHARACTER.search(message)
    if found:
        return chr(int(found[1], 16)) if int(found[1], 16) < 0x110000 else None
    if "unterminated string" not in message and "was never closed" not in message:
        return None
    return next((char for char in text if _INSTEAD.get(char) in ("'", '"')), None)


def _of_character(char: str) -> tuple[str, str]:
    called = f"U+{ord(char):04X}"
    if char in _INSTEAD:
        step = f"type {_INSTEAD[char]} there instead; word processors put the other in"
        return f"the character {char!r} ({called})", step
    name = unicodedata.name(char, "")
    if unicodedata.category(char) in ("Cf", "Cc", "Zs", "Zl", "Zp", "Co"):
        shown = f" ({name.lower()})" if name else ""
        return f"the invisible character {called}{shown}", _INVISIBLE
    plainer = unicodedata.normalize("NFKC", char)
    if plainer != char and plainer.isascii() and plainer.isprintable():
        step = f"type {plainer} there instead: this one is a wide or decorated form of it"
        return f"the character {char!r} ({called})", step
    kind = f", {name.lower()}" if name else ""
    step = "delete it, or put it between quotes: only texts and comments may have it"
    return f"the character {char!r} ({called}{kind})", step


def _of_habit(name: str, message: str, text: str) -> tuple[str, str]:
    for pattern, what, step in _HABITS:
        if re.match(pattern, text):
            return f"{message}; the line {what}", step
    step = next((step for words, step in _WORDS if words in message), "")
    check = f"`python -m py_compile {shlex.quote(name)}`"
    if step:
        return message, f"{step}; {check} tells whether that was all"
    return message, f"run {check} and mend that line"
