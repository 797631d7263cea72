"""Read a person's answer from the terminal, one line at a time."""

from __future__ import annotations

import sys

import click

from grader.cli.paragraphs import said

# What ends a text before its line end would: a line of this length is no answer.
_LONGEST_LINE = 1 << 16


def line(prompt: str) -> str | None:
    """Return the next line without blanks around it, None where there is no more (Ctrl-D).

    Raises: KeyboardInterrupt.

    Effects: prints the prompt; a line end after it where no typed one has ended the line.
    """
    prompt = said(prompt)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    click.echo(prompt.encode(encoding, "replace").decode(encoding), nl=False)
    sys.stdout.flush()
    found = _read()
    if found is None or sys.stdin is None or not sys.stdin.isatty():
        click.echo()
    return found


def _read() -> str | None:
    if sys.stdin is None:
        return None
    try:
        raw = sys.stdin.buffer.readline(_LONGEST_LINE)
    except OSError:  # closed, or a folder
        return None
    if not raw:
        return None
    return raw.decode("utf-8", "replace").strip()
