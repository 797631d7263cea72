"""Giving grades back: one file here is one format, found by its name.

A format turns a gradebook into the bytes of files. It prints nothing, writes nothing and ends
nothing: whoever calls it does.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Literal

from grader.errors import UsageProblem
from grader.gradebook.exports.parts.pseudonyms import Anonymous, anonymize
from grader.gradebook.exports.parts.record import Change, Export, Options
from grader.records.gradebook import Gradebook

__all__ = [
    "Anonymous", "Change", "Difference", "Export", "Options", "anonymize", "difference", "export",
    "names", "needs", "summary", "takes",
]  # fmt: skip

_MOST_LINES = 200
_ASKED = {
    "template": "--template FILE, the file as the platform made it",
    "receipt_bytes": "the rendered receipts",
}


def names() -> list[str]:
    """Return the names of all formats, sorted: the modules of this package, with dashes."""
    found = pkgutil.iter_modules(__path__)
    return sorted(info.name.replace("_", "-") for info in found if not info.ispkg)


def summary(name: str) -> str:
    """Return what a format is, in a sentence."""
    return (_module(name).__doc__ or "").strip().splitlines()[0]


def needs(name: str) -> tuple[str, ...]:
    """Return the options that a format cannot do without."""
    given: tuple[str, ...] = _module(name).NEEDS
    return given


def takes(name: str) -> tuple[str, ...]:
    """Return the options that a format reads besides those it needs."""
    given: tuple[str, ...] = _module(name).TAKES
    return given


def export(name: str, gradebook: Gradebook, options: Options | None = None) -> Export:
    """Return the files of one format.

    Raises: UsageProblem for an unknown format, for an option that is missing, and where a template
        does not fit.
    """
    module = _module(name)
    given = options or Options()
    for option in module.NEEDS:
        if not getattr(given, option):
            raise UsageProblem(
                f"The format {name} needs {_ASKED.get(option, option)}",
                next_step="give it, or choose another format",
            )
    made: Export = module.make(gradebook, given)
    return made


@dataclass(frozen=True)
class Difference:
    """What writing one file would change; `lines` is a unified diff where both sides are text."""

    name: str
    state: Literal["new", "same", "changed"]
    lines: tuple[str, ...] = ()


def difference(made: Export, present: Mapping[str, bytes]) -> tuple[Difference, ...]:
    """Return what each file would change; `present` holds those of its names that exist."""
    return tuple(_differs(name, present.get(name), data) for name, data in made.files)


def _differs(name: str, before: bytes | None, after: bytes) -> Difference:
    if before is None:
        return Difference(name, "new")
    if before == after:
        return Difference(name, "same")
    try:
        old, new = before.decode().splitlines(), after.decode().splitlines()
    except UnicodeDecodeError:
        return Difference(name, "changed")
    if "\0" in old + new or name.endswith(".zip"):
        return Difference(name, "changed")
    lines = list(difflib.unified_diff(old, new, "before", "after", lineterm="", n=0))
    if len(lines) > _MOST_LINES:
        lines = [*lines[:_MOST_LINES], f"… and {len(lines) - _MOST_LINES} more lines"]
    return Difference(name, "changed", tuple(lines))


def _module(name: str) -> ModuleType:
    if name not in names():
        raise UsageProblem(
            f"There is no format {name!r}", next_step=f"use one of {', '.join(names())}"
        )
    return importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
