"""Read answers to `grade predict` from a TOML or JSON file; nothing wrong in it is passed over."""

from __future__ import annotations

import difflib
import json
import os
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader import answers
from grader.errors import UsageProblem
from grader.receipt.escape import visible_line

if TYPE_CHECKING:
    from grader.catalog.questions import Question

MOST_BYTES = 1 << 18
_YES_NO = {"yes": True, "no": False}


def read(path: Path, questions: Sequence[Question]) -> dict[str, answers.Value]:
    """Return the answers in a file by question.

    Raises: UsageProblem, naming the file and the key; then no answer of it counts.
    """
    shown = visible_line(str(path))
    found = _parsed(_text(path, shown), path.suffix.lower(), shown)
    known = {question.id: question for question in questions}
    if not found:
        raise UsageProblem(
            f"{shown} holds no answer",
            next_step=f"write one, for example: {_example(questions[0])}",
        )
    for key in found:
        if key not in known:
            raise _unknown(key, list(known), shown)
    return {key: _value(known[key], value, shown) for key, value in found.items()}


def _text(path: Path, shown: str) -> str:
    try:
        # A pipe in its place would block for ever; what a shell hands over (/dev/fd) may be one.
        if path.is_dir():
            raise UsageProblem(f"{shown} is a folder", next_step="name a TOML or JSON file")
        flags = os.O_RDONLY | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(path, flags), "rb") as file:
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
            f"{shown} is larger than {MOST_BYTES >> 10} KiB, so it holds no answers",
            next_step="name the file with the answers",
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageProblem(
            f"{shown} is not UTF-8 text (byte {error.start})", next_step="save it as UTF-8"
        ) from error


def _parsed(text: str, suffix: str, shown: str) -> dict[str, Any]:
    form = "JSON" if suffix == ".json" or (suffix != ".toml" and text[:1] == "{") else "TOML"
    try:
        found = json.loads(text, object_pairs_hook=_once) if form == "JSON" else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise UsageProblem(
            f"{shown} is not {form}: {visible_line(str(why))}", next_step="mend that place"
        ) from error
    if not isinstance(found, dict):
        raise UsageProblem(
            f"{shown} holds no answers by question",
            next_step='write {"QUESTION": ANSWER, ...}',
        )
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice is not None:
        raise ValueError(f"{twice!r} stands there twice")
    return dict(pairs)


def _unknown(key: str, known: list[str], shown: str) -> UsageProblem:
    close = difflib.get_close_matches(key, known, n=1, cutoff=0.4)
    all_of_them = f"the questions are {', '.join(known)}"
    return UsageProblem(
        f"{shown}: there is no question {visible_line(repr(key))}",
        next_step=f"did you mean {close[0]}? {all_of_them}" if close else all_of_them,
    )


def _value(question: Question, value: Any, shown: str) -> answers.Value:
    if question.kind == "text" and isinstance(value, str) and len(value) <= answers.LONGEST:
        # A receipt is UTF-8, which has no half characters.
        return value.encode("utf-8", "replace").decode("utf-8")
    if question.kind == "values_per_device":
        if type(value) is int and 0 <= value <= answers.MOST_COUNT:
            return value
    elif question.kind != "text":
        value = _YES_NO.get(value.lower()) if isinstance(value, str) else value
        if isinstance(value, bool):
            return value
    wanted = {
        "values_per_device": "a whole number, 0 or more",
        "text": f"a text of at most {answers.LONGEST} characters",
    }.get(question.kind, "yes or no (true or false)")
    raise UsageProblem(
        f"{shown}: {question.id} has to be {wanted}",
        next_step=f"for example: {_example(question)}; nothing was kept",
    )


def _example(question: Question) -> str:
    value = {"values_per_device": "4", "text": '"because ..."'}.get(question.kind, "true")
    return f"{question.id} = {value}"
