"""`grade kinds [KIND]`: what a rubric may ask, from the models of the kinds themselves."""

from __future__ import annotations

import click

from grader.cli.paragraphs import named, say


@click.command("kinds")
@click.argument("kind", required=False)
def command(kind: str | None) -> None:
    """Describe KIND of check, its items and parameters; without KIND, all of them.

    Example: grade kinds program_values
    """
    from grader import checks, described

    if kind is None:
        say(described.kinds_page())
        return
    found = named(
        kind, {one: one for one in checks.kinds()}, f"there is no kind {kind!r}", "grade kinds"
    )
    say(described.kind_section(found))
