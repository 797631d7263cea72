"""Quotes the submission: the lines in question with their neighbours, or all of it."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass

from grader.receipt.exhibits import lines
from grader.records.cells import place
from grader.records.receipt import Receipt, SourceLine

CONTEXT = 2


@dataclass(frozen=True)
class Line:
    """One line; `marked` where a message points at it. `cell` is 0 but in a notebook."""

    number: int
    text: str
    marked: bool
    cell: int = 0

    @property
    def label(self) -> str:
        """Return what stands beside it: its number, in a notebook behind that of its cell."""
        return f"{self.cell}:{self.number}" if self.cell else str(self.number)


@dataclass(frozen=True)
class Excerpt:
    """Lines that follow one another; `named` tells the marked ones."""

    named: str
    lines: list[Line]


def excerpts(receipt: Receipt, numbers: Iterable[int | None]) -> list[Excerpt]:
    """Return the lines with those around them; where they touch they are one piece."""
    marked = {number for number in numbers if number is not None}
    reach = CONTEXT if receipt.source_cut is not None else 0
    near = {at for number in marked for at in range(number - reach, number + reach + 1)}
    pieces: list[list[Line]] = []
    for part in receipt.source_lines:
        if part.line not in near:
            continue
        line = _line(receipt, part, marked)
        if pieces and (pieces[-1][-1].cell, pieces[-1][-1].number) == (line.cell, line.number - 1):
            pieces[-1].append(line)
        else:
            pieces.append([line])
    return [Excerpt(_named(piece), piece) for piece in pieces if any(x.marked for x in piece)]


def _line(receipt: Receipt, part: SourceLine, marked: Container[int]) -> Line:
    cell, number = place(receipt.submission.cells, part.line)
    return Line(number, part.text, part.line in marked, cell)


def _named(piece: list[Line]) -> str:
    numbers = [str(line.number) for line in piece if line.marked]
    inside = f"cell {piece[0].cell}, " if piece[0].cell else ""
    if len(numbers) == 1:
        return f"{inside}line {numbers[0]}"
    return f"{inside}lines {', '.join(numbers[:-1])} and {numbers[-1]}"


def listing(receipt: Receipt) -> list[Line]:
    """Return the whole submission, the lines in question marked; nothing where it is not held."""
    if receipt.source_cut is None:
        return []
    marked = {number for check in receipt.checks for number in lines(check)}
    marked |= {receipt.outcome.line} if receipt.outcome.line is not None else set()
    return [_line(receipt, part, marked) for part in receipt.source_lines]


def numbered(piece: list[Line]) -> str:
    """Return lines of text with their numbers, a mark before those in question."""
    wide = max((len(line.label) for line in piece), default=0)
    return "\n".join(
        f"{'>' if line.marked else ' '} {line.label:>{wide}}  {line.text}".rstrip()
        for line in piece
    )
