"""Put an exception into plain words: what was observed and why, and one thing to try.

What the exception says is a stranger's text: only numbers, names and shapes are taken out of it, by
patterns that bound them, and what comes out is a sentence and never a decision.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from grader.sandbox import plainly_arrays, plainly_devices, plainly_files, plainly_names
from grader.sandbox.meaning import Plain, Raised, Rule
from grader.sandbox.words import plain

SHORT_CHARS = 160
# What a module raises by hand speaks for itself, but for these.
_ASKED_FOR = ("AssertionError", "NotImplementedError")


@dataclass(frozen=True, slots=True)
class Told:
    """A message with the exception's own words behind ours, and what to try."""

    message: str
    step: str


def meaning(raised: Raised) -> Plain | None:
    """Return an exception in plain words, None where there are none for it."""
    if raised.by_hand and not raised.text.startswith(_ASKED_FOR):
        return None
    for rules in _TABLES:
        for pattern, words in rules:
            found = re.search(pattern, raised.text)
            told = words(raised, found) if found else None
            if told is not None:
                return told
    return None


def told(raised: Raised) -> Told | None:
    """Return the sentence for an exception, what it says itself in brackets behind it."""
    found = meaning(raised)
    if found is None:
        return None
    said = shortened(raised.text) if found.quoted else ""
    return Told(f"{found.what} ({said})" if said else found.what, found.step)


def shortened(text: str) -> str:
    """Return what an exception says, short enough to stand in brackets and to search for."""
    one = plain(text).strip()
    if len(one) <= SHORT_CHARS:
        return one
    return one[:SHORT_CHARS].rpartition(" ")[0].rstrip(".,:;") + " …"


_TABLES: Sequence[Sequence[Rule]] = (
    plainly_devices.RULES,
    plainly_arrays.RULES,
    plainly_files.RULES,
    plainly_names.RULES,
)
