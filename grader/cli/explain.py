"""`grade explain EXERCISE [MISTAKE]`: the idea behind a mistake, by an example of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from grader.catalog import course as courses
from grader.catalog.load import entry
from grader.cli import options
from grader.cli.paragraphs import named, say, show
from grader.errors import UsageProblem

if TYPE_CHECKING:
    from grader.catalog.load import Entry
    from grader.catalog.models import Mistake


@click.command("explain")
@click.argument("exercise")
@click.argument("mistake", required=False)
@options.course
def command(exercise: str, mistake: str | None, course: str | None) -> None:
    """Explain MISTAKE, as a receipt names it; without MISTAKE, list them all.

    Example: grade explain distributed-03 local-mean
    """
    found = entry(courses.find(course), exercise)
    known = {one.id: one for one in found.rubric.mistakes}
    if mistake is None:
        width = max((len(name) for name in known), default=0)
        for one in known.values():
            say(f"{one.id:<{width}}  {one.title}")
        say(f"  Next: grade explain {exercise} MISTAKE")
        return
    # Where nothing tells two mistakes apart, a receipt names both.
    parts = [part for part in mistake.split("-or-") if part in known]
    if not parts and any(check.id == mistake for check in found.rubric.checks):
        raise UsageProblem(
            f"{mistake} is a check of {exercise}, not a mistake",
            next_step=f"grade hint {exercise} {mistake}",
        )
    for number, name in enumerate(parts if len(parts) > 1 else [mistake]):
        one = named(name, known, f"{exercise} has no mistake {name!r}", f"grade explain {exercise}")
        if number:
            say()
        _show(found, one)


def _show(found: Entry, mistake: Mistake) -> None:
    say(f"{mistake.id} · {mistake.title}")
    told = found.explanations.of(mistake.id)
    if told is not None:
        say()
        show(told.idea, "idea")
        say()
        show(told.example, "example")
    say()
    show(mistake.hint, "try")
    if told is not None:
        say()
        again = f"“{told.read}” in `grade show {found.exercise.id}`; {found.exercise.lesson}"
        show(again, "read")
