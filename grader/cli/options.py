"""Options that several commands share."""

from __future__ import annotations

import click

require_confinement = click.option(
    "--require-confinement",
    type=click.Choice(["auto", "full"]),
    help="full: run nothing where a layer of the sandbox is missing (exit code 4); that is how a "
    "class is graded. auto: run with what there is, and say so; that is how one file is graded.",
)
course = click.option(
    "--course", metavar="DIR", help="A course: a folder with exercises/ and rubrics/."
)
