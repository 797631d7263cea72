"""Signed receipts, made by hand; no grade is run."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from securesystemslib.signer import CryptoSigner, SSlibKey

from grader.receipt.render import to_json
from grader.records.receipt import LearnerPart, Receipt
from grader.trust import keys
from grader.trust.seal import seal
from tests.receipt import factory

PAGE = "<!doctype html>\n<html><body>\n<p>{verdict}, {points} points</p>\n</body>\n</html>\n"
Bytes = dict[str, bytes]


def pair(folder: Path, name: str = "key.pem") -> tuple[CryptoSigner, SSlibKey]:
    """Return a new key's two halves, as read from its files."""
    keys.generate(folder / name)
    place = folder / name
    return keys.load_private(place), keys.load_public(keys.public_place(place))


def receipt(of: str = "failed", learner: str = "Ada Lovelace", **more: Any) -> Receipt:
    """Return a receipt that says whose it is, with text in it that wants to be markup."""
    made: Receipt = getattr(factory, of)(
        learner=LearnerPart(name=learner, id="s-17", email="ada@example.org"),
        notes=["</script><!-- \\u003c \\\\u003c & “quoted” \u202e"],
        **more,
    )
    return made


def unsigned(of: Receipt) -> dict[str, str]:
    """Return the forms as they are rendered, before anything is added."""
    said = PAGE.format(verdict=of.verdict, points=of.points)
    return {"json": to_json(of), "md": f"# {of.verdict}: {of.points}\n", "html": said}


def forms(of: Receipt, signer: CryptoSigner | None) -> Bytes:
    """Return every form as it is written, the envelope among them."""
    return {ending: text.encode() for ending, text in seal(unsigned(of), signer).items()}


def save(folder: Path, stem: str, given: Bytes) -> None:
    """Write the forms under a stem."""
    folder.mkdir(parents=True, exist_ok=True)
    for ending, raw in given.items():
        (folder / f"{stem}.{ending}").write_bytes(raw)


def statement(envelope: bytes) -> dict[str, Any]:
    """Return the statement in an envelope, without looking at the signature."""
    found: dict[str, Any] = json.loads(base64.b64decode(json.loads(envelope)["payload"]))
    return found


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of everything in a JSON value that is no object and no list with parts."""
    parts = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    inner = list(parts)
    for key, one in inner:
        yield from leaves(one, (*path, key))
    if not inner:
        yield path


def changed(value: Any, path: tuple[Any, ...]) -> Any:
    """Return a copy with one leaf changed into something else of its kind."""
    if not path:
        return _other(value)
    made = value.copy()
    made[path[0]] = changed(value[path[0]], path[1:])
    return made


def _other(leaf: Any) -> Any:
    if isinstance(leaf, bool):
        return not leaf
    if isinstance(leaf, int | float):
        return leaf + 1
    if isinstance(leaf, str):
        return leaf[:-1] + ("0" if leaf[-1:] != "0" else "1")
    return {"list": ["x"], "dict": {"x": "x"}, "NoneType": 1}[type(leaf).__name__]
