"""`grade compare OLD NEW`: what a new try gained and lost beside an earlier one."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from grader.cli.paragraphs import filled, said, say
from grader.errors import UsageProblem
from grader.receipt.escape import visible_line

if TYPE_CHECKING:
    from grader.records.receipt import Receipt


@click.command("compare")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def command(old: str, new: str, as_json: bool) -> None:
    """Say what the try in receipt NEW gained and lost beside the one in OLD.

    Both are receipts of one exercise, .json or .html; earlier ones are kept in history/.

    Example: grade compare OLD.json NEW.json
    """
    from grader.receipt import changes, read

    was, now = read.receipt(old), read.receipt(new)
    if was.exercise != now.exercise:
        raise UsageProblem(
            f"{visible_line(old)} is of {visible_line(was.exercise)}, "
            f"and {visible_line(new)} is of {visible_line(now.exercise)}",
            next_step="name two receipts of one exercise",
        )
    found = changes.changes(was, now)
    told = changes.lines(found)
    if was == now:
        told = [*told[:1], "The two are one and the same receipt."]
    if as_json:
        made = {**asdict(found), "gained": found.gained, "sentences": told}
        click.echo(json.dumps(made, indent=2))
        return
    say(visible_line(f"{now.exercise} · {now.exercise_title}"))
    _name("before", was)
    _name("now", now)
    say()
    for text in told:
        _bullet(text)


def _name(label: str, receipt: Receipt) -> None:
    from grader.receipt.view import headline, moment

    points = f"{receipt.points}/{receipt.max_points}"
    told = f"{points:>7}  {headline(receipt)}  {moment(receipt.created_at)}"
    say(visible_line(f"  {label:<7} {told}  {receipt.submission.name}"))


def _bullet(text: str) -> None:
    # A command stays in one piece, so that it can be copied.
    text, _, more = text.partition(" More: ")
    filled(said(text), first="  - ", further="    ")
    if more:
        say(f"    {more}")
