"""Notebooks as bytes, of every version that is read."""

from __future__ import annotations

import json
from typing import Any


def notebook(*cells: str | dict[str, Any], **facts: Any) -> bytes:
    """Return a notebook of nbformat 4 with these code cells; `facts` replace what it says."""
    made = [cell if isinstance(cell, dict) else code(cell) for cell in cells]
    whole = {"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **facts}
    return json.dumps(whole).encode()


def code(text: str, **facts: Any) -> dict[str, Any]:
    """Return one code cell."""
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": text.splitlines(keepends=True),
        **facts,
    }


def text(said: str) -> dict[str, Any]:
    """Return one cell of Markdown."""
    return {"cell_type": "markdown", "metadata": {}, "source": said}


def old(*sheets: list[str]) -> bytes:
    """Return a notebook of nbformat 3 with code cells in worksheets."""
    worksheets = [
        {
            "cells": [
                {"cell_type": "heading", "level": 1, "source": "Old"},
                *(
                    {"cell_type": "code", "input": one, "language": "python", "outputs": []}
                    for one in sheet
                ),
            ]
        }
        for sheet in sheets
    ]
    return json.dumps({"metadata": {}, "nbformat": 3, "worksheets": worksheets}).encode()
