"""`grade inspect RESULTS LEARNER`: one submission with its history."""

from __future__ import annotations

import os
import shlex

import click

from grader.cli import options
from grader.cli.opened import Opened, learner, opened
from grader.cli.terminal import make_console, show_receipt
from grader.gradebook import receipts
from grader.gradebook.book import standing
from grader.gradebook.ledger import Attempt
from grader.receipt.escape import visible, visible_line
from grader.records.gradebook import Row


@click.command("inspect")
@click.argument("results_dir", metavar="RESULTS")
@click.argument("who", metavar="LEARNER")
@options.course
def command(results_dir: str, who: str, course: str | None) -> int:
    """Show what LEARNER (key, name, e-mail or id) handed in and what came of it.

    Example: grade inspect results "Doe, Jane"
    """
    with opened(results_dir, course) as found:
        row = learner(found.book(), who)
        person = row.person
        known = [person.name, person.email, *(f"{k} {v}" for k, v in sorted(person.ids.items()))]
        click.echo(visible_line(f"{person.key}: {', '.join(filter(None, known))}"))
        if row.shown:
            late = ", late" if row.late else ""
            at = f", {row.submitted_at}" if row.submitted_at else ""
            click.echo(visible_line(f"handed in {row.shown}{at}{late}"))
        if row.receipt is None:
            click.echo(row.status)
            return 0
        show_receipt(make_console(), row.receipt, None)
        _say_output(row)
        _say_changes(row)
        _say_history(found, row)
    return 0


def _say_output(row: Row) -> None:
    assert row.receipt is not None
    if row.receipt.output.text:
        click.echo(f"\noutput ({row.receipt.output.total_bytes} bytes)")
        for line in row.receipt.output.text.splitlines()[:40]:
            click.echo(f"  {visible(line)}")


def _say_changes(row: Row) -> None:
    for one in row.overrides:
        click.echo(
            visible_line(
                f"override  {one.check}: {one.was} -> {one.points} by {one.by}, {one.at}: {one.why}"
            )
        )
    for mark in row.marks:
        text = f"mark      {mark.item}: {mark.points:g} of {mark.max_points:g}  {mark.comment}"
        click.echo(visible_line(text))


def _say_history(found: Opened, row: Row) -> None:
    assert row.receipt is not None
    member = found.ledger.member(row.person.key)
    key = member.key if member else ""
    attempts = found.ledger.history([key.partition(":")[0]])
    click.echo(f"\nreceipts  {found.root / receipts.stem(row)}.html")
    for attempt in attempts:
        here = " (this rubric and these versions)" if attempt.key.text() == key else ""
        click.echo(f"attempt   {attempt.at}  {attempt.verdict} {attempt.points}{here}")
    click.echo(f"again     {_again(found, row, standing(found.ledger, key))}")


def _again(found: Opened, row: Row, attempt: Attempt | None) -> str:
    """Return the command that makes this grade again, from a folder that has the file."""
    assert row.receipt is not None
    seed = f" --seed {attempt.seed.hex()}" if attempt and attempt.seed else ""
    # Where the file still lies there; one out of an archive has to be taken out first.
    here = row.shown and os.path.isfile(row.shown)
    file = shlex.quote(row.shown if here else row.receipt.submission.name)
    course = shlex.quote(str(found.entry.course.root))
    return visible_line(f"grade {found.entry.exercise.id} {file} --course {course}{seed}")
