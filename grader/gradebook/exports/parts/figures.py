"""Numbers as platforms write them: with a point or with a comma, never with an exponent."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal

from grader.gradebook.rounding import Number, rounded

_NUMBER = re.compile(r"\s*([+-]?\d+)(?:([.,])(\d+))?\s*%?\s*")


def parsed(text: str) -> Decimal | None:
    """Return the number that a cell holds, None for any other text."""
    found = _NUMBER.fullmatch(text)
    if not found or not text.isascii():
        return None
    return Decimal(f"{found[1]}.{found[3] or 0}")


def decimal_mark(cells: Iterable[str], delimiter: str) -> str:
    """Return the decimal mark that the cells use; without any, a comma only where cells allow it.

    Sheets whose cells are separated by semicolons come from places that write a comma.
    """
    marks = [found[2] for cell in cells if (found := _NUMBER.fullmatch(cell)) and found[2]]
    if not marks:
        return "," if delimiter == ";" else "."
    return max(".,", key=marks.count)


def written(value: Decimal, mark: str) -> str:
    """Return a number with two places and that decimal mark."""
    return f"{rounded(value):.2f}".replace(".", mark)


def figure(value: Number) -> int | float:
    """Return a rounded number as JSON has it: whole numbers without a point."""
    shown = rounded(value)
    return int(shown) if shown == shown.to_integral_value() else float(shown)
