"""`grade mutate EXERCISE`: what a rubric does not see, by wrong variants of a right solution."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from grader.catalog import course as courses
from grader.catalog.load import entry as load
from grader.cli import early, options
from grader.cli.paragraphs import say
from grader.errors import EnvironmentProblem, UsageProblem
from grader.receipt.escape import visible_line

if TYPE_CHECKING:
    from grader.catalog.load import Entry
    from grader.mutation import Mutation, Tried

_FIRST = "starter_filled.py"
_SIGNS = {"killed": ".", "same": "=", "rounding": "~", "survived": "S", "undecided": "?"}


@click.command("mutate")
@click.argument("exercise")
@click.option("--solution", metavar="FILE", help="Of which right solution (accepted/…).")
@click.option(
    "--most", type=click.IntRange(1, 10_000), default=400, help="Grade no more than so many."
)
@click.option("--jobs", type=click.IntRange(1, 64), help="How many at a time (default: cores).")
@click.option(
    "--least", type=click.IntRange(0, 100), help="Exit 3 where fewer per cent of them are killed."
)
@click.option(
    "--json", "as_json", metavar="FILE", help="Write every mutant and its fate as JSON too."
)
@options.course
def command(
    exercise: str,
    solution: str | None,
    most: int,
    jobs: int | None,
    least: int | None,
    as_json: str | None,
    course: str | None,
) -> int:
    """Change a right solution of EXERCISE in one place at a time, and list what still passes.

    What still passes and differs in something that is graded is a gap of the rubric, or a freedom
    that the exercise gives. Needs pip install 'shardgrade[mutate]'.

    Example: grade mutate distributed-03 --least 90
    """
    from grader import mutation

    entry = load(courses.find(course), exercise)
    path = _solution(entry, solution)
    place = early.cache_place(entry.course, exercise)
    result = mutation.run(
        entry,
        path,
        lambda: early.take(entry.course, place),
        jobs or os.cpu_count() or 1,
        most,
        _tell,
    )
    click.echo(err=True)
    _say(result)
    if as_json:
        _write(as_json, result)
    if least is not None and result.score * 100 < least:
        say(f"  fewer than {least} % were killed")
        return 3
    return 0


def _solution(entry: Entry, given: str | None) -> Path:
    """Return the solution to change: the one named, else the starter filled in, else the first."""
    if given is not None:
        path = Path(given) if os.path.exists(given) else entry.solutions / "accepted" / given
        if not path.is_file() or path.suffix != ".py":
            raise UsageProblem(
                f"{given} is no .py file here or in accepted/",
                next_step=f"leave --solution out, or name one of {entry.solutions / 'accepted'}",
            )
        return path
    known = sorted((entry.solutions / "accepted").glob("*.py"))
    if not known:
        raise EnvironmentProblem(
            f"no solutions of {entry.exercise.id} are here: they stay in the checkout",
            where=str(entry.course.root),
            next_step="run it in a checkout, or name one with --course",
        )
    return next((path for path in known if path.name == _FIRST), known[0])


def _tell(tried: Tried) -> None:
    click.echo(_SIGNS[tried.fate], nl=False, err=True)


def _say(result: Mutation) -> None:
    counts = result.counts
    differing = counts["killed"] + counts["survived"]
    part = f" ({len(result.tried)} of {result.made})" if len(result.tried) < result.made else ""
    say(f"{result.exercise}: {len(result.tried)} mutants of {result.solution}{part}")
    say(
        f"  {counts['killed']:>4} killed of {differing} that differ in what is graded"
        f" ({result.score:.0%})"
    )
    say(f"  {counts['same']:>4} the same to everything that is graded")
    say(f"  {counts['rounding']:>4} that differ in the last digits only")
    if counts["undecided"]:
        say(f"  {counts['undecided']:>4} undecided: this machine could not tell")
    survived = [one.mutant for one in result.tried if one.fate == "survived"]
    for mutant in survived:
        say()
        say(f"survived, line {mutant.line}")
        say(f"  - {visible_line(mutant.before)}")
        say(f"  + {visible_line(mutant.after)}")
    if survived:
        say()
        say("  Each is a gap of the rubric, or a freedom that the exercise gives: look at each one")


def _write(path: str, result: Mutation) -> None:
    facts: dict[str, Any] = {
        "exercise": result.exercise,
        "solution": result.solution,
        "made": result.made,
        "score": result.score,
        "counts": dict(result.counts),
        "mutants": [
            {key: value for key, value in asdict(one.mutant).items() if key != "source"}
            | {"fate": one.fate, "points": one.points, "checks": list(one.checks)}
            for one in result.tried
        ],
    }
    try:
        Path(path).write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", "utf-8")
    except OSError as error:
        raise EnvironmentProblem(
            f"{path} cannot be written: {error.strerror}", next_step="name another file"
        ) from error
    say(f"wrote {path}")
