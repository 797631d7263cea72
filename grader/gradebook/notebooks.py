"""The code of a notebook as one module: its code cells in their order, and nothing else of it.

It only reads JSON. What is no Python in a cell, such as a command of IPython, is left out.
"""

from __future__ import annotations

import codecs
import json
import re
from typing import Any

# Commands about the cell below them, which stays Python; below any other stands something else.
_ABOUT_CELLS = re.compile(r"%%(?:time|timeit|capture|prun)\b")
# Of a line without the blanks around it; `% y` may go on with a formatted text above it.
_COMMAND = re.compile(r"%{1,2}[A-Za-z]|[!?]|[^#'\"]*[^\s#'\"]\?{1,2}$")
_NONE = "a notebook that cannot be read"


def code(raw: bytes) -> bytes | str | None:
    """Return the code of a notebook, why it cannot be read, or None for what is no notebook."""
    if not raw[:4096].removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"{"):
        return None
    if b'"cells"' not in raw and b'"worksheets"' not in raw:
        return None
    try:
        found = json.loads(raw.removeprefix(codecs.BOM_UTF8))
        return "\n\n".join(filter(None, map(_cell, _cells(found)))).encode(errors="replace")
    except (ValueError, RecursionError, MemoryError):
        return _NONE


def _cells(found: Any) -> list[Any]:
    """Return the cells; before version 4 they lay in sheets."""
    if not isinstance(found, dict):
        raise ValueError(_NONE)
    sheets = found["worksheets"] if isinstance(found.get("worksheets"), list) else [found]
    return [
        cell
        for sheet in sheets
        if isinstance(sheet, dict) and isinstance(sheet.get("cells"), list)
        for cell in sheet["cells"]
    ]


def _cell(cell: Any) -> str:
    """Return a code cell as Python, nothing for any other cell."""
    if not isinstance(cell, dict) or cell.get("cell_type") != "code":
        return ""
    source = cell.get("source", cell.get("input", ""))
    lines = source if isinstance(source, list) else [source]
    text = "".join(line for line in lines if isinstance(line, str))
    if text.lstrip().startswith("%%") and not _ABOUT_CELLS.match(text.lstrip()):
        return ""
    return "\n".join(map(_python, text.splitlines()))


def _python(line: str) -> str:
    """Return a line of Python; a command becomes what does nothing: a block may hold it alone."""
    bare = line.strip()
    return f"{line[: len(line) - len(line.lstrip())]}pass" if _COMMAND.match(bare) else line
