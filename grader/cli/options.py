"""Options that several commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from grader.sandbox.platforms import Platform

require_confinement = click.option(
    "--require-confinement",
    type=click.Choice(["auto", "full"]),
    help="full: run nothing where a layer of the sandbox is missing (exit code 4); that is how a "
    "class is graded. auto: run with what there is, and say so; that is how one file is graded.",
)
platform = click.option(
    "--platform",
    type=click.Choice(["cpu", "gpu", "tpu"]),
    default="cpu",
    help="One file: run on four real devices; see docs/tpu.md (cpu: four logical ones).",
)
course = click.option(
    "--course", metavar="DIR", help="A course: a folder with exercises/ and rubrics/."
)


def chosen(platform: str) -> Platform | None:
    """Return the platform of a `--platform`, None for the CPU."""
    if platform == "cpu":
        return None
    from grader.sandbox import platforms

    return platforms.named(platform)
