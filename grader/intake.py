"""Look at a submission's bytes before anything runs: what cannot be code is said in plain words.

It must never execute or parse the file; it only decodes.
"""

from __future__ import annotations

import codecs
import hashlib
import io
import os
import re
import tokenize
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from grader.errors import UsageProblem
from grader.records.evidence import Outcome
from grader.records.submission import Submission

# What is read of a file: a notebook may hold images. Code needs far less.
MOST_BYTES = 64 * 1024 * 1024
MOST_MODULE_BYTES = 16 * 1024 * 1024
MOST_SIBLING_BYTES = 1024 * 1024
_UTF16 = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# Legal inside a Python string, but a file that cannot be decoded and has these is no text.
_CONTROL = re.compile(rb"[\x01-\x08\x0e-\x1f\x7f]")
_LONE_CR = re.compile(rb"\r(?!\n)")
# Codecs whose work grows with the text alone; punycode, say, would take hours for a large file.
_TEXT = re.compile(
    r"utf[-_](8|16|32)([-_]\w+)?|ascii|iso8859-\d+|cp\d+|koi8-\w|mac-\w+|gb\w+|hz|big5\w*"
    r"|shift_jis\w*|euc_\w+|iso2022_\w+|johab|ptcp154|kz1048|tis-620|hp-roman8"
)
_NEWLINE = re.compile(r"\r\n|\r|\n")


def read(path: str) -> Submission:
    """Return the submission at `path`.

    Raises:
        UsageProblem: there is no readable file; nothing was graded.
    """
    place, shown = Path(path), _shown(path)
    if not path:
        raise UsageProblem("the file has an empty name", next_step="name one .py file")
    try:
        if place.is_symlink() and not place.exists():
            raise UsageProblem(
                f"{shown} is a link to nowhere", next_step="name the file it should point to"
            )
        if place.is_dir():
            raise UsageProblem(
                f"{shown} is a folder, and one file is wanted here",
                next_step="name a file in it; `grade EXERCISE FOLDER` grades everybody in it",
            )
        if place.exists() and not place.is_file():
            raise UsageProblem(f"{shown} is no ordinary file", next_step="name a .py file")
        with place.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
            whole = _measured(file, raw) if len(raw) > MOST_BYTES else None
    except FileNotFoundError:
        raise UsageProblem(f"there is no file {shown}", next_step=_nearby(place)) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageProblem(
            f"{shown} cannot be read: {reason}", next_step="check its name and permissions"
        ) from error
    # A name need not be text, but a receipt is: its bytes that are none are replaced.
    return Submission(os.fsencode(place.name).decode("utf-8", "replace"), path, raw, whole)


def with_siblings(submission: Submission, names: Sequence[str]) -> Submission:
    """Return the submission with those of the named files that lie beside it.

    A link is not followed: it could lead to a file that is nobody's business here.

    Raises:
        UsageProblem: such a file is there and cannot be taken.
    """
    found = []
    for name in names:
        place = Path(submission.path).parent / name
        if name == submission.name or not os.path.lexists(place):
            continue
        if place.is_symlink() or not place.is_file():
            raise UsageProblem(
                f"{_shown(str(place))} is no ordinary file",
                next_step="put the file itself there, or take it away",
            )
        try:
            with place.open("rb") as file:
                raw = file.read(MOST_SIBLING_BYTES + 1)
        except OSError as error:
            raise UsageProblem(
                f"{_shown(str(place))} cannot be read: {error.strerror}",
                next_step="check its permissions",
            ) from error
        if len(raw) > MOST_SIBLING_BYTES:
            raise UsageProblem(
                f"{_shown(str(place))} is larger than {MOST_SIBLING_BYTES >> 20} MiB",
                next_step="a file beside a submission may hold no more",
            )
        found.append((name, raw))
    return replace(submission, siblings=tuple(found))


def _shown(path: str) -> str:
    """Return the name as a message shows it: a line end or an escape sequence spelled out."""
    return path if path.isprintable() else repr(path)


def _measured(file: BinaryIO, beginning: bytes) -> tuple[int, str]:
    """Return size and hex SHA-256 of a file that is too large to hold."""
    digest, size = hashlib.sha256(beginning), len(beginning)
    while chunk := file.read(1 << 20):
        digest.update(chunk)
        size += len(chunk)
    return size, digest.hexdigest()


def _nearby(path: Path) -> str:
    import difflib

    try:
        names = [entry.name for entry in path.parent.iterdir() if entry.is_file()]
    except OSError:
        names = []
    close = difflib.get_close_matches(path.name, names, n=1, cutoff=0.6)
    return (
        f"did you mean {_shown(str(path.parent / close[0]))}?"
        if close
        else "check the name and the folder"
    )


