"""Reads a stored receipt back, strictly: what is not one, or not whole, is said in plain words.

A file may come from anybody, so nothing of it is believed but its form.
"""

from __future__ import annotations

import json
import os
import re
import stat
from html.parser import HTMLParser
from math import prod
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from grader.errors import UsageProblem
from grader.receipt.escape import visible_line
from grader.records.base import Record
from grader.records.instructor import InstructorRecord
from grader.records.receipt import Receipt

Model = TypeVar("Model", bound=Record)
MOST_BYTES = 16 * 1024 * 1024
SCHEMA = 1
SCRIPT_ID = "grade-receipt"
# The first line of what is shown to an instructor alone; a page has it right behind its doctype.
MARK = "FOR THE INSTRUCTOR ALONE: this tells hidden inputs and expected values"
_MARKED = re.compile(rb"(?i:<!doctype[^>]*>\s*)?(?:<!-- )?" + re.escape(MARK.encode()))
_REASONS = {
    "extra_forbidden": f"is a field that schema {SCHEMA} does not have",
    "missing": "is missing",
}
# As many as NumPy knows, and more values than any machine holds.
_MOST_DIMENSIONS, _MOST_SIZE = 64, 1 << 48
_AGAIN = "copy it again from where it was made, or take the receipt that was handed out"


def receipt(path: str) -> Receipt:
    """Return the receipt in a `.json` file, or the one embedded in an `.html` page.

    Raises: UsageProblem, saying what is wrong with the file.
    """
    raw = _content(path, "receipt")
    if raw.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        raw = _embedded(raw, path)
    return _parsed(raw, path, Receipt, "receipt")


def instructor_record(path: str) -> InstructorRecord:
    """Return the instructor's record in a file. Raises: UsageProblem, as `receipt` does."""
    what = "instructor's record"
    found = _parsed(_content(path, "record"), path, InstructorRecord, what)
    reason = _misshapen(found)
    if reason:
        raise UsageProblem(f"{visible_line(path)} is no {what}: {reason}", next_step=_AGAIN)
    return found


def _misshapen(record: InstructorRecord) -> str:
    """Return what no array can be, of those in a record; empty where each can be one."""
    answers, pieces = record.written, [held for one in record.observed for held in one.held]
    arrays = [held.data for held in pieces]
    arrays += [held.data for one in answers for held in one.held]
    arrays += [data for one in answers for data in (one.expected, one.found) if data is not None]
    for data in arrays:
        if len(data.shape) > _MOST_DIMENSIONS or not all(0 <= n <= _MOST_SIZE for n in data.shape):
            return "an array in it has a shape that none can have"
        if len(data.values) > prod(data.shape):
            return "an array in it has more values than its shape"
    for held in pieces:
        if len(held.index) != len(held.data.shape):
            return "a device's piece in it has another number of dimensions than its place"
        if not all(len(pair) == 2 and 0 <= pair[0] <= pair[1] <= _MOST_SIZE for pair in held.index):
            return "a device's piece in it lies where none can"
    return ""


def unfit(value: object) -> str:
    """Return why no receipt holds this JSON value, empty where one may.

    A free field takes any number and any text, and neither can be written again as JSON.
    """
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        return "a text in it holds half a character (a lone surrogate)"
    except (ValueError, RecursionError):
        return "a number in it is too large"
    return ""


def is_instructors(raw: bytes) -> bool:
    """Return whether a file of any form says that it is for the instructor alone."""
    start = raw.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(b"{"):
        try:
            value = json.loads(start)
        except (ValueError, RecursionError):
            return False
        return isinstance(value, dict) and not {"instructor", "seed"}.isdisjoint(value)
    return _MARKED.match(start) is not None


