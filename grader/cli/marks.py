"""`grade marks RESULTS`: the sheet for what is graded by hand."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli import options, settle
from grader.cli.opened import opened
from grader.gradebook import marks, results, strays
from grader.receipt.escape import visible_line


@click.command("marks")
@click.argument("results_dir", metavar="RESULTS")
@click.option("--out", metavar="FILE", help="Where the sheet goes; RESULTS/marks.csv without it.")
@options.course
def command(results_dir: str, out: str | None, course: str | None) -> int:
    """Write a sheet to fill in by hand: points and a comment for each explanation.

    What marks.csv in RESULTS holds is merged by every export, and kept when the sheet is written
    again.

    Example: grade marks results
    """
    with opened(results_dir, course) as found:
        place = Path(out) if out else found.root / results.MARKS
        known = marks.read(place) if place.exists() else settle.read_marks(found.root)
        text = marks.sheet(found.book(), known)
        for note in strays.unused(found.ledger.stands(), known):
            click.echo(visible_line(f"note: {note.who}: {note.text}"), err=True)
        results.put(place, text.encode(errors="backslashreplace"))
        click.echo(f"fill in points, max_points and comment: {place}")
        if place != found.root / results.MARKS:
            click.echo(f"then put it at {found.root / results.MARKS}, where exports look")
    return 0
