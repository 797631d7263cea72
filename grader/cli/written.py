"""Look whether a file beside the user assigns a name, as text; nothing of it is run or imported.

A grade takes what a submission says of itself before what `grade predict` and `grade quiz`
remember, so whoever answers here has to know of it.
"""

from __future__ import annotations

import ast
import io
import json
import os
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.catalog.carried import carried
from grader.catalog.load import Entry
from grader.receipt.escape import visible_line
from grader.receipt.naming import stem_of

_ENDINGS = (".py", ".ipynb")
_MOST_FILES = 20
_MOST_ENTRIES = 2000
_MOST_BYTES = 4 << 20
_MOST_CODE = 1 << 18
_SPACE = (tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT)
_NOTHING = ("None", "...")


@dataclass(frozen=True)
class Written:
    """Where a file assigns a name at module level; `text` is a string that stands there alone."""

    file: str
    place: str
    text: str | None


def found(entry: Entry, name: str, folder: Path = Path()) -> Written | None:
    """Return where a submission of an exercise in a folder assigns a name, None where none does.

    A submission carries the exercise's id in its name, or was graded here before and carries none;
    the one that was changed last counts. `None` and `...` are no answer.
    """
    files = sorted(_submissions(entry, folder), key=_changed_at, reverse=True)
    for path in files[:_MOST_FILES]:
        last = None
        for place, code in _code(path):
            for line, text in _assigned(code, name):
                last = Written(visible_line(path.name), f"{place}line {line}", text)
        if last is not None:
            return last
    return None


def _submissions(entry: Entry, folder: Path) -> Iterator[Path]:
    exercise, ids = entry.exercise.id, entry.course.ids()
    receipts = folder / "receipts" / exercise
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry, _ in zip(entries, range(_MOST_ENTRIES), strict=False)]
    except OSError:
        return
    for name in names:
        if not name.lower().endswith(_ENDINGS) or not (folder / name).is_file():
            continue
        whose = carried(name, ids)
        if whose == exercise or (not whose and (receipts / f"{stem_of(name)}.json").exists()):
            yield folder / name


def _changed_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _code(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the texts of code in a file, each with how its place begins."""
    try:
        with path.open("rb") as file:
            text = file.read(_MOST_BYTES).decode("utf-8-sig", "replace")
        if not path.name.lower().endswith(".ipynb"):
            yield "", text[:_MOST_CODE]
            return
        cells = json.loads(text)["cells"]
        for number, cell in enumerate(cells, start=1):
            if cell["cell_type"] == "code":
                yield f"cell {number}, ", "".join(cell["source"])[:_MOST_CODE]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return  # `grade` itself says what is wrong with it


def _assigned(code: str, name: str) -> Iterator[tuple[int, str | None]]:
    """Yield each line that assigns `name` at the margin, with the string it assigns, if it is one.

    Only tokens are looked at: a text that is no Python gives what stands before the fault.
    """
    for line in _statements(code):
        words = [token.string for token in line]
        if line[0].start[1] or words[0] != name or "=" not in words[1:]:
            continue
        sign = words.index("=")
        value = line[sign + 1 :]
        if sign > 1 and words[1] != ":":
            continue
        if value and value[0].string not in _NOTHING:
            alone = len(value) == 1 and value[0].type == tokenize.STRING
            yield line[0].start[0], _string(value[0].string) if alone else None


def _statements(code: str) -> Iterator[list[tokenize.TokenInfo]]:
    """Yield the tokens of each logical line that holds any."""
    line: list[tokenize.TokenInfo] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            if token.type in (tokenize.NEWLINE, tokenize.ENDMARKER):
                if line:
                    yield line
                line = []
            elif token.type not in _SPACE:
                line.append(token)
    except (tokenize.TokenError, SyntaxError):
        return


def _string(token: str) -> str | None:
    try:
        value = ast.literal_eval(token)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return value if isinstance(value, str) else None
