"""`--help` in another language; in English Click's own way is taken and this is not loaded."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import click

from grader.cli import language


def _said(text: str) -> str:
    return language.said(text, getattr(sys.stdout, "encoding", None))


class _Formatter(click.HelpFormatter):
    """Writes what Click arranges, in the chosen language."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Write the usage line."""
        super().write_usage(prog, args, f"{_said('Usage:')} " if prefix is None else prefix)

    def write_heading(self, heading: str) -> None:
        """Write the heading of a part."""
        super().write_heading(_said(heading))

    def write_text(self, text: str) -> None:
        """Write paragraphs; each is a message."""
        parts = [_said(" ".join(part.split())) for part in text.split("\n\n")]
        super().write_text("\n\n".join(parts))

    def write_dl(self, rows: Iterable[tuple[str, str]], *given: Any, **options: Any) -> None:
        """Write names with what they mean."""
        super().write_dl([(name, _said(told)) for name, told in rows], *given, **options)


class Context(click.Context):
    """A context whose help is in the chosen language."""

    formatter_class = _Formatter
