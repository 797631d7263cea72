"""Puts submissions together from the starter and its filled form, part by part."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection

from tests.command import EXERCISE, ROOT, STARTER_FILLED

STARTER = ROOT / "exercises" / EXERCISE / "starter.py"
RUBRIC = ROOT / "rubrics" / EXERCISE / "rubric.toml"
_SECTION = re.compile(r"^(?=# %% )", re.MULTILINE)
_NUMBER = re.compile(r"# %% Part (\d)")

Item = tuple[str, str]


def _sections(text: str) -> list[tuple[str, str]]:
    """Return heading and text of each section; what stands before the first has no heading."""
    first, *others = _SECTION.split(text)
    return [("", first), *((piece.splitlines()[0], piece) for piece in others)]


STARTER_SECTIONS = _sections(STARTER.read_text(encoding="utf-8"))
FILLED_SECTIONS = _sections(STARTER_FILLED.read_text(encoding="utf-8"))


def _number(heading: str) -> int | None:
    found = _NUMBER.match(heading)
    return int(found[1]) if found else None


def spliced(parts: Collection[int], after: dict[int, str] | None = None) -> str:
    """Return the starter with some parts filled in, and code put after some parts."""
    pieces = []
    for (heading, starter), (_, filled) in zip(STARTER_SECTIONS, FILLED_SECTIONS, strict=True):
        number = _number(heading)
        pieces.append(filled if number in parts else starter)
        if after and number in after:
            pieces.append(after[number].strip("\n") + "\n\n\n")
    return "".join(pieces)


def points() -> dict[Item, int]:
    """Return the points of each item, by check and id, as the rubric states them."""
    rubric = tomllib.loads(RUBRIC.read_text(encoding="utf-8"))
    return {
        (check["id"], item["id"]): item["points"]
        for check in rubric["checks"]
        for item in check["items"]
    }


def part_of(item: Item) -> int:
    """Return the part of the exercise that earns an item."""
    check, name = item
    if check in ("values", "shard_shapes", "collectives") or name.startswith("compiled_"):
        return 1
    return {"momentum": 2, "permutation": 3, "label_reversal": 3, "byte_budget": 4}[check]


def earned_by(parts: Collection[int]) -> set[Item]:
    """Return the items that these parts earn."""
    return {item for item in points() if part_of(item) in parts}
