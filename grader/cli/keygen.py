"""`grade keygen`: make a pair of keys, once."""

from __future__ import annotations

from pathlib import Path

import click

from grader.errors import UsageProblem
from grader.receipt.escape import visible_line


@click.command("keygen")
@click.option(
    "--out",
    metavar="FILE",
    help="Where the private key goes (~/.config/grade/keys/grade-signing.pem); the public one "
    "beside it, ending in .pub.",
)
def command(out: str | None) -> None:
    """Make an Ed25519 key to sign receipts with, for your eyes alone, and its public half.

    Example: grade keygen
    """
    from grader.trust import keys

    if out is not None and not out.strip():
        raise UsageProblem("--out is empty", next_step="name a file, or leave --out out")
    place = Path(out) if out is not None else keys.default()
    made = keys.generate(place)
    public = keys.public_place(place)
    for label, text in (
        ("private", f"{place}   keep it; whoever has it signs as you"),
        ("public", f"{public}   give it to whoever is to check receipts"),
        ("key", made.keyid),
    ):
        click.echo(visible_line(f"{label:<9}{text}"))
