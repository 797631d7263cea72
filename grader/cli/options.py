"""Options that several commands share."""

from __future__ import annotations

import click

course = click.option(
    "--course", metavar="DIR", help="A course: a folder with exercises/ and rubrics/."
)
