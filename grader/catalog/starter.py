"""Make the notebook form of a starter: the same statements, its comments as text between the cells.

The same bytes come out for the same starter, so that a test and the audit can keep the two in step.
The form is nbformat 4.5: https://nbformat.readthedocs.io/en/latest/format_description.html
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from grader.errors import ContentProblem

_PART = "# %%"
_TODO = re.compile(r"TODO(?: +(\w+))?  +")
_ASIDE = re.compile(r"(?:Use|Think):")
_WRITTEN = ast.Assign | ast.AnnAssign | ast.Import | ast.ImportFrom | ast.FunctionDef
Kind = Literal["markdown", "code"]


@dataclass(frozen=True)
class Piece:
    """Some lines of a starter that become one cell, or part of one."""

    kind: Kind
    text: str


def notebook(source: str, exercise: str) -> bytes:
    """Return the notebook of a starter, as UTF-8.

    Each part (a line `# %% Title`) is a heading; comments below it and those with a TODO are text,
    commented-out code and statements are code cells.

    Args:
        source: the text of `starter.py`.
        exercise: its id, after which learners name the file.

    Raises: SyntaxError where the starter is no Python.
    """
    pieces = list(_joined(_pieces(source, exercise)))
    seen: dict[str, int] = {}
    cells = [_cell(piece, seen) for piece in pieces]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return (json.dumps(whole, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()


def of(folder: Path, exercise: str) -> bytes:
    """Return the notebook of the starter in an exercise's folder. Raises: ContentProblem."""
    place = folder / "starter.py"
    try:
        return notebook(place.read_text(encoding="utf-8"), exercise)
    except (OSError, SyntaxError, ValueError) as error:
        why = getattr(error, "strerror", None) or getattr(error, "msg", None) or error
        line = f" at line {error.lineno}" if isinstance(error, SyntaxError) else ""
        raise ContentProblem(
            f"no notebook can be made of the starter of {exercise}: {why}{line}",
            where=str(place),
            next_step="mend starter.py",
        ) from error


def code(raw: bytes) -> str:
    """Return the code of a notebook that `notebook` made, cell after cell."""
    found = json.loads(raw)
    texts = ["".join(cell["source"]) for cell in found["cells"] if cell["cell_type"] == "code"]
    return "\n\n".join(texts) + "\n"


def _cell(piece: Piece, seen: dict[str, int]) -> dict[str, Any]:
    digest = hashlib.sha256(f"{piece.kind}\n{piece.text}".encode()).hexdigest()[:12]
    seen[digest] = seen.get(digest, 0) + 1
    made: dict[str, Any] = {
        "cell_type": piece.kind,
        "id": digest if seen[digest] == 1 else f"{digest}-{seen[digest]}",
        "metadata": {},
        "source": piece.text.splitlines(keepends=True),
    }
    return made if piece.kind == "markdown" else {**made, "execution_count": None, "outputs": []}


def _pieces(source: str, exercise: str) -> Iterator[Piece]:
    tree = ast.parse(source)
    lines = source.splitlines()
    docstring = ast.get_docstring(tree)
    statements = tree.body
    if docstring is not None:
        yield Piece("markdown", _introduction(docstring, exercise))
        statements = statements[1:]
    first = tree.body[0].end_lineno or 0 if docstring is not None else 0
    busy = {
        number
        for statement in statements
        for number in range(_start(statement), (statement.end_lineno or 0) + 1)
    }
    block: list[str] = []
    for number in range(first + 1, len(lines) + 1):
        line = lines[number - 1]
        if line.startswith(_PART) and number not in busy and block:
            yield from _part(block)
            block = []
        # What a statement holds is never looked at as a comment.
        block.append(f"\0{line}" if number in busy else line)
    yield from _part(block)


def _start(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(one.lineno for one in decorators)])


