"""The list of a portfolio's files with their digests, schema 1: its one trusted table of contents.

It lists neither itself nor the signature over it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, ValidationError

from grader import __version__
from grader.portfolio.paths import MANIFEST, SIGNATURE
from grader.records.base import Record

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
KIND = "grade-portfolio"


class ListedFile(Record):
    """One file: its path inside the zip, and what its bytes are."""

    path: str
    sha256: Sha256
    size_bytes: Annotated[int, Field(ge=0)]


class Manifest(Record):
    """Everything a portfolio holds, sorted by path; `created_at` is when it was gathered."""

    schema_version: Literal[1] = 1
    kind: Literal["grade-portfolio"] = "grade-portfolio"
    created_at: str
    grader: str
    files: list[ListedFile]


class NotAManifest(ValueError):
    """These bytes are no manifest that this version reads; the text says why."""


def manifest(files: Mapping[str, bytes], created_at: str) -> Manifest:
    """Return the manifest of these files, path -> content."""
    listed = [
        ListedFile(path=path, sha256=hashlib.sha256(raw).hexdigest(), size_bytes=len(raw))
        for path, raw in sorted(files.items())
        if path not in (MANIFEST, SIGNATURE)
    ]
    return Manifest(created_at=created_at, grader=__version__, files=listed)


def to_json(found: Manifest) -> bytes:
    """Return the manifest's bytes: same record, same bytes."""
    text = json.dumps(found.model_dump(mode="json"), indent=1, ensure_ascii=False, allow_nan=False)
    return text.encode() + b"\n"


def parse(raw: bytes) -> Manifest:
    """Return the manifest in these bytes.

    Raises: NotAManifest, also where the same record could have been written in another way: two
    readers of one manifest must not see two things.
    """
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise NotAManifest("it is no JSON") from error
    if not isinstance(value, dict) or value.get("kind") != KIND:
        raise NotAManifest("it does not say that it is a grade-portfolio")
    if value.get("schema_version") != 1 or isinstance(value.get("schema_version"), bool):
        raise NotAManifest(f"its schema is {value.get('schema_version')!r}, and only 1 is known")
    try:
        found = Manifest.model_validate_json(raw)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise NotAManifest(f"{where}: {first['msg']}") from error
    if to_json(found) != raw:
        raise NotAManifest("it is not written as `grade` writes it")
    return found
