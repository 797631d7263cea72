"""Makes text that somebody else wrote safe to show: nothing hidden, nothing that acts.

It never drops a character: what cannot be shown as itself is shown by its name or its number.
"""

from __future__ import annotations

import re

# Printable to Python, yet drawn as nothing at all: fillers, the grapheme joiner, the blank braille
# cell, and the variation selectors beyond the two that ordinary emoji use.
_BLANK = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
    + "".join(map(chr, range(0xFE00, 0xFE0E)))
    + "".join(map(chr, range(0xE0100, 0xE01F0)))
)
_SUSPECT = re.compile(r"[^ -~]")
# The same where line ends are ours: there is one for each number of a receipt.
_BEYOND = re.compile(r"[^\n -~]")
_MARKS = re.compile(r"[\\`*_\[\]<>|~&$]")
_LINK = re.compile(r"(?i)\b(?:https?|ftp|mailto|xmpp):|\bwww\.|@")
# What would start a list, a heading or a rule if it came first on a line; a plain -3 or 1.2 stays.
_START = re.compile(r"^\s*(?:\d+(?=[.)](?:\s|$))|(?=[#=]|[+-](?:[\s+-]|$)))")
_CODE = re.compile(r"(?! )[^`|\\\n]*[^`|\\\s]")


def _is_shown(char: str) -> bool:
    return char.isprintable() and char not in _BLANK


def _spelled(char: str) -> str:
    """Return a picture for a C0 control, an escape sequence as in Python source for the rest."""
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def visible(text: str) -> str:
    """Return `text` with every control, bidi and zero-width character spelled out.

    Line ends and tabs stay; a carriage return before a line feed counts as part of the line end.
    """
    return _SUSPECT.sub(
        lambda m: m[0] if m[0] in "\n\t" or _is_shown(m[0]) else _spelled(m[0]),
        text.replace("\r\n", "\n"),
    )


def visible_line(text: str) -> str:
    """Return `visible` text on one line: line ends and tabs are spelled out as well.

    A message that contains line ends cannot then pass for several lines of ours.
    """
    line = text.replace("\r\n", "\n").rstrip("\n")
    return _SUSPECT.sub(lambda m: m[0] if _is_shown(m[0]) else _spelled(m[0]), line)


def _marked(match: re.Match[str]) -> str:
    char = match[0]
    return {"<": "&lt;", ">": "&gt;", "&": "&amp;"}.get(char, "\\" + char)


def markdown(text: str) -> str:
    """Return one line of Markdown that shows `text` and has no mark, link, tag or cell in it."""
    line = _MARKS.sub(_marked, visible_line(text))
    line = _LINK.sub(lambda m: m[0][:-1] + "\\" + m[0][-1], line)
    return _START.sub(lambda m: m[0] + "\\", line)


def markdown_code(text: str) -> str:
    """Return `text` as inline code where that is safe, else as plain escaped Markdown."""
    line = visible_line(text)
    return f"`{line}`" if _CODE.fullmatch(line) else markdown(text)


def markdown_fence(text: str) -> str:
    """Return a fenced block that nothing inside `text` can close."""
    shown = visible(text).rstrip("\n")
    longest = max((len(run) for run in re.findall(r"`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{shown}\n{fence}"


def json_text(serialized: str) -> str:
    """Return JSON text with hidden characters as escapes; it parses to the same value."""
    return _BEYOND.sub(lambda m: m[0] if _is_shown(m[0]) else _json_escape(m[0]), serialized)


def _json_escape(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
