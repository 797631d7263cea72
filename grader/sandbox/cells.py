"""Open a notebook in a throw-away process: its code cells out, everything else left alone.

Runs confined. It executes nothing of what it reads, and a notebook made to use up memory or to
crash the parser ends this process and nothing else.

The forms: https://nbformat.readthedocs.io/en/latest/format_description.html; in version 3
(https://ipython.org/ipython-doc/3/notebook/nbformat.html) cells lie in worksheets.
"""

from __future__ import annotations

import codecs
import json
import os
import re
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from grader import wire
from grader.records.cells import packed
from grader.sandbox import commands

MOST_CELLS = 5000
MOST_CODE_CHARS = 1024 * 1024
MOST_COMMANDS = 200
VERSIONS = (3, 4)
WORD_CHARS = 80
# A second one of these would be another notebook; elsewhere the last one counts, as in Jupyter.
_ONCE = frozenset({"nbformat", "cells", "worksheets", "cell_type", "source", "input"})
# Half a pair is no character, and Python reads no NUL.
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
_WIDE = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Unreadable(Exception):
    """Why a notebook cannot be read: a word that the coordinator knows, and its details."""

    def __init__(self, why: str, *details: str | int) -> None:
        super().__init__(why)
        self.why, self.details = why, list(details)


def main(jobs: BinaryIO, frames: BinaryIO) -> None:
    """Answer one job, the name of a file in the working directory, with its cells."""
    job = wire.read(jobs)
    if job is None:
        return
    with open(os.path.join(job["workdir"], job["filename"]), "rb") as file:
        raw = file.read()
    frames.write(wire.pack(opened(raw)))
    frames.flush()


def opened(raw: bytes, transformer: Callable[[], Any] = commands.transformer) -> dict[str, Any]:
    """Return the frame that tells a notebook's cells, or why there are none.

    Args:
        raw: the file.
        transformer: gives IPython's transformer; asked once, where a cell is no Python.
    """
    try:
        texts = [_checked(number, text) for number, text in enumerate(_sources(raw), 1)]
        made: dict[int, str] = {}
        told: list[list[Any]] = []
        manager = None
        for number, text in enumerate(texts, 1):
            if commands.is_python(text):
                continue
            manager = manager or transformer()
            made[number], found = _python(number, text, manager)
            told += [[number, line, command[:WORD_CHARS], what] for line, command, what in found]
    except Unreadable as problem:
        return {"t": "refused", "why": problem.why, "details": problem.details}
    except ImportError:
        return {"t": "refused", "why": "lacking", "details": []}
    except RecursionError:
        return {"t": "refused", "why": "deep", "details": []}
    except MemoryError:
        return {"t": "refused", "why": "memory", "details": []}
    python = [made.get(number, text) for number, text in enumerate(texts, 1)]
    said = told[:MOST_COMMANDS]
    return {"t": "cells", "texts": packed(texts), "python": packed(python), "commands": said}


def _python(number: int, text: str, manager: Any) -> tuple[str, list[commands.Told]]:
    try:
        return commands.python(text, manager)
    except commands.TooManyCommands:
        raise Unreadable("commands", number) from None
    except (SyntaxError, ValueError, LookupError, AssertionError):
        # Where IPython's own transformer gives up the text is judged as it stands.
        return text, []


def _sources(raw: bytes) -> list[str]:
    """Return the text of each code cell, in order."""
    found = _json(raw)
    if not isinstance(found, dict):
        raise Unreadable("form", "it is no JSON object")
    version = found.get("nbformat")
    if type(version) is not int:
        raise Unreadable("form", "it does not say its nbformat")
    if version not in VERSIONS:
        raise Unreadable("version", version)
    language = _language(found.get("metadata"))
    if language:
        raise Unreadable("language", language)
    texts = [_text(cell) for cell in _cells(found) if cell.get("cell_type") == "code"]
    if len(texts) > MOST_CELLS:
        raise Unreadable("many", len(texts))
    for number, text in enumerate(texts, 1):
        if text is None:
            raise Unreadable("cell", number)
    found_texts = [text for text in texts if text is not None]
    if sum(len(text) + 1 for text in found_texts) > MOST_CODE_CHARS:
        raise Unreadable("large")
    return found_texts


def _json(raw: bytes) -> Any:
    try:
        wide = raw.startswith(_WIDE)
        encoding = json.detect_encoding(raw) if wide else "utf-8"
        text = raw.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise Unreadable("encoding", f"0x{raw[error.start]:02x}", error.start) from None
    try:
        # Numbers matter in one place, and long ones take long.
        return json.loads(
            text, object_pairs_hook=_object, parse_float=lambda _: 0.0, parse_int=_short
        )
    except json.JSONDecodeError as error:
        raise Unreadable("json", error.lineno, error.colno, error.msg[:WORD_CHARS]) from None


def _short(text: str) -> int:
    return int(text) if len(text) < 10 else -1


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next((name for name in _ONCE.intersection(made) if names.count(name) > 1), None)
        if twice is not None:
            raise Unreadable("twice", twice)
    return made


def _language(metadata: Any) -> str:
    """Return the language a notebook says it is in, nothing for Python or where it says none."""
    known = metadata if isinstance(metadata, dict) else {}
    for key, word in (("language_info", "name"), ("kernelspec", "language")):
        part = known.get(key)
        said = part.get(word) if isinstance(part, dict) else None
        if isinstance(said, str) and said.strip():
            is_python = "python" in said.lower()
            return "" if is_python else said.strip()[:WORD_CHARS]
    return ""


def _cells(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    sheets = found.get("worksheets") if found["nbformat"] < 4 else [found]
    if not isinstance(sheets, list):
        raise Unreadable("form", "it has no list of worksheets")
    for sheet in sheets:
        cells = sheet.get("cells") if isinstance(sheet, dict) else None
        if not isinstance(cells, list):
            raise Unreadable("form", "it has no list of cells")
        for cell in cells:
            if not isinstance(cell, dict):
                raise Unreadable("form", "one of its cells is none")
            yield cell


def _text(cell: dict[str, Any]) -> str | None:
    """Return the text of a cell, None where it has none."""
    source = cell.get("source", cell.get("input"))
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    return source if isinstance(source, str) else None


def _checked(number: int, text: str) -> str:
    """Return a cell's text with plain line ends and none at its end; what is no text is refused."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")
    found = _NO_TEXT.search(text)
    if found is not None:
        line = text.count("\n", 0, found.start()) + 1
        raise Unreadable("text", number, line, f"U+{ord(found[0]):04X}")
    return text
