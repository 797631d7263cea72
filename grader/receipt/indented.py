"""JSON with an indentation of two, the very text of `json.dumps`, in a quarter of its time.

The standard library's fast encoder knows no indentation, and a receipt is written three times for
each grade.
"""

from __future__ import annotations

from collections.abc import Callable
from json.encoder import encode_basestring
from math import isfinite

_quoted: Callable[[str], str] = encode_basestring
_WORDS = {None: "null", True: "true", False: "false"}


def dumps(value: object, *, sort_keys: bool = False) -> str:
    """Return `json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)`.

    Raises:
        TypeError: something in it is neither JSON nor a dict with keys of text.
        ValueError: a number is not finite.
    """
    return _text(value, "\n", sort_keys)


def _text(value: object, line: str, sort_keys: bool) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if value is None or isinstance(value, bool):
        return _WORDS[value]
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        if not isfinite(value):
            raise ValueError(f"not JSON compliant: {value!r}")
        return float.__repr__(value)
    inner = f"{line}  "
    if isinstance(value, dict):
        if not value:
            return "{}"
        pairs = sorted(value.items()) if sort_keys else value.items()
        said = [f"{inner}{_key(key)}: {_text(one, inner, sort_keys)}" for key, one in pairs]
        return f"{{{','.join(said)}{line}}}"
    if isinstance(value, list | tuple):
        if not value:
            return "[]"
        return f"[{','.join([inner + _text(one, inner, sort_keys) for one in value])}{line}]"
    raise TypeError(f"not JSON: {type(value).__name__}")


def _key(key: object) -> str:
    if isinstance(key, str):
        return _quoted(key)
    raise TypeError(f"no key of JSON: {type(key).__name__}")
