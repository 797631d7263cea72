"""Print texts of a course beside a label, and find the name that was meant."""

from __future__ import annotations

import difflib
import shutil
import sys
import textwrap
from collections.abc import Mapping
from typing import TypeVar

import click

from grader.cli import language
from grader.errors import UsageProblem

WIDTH = 88
_LABEL = 12
Value = TypeVar("Value")


def show(text: str, label: str) -> None:
    """Print a text with `label` before it; lines that begin with blanks stay as they are.

    Effects: wraps to the terminal's width, and no wider than is good to read.
    """
    # Several lines are a course's own.
    text, label = text if "\n" in text.strip("\n") else said(text), said(label)
    lead = max(_LABEL, len(label) + 1)
    width = wide()
    lines: list[str] = []
    for part in text.strip("\n").split("\n"):
        kept = part[:1].isspace() or not part
        lines += (
            [part.rstrip()]
            if kept
            else textwrap.wrap(part, width - lead - 2, break_on_hyphens=False)
        )
    for number, line in enumerate(lines):
        start = f"  {label:<{lead}}" if number == 0 else " " * (lead + 2)
        _put(f"{start}{line}")


def wide() -> int:
    """Return in how many columns a paragraph is read well on this terminal."""
    return min(WIDTH, max(shutil.get_terminal_size((WIDTH, 24)).columns, 40))


def filled(text: str, first: str = "", further: str = "") -> None:
    """Print a paragraph in the width of the terminal, with what stands before each line.

    It is printed as it is: a course's own words are in no other language.
    """
    for line in textwrap.wrap(
        text,
        wide(),
        initial_indent=first,
        subsequent_indent=further,
        break_long_words=False,
        break_on_hyphens=False,
    ):
        _put(line)


def say(text: str = "") -> None:
    """Print one line in the reader's language and in the characters that the terminal has."""
    _put(said(text))


def said(text: str) -> str:
    """Return a text of ours in the reader's language: for what is wrapped before it is printed."""
    return language.said(text, getattr(sys.stdout, "encoding", None))


def _put(text: str) -> None:
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    click.echo(text.rstrip().encode(encoding, "replace").decode(encoding))


def named(name: str, known: Mapping[str, Value], problem: str, listing: str) -> Value:
    """Return what is known under a name.

    Raises:
        UsageProblem: nothing is; it names the nearest, and the command that lists them.
    """
    if name in known:
        return known[name]
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    raise UsageProblem(
        problem,
        next_step=f"did you mean {close[0]}? `{listing}` shows them all"
        if close
        else f"`{listing}` shows what there is",
    )
