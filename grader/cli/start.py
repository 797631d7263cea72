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
@click.option("--notebook", is_flag=True, help="Write it as a Jupyter notebook.")
@options.course
def command(exercise: str, directory: str, notebook: bool, course: str | None) -> None:
    """Write the starter of EXERCISE into DIR; never overwrites a file.

    Example: grade start distributed-03 --notebook
    """
    folder = entry(courses.find(course), exercise).folder
    ending = ".ipynb" if notebook else ".py"
    target = Path(directory) / f"{exercise}{ending}"
    if directory.endswith((".py", ".ipynb")) and not os.path.isdir(directory):
        raise UsageProblem(
            f"{directory} looks like a file, and `grade start` takes a folder",
            next_step=f"grade start {exercise} {os.path.dirname(directory) or '.'}",
        )
    data = _notebook(folder, exercise) if notebook else _read(folder / "starter.py", exercise)
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


def _read(source: Path, exercise: str) -> bytes:
    try:
        return source.read_bytes()
    except OSError as error:
        raise ContentProblem(
            f"the starter of {exercise} cannot be read: {error.strerror}",
            where=str(source),
            next_step=f"restore {source.name}",
        ) from error


def _notebook(folder: Path, exercise: str) -> bytes:
    """Return starter.ipynb, made from starter.py where the course does not hold one."""
    if (folder / "starter.ipynb").exists():
        return _read(folder / "starter.ipynb", exercise)
    from grader.catalog import starter

    return starter.of(folder, exercise)
