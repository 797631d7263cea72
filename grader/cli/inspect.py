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
from grader.gradebook.looks import max_points, next_step, points
from grader.gradebook.rounding import shown
from grader.gradebook.ungraded import standing as status
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
            click.echo(status(row))
            if step := next_step(row):
                click.echo(visible_line(f"next      {step}"))
            _say_attempts(found, row)
            return 0
        show_receipt(make_console(), row.receipt, None)
        _say_output(row)
        _say_changes(found, row)
        _say_history(found, row)
    return 0


def _say_output(row: Row) -> None:
    assert row.receipt is not None
    if row.receipt.output.text:
        click.echo(f"\noutput ({row.receipt.output.total_bytes} bytes)")
        for line in row.receipt.output.text.splitlines()[:40]:
            click.echo(f"  {visible(line)}")


def _say_changes(found: Opened, row: Row) -> None:
    """Say what a person changed: of each check what it gave itself, and every override since."""
    assert row.receipt is not None
    for one in row.overrides:
        click.echo(
            visible_line(
                f"override  {one.check}: {one.was} -> {one.points} by {one.by}, {one.at}: {one.why}"
            )
        )
    own = {check.id: check for check in row.receipt.checks}
    for check in dict.fromkeys(one.check for one in row.overrides):
        last = [one for one in row.overrides if one.check == check][-1]
        text = f"counts    {check}: {last.points} of {own[check].max_points}"
        click.echo(visible_line(f"{text}; the check itself gave {own[check].points}"))
    got, most = points(row), max_points(row)
    if (row.overrides or row.marks) and got is not None and most is not None:
        click.echo(f"counts    in all {shown(got)} of {shown(most)} points")
    for one in found.ledger.overrides(row.person.key):
        if one.check not in own:
            text = f"override  {one.check}: {one.points} by {one.by}, {one.at}: {one.why}"
            click.echo(visible_line(f"{text} (no check of this rubric, so it does not count)"))
    for mark in row.marks:
        text = f"mark      {mark.item}: {mark.points:g} of {mark.max_points:g}  {mark.comment}"
        click.echo(visible_line(text))


def _say_history(found: Opened, row: Row) -> None:
    assert row.receipt is not None
    click.echo(f"\nreceipts  {found.root / receipts.stem(row)}.html")
    key = _say_attempts(found, row)
    click.echo(f"again     {_again(found, row, standing(found.ledger, key))}")


def _say_attempts(found: Opened, row: Row) -> str:
    """Say every attempt of these bytes; returns the key of the hand-in."""
    member = found.ledger.member(row.person.key)
    key = member.key if member else ""
    for attempt in found.ledger.history([key.partition(":")[0]]) if key else ():
        here = " (this rubric and these versions)" if attempt.key.text() == key else ""
        click.echo(f"attempt   {attempt.at}  {attempt.verdict} {attempt.points}{here}")
    return key


def _again(found: Opened, row: Row, attempt: Attempt | None) -> str:
    """Return the command that makes this grade again, from a folder that has the file."""
    assert row.receipt is not None
    seed = f" --seed {attempt.seed.hex()}" if attempt and attempt.seed else ""
    # Where the file still lies there; one out of an archive has to be taken out first.
    here = row.shown and os.path.isfile(row.shown)
    file = shlex.quote(row.shown if here else row.receipt.submission.name)
    course = shlex.quote(str(found.entry.course.root))
    return visible_line(f"grade {found.entry.exercise.id} {file} --course {course}{seed}")
