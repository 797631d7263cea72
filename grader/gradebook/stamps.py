"""Digests that tell whether a file of the results still is what would be written there.

A file need not be made again where it was made from the same things and still holds its bytes.
Whatever is not known for certain counts as another thing: at worst a file is made once more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from grader import __version__
from grader.receipt.files import read_ordinary

_PACKAGE = Path(__file__).resolve().parents[1]
# What turns a record into text; a correction there has to reach what was written before it.
_OURS = ("receipt", "records", "gradebook", "trust")


def digest(*parts: str | bytes) -> str:
    """Return the hex SHA-256 of the parts in their order; no two lists of parts look alike."""
    whole = hashlib.sha256()
    for part in parts:
        raw = part if isinstance(part, bytes) else part.encode(errors="surrogatepass")
        whole.update(len(raw).to_bytes(8, "big") + raw)
    return whole.hexdigest()


def tools(templates: Sequence[Path]) -> str:
    """Return a digest of all that turns a record into files: our own code, and the templates."""
    ours = (path for name in _OURS for path in (_PACKAGE / name).rglob("*.py"))
    theirs = (path for folder in templates for path in folder.rglob("*"))
    return digest(__version__, *_told(ours), *map(str, templates), *_told(theirs))


def _told(paths: Iterable[Path]) -> Iterator[str]:
    for path in sorted(paths):
        yield str(path)
        yield held(path)


def held(place: Path) -> str:
    """Return the digest of a file's bytes, an empty string where there is no such file."""
    try:
        return hashlib.sha256(read_ordinary(place)).hexdigest()
    except OSError:
        return ""
