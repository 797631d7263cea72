"""Where things stand in the drawing of one exercise's attempts; the template draws them.

The y axis is in points, or in percent where the rubric changed between attempts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from grader.portfolio.gather import Attempt
from grader.receipt.view import headline

WIDTH, HEIGHT = 340, 156
LEFT, RIGHT, TOP, BOTTOM = 34, 334, 22, 116
_MOST_LABELS = 10
_CROWDED = 40


@dataclass(frozen=True)
class Dot:
    """One attempt: its centre, its verdict, and what a pointer is told."""

    x: float
    y: float
    verdict: str
    title: str


@dataclass(frozen=True)
class Tick:
    """A label on an axis and where it stands."""

    at: float
    label: str


@dataclass(frozen=True)
class Chart:
    """A drawing of `WIDTH` by `HEIGHT` units; `best` is the line of the best so far, as a path."""

    dots: list[Dot]
    best: str
    rows: list[Tick]
    columns: list[Tick]
    unit: str
    radius: float
    told: str


def chart(attempts: Sequence[Attempt]) -> Chart:
    """Return the drawing of one exercise's attempts, oldest first."""
    most = {one.receipt.max_points for one in attempts}
    whole = most.pop() if len(most) == 1 else 0
    step = (RIGHT - LEFT) / len(attempts)
    dots, corners, best = [], [], -1.0
    for index, one in enumerate(attempts):
        x, part = LEFT + step * (index + 0.5), share(one)
        dots.append(Dot(round(x, 1), _height(part), one.receipt.verdict, _title(index + 1, one)))
        if one.receipt.verdict != "undecided" and part > best:
            corners.append((x, part))
            best = part
    return Chart(
        dots=dots,
        best=_stairs(corners),
        rows=_rows(whole),
        columns=_columns(len(attempts), step),
        unit="points" if whole else "% of the points",
        radius=4.5 if len(attempts) <= _CROWDED else 2,
        told=_told(attempts),
    )


def share(attempt: Attempt) -> float:
    """Return an attempt's part of the points, 0 to 1."""
    receipt = attempt.receipt
    return receipt.points / receipt.max_points if receipt.max_points else 0.0


def _height(part: float) -> float:
    return round(BOTTOM - (BOTTOM - TOP) * part, 1)


def _title(number: int, one: Attempt) -> str:
    receipt = one.receipt
    points = f"{receipt.points} of {receipt.max_points} points"
    said = headline(receipt).lower() + ("" if receipt.verdict == "undecided" else f", {points}")
    return f"attempt {number}: {said}"


def _stairs(corners: Sequence[tuple[float, float]]) -> str:
    if not corners:
        return ""
    (x, part), *rest = corners
    path = [f"M{x:.1f} {_height(part)}", *(f"H{x:.1f}V{_height(part)}" for x, part in rest)]
    return "".join([*path, f"H{RIGHT}"])


def _rows(whole: int) -> list[Tick]:
    top = whole or 100
    labels = [0, top // 2, top] if top % 2 == 0 else [0, top]
    return [Tick(_height(label / top), str(label)) for label in labels]


def _columns(count: int, step: float) -> list[Tick]:
    every = ceil(count / _MOST_LABELS)
    numbers = [n for n in range(1, count + 1) if n == 1 or n % every == 0]
    return [Tick(round(LEFT + step * (n - 0.5), 1), str(n)) for n in numbers]


def _told(attempts: Sequence[Attempt]) -> str:
    """Return the drawing in words; every single attempt is in the table beside it."""
    decided = [one for one in attempts if one.receipt.verdict != "undecided"]
    if not decided:
        return "No attempt was decided."
    first, last, best = decided[0], decided[-1], max(decided, key=share)
    if len(decided) == 1:
        return f"One decided attempt with {_points(first)} points."
    return (
        f"{len(decided)} decided attempts, from {_points(first)} points at first to "
        f"{_points(last)} at last; the best has {_points(best)}."
    )


def _points(one: Attempt) -> str:
    return f"{one.receipt.points} of {one.receipt.max_points}"