def _introduction(docstring: str, exercise: str) -> str:
    """Return the docstring as Markdown; of its commands those that fit a notebook."""
    title, _, rest = docstring.partition("\n")
    kept = [
        line.replace(f"{exercise}.py", f"{exercise}.ipynb")
        for line in rest.strip("\n").split("\n")
        if not line.strip().startswith("python ")
    ]
    return f"# {title.rstrip('.')}\n\n" + "\n".join(kept).rstrip()


def _part(block: list[str]) -> Iterator[Piece]:
    """Yield the pieces of one part; comments but those at its head and the TODOs stay in code."""
    head = block[0].startswith(_PART) if block else False
    if head:
        yield Piece("markdown", f"## {block[0].removeprefix(_PART).strip()}")
    beneath, kept = head, list[str]()
    for run in _runs(block[1:] if head else block):
        comment = run[0].startswith("#")
        if comment and (beneath or any("TODO" in line for line in run)):
            yield from _statements(kept)
            kept = []
            yield from _comment(run)
        else:
            kept += run
        beneath = False
    yield from _statements(kept)


def _statements(lines: list[str]) -> Iterator[Piece]:
    text = "\n".join(line.removeprefix("\0") for line in lines).strip("\n")
    if text.strip():
        yield Piece("code", text)


def _runs(lines: list[str]) -> Iterator[list[str]]:
    """Yield runs of comment lines, and of all that stands between them."""
    run: list[str] = []
    for line in lines:
        if run and line.startswith("#") != run[0].startswith("#"):
            yield run
            run = []
        run.append(line)
    if run:
        yield run


def _comment(run: list[str]) -> Iterator[Piece]:
    """Yield the paragraphs of a comment: text, or code that waits to be filled in."""
    paragraph: list[str] = []
    for line in [*run, "#"]:
        if line.strip() != "#":
            paragraph.append(line)
        elif paragraph:
            waits = _is_code(paragraph)
            text = "\n".join(paragraph) if waits else _prose(paragraph)
            yield Piece("code" if waits else "markdown", text)
            paragraph = []


def _is_code(paragraph: list[str]) -> bool:
    text = "\n".join(line.removeprefix("#").removeprefix(" ") for line in paragraph)
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError):
        return False
    return bool(body) and all(isinstance(one, _WRITTEN) for one in body)


def _prose(paragraph: list[str]) -> str:
    """Return a comment as Markdown: the TODO in bold, what is set in deeper as it stands."""
    lines = [line.removeprefix("#").removeprefix(" ").rstrip() for line in paragraph]
    todo = _TODO.match(lines[0])
    if todo:
        label = f"TODO {todo[1]}" if todo[1] else "TODO"
        lines[0] = f"**{label}**  {lines[0][todo.end() :]}"
    # Text goes on below the first word after the TODO; what is set in deeper is a table.
    base = min([*(_indent(line) for line in lines[1:]), *([todo.end()] if todo else [])], default=0)
    said, deeper = [lines[0].strip()], False
    for line in lines[1:]:
        text, now = line.strip(), _indent(line) > base
        if now != deeper or _ASIDE.match(text):
            said.append("")
        said.append("    " + line[base:].removeprefix("    ") if now else text)
        deeper = now
    return "\n".join(said)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _joined(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Yield the pieces, those of a kind that follow one another as one cell.

    A TODO that asks for no code of its own is followed by an empty cell.
    """
    held: list[Piece] = []
    for piece in pieces:
        if held and piece.kind != held[-1].kind:
            yield _one(held)
            held = []
        elif held and _is_todo(held[-1]) and (_is_todo(piece) or piece.text.startswith("## ")):
            yield from (_one(held), Piece("code", ""))
            held = []
        held.append(piece)
    if held:
        yield _one(held)


def _is_todo(piece: Piece) -> bool:
    return piece.kind == "markdown" and piece.text.startswith("**TODO")


def _one(pieces: list[Piece]) -> Piece:
    between = "\n\n" if pieces[0].kind == "markdown" else "\n\n\n"
    return Piece(pieces[0].kind, between.join(piece.text for piece in pieces))
