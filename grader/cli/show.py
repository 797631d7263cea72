"""`grade show EXERCISE`: the prompt."""

from __future__ import annotations

import sys

import click

from grader.catalog import course as courses
from grader.catalog.load import entry
from grader.cli import options
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
        click.echo(text, nl=False)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(text))
