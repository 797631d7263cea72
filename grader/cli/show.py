"""`grade show EXERCISE`: the prompt."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections.abc import Iterator

import click

from grader.catalog import course as courses
from grader.catalog.load import entry
from grader.cli import options, paragraphs
from grader.errors import ContentProblem


@click.command("show")
@click.argument("exercise")
@options.course
def command(exercise: str, course: str | None) -> None:
    """Print the prompt of EXERCISE.

    Example: grade show distributed-03
    """
    path = entry(courses.find(course), exercise).folder / "prompt.md"
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ContentProblem(
            f"the prompt of {exercise} cannot be read: {error}",
            where=str(path),
            next_step="restore prompt.md",
        ) from error
    if not sys.stdout.isatty():
        # A file gets it as it is; who names a width wants to read it.
        if os.environ.get("COLUMNS", "").isdecimal():
            text = wrapped(text, paragraphs.wide())
        click.echo(text, nl=False)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(text))


_FENCE = re.compile(r" {0,3}(```|~~~)")
# Code, headings, tables and quotations stay as they are.
_KEPT = re.compile(r" {4}|\t| {0,3}[#|>]|\s*$")
_ENTRY = re.compile(r"(\s*(?:[-*+]|\d+[.)]) +)\S")


def wrapped(text: str, width: int) -> str:
    """Return Markdown whose prose is `width` columns wide; all else stays as it is."""
    lines: list[str] = []
    prose: list[str] = []
    margin, fenced = "", False
    for line in text.splitlines():
        entry = _ENTRY.match(line)
        fence = _FENCE.match(line) is not None
        goes_on = bool(prose) and line.strip() and not entry and not line.lstrip().startswith("|")
        if not fenced and not fence and (entry or goes_on or not _KEPT.match(line)):
            if entry:
                lines += _filled(prose, margin, width)
                prose, margin = [], " " * len(entry[1])
            prose.append(line)
            continue
        lines += [*_filled(prose, margin, width), line]
        prose, margin, fenced = [], "", fenced != fence
    return "\n".join([*lines, *_filled(prose, margin, width)]) + "\n"


def _filled(prose: list[str], margin: str, width: int) -> Iterator[str]:
    if prose:
        first, rest = prose[0].rstrip(), [line.strip() for line in prose[1:]]
        # What stands between backticks is not broken.
        whole = re.sub(r"`[^`]*`", lambda m: m[0].replace(" ", "\0"), " ".join([first, *rest]))
        for line in textwrap.wrap(
            whole,
            width,
            subsequent_indent=margin,
            break_on_hyphens=False,
            break_long_words=False,
        ):
            yield line.replace("\0", " ")
