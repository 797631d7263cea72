"""`grade hint EXERCISE [CHECK]`: hints one at a time, from a nudge to nearly the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from grader import hints
from grader.catalog import course as courses
from grader.catalog.load import entry
from grader.cli import options
from grader.cli.paragraphs import named, say, show
from grader.errors import UsageProblem

if TYPE_CHECKING:
    from grader.catalog.models import CheckSpec, Rubric


@click.command("hint")
@click.argument("exercise")
@click.argument("check", required=False)
@options.course
def command(exercise: str, check: str | None, course: str | None) -> None:
    """Show the next hint for CHECK, a little more each time; without CHECK, what is left.

    How many you used is counted, shown in the receipt, and costs no points.

    Example: grade hint distributed-03 values
    """
    rubric = entry(courses.find(course), exercise).rubric
    if check is None:
        _left(rubric)
        return
    if any(one.id == check for one in rubric.mistakes) and not any(
        one.id == check for one in rubric.checks
    ):
        raise UsageProblem(
            f"{check} is a mistake of {exercise}, not a check",
            next_step=f"grade explain {exercise} {check}",
        )
    spec = named(
        check,
        {one.id: one for one in rubric.checks},
        f"{exercise} has no check {check!r}",
        f"grade hint {exercise}",
    )
    if not spec.hints:
        raise UsageProblem(
            f"there are no hints for {check} of {exercise}",
            next_step=f"read `grade show {exercise}` again; the receipt says what to try",
        )
    _show(rubric.exercise, spec)


def _left(rubric: Rubric) -> None:
    used = hints.hints_used(rubric.exercise)
    width = max(len(check.id) for check in rubric.checks)
    for check in rubric.checks:
        left = max(len(check.hints) - used.get(check.id, 0), 0)
        told = f"{left} of {len(check.hints)} left" if check.hints else "no hints"
        say(f"{check.id:<{width}}  {told:<11}  {check.title}")
    say(f"  Next: grade hint {rubric.exercise} CHECK")


def _show(exercise: str, check: CheckSpec) -> None:
    count = len(check.hints)
    used = min(hints.hints_used(exercise).get(check.id, 0), count)
    number = used if used == count else min(hints.use(exercise, check.id), count)
    say(f"{check.id} · {check.title}")
    for index, text in enumerate(check.hints[:number], start=1):
        say()
        show(text, f"hint {index} of {count}")
    say()
    if used == count:
        say("  You have seen them all.")
        say(f"  Next: `grade show {exercise}` has the idea; ask somebody about this check")
    elif number == count:
        say("  That was the last one.")
    else:
        say(f"  Try it now. The next one: grade hint {exercise} {check.id}")
