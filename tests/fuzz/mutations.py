"""How valid bytes, text and JSON are spoilt; every strategy is bounded."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

Splice = Callable[[st.DrawFn, bytes], bytes]
JUNK = [b"", b"\0", b"\xff" * 4, b"\x80", b"\r\n", b'"', b"\x7f\xff\xff\xff", b"NaN", b"1e999"]


def json_values(leaves: int = 12) -> st.SearchStrategy[Any]:
    """Draw any JSON value, odd numbers and texts among them."""
    odd = st.sampled_from([-1, 0, 1 << 40, 1 << 62, 1e300, 5e-324, True, "", "\udc80", "x" * 300])
    return st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | odd,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
        max_leaves=leaves,
    )


@st.composite
def spoilt(draw: st.DrawFn, whole: bytes) -> bytes:
    """Draw `whole` with some bytes turned over, cut out, doubled or put in."""
    data = bytearray(whole)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(len(data) - 1, 0)))
        length = draw(st.integers(0, 40))
        kind = draw(st.sampled_from(["flip", "cut", "end", "double", "junk"]))
        if kind == "flip" and data:
            data[at] ^= 1 << draw(st.integers(0, 7))
        elif kind == "cut":
            del data[at : at + length]
        elif kind == "end":
            del data[at:]
        elif kind == "double":
            data[at:at] = data[at : at + length]
        else:
            data[at:at] = draw(st.sampled_from(JUNK) | st.binary(max_size=8))
    return bytes(data)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        items = enumerate(value)
    found = [path] if path else []
    for key, inner in items:
        found += _places(inner, (*path, key))
    return found


@st.composite
def altered(draw: st.DrawFn, value: Any) -> Any:
    """Draw a JSON value with one or two of its parts replaced or taken away."""
    changed = copy.deepcopy(value)
    for _ in range(draw(st.integers(1, 2))):
        places = _places(changed)
        if not places:
            break
        *way, last = draw(st.sampled_from(places))
        holder = changed
        for key in way:
            holder = holder[key]
        if draw(st.booleans()):
            holder[last] = draw(json_values(6))
        else:
            del holder[last]
    return changed
