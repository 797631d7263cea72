"""`grade list`: the exercises of the course."""

from __future__ import annotations

import click

from grader.catalog import course as courses
from grader.catalog.load import entry
from grader.cli import options
from grader.cli.paragraphs import filled
from grader.errors import ContentProblem
from grader.receipt.escape import visible_line


@click.command("list")
@options.course
def command(course: str | None) -> int:
    """Show the exercises of the course.

    Example: grade list
    """
    found = courses.find(course)
    if not found.ids():
        click.echo(f"{found.root} holds no exercise yet", err=True)
    code = 0
    for exercise_id in found.ids():
        try:
            one = entry(found, exercise_id)
        except ContentProblem as problem:
            # One that is wrong hides none of the others.
            click.echo(f"grade: {problem.sentence()}", err=True)
            code = problem.exit_code
            continue
        points = one.rubric.max_points
        title = visible_line(f"{exercise_id}  {one.exercise.title} ({points} points)")
        filled(title, further="    ")
        filled(visible_line(one.exercise.summary), "    ", "    ")
    return code
