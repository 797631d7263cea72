"""What `--sign` and `--learner` ask for, where grades are signed and receipts named."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.errors import UsageProblem

if TYPE_CHECKING:
    from securesystemslib.signer import CryptoSigner

    from grader.records.receipt import LearnerPart, Receipt
    from grader.records.submission import Submission

_LONGEST_NAME = 200


def signer(given: str | None) -> CryptoSigner | None:
    """Return what signs with the key in a file, None where none was named.

    Raises: UsageProblem or EnvironmentProblem, as `keys.load_private` does.
    """
    if given is None:
        return None
    from grader.trust import keys

    return keys.load_private(Path(given))


def only_full(confinement: str | None, sign: str | None) -> bool:
    """Return whether nothing may run where a layer of the sandbox is missing.

    So it is where a receipt is signed: without confinement a key is in the submission's reach.
    """
    return confinement == "full" or (sign is not None and confinement != "auto")


def refuse_handing_over(key: str | None, submission: Submission) -> None:
    """Refuse a key that is the submission itself or a file beside it that the module is given.

    Raises: UsageProblem.
    """
    if key is None:
        return
    folder = Path(submission.path).parent
    for place in (Path(submission.path), *(folder / name for name, _ in submission.siblings)):
        try:
            same = os.path.samefile(place, key)
        except OSError:
            same = False
        if same:
            raise UsageProblem(
                "the key would be handed to the submission",
                where=str(place),
                next_step="keep the key in a folder of its own; nothing was run",
            )


def refuse_among(key: str | None, paths: Sequence[str]) -> None:
    """Refuse a key that lies among what a class handed in.

    Raises: UsageProblem.
    """
    if key is None:
        return
    place = os.path.realpath(key)
    for path in map(os.path.realpath, paths):
        if place == path or place.startswith(path.rstrip(os.sep) + os.sep):
            raise UsageProblem(
                "the key lies among the submissions",
                where=place,
                next_step="keep the key in a folder of its own; nothing was run",
            )


def learner(name: str | None) -> LearnerPart | None:
    """Return whose submission it is, None where nobody was named.

    Raises: UsageProblem where the name is empty or very long.
    """
    if name is None:
        return None
    from grader.records.receipt import LearnerPart

    kept = " ".join(name.split())
    if not kept or len(kept) > _LONGEST_NAME:
        raise UsageProblem(
            f"--learner takes a name of 1 to {_LONGEST_NAME} characters",
            next_step='for example --learner "Ada Lovelace"',
        )
    return LearnerPart(name=kept)


def tell(receipt: Receipt, envelope: Path | None, by: CryptoSigner | None, *, err: bool) -> None:
    """Say where the signature is, or why there is none although one was asked for."""
    from grader.receipt.escape import visible_line

    if by is None:
        return
    if envelope is not None:
        click.echo(visible_line(f"signed   {envelope}"), err=err)
        click.echo(f"         by key {by.public_key.keyid}", err=err)
    elif receipt.verdict == "undecided":
        click.echo("not signed: an undecided grade says nothing about the submission", err=err)
