"""JSON and files from strangers: read in one way only, or not at all."""

from __future__ import annotations

import json
import math
import os
import stat
from pathlib import Path
from typing import Any

from grader.trust.refused import Refused

# All that a receipt holds is capped; one of a whole lesson has a tenth of a megabyte.
MOST_BYTES = 16 * 1024 * 1024


def loads(raw: bytes, where: str = "") -> dict[str, Any]:
    """Return the object that `raw` holds.

    Raises: Refused for anything but UTF-8 JSON (RFC 8259) of one object, and for a doubled key,
        which one reader would take from its first place and another from its last; a number or a
        text that could not be written again, as an infinite one or half a character.
    """
    try:
        text = raw.decode("utf-8")
        value = json.loads(text, object_pairs_hook=once, parse_constant=_never, parse_float=_finite)
        if "\\u" in text:
            dumps(value).encode("utf-8")
    except UnicodeEncodeError as error:
        said = "this is not strict JSON: half of a surrogate pair is no character"
        raise Refused("malformed", said, where=where) from error
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise Refused("malformed", f"this is not strict JSON: {reason}", where=where) from error
    if not isinstance(value, dict):
        raise Refused("malformed", "this is JSON, but not one object", where=where)
    return value


def dumps(value: object) -> str:
    """Return `value` as JSON with sorted keys and no spaces: same value, same text."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def read(path: Path, most: int = MOST_BYTES) -> bytes:
    """Return the content of an ordinary file of at most `most` bytes.

    Raises: Refused for anything else; a pipe in a file's place would block for ever.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(path, flags)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise Refused("unreadable", "this is no ordinary file", where=str(path))
            raw = file.read(most + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise Refused("unreadable", f"this cannot be read: {reason}", where=str(path)) from error
    if len(raw) > most:
        raise Refused("unreadable", f"this is larger than {most} bytes", where=str(path))
    return raw


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs of an object as one; raises ValueError for a doubled key."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the key {name[:40]!r} occurs twice")
        found[name] = value
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is larger than a number can be")
    return number


def _never(word: str) -> None:
    raise ValueError(f"{word} is no number of JSON")
