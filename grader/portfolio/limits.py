"""How much a portfolio may hold; what is made within these limits can always be restored."""

from __future__ import annotations

MOST_FILES = 20_000
MOST_FILE_BYTES = 16 << 20
MOST_TOTAL_BYTES = 512 << 20
# Text packs ten to one, a bomb a thousand to one; small members cannot do harm.
MOST_RATIO = 200
RATIO_FROM_BYTES = 4 << 20


def is_bomb(size_bytes: int, packed_bytes: int) -> bool:
    """Return whether a member unpacks to far more than text does."""
    return size_bytes > max(RATIO_FROM_BYTES, MOST_RATIO * packed_bytes)
