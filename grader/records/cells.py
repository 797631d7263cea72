"""The code cells of a notebook as one text, and which of its lines lies in which cell.

Everything that counts lines counts those of this text; a reader is told the cell and its own line.
"""

from __future__ import annotations

import base64
import bisect
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

MOST_LINE_DIGITS = 7


@dataclass(frozen=True)
class Cells:
    """The code cells, in order: `texts` as they were written, `python` as they are run.

    Both have the same number of lines, and no line end at the end of a cell. `commands` are what is
    no Python: `(cell, line, command, what is made of it)`, the last "runs", "nothing" or "skipped".
    A cell's number counts code cells alone, from 1.
    """

    texts: tuple[str, ...]
    python: tuple[str, ...]
    commands: tuple[tuple[int, int, str, str], ...] = ()

    @cached_property
    def code(self) -> bytes:
        """Return all cells, as they were written, as one UTF-8 text."""
        return "\n".join(self.texts).encode("utf-8", "replace")

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Return for each cell the number of its first line in the one text, from 1."""
        sizes = (text.count("\n") + 1 for text in self.texts)
        return tuple(accumulate(sizes, initial=1))[:-1]


def packed(texts: Sequence[str]) -> str:
    """Return texts for a frame, as base64 of one with a NUL before each; none may hold a NUL.

    A text may have far more commas than an honest frame has values.
    """
    return base64.b64encode("".join(f"\0{text}" for text in texts).encode()).decode("ascii")


def unpacked(text: str) -> tuple[str, ...]:
    """Return what was packed. Raises: ValueError."""
    return tuple(base64.b64decode(text, validate=True).decode("utf-8").split("\0")[1:])


def place(starts: Sequence[int], line: int) -> tuple[int, int]:
    """Return the cell and the line in it of a line of the one text; cell 0 where there is none."""
    cell = bisect.bisect_right(starts, line)
    return (cell, line - starts[cell - 1] + 1) if cell else (0, line)


def said(starts: Sequence[int], line: int) -> str:
    """Return how a message names a line: `line 7`, or `cell 2, line 3` in a notebook."""
    cell, inner = place(starts, line)
    return f"cell {cell}, line {inner}" if cell else f"line {line}"


def reworded(starts: Sequence[int], name: str, text: str) -> str:
    """Return a text of Python's or JAX's, or of ours, with the notebook's lines as cell and line.

    Args:
        starts: see `Cells.starts`; without any the text stays as it is.
        name: the notebook's file name, as tracebacks show it.
        text: what a traceback, a warning or a message says.
    """
    if not starts or ("line " not in text and name not in text):
        return text
    number = rf"(\d{{1,{MOST_LINE_DIGITS}}})"
    known = re.escape(name)
    inside = re.compile(
        rf'(?P<file>File "(?:[^"\n]*/)?{known}", )line {number}|(?P<name>{known}):{number}(?::\d+)*'
    )

    def told(found: re.Match[str]) -> str:
        line = int(found[2] or found[4])
        return f"{found['file'] or found['name'] + ', '}{said(starts, line)}"

    return inside.sub(told, text)
