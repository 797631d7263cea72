"""`grade lookalikes EXERCISE PATHS...`: which submissions of a class to look at side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.catalog import course as courses
from grader.cli import early, options
from grader.receipt.escape import visible_line

if TYPE_CHECKING:
    from grader.gradebook.lookalikes import Found


@click.command("lookalikes")
@click.argument("exercise")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--at-least",
    type=click.IntRange(1, 100),
    default=80,
    show_default=True,
    metavar="PERCENT",
    help="List pairs that share this much or more.",
)
@click.option("--source", metavar="LAYOUT", help="Take the files to be laid out so.")
@click.option("--roster", metavar="CSV", help="Who is in the class, with names and ids.")
@options.course
def command(
    exercise: str,
    paths: tuple[str, ...],
    at_least: int,
    source: str | None,
    roster: str | None,
    course: str | None,
) -> int:
    """List the submissions at PATH that look alike: for a person to judge, and no part of a grade.

    Names, texts, comments, layout and what the starter gave do not count; of a notebook only its
    code cells do. Nothing is run.

    Example: grade lookalikes distributed-03 submissions.zip
    """
    from grader.catalog.load import entry as load
    from grader.gradebook import lookalikes, sources
    from grader.sandbox.host import SpawnHost

    found = courses.find(course)
    entry = load(found, exercise)
    collected = sources.collect(
        paths, wanted=exercise, source=source, roster=Path(roster) if roster else None
    )
    # Spawned and not forked: JAX need not be loaded to parse.
    host = SpawnHost(None, forbidden=early.forbidden(found))
    try:
        alike = lookalikes.lookalikes(
            lookalikes.read_all(collected.hand_ins),
            lookalikes.starter_of(entry.folder),
            host,
            at_least=at_least,
        )
    finally:
        host.close()
    _show(alike, len(collected.hand_ins), at_least)
    return 0


def _show(alike: Found, count: int, at_least: int) -> None:
    for group in alike.groups:
        click.echo(visible_line(f"{group.how}: {', '.join(group.names)}"))
    for pair in alike.pairs:
        click.echo(visible_line(f"{pair.percent:3d} %  {pair.first}  {pair.second}"))
    if alike.more:
        click.echo(f"and {alike.more} more pairs; a larger --at-least shows fewer")
    for number, names in enumerate(alike.clusters, start=1):
        if len(names) > 2:
            click.echo(visible_line(f"together {number}: {', '.join(names)}"))
    for name, why in alike.unread:
        click.echo(visible_line(f"only the bytes compared: {name}: {why}"), err=True)
    if not alike.groups and not alike.pairs:
        click.echo(f"none of {count} submissions share {at_least} % or more")
    if alike.typical is not None:
        click.echo(f"the middle pair of this class shares {alike.typical} %")
    click.echo("a likeness is a reason to look, and proves nothing")
