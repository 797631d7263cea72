"""`grade audit [EXERCISE]`: prove exercises with their right, wrong and hostile solutions."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import click

from grader.catalog import course as courses
from grader.catalog.load import entry as load
from grader.cli import early, options
from grader.errors import EnvironmentProblem, UsageProblem

if TYPE_CHECKING:
    from grader.audit import Audit, Trial
    from grader.catalog.load import Entry

_SIGNS = {"named": "N", "failed": "x", "blocked": "b", "undecided": "?", "": "."}


@click.command("audit")
@click.argument("exercise", required=False)
@click.option("--jobs", type=click.IntRange(1, 64), help="How many at a time (default: cores).")
@click.option(
    "--renew-notebook", is_flag=True, help="Write starter.ipynb from starter.py; audit nothing."
)
@click.option("--json", "as_json", metavar="FILE", help="Write all that was found as JSON too.")
@click.option("--html", metavar="FILE", help="Write the table of files by checks as a page too.")
@options.course
def command(
    exercise: str | None,
    jobs: int | None,
    renew_notebook: bool,
    as_json: str | None,
    html: str | None,
    course: str | None,
) -> int:
    """Grade every solution of EXERCISE (of all, without one) and fail on any surprise.

    Example: grade audit distributed-03 --html audit.html
    """
    from grader import audit as auditing

    for path in (as_json, html):
        _can_be_written(path)
    found = courses.find(course)
    results: list[Audit] = []
    for exercise_id in [exercise] if exercise else found.ids():
        entry = load(found, exercise_id)
        if renew_notebook:
            _renew(entry)
            continue
        place = early.cache_place(found, exercise_id)
        result = auditing.audit(
            entry,
            lambda place=place: early.take(found, place),  # type: ignore[misc]
            jobs or os.cpu_count() or 1,
            _say_trial,
        )
        _say_audit(result, auditing.matrix(result))
        results.append(result)
    facts = [auditing.facts(result) for result in results]
    if as_json:
        _write(as_json, json.dumps(facts, indent=1, ensure_ascii=False) + "\n")
    if html:
        from grader.receipt.render import fill

        _write(html, fill("audit", "html", found.templates, audits=facts))
    return 3 if any(result.problems for result in results) else 0


def _can_be_written(path: str | None) -> None:
    """Insist on a place for a file before anything is graded. Raises: UsageProblem."""
    if path is None:
        return
    folder = os.path.dirname(os.path.abspath(path))
    why = f"the folder {folder} is not there" if not os.path.isdir(folder) else ""
    if os.path.isdir(path):
        why = "it is a folder"
    elif not why and not os.access(path if os.path.exists(path) else folder, os.W_OK):
        why = "Permission denied"
    if why:
        raise UsageProblem(f"{path} cannot be written: {why}", next_step="name another file")


def _write(path: str, text: str) -> None:
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise EnvironmentProblem(
            f"{path} cannot be written: {error.strerror}", next_step="name another file"
        ) from error
    click.echo(f"wrote {path}")


def _renew(entry: Entry) -> None:
    from grader.catalog import starter

    place = entry.folder / "starter.ipynb"
    data = starter.of(entry.folder, entry.exercise.id)
    try:
        place.write_bytes(data)
    except OSError as error:
        raise EnvironmentProblem(
            f"{place} cannot be written: {error.strerror}",
            next_step="check the permissions of that folder",
        ) from error
    click.echo(f"wrote {os.path.relpath(place)}")


def _say_trial(trial: Trial) -> None:
    receipt = trial.receipt
    got = f"{receipt.verdict} {receipt.points}" if receipt else "not graded"
    sign = "!!" if trial.problem else "ok"
    click.echo(f"{sign} {trial.role}/{trial.path.name}: {got}", err=True)


def _say_audit(result: Audit, rows: list[list[str]]) -> None:
    from grader.receipt.escape import visible_line

    click.echo(f"{result.exercise}: rejected files by checks")
    header, *body = rows
    width = max((len(row[0]) for row in rows), default=0)
    for number, check in enumerate(header[1:], 1):
        click.echo(f"  {number} = {check} ({len(result.killed(check))} killed)")
    click.echo(" " * width + "  " + " ".join(str(n) for n in range(1, len(header))))
    for row in body:
        click.echo(f"{row[0]:<{width}}  " + " ".join(_SIGNS[cell] for cell in row[1:]))
    click.echo("  N mistake named, x failed, b blocked, ? undecided, . passed")
    counts = {role: sum(1 for t in result.trials if t.role == role) for role in _roles(result)}
    told = ", ".join(f"{count} {role}" for role, count in counts.items())
    if not result.problems:
        click.echo(f"{result.exercise}: proved by {told}")
        return
    click.echo(f"{result.exercise}: {len(result.problems)} problem(s) in {told}")
    for problem in result.problems:
        click.echo(f"  {visible_line(problem)}")


def _roles(result: Audit) -> list[str]:
    return list(dict.fromkeys(trial.role for trial in result.trials))
