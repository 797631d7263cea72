"""Cells that no spreadsheet takes for a formula, and back."""

from __future__ import annotations

import re

# What makes a spreadsheet take a cell for a formula, the full-width forms included.
_ACTS = re.compile("'*[=+\\-@\t\r\n＝＋－＠]")


def safe(text: str) -> str:
    """Return `text` so that no spreadsheet runs it: an apostrophe stands before what would act."""
    return f"'{text}" if _ACTS.match(text) else text


def plain(cell: str) -> str:
    """Return the text that `safe` made a cell of."""
    return cell[1:] if cell.startswith("'") and _ACTS.match(cell) else cell
