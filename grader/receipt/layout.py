"""Lays out text in lines and columns for the forms that have nothing else.

What comes in may be anybody's text; what goes out is visible and cannot pass for other lines.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from unicodedata import east_asian_width

from grader.receipt.escape import visible, visible_line

WIDTH = 88


def prose(text: str, plain: Callable[[str], str], code: Callable[[str], str]) -> str:
    """Return `text` through `plain`, and its parts between backticks through `code`."""
    parts = text.split("`")
    if len(parts) % 2 == 0 or not all(parts[1::2]):
        return plain(text)
    return "".join(code(part) if i % 2 else plain(part) for i, part in enumerate(parts) if part)


def quoted(text: str, indent: int = 2) -> str:
    """Return lines behind a bar, so that none of them looks like a line of the receipt."""
    lines = visible(text).rstrip("\n").split("\n")
    return "\n".join(f"{' ' * indent}| {line}".rstrip() for line in lines)


def wrapped(text: str, indent: int = 0) -> str:
    """Return a paragraph whose lines after the first stand `indent` columns in."""
    margin = " " * indent
    return textwrap.fill(
        visible_line(text), WIDTH, initial_indent=margin, subsequent_indent=margin,
        break_on_hyphens=False,
    ).strip()  # fmt: skip


def columns(rows: Sequence[Sequence[str]], indent: int = 2) -> str:
    """Return rows of cells as aligned lines, two spaces between columns."""
    shown = [[visible_line(str(cell)) for cell in row] for row in rows]
    wide = [max(map(_width, column)) for column in zip(*shown, strict=True)]
    return "\n".join(" " * indent + _joined(row, wide) for row in shown)


def _joined(row: list[str], wide: list[int]) -> str:
    padded = (cell + " " * (width - _width(cell)) for cell, width in zip(row, wide, strict=True))
    return "  ".join(padded).rstrip()


def _width(text: str) -> int:
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in text)
