"""The attacks as files: what each must come to stands in its first lines.

    # outcome: blocked          how the module may end; several kinds stand with commas, or `any`
    # verdict: error            what its receipt says; several likewise
    # points: 0                 at most this many, and exactly this many where it passes
    # says: refused             words of the outcome's message, if that matters
    # limits: cpu_s=3           smaller limits than the exercise has, to save time
    # after: solution           the reference solution stands before the attack
    # open: ...                 a hole that is known and not closed yet

A line `WORLD = {}` is replaced by all that an attacker could wish to know: paths and process ids.

The hostile solutions of the course have no such lines: each earns nothing, however it ends.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.command import SOLUTIONS, STARTER_FILLED
from tests.hostile.generated import GENERATED

FOLDER = Path(__file__).parent / "attacks"
KEYS = ("outcome", "verdict", "points", "says", "limits", "after", "open")
ANY = ("any",)
_COURSES = "# outcome: any\n# verdict: failed, error\n# points: 0\n"
# The ones that stay until a limit ends them need not use up a whole exercise's time.
_COURSES_LIMITS = dict.fromkeys(("infinite_loop", "sleeps"), "# limits: cpu_s=4 wall_s=8\n")
_HEADER = re.compile(r"^# (\w+): (.+)$")
_WORLD = re.compile(r"^WORLD = \{\}$", re.MULTILINE)


@dataclass(frozen=True)
class Attack:
    """One hostile submission and what must come of it."""

    name: str
    body: str
    outcomes: tuple[str, ...]
    verdicts: tuple[str, ...]
    points: int
    says: str
    limits: tuple[tuple[str, int], ...]
    after_solution: bool
    still_open: str

    def source(self, world: Mapping[str, object]) -> str:
        """Return the submission, which knows the world around it."""
        told = f"WORLD = {json.dumps(world)}"
        body = _WORLD.sub(lambda _match: told, self.body)
        return STARTER_FILLED.read_text(encoding="utf-8") + body if self.after_solution else body


def parse(name: str, text: str) -> Attack:
    """Return the attack that a file's text is; a header that is wrong fails here."""
    facts: dict[str, str] = {}
    for line in text.splitlines():
        found = _HEADER.match(line)
        if found is None or not line.startswith("#"):
            break
        if found[1] in KEYS:
            facts[found[1]] = found[2].strip()
        else:
            assert found[1] == "ruff", f"{name}: {line}"
    limits = (one.partition("=") for one in facts.get("limits", "").split())
    return Attack(
        name=name,
        body=text,
        outcomes=_several(facts["outcome"]),
        verdicts=_several(facts["verdict"]),
        points=int(facts["points"]),
        says=facts.get("says", ""),
        limits=tuple((key, int(value)) for key, _, value in limits),
        after_solution=facts.get("after") == "solution",
        still_open=facts.get("open", ""),
    )


def _several(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(","))


def every() -> dict[str, Attack]:
    """Return all attacks by name: the files, and those that are too long to be files."""
    files = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.py"))}
    assert not files.keys() & GENERATED.keys()
    return {name: parse(name, text) for name, text in sorted({**files, **GENERATED}.items())}


def of_the_course() -> dict[str, Attack]:
    """Return the hostile solutions of the exercise, by a name that tells them apart."""
    found = {}
    for path in sorted((SOLUTIONS / "hostile").glob("*.py")):
        header = _COURSES + _COURSES_LIMITS.get(path.stem, "")
        found[f"course_{path.stem}"] = parse(
            f"course_{path.stem}", header + path.read_text(encoding="utf-8")
        )
    return found
