"""`grade regrade RESULTS PATHS...`: grade a class again, or set the points of one check by hand."""

from __future__ import annotations

import getpass
import os
from pathlib import Path
from typing import Any

import click

from grader import secret
from grader.cli import bulk, options, settle, signing
from grader.cli.opened import Opened, learner, opened
from grader.cli.progress import display
from grader.engine import now
from grader.errors import UsageProblem
from grader.gradebook import runner, spent
from grader.gradebook.book import in_force
from grader.gradebook.looks import max_points, points
from grader.gradebook.rounding import shown
from grader.receipt.escape import visible_line
from grader.records.gradebook import Override, Row

_MOST_DIGITS = 9


@click.command("regrade")
@click.argument("results_dir", metavar="RESULTS")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--preview", is_flag=True, help="Show old and new points; write nothing.")
@click.option(
    "--override",
    nargs=3,
    metavar="LEARNER CHECK POINTS",
    help="Set the points of one check; both values are kept.",
)
@click.option("--why", default="", help="The reason for an override.")
@click.option("--by", default="", help="Who overrides; the user of this machine without it.")
@click.option("--source", metavar="LAYOUT", help="Take the files to be laid out so.")
@click.option("--roster", metavar="CSV", help="Who is in the class, with names and ids.")
@click.option("--jobs", type=click.IntRange(1, 256), help="How many at a time (cores).")
@click.option("--quiet", is_flag=True, help="Show no progress.")
@click.option("--sign", metavar="KEY", help="Sign every receipt; needed where they are signed.")
@options.require_confinement
@options.course
def command(results_dir: str, paths: tuple[str, ...], course: str | None, **asked: Any) -> int:
    """Grade the submissions at PATH again, whatever RESULTS has of them already.

    Example: grade regrade results submissions.zip --preview

    Example: grade regrade results --override doe values 24 --why "right by another road"
    """
    with opened(results_dir, course) as found:
        if asked["override"]:
            if paths or asked["preview"]:
                raise UsageProblem(
                    "--override sets points by hand, and grades and previews nothing",
                    next_step="leave the paths and --preview out, or leave --override out",
                )
            _override(found, asked)
            return 0
        if not paths:
            raise UsageProblem(
                "nothing to grade again: no path was named",
                next_step="name the folder or archive that was graded, or use --override",
            )
        order = bulk.Order(
            paths=paths,
            out=str(_above(found)),
            source=asked["source"],
            roster=asked["roster"],
            jobs=asked["jobs"] or bulk.default_jobs(),
            quiet=asked["quiet"],
            only_full=asked["require_confinement"] != "auto",
            cache=True,
            again=True,
            preview=asked["preview"],
            sign=asked["sign"],
        )
        if asked["preview"]:
            return _preview(found, order)
    return bulk.grade_many(found.entry.course, found.entry.exercise.id, order)


def _above(found: Opened) -> Path:
    """Return the folder that the results' own folder lies in, where a class is graded into."""
    root, name = Path(os.path.abspath(found.root)), found.entry.exercise.id
    if root.name != name:
        raise UsageProblem(
            f"{found.root} holds results of {name} and has another name",
            next_step=f"call that folder {name} again, then regrade",
        )
    return root.parent


def _preview(found: Opened, order: bulk.Order) -> int:
    """Grade everything and compare, with nothing kept."""
    before = {row.person.key: row for row in found.book().rows}
    marked = settle.read_marks(found.root)
    if secret.read() is None:
        click.echo("no course secret yet: this preview draws inputs of its own", err=True)
    run = bulk.prepare(found.entry, found.root, found.ledger, order)
    new: dict[str, runner.Done] = {}
    with display(len(run.plan.pending), order.quiet) as show:
        run.show = show
        bulk.grade_only(run, order, lambda done: new.__setitem__(done.key, done))
    changed = 0
    for position, hand_in in enumerate(run.collected.hand_ins):
        done = new.get(run.plan.keys[position].text())
        for person in hand_in.people:
            old = before.get(person.key, Row(person, "missing"))
            was = _points(old)
            if done is None or done.receipt is None or done.receipt.verdict == "undecided":
                # Such an attempt never takes the place of a decided one.
                click.echo(visible_line(f"? {person.key}: {was} stays, undecided this time"))
                continue
            by_hand = in_force(done.receipt, found.ledger.overrides(person.key))
            given = marked.get(person.key, ())
            would = _points(Row(person, "graded", done.receipt, overrides=by_hand, marks=given))
            changed += was != would
            sign = " " if was == would else "*"
            click.echo(visible_line(f"{sign} {person.key}: {was} -> {would}"))
    click.echo(f"{changed} would change; nothing was written")
    return 0


def _points(row: Row) -> str:
    """Return the points as the gradebook has them, and what of them a person gave."""
    got = points(row)
    if got is None or row.receipt is None:
        return "none"
    changed = len({one.check for one in row.overrides})
    told: list[str] = [row.receipt.verdict]
    told += [f"{changed} check{'' if changed == 1 else 's'} set by hand"] if changed else []
    told += ["with marks"] if row.marks else []
    return f"{shown(got)} ({', '.join(told)})"


def _override(found: Opened, asked: dict[str, Any]) -> None:
    who, check, text = asked["override"]
    row = learner(found.book(), who)
    known = {one.id: one for one in (row.receipt.checks if row.receipt else ())}
    if check not in known:
        raise UsageProblem(
            f"there is no graded check {check!r} of {row.person.key}",
            next_step=f"use one of {', '.join(known)}" if known else "grade it first",
        )
    most = known[check].max_points
    if not text.isdecimal() or len(text) > _MOST_DIGITS or int(text) > most:
        raise UsageProblem(
            f"{text!r} is no number of points for {check}", next_step=f"give 0 to {most}"
        )
    if not asked["why"].strip():
        raise UsageProblem(
            "an override needs a reason", next_step='say it with --why "…"; it is kept beside'
        )
    before = [one.points for one in row.overrides if one.check == check]
    change = Override(
        check=check,
        was=before[-1] if before else known[check].points,
        points=int(text),
        by=asked["by"] or _user(),
        at=now(),
        why=asked["why"].strip(),
    )
    signer = signing.signer(asked["sign"])
    shelf = settle.shelf(found.root, found.ledger, found.entry, signer)
    found.ledger.override(row.person.key, change)
    settle.finish(shelf, found.entry, times=lambda: spent.times(found.ledger))
    click.echo(
        visible_line(f"{row.person.key}: {check} {change.was} -> {change.points}, by {change.by}")
    )
    _say_rest(learner(found.book(), row.person.key))


def _say_rest(row: Row) -> None:
    """Say what counts now, and which checks were never judged and have no points of a person's."""
    got, most = points(row), max_points(row)
    if row.receipt is None or got is None or most is None:
        return
    click.echo(f"  counts in all {shown(got)} of {shown(most)} points")
    by_hand = {one.check for one in row.overrides}
    waits = [c.id for c in row.receipt.checks if c.status == "blocked" and c.id not in by_hand]
    if waits:
        click.echo(
            f"  not judged, because they waited for another check: {', '.join(waits)}; "
            "set them too where that is fair"
        )


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return "unknown"
