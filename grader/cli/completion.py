"""`grade completion SHELL`: print the script that makes a shell complete `grade`."""

from __future__ import annotations

import click

from grader.cli.completing import SCRIPTS


@click.command("completion")
@click.argument("shell", type=click.Choice(list(SCRIPTS)), metavar="SHELL")
def command(shell: str) -> None:
    """Print what makes SHELL (bash, zsh or fish) complete commands, exercises and files.

    The first lines of it say where to put it.

    Example: grade completion bash
    """
    click.echo(SCRIPTS[shell], nl=False)
