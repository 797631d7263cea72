"""Finds the cells of a CSV file in place, so that one can be filled and every other byte stays.

Python's csv module reads cells but forgets how they were quoted; a platform's own export has to go
back as it came. Cells are read as `csv.reader` reads them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from grader.errors import UsageProblem

_BOM = "\ufeff"
_DELIMITERS = ",;\t"


@dataclass(frozen=True)
class Cell:
    """A cell's text, and where it stands in the file with its quotes."""

    start: int
    end: int
    text: str
    quoted: bool


@dataclass(frozen=True)
class Sheet:
    """A CSV file as it came, and its cells, row by row; an empty line is a row without cells."""

    text: str
    encoding: str
    delimiter: str
    rows: tuple[tuple[Cell, ...], ...]

    def cell(self, row: int, column: int) -> str:
        """Return a cell's text; empty where the row is too short."""
        cells = self.rows[row]
        return cells[column].text if column < len(cells) else ""

    def line(self, row: int) -> int:
        """Return the line of the file that a row begins on, counted from 1."""
        start = self.rows[row][0].start if self.rows[row] else 0
        return len(re.findall(r"\r\n|\r|\n", self.text[:start])) + 1


def read(data: bytes, name: str = "the template") -> Sheet:
    """Return the cells of a file; its encoding and its delimiter are found out.

    Raises: UsageProblem when it is no text or has no rows.
    """
    encoding, text = _decoded(data, name)
    start = 1 if text.startswith(_BOM) else 0
    delimiter = _delimiter(text, start)
    rows = _scan(text, start, delimiter)
    if not any(rows):
        raise UsageProblem(f"{name} is empty", next_step="download it again")
    return Sheet(text, encoding, delimiter, rows)


def filled(sheet: Sheet, values: Mapping[tuple[int, int], str]) -> bytes:
    """Return the file with the cells at (row, column) replaced; every other byte is as it came.

    A cell that was quoted stays quoted. What the encoding lacks becomes a character reference.
    """
    pieces: list[str] = []
    at = 0
    for row, column in sorted(values):
        cell = sheet.rows[row][column]
        pieces += [
            sheet.text[at : cell.start],
            _written(values[row, column], cell.quoted, sheet.delimiter),
        ]
        at = cell.end
    pieces.append(sheet.text[at:])
    return "".join(pieces).encode(sheet.encoding, errors="xmlcharrefreplace")


def _written(text: str, quoted: bool, delimiter: str) -> str:
    if quoted or any(char in text for char in (delimiter, '"', "\r", "\n")):
        return '"' + text.replace('"', '""') + '"'
    return text


def _decoded(data: bytes, name: str) -> tuple[str, str]:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        order = "utf-16-le" if data.startswith(b"\xff\xfe") else "utf-16-be"
        try:
            return order, data.decode(order)
        except UnicodeDecodeError as error:
            raise _no_text(name) from error
    for encoding in ("utf-8", "cp1252"):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\0" in text:
            raise _no_text(name)
        return encoding, text
    raise _no_text(name)


def _no_text(name: str) -> UsageProblem:
    step = "give the file as the platform made it, or save it as CSV (UTF-8)"
    return UsageProblem(f"{name} is no CSV text", next_step=step)


def _delimiter(text: str, start: int) -> str:
    """Return the delimiter that stands most often in the first row, outside quotes."""
    counts = {}
    for delimiter in _DELIMITERS:
        first = next((row for row in _scan(text, start, delimiter, most=1) if row), ())
        counts[delimiter] = len(first)
    return max(counts, key=lambda delimiter: counts[delimiter])


def _scan(
    text: str, start: int, delimiter: str, most: int | None = None
) -> tuple[tuple[Cell, ...], ...]:
    rows: list[tuple[Cell, ...]] = []
    row: list[Cell] = []
    at = start
    while at < len(text):
        cell = _cell(text, at, delimiter)
        row.append(cell)
        at = cell.end
        if text.startswith(delimiter, at):
            at += 1
            if at == len(text):
                row.append(Cell(at, at, "", False))
            continue
        rows.append(_row(row))
        row = []
        at += 2 if text.startswith("\r\n", at) else 1
        if most is not None and sum(map(bool, rows)) >= most:
            return tuple(rows)
    return (*rows, _row(row)) if row else tuple(rows)


def _row(cells: list[Cell]) -> tuple[Cell, ...]:
    blank = len(cells) == 1 and not cells[0].quoted and not cells[0].text
    return () if blank else tuple(cells)


@lru_cache(maxsize=8)
def _ends(delimiter: str) -> re.Pattern[str]:
    return re.compile(f"[{re.escape(delimiter)}\r\n]|\\Z")


def _cell(text: str, at: int, delimiter: str) -> Cell:
    if not text.startswith('"', at):
        end = _end(text, at, delimiter)
        return Cell(at, end, text[at:end], False)
    pieces: list[str] = []
    inner = at + 1
    while True:
        close = text.find('"', inner)
        if close < 0:
            return Cell(at, len(text), "".join([*pieces, text[inner:]]), True)
        pieces.append(text[inner:close])
        if not text.startswith('"', close + 1):
            break
        pieces.append('"')
        inner = close + 2
    # Text after the closing quote belongs to the cell, as it does to csv.reader.
    end = _end(text, close + 1, delimiter)
    return Cell(at, end, "".join(pieces) + text[close + 1 : end], True)


def _end(text: str, at: int, delimiter: str) -> int:
    found = _ends(delimiter).search(text, at)
    return found.start() if found else len(text)