def _content(path: str, what: str) -> bytes:
    place, shown = Path(path), visible_line(path)
    # A pipe in a file's place would block for ever.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        if place.is_dir():
            raise UsageProblem(
                f"{shown} is a folder, and one {what} is wanted here",
                next_step="name a .json file in it",
            )
        with os.fdopen(os.open(place, flags), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise UsageProblem(f"{shown} is no ordinary file", next_step=f"name a {what}")
            raw = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise UsageProblem(
            f"there is no file {shown}", next_step="check the name and the folder"
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageProblem(
            f"{shown} cannot be read: {reason}", next_step="check its name and permissions"
        ) from error
    if len(raw) > MOST_BYTES:
        raise UsageProblem(
            f"{shown} is larger than {MOST_BYTES >> 20} MiB, so it is no {what}",
            next_step=f"name the {what} itself",
        )
    if not raw.strip():
        raise UsageProblem(f"{shown} is empty", next_step=_AGAIN)
    return raw


class _Scripts(HTMLParser):
    """Collects the text of the data blocks that are called as a receipt is."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[str] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a block."""
        self._inside = tag == "script" and dict(attrs).get("id") == SCRIPT_ID
        if self._inside:
            self.blocks.append("")

    def handle_endtag(self, tag: str) -> None:
        """End a block."""
        self._inside = False

    def handle_data(self, data: str) -> None:
        """Add to the block that is open."""
        if self._inside:
            self.blocks[-1] += data


def _embedded(raw: bytes, path: str) -> bytes:
    page = _Scripts()
    page.feed(raw.decode("utf-8", "replace"))
    if len(page.blocks) == 1:
        return page.blocks[0].encode()
    told = f"holds {len(page.blocks)} receipts" if page.blocks else "holds no receipt's data"
    raise UsageProblem(
        f"the page {visible_line(path)} {told}", next_step="name the .json receipt instead"
    )


def _parsed(raw: bytes, path: str, model: type[Model], what: str) -> Model:
    shown = visible_line(path)
    try:
        fields = json.loads(raw, object_pairs_hook=_once, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        cut = error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated")
        told = "ends in the middle: it was cut" if cut else f"is not JSON: {error.msg}"
        raise UsageProblem(
            f"{shown} {told}",
            where=f"line {error.lineno}, column {error.colno}",
            next_step=_AGAIN,
        ) from error
    except (ValueError, RecursionError) as error:
        told = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise UsageProblem(f"{shown} is not JSON: {visible_line(told)}", next_step=_AGAIN) from None
    _refuse_others(fields, shown, model, what)
    if reason := unfit(fields):
        raise UsageProblem(f"{shown} is no {what}: {reason}", next_step=_AGAIN)
    try:
        return model.model_validate_json(raw.removeprefix(b"\xef\xbb\xbf"))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = visible_line(".".join(str(part) for part in first["loc"])) or "the whole"
        raise UsageProblem(
            f"{shown} is no {what} of schema {SCHEMA}: {key} "
            f"{_REASONS.get(first['type'], '- ' + first['msg'])}",
            where=f"{error.error_count()} problem(s) in all",
            next_step=_AGAIN,
        ) from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a field stands in it twice")
    return found


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is no number of JSON")


def _refuse_others(fields: Any, shown: str, model: type[Record], what: str) -> None:
    """Say what a file is that is well-formed and something else."""
    keys = set(fields) if isinstance(fields, dict) else set()
    other = ""
    if "payloadType" in keys:
        other = "a signature"
    elif "instructor" in keys:
        other = "an instructor's view of a receipt"
    elif "seed" in keys and model is Receipt:
        other = "an instructor's record"
    elif "verdict" in keys and model is InstructorRecord:
        other = "a receipt"
    if other:
        article = "an" if what[0] in "aeiou" else "a"
        raise UsageProblem(
            f"{shown} is {other}, and {article} {what} is wanted here",
            next_step="name the file beside it that is one",
        )
    version = fields.get("schema_version", SCHEMA) if isinstance(fields, dict) else SCHEMA
    if version != SCHEMA or isinstance(version, bool):
        raise UsageProblem(
            f"{shown} is of schema {visible_line(repr(version)[:40])}, "
            f"and this grade reads schema {SCHEMA}",
            next_step="use the version of grade that wrote it, or a newer one",
        )
