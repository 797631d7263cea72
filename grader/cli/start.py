"""`grade start EXERCISE [DIR]`: write the starter."""

from __future__ import annotations

import os
from pathlib import Path

import click

from grader.catalog import course as courses
from grader.catalog.load import entry
from grader.cli import options
from grader.errors import ContentProblem, EnvironmentProblem, UsageProblem


@click.command("start")
@click.argument("exercise")
@click.argument("directory", default=".", metavar="[DIR]")
@options.course
def command(exercise: str, directory: str, course: str | None) -> None:
    """Write the starter of EXERCISE into DIR; never overwrites a file.

    Example: grade start distributed-03
    """
    source = entry(courses.find(course), exercise).folder / "starter.py"
    target = Path(directory) / f"{exercise}.py"
    if directory.endswith(".py") and not os.path.isdir(directory):
        raise UsageProblem(
            f"{directory} looks like a file, and `grade start` takes a folder",
            next_step=f"grade start {exercise} {os.path.dirname(directory) or '.'}",
        )
    try:
        data = source.read_bytes()
    except OSError as error:
        raise ContentProblem(
            f"the starter of {exercise} cannot be read: {error.strerror}",
            where=str(source),
            next_step="restore starter.py",
        ) from error
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as file:
            file.write(data)
    except FileExistsError:
        raise UsageProblem(
            f"{target} exists already and is left as it is"
            if target.exists()
            else f"{directory} is not a folder",
            next_step=f"name another folder: grade start {exercise} DIR",
        ) from None
    except OSError as error:
        raise EnvironmentProblem(
            f"{target} cannot be written: {error.strerror}", next_step="name another folder"
        ) from error
    shown = os.path.relpath(target)
    click.echo(f"wrote {shown}")
    click.echo(
        f"  Next: read `grade show {exercise}`, fill in a part, then: grade {exercise} {shown}"
    )
