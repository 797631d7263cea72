"""What is known of an exception, and what it means: the records of plain words."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception of a module: what it says, the learner's call, and the module's text.

    `text` begins with the exception's type; `by_hand` says that a `raise` or an `assert` of the
    learner's made it. All but `text` may be missing.
    """

    text: str
    call: str = ""
    source: str = ""
    by_hand: bool = False


@dataclass(frozen=True, slots=True)
class Plain:
    """What was observed and why, as a clause without a full stop, and one thing to try.

    `quoted` says whether what the exception says itself is worth showing behind it.
    """

    what: str
    step: str
    quoted: bool = True


# A pattern, and the words for what it finds; None passes the exception on to the next rule.
Rule = tuple[str, Callable[[Raised, "re.Match[str]"], Plain | None]]


def shape(dimensions: str) -> str:
    """Return a shape as Python writes it, from what stands between JAX's brackets: `15,8`."""
    sizes = [size for size in dimensions.replace(" ", "").split(",") if size.isdigit()]
    return f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"


def counted(count: int | str, thing: str) -> str:
    """Return `1 argument`, `2 arguments`."""
    return f"{count} {thing}" + ("" if str(count) == "1" else "s")
