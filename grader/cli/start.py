"""`grade start EXERCISE [DIR]`: write the starter."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.catalog import course as courses
from grader.catalog.load import entry
from grader.cli import memory, options
from grader.cli.paragraphs import say
from grader.errors import ContentProblem, EnvironmentProblem, UsageProblem
from grader.receipt.escape import visible_line

if TYPE_CHECKING:
    from grader.catalog.load import Entry


@click.command("start")
@click.argument("exercise")
@click.argument("directory", default=".", metavar="[DIR]")
@click.option("--notebook", is_flag=True, help="Write it as a Jupyter notebook.")
@options.course
def command(exercise: str, directory: str, notebook: bool, course: str | None) -> None:
    """Write the starter of EXERCISE into DIR; never overwrites a file.

    Example: grade start distributed-03 --notebook
    """
    found = entry(courses.find(course), exercise)
    ending = ".ipynb" if notebook else ".py"
    target = Path(directory) / f"{exercise}{ending}"
    if directory.endswith((".py", ".ipynb")) and not os.path.isdir(directory):
        raise UsageProblem(
            f"{directory} looks like a file, and `grade start` takes a folder",
            next_step=f"grade start {exercise} {os.path.dirname(directory) or '.'}",
        )
    data, told = starter(found, ending), steps(found, os.path.relpath(target))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as file:
            file.write(data)
    except FileExistsError:
        raise _exists(exercise, target, data) from None
    except OSError as error:
        raise EnvironmentProblem(
            f"{target} cannot be written: {error.strerror}", next_step="name another folder"
        ) from error
    say(f"wrote {visible_line(os.path.relpath(target))}")
    for line in told:
        say(f"  {line}")
    known = memory.known(exercise)
    if known:
        say(f"Remembered for you, here or elsewhere: {known}.")
        say(f"  To begin anew, as somebody else or again: grade predict {exercise} --forget")


def starter(found: Entry, ending: str) -> bytes:
    """Return the starter of an exercise as the `.py` or `.ipynb` that its file begins as.

    Raises: ContentProblem.
    """
    if ending == ".py":
        return _read(found.folder / "starter.py", found.exercise.id)
    if (found.folder / "starter.ipynb").exists():
        return _read(found.folder / "starter.ipynb", found.exercise.id)
    # Made from starter.py where the course does not hold one.
    from grader.catalog import starter as made

    return made.of(found.folder, found.exercise.id)


def steps(found: Entry, path: str) -> list[str]:
    """Return what to do with a fresh starter at `path`, in lines. Raises: ContentProblem."""
    from grader import answers

    exercise = found.exercise.id
    lines = [
        f"What is asked: grade show {exercise}",
        f"Fill in a part, then: {grading(exercise, path)}",
    ]
    if found.questions.predictions and answers.predicted(exercise) is None:
        return [f"Next: grade predict {exercise}", *lines]
    return lines


def grading(exercise: str, path: str) -> str:
    """Return the command that grades a file, to be copied into a shell."""
    safe = f"./{path}" if path.startswith("-") else path
    return f"grade {exercise} {shlex.quote(visible_line(safe))}"


def _exists(exercise: str, target: Path, data: bytes) -> UsageProblem:
    if not target.exists() and not target.is_symlink():
        return UsageProblem(
            f"{target.parent} is not a folder",
            next_step=f"name another folder: grade start {exercise} DIR",
        )
    if not target.is_file():
        return UsageProblem(
            f"{target} exists already and is no file",
            next_step=f"name another folder: grade start {exercise} DIR",
        )
    try:
        with target.open("rb") as file:
            same = file.read(len(data) + 1) == data
    except OSError:
        same = False
    if same:
        return UsageProblem(
            f"{target} exists already and is left as it is: nothing is filled in yet",
            next_step=f"fill in a part, then: {grading(exercise, str(target))}; "
            f"or name another folder: grade start {exercise} DIR",
        )
    again = f"grade reset {exercise} {shlex.quote(str(target))}"
    return UsageProblem(
        f"{target} exists already and is left as it is",
        next_step="name another folder; or begin again, with this file kept aside: " + again,
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
