"""A learner's own file where a command names none, or names the folder around it."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence

import click

from grader.cli import language
from grader.errors import UsageProblem
from grader.receipt.escape import visible_line

# A folder with no more of them may be that of one learner, as `grade start` fills it.
_FEW_FILES = 4
_ENDINGS = (".py", ".ipynb")


def none_named(exercise: str) -> UsageProblem:
    """Return what to say of a grade that names no file, with the one that lies here."""
    own = [name for name in _as_started(exercise) if os.path.isfile(name)]
    return UsageProblem(
        f"no file is named after {exercise}",
        next_step=f"grade {exercise} {own[0]}"
        if own
        else f"grade {exercise} FILE   (`grade start {exercise}` writes one)",
    )


def tell_folder(exercise: str, files: Sequence[str]) -> None:
    """Say on stderr how one file is graded, where the one folder named looks like a learner's."""
    try:
        within = os.listdir(files[0]) if len(files) == 1 and os.path.isdir(files[0]) else []
    except OSError:
        return
    own = [name for name in _as_started(exercise) if name in within]
    code = [name for name in within if name.lower().endswith(_ENDINGS)]
    if own and len(code) <= _FEW_FILES:
        path = os.path.normpath(os.path.join(files[0], own[0]))
        path = f"./{path}" if path.startswith("-") else path
        command = f"grade {exercise} {shlex.quote(path)}"
        text = f"note: a folder is graded as a class; for your own file alone: {command}"
        told = language.said(text, getattr(sys.stderr, "encoding", None))
        click.echo(visible_line(told), err=True)


def _as_started(exercise: str) -> tuple[str, ...]:
    """Return the names under which `grade start` writes."""
    return tuple(f"{exercise}{ending}" for ending in _ENDINGS)