def problem(submission: Submission) -> Outcome | None:
    """Return why these bytes cannot be a module or a notebook, None when they may be one."""
    raw, name = submission.raw, submission.name
    if submission.format == "ipynb":
        return _no_notebook(name, raw)
    if len(raw) > MOST_MODULE_BYTES:
        size = MOST_MODULE_BYTES >> 20
        return _refused(f"{name} is larger than {size} MiB", "move data out of it")
    if _is_notebook(raw):
        return _refused(
            f"{name} is a notebook and is not called one",
            f"call it {submission.stem}.ipynb, and grade that",
        )
    if raw.startswith(_UTF16) or _looks_utf16(raw):
        return _refused(
            f"{name} is UTF-16 text, which Python does not import", "save it again as UTF-8"
        )
    if b"\0" in raw:
        line = _line(raw, raw.index(b"\0"))
        return _refused(
            f"{name} holds NUL bytes (line {line}): it is not a text file",
            "grade the .py file itself, not a compiled or packed one",
            line,
        )
    return _undecodable(name, raw)


def _no_notebook(name: str, raw: bytes) -> Outcome | None:
    """Return why a file that is called a notebook is none at first sight."""
    if len(raw) > MOST_BYTES:
        step = "clear the outputs that are large, save it, and grade that file"
        return _refused(f"{name} is larger than {MOST_BYTES >> 20} MiB", step)
    start = raw[:4096].removeprefix(codecs.BOM_UTF8).lstrip()
    if start.startswith(b"{") or raw.startswith(_UTF16):
        return None
    if not start:
        return _refused(f"{name} is empty: it holds no notebook", "save it again in Jupyter")
    return _refused(
        f"{name} is called a notebook and holds none: a notebook is JSON and begins with {{",
        "if it holds Python code, give it a name that ends in .py, and grade that",
    )


def _line(raw: bytes, at: int) -> int:
    # Python ends a line at a lone carriage return too.
    return raw.count(b"\n", 0, at) + len(_LONE_CR.findall(raw, 0, at)) + 1


def _refused(message: str, next_step: str, line: int | None = None) -> Outcome:
    return Outcome("syntax_error", message, line, next_step=next_step)


def _is_notebook(raw: bytes) -> bool:
    start = raw[:4096].lstrip(codecs.BOM_UTF8).lstrip()
    cells = b'"cells"' in raw or b'"worksheets"' in raw
    return start.startswith(b"{") and cells and b'"nbformat"' in raw


def _looks_utf16(raw: bytes) -> bool:
    sample = raw[:400]
    return len(sample) >= 8 and sample.count(b"\0") * 3 > len(sample) and raw.isascii()


def _undecodable(name: str, raw: bytes) -> Outcome | None:
    encoding, complaint = _encoding(raw)
    try:
        raw.decode(encoding)
    except UnicodeDecodeError as error:
        line = _line(raw, error.start)
        control = _CONTROL.search(raw)
        if control is not None:
            return _refused(
                f"{name} holds bytes that no text has (0x{control[0].hex()}): it is no text file",
                "grade the .py file itself, not a compiled or packed one",
                line,
            )
        return _refused(
            f"{name}, line {line}: the byte 0x{raw[error.start]:02x} is not {error.encoding}",
            "save it as UTF-8, or say its encoding in the first line: # -*- coding: latin-1 -*-",
            line,
        )
    except (LookupError, UnicodeError) as error:
        complaint = str(error)
    if complaint:
        return _refused(f"{name}: {complaint}", "correct the coding line at the top", 1)
    return None


def _encoding(raw: bytes) -> tuple[str, str]:
    """Return the encoding that Python would take, and what is wrong with its coding line."""
    try:
        found = tokenize.detect_encoding(io.BytesIO(raw).readline)[0]
        if _TEXT.fullmatch(codecs.lookup(found).name):
            return found, ""
        return "utf-8", f"its coding line names {found}, in which no text file is written"
    except SyntaxError as error:
        # Either the coding line names nothing known, or the first lines are not UTF-8.
        return "utf-8", error.msg


def is_empty(submission: Submission) -> bool:
    """Return whether nothing but blank space and comments is there."""
    return all(
        not line.strip() or line.strip().startswith(b"#")
        for line in submission.source.removeprefix(codecs.BOM_UTF8).splitlines()
    )


def lines(submission: Submission, wanted: Iterable[int | None]) -> dict[int, str]:
    """Return the text of some lines by number, as far as the file can be decoded."""
    numbers = sorted({n for n in wanted if n is not None and n > 0})
    if not numbers:
        return {}
    source = submission.source
    # In a notebook no line can name an encoding.
    encoding = _encoding(source)[0] if submission.cells is None else "utf-8"
    try:
        text = source.decode(encoding, "replace")
    except (LookupError, UnicodeError):
        text = source.decode("utf-8", "replace")
    text = text.removeprefix("\ufeff")
    every = _NEWLINE.split(text)
    return {n: every[n - 1][:400] for n in numbers if n <= len(every)}
