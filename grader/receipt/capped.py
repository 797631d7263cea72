"""Keeps what a learner's process wrote to a size that a receipt can hold; says what it left out."""

from __future__ import annotations

from typing import Any

from grader.records.finding import Finding, Item

MOST_TEXT = 4000
MOST_ANSWERS = 16
MOST_NAME = 200
MOST_FRAMES = 20
MOST_LINES = 2000
MOST_SOURCE_BYTES = 64 * 1024
# What intake.lines keeps of one line.
MOST_OF_A_LINE = 400


def text(said: str, most: int = MOST_TEXT) -> str:
    """Return a text of at most `most` characters and a remark on how many more there were."""
    if len(said) <= most:
        return said
    return f"{said[:most]} … [{len(said) - most} more characters left out]"


def answers(given: dict[str, str]) -> dict[str, str]:
    """Return the first answers of a mapping, each capped, and a remark on the rest."""
    kept = {text(name, MOST_NAME): text(said) for name, said in list(given.items())[:MOST_ANSWERS]}
    more = len(given) - MOST_ANSWERS
    return {**kept, "…": f"[{more} more answers left out]"} if more > 0 else kept


def frames(told: tuple[str, ...]) -> list[str]:
    """Return the innermost frames of a traceback, each capped, and a remark on the rest."""
    kept = [text(frame) for frame in told[-MOST_FRAMES:]]
    more = len(told) - len(kept)
    return [f"[{more} outer frames left out]", *kept] if more else kept


def finding(found: Finding) -> Finding:
    """Return a finding with capped sentences, and its measured shares coarse."""
    said = {"message": text(found.message), "items": [_item(one) for one in found.items]}
    return found.model_copy(update={**said, "evidence": [_row(row) for row in found.evidence]})


def _item(one: Item) -> Item:
    short = text(one.message)
    return one if short == one.message else one.model_copy(update={"message": short})


def _row(row: dict[str, Any]) -> dict[str, Any]:
    shares = "allowed" in row
    return {key: _cell(value, shares and key != "allowed") for key, value in row.items()}


def _cell(value: Any, share: bool) -> Any:
    if isinstance(value, str):
        return text(value)
    return coarse(value) if share and isinstance(value, float) else value


def coarse(share: float) -> float | str:
    """Return a difference as a share of the right value, too coarse to work that value out.

    Who returns a number of their own choosing would else read the size of the right one off it.
    """
    if share > 10:
        return "more than 10"
    return float(f"{share:.1g}") if share > 1 else float(f"{share:.2g}")
