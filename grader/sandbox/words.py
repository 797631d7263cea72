"""Put a stranger's text into a sentence of ours: bounded, on one line, and without tricks."""

from __future__ import annotations

import re

TEXT_CHARS = 1500
CODE_CHARS = 100
_COMMENT = re.compile(r"\s+#\s[^'\"]*$")
_LINE_END = re.compile(r"\r\n|\r|\n")


def plain(text: object, limit: int = TEXT_CHARS) -> str:
    """Return a text as one line; what cannot be printed is spelled out."""
    cut = str(text)[:limit]
    return "".join(c if c.isprintable() else " " if c in "\t\r\n" else _spelled(c) for c in cut)


def _spelled(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def at(line: int | None) -> str:
    """Return ` at line N`, or nothing where no line is known."""
    return f" at line {line}" if line else ""


def code(text: object) -> str:
    """Return a piece of source between backticks, nothing where there is none."""
    shown = plain(text, CODE_CHARS + 2).strip().replace("`", "'")
    return f"`{shown}`" if shown else ""


def line_of(source: str, line: int | None) -> str:
    """Return one line of a source without blanks and comment, nothing where it says too little."""
    if not line or not source:
        return ""
    lines = _LINE_END.split(source.removeprefix("\ufeff"), line)
    text = _COMMENT.sub("", lines[line - 1]).strip() if line <= len(lines) else ""
    if sum(c.isalnum() for c in text) < 3:
        return ""
    return text[:CODE_CHARS] + (" …" if len(text) > CODE_CHARS else "")


def bytes_of(count: int) -> str:
    """Return a number of bytes for a reader."""
    for power, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if count >= 1 << power:
            return f"{count / (1 << power):.1f}".removesuffix(".0") + f" {unit}"
    return f"{count} bytes"
