"""File names for receipts: safe on every common file system, and one name for one file.

It never looks at a receipt's content and never touches the disk.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator

# What Windows refuses in a name, so that a folder of receipts can be copied there.
_FORBIDDEN = frozenset('<>:"/\\|?*')
_DEVICE = re.compile(r"(?i)(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)")
_MOST_CHARS = 100
# A name may have 255 bytes; the date, a digest and the endings need the rest.
_MOST_BYTES = 180


def safe_stem(name: str) -> str:
    """Return `name` as a file name without a separator, leading dot or hidden character, in NFC."""
    composed = unicodedata.normalize("NFC", name)
    kept = "".join(c if c.isprintable() and c not in _FORBIDDEN else "_" for c in composed)
    kept = kept[:_MOST_CHARS].encode()[:_MOST_BYTES].decode(errors="ignore")
    kept = kept.strip(" ").rstrip(". ")
    kept = re.sub(r"^\.+", "_", kept)
    return f"_{kept}" if not kept or _DEVICE.match(kept) else kept


def stem_of(file_name: str) -> str:
    """Return the safe stem of a submission's file name: the name without its last ending."""
    stem = safe_stem(file_name.rsplit(".", 1)[0] or file_name)
    # Those are the endings of other forms of a receipt.
    return re.sub(r"(?i)\.(instructor|dsse)$", r"-\1", stem)


def owner_of(file_name: str, origin: str) -> str:
    """Return the digest that tells one submitted file from another, without naming its folder."""
    return hashlib.sha256(f"{file_name}\0{origin}".encode(errors="surrogatepass")).hexdigest()


def candidates(stem: str, owner: str) -> Iterator[str]:
    """Yield the stems to try for this owner: the plain one, then longer and longer digests."""
    yield stem
    for length in (8, 16, 32, 64):
        yield f"{stem}-{owner[:length]}"


def moment(created_at: str) -> str:
    """Return a receipt's date as part of a file name: `2026-03-01T10-20-30Z`."""
    return re.sub(r"[^0-9A-Za-z+-]+", "-", created_at[:40]).strip("-") or "undated"
