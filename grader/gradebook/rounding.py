"""The one rounding rule of every export and report: exact fractions, two places, half up.

Floats never meet each other here: each is read as the decimal number it is written as, sums and
scaling are exact, and rounding happens once, at the end. Parts of a total are rounded so that they
add up to the rounded total.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from math import floor

Number = int | float | Decimal | Fraction
_CENTS = 100


def exact(value: Number) -> Fraction:
    """Return a number as the fraction that its decimal digits say: 0.1 is one tenth.

    Raises: ValueError for NaN and infinity.
    """
    return Fraction(str(value)) if isinstance(value, float) else Fraction(value)


def rounded(value: Number) -> Decimal:
    """Return `value` with two places; what lies exactly between goes up."""
    return _from_cents(_cents(exact(value)))


def scaled(points: Number, most: Number, to: Number | None) -> Decimal:
    """Return `points` of `most` as points of `to`, rounded; without `to` they stay as they are.

    Nothing of a part without points is nothing, whatever the scale.
    """
    return rounded(_scale(exact(points), exact(most), to))


def shares(parts: Sequence[Number], most: Number, to: Number | None) -> list[Decimal]:
    """Return the parts scaled and rounded so that they add up to their scaled and rounded sum.

    Every part is rounded down; the cents left over go to the largest remainders, the earlier part
    first where two are equal.
    """
    limits = [None] * len(parts)
    return _divided([_scale(exact(part), exact(most), to) for part in parts], limits)


def scores(
    points: Sequence[Number], maxima: Sequence[Number], to: Number | None
) -> list[tuple[Decimal, Decimal]]:
    """Return (score, maximum) of each part; both columns add up to their rounded sums.

    A cent left over goes first to a part that it does not lift above its maximum, then to a full
    one, and never to an empty one.
    """
    most = sum((exact(one) for one in maxima), Fraction(0))
    limits = shares(maxima, most, to)
    wanted = [_scale(exact(one), most, to) for one in points]
    capped: list[Decimal | None] = list(limits)
    return list(zip(_divided(wanted, capped), limits, strict=True))


def shown(value: Number) -> str:
    """Return a rounded number for a reader or a cell: `85`, `85.5`, `85.25`; never an exponent."""
    text = f"{rounded(value):.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _scale(points: Fraction, most: Fraction, to: Number | None) -> Fraction:
    if to is None:
        return points
    return points * exact(to) / most if most else Fraction(0)


def _divided(wanted: list[Fraction], limits: Sequence[Decimal | None]) -> list[Decimal]:
    cents = [floor(one * _CENTS) for one in wanted]
    left = _cents(sum(wanted, Fraction(0))) - sum(cents)

    def order(index: int) -> tuple[int, Fraction, int]:
        limit = limits[index]
        full = limit is not None and cents[index] >= _cents(exact(limit))
        remainder = wanted[index] * _CENTS - cents[index]
        return 2 if wanted[index] == 0 else int(full), -remainder, index

    for index in sorted(range(len(wanted)), key=order)[:left]:
        cents[index] += 1
    return [_from_cents(one) for one in cents]


def _cents(value: Fraction) -> int:
    return floor(value * _CENTS + Fraction(1, 2))


def _from_cents(cents: int) -> Decimal:
    return Decimal(cents).scaleb(-2)
