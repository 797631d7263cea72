"""What `--sign` and `--learner` ask for, where grades are signed and receipts named."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.errors import UsageProblem

if TYPE_CHECKING:
    from securesystemslib.signer import CryptoSigner

    from grader.records.receipt import LearnerPart, Receipt
    from grader.records.submission import Submission

_LONGEST_NAME = 200
# Of a class, what is larger than a module is not searched for a copy of the key.
_LARGEST_COPY = 1024 * 1024


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

    A copy of the key is the key: a receipt shows what the submission holds.

    Raises: UsageProblem.
    """
    if key is None:
        return
    folder = Path(submission.path).parent
    given = [(Path(submission.path), submission.raw)]
    given += [(folder / name, raw) for name, raw in submission.siblings]
    for place, raw in given:
        if _is_same(place, key) or _holds(raw, _body(key)):
            raise UsageProblem(
                "the key would be handed to the submission",
                where=str(place),
                next_step="keep the key in a folder of its own; nothing was run",
            )


def _is_same(place: Path, key: str) -> bool:
    try:
        return os.path.samefile(place, key)
    except OSError:
        return False


def _body(key: str) -> bytes:
    """Return what a key's file holds between its first and its last line, without line ends."""
    try:
        raw = Path(key).read_bytes()
    except OSError:
        return b""
    lines = [line for line in raw.splitlines() if not line.startswith(b"-----")]
    return _joined(b"".join(lines))


def _holds(raw: bytes, body: bytes) -> bool:
    # In UTF-16 every second byte is a zero; in a notebook a line end is spelled out.
    return len(body) > 20 and body in _joined(raw.replace(b"\0", b""))


def _joined(raw: bytes) -> bytes:
    return re.sub(rb"\s|\\[rn]|[\"',]", b"", raw)


def refuse_among(key: str | None, paths: Sequence[str]) -> None:
    """Refuse a key that lies among what a class handed in, or that a file there holds.

    Raises: UsageProblem.
    """
    if key is None:
        return
    place, body = os.path.realpath(key), _body(key)
    for path in map(os.path.realpath, paths):
        found = place if place == path or place.startswith(path.rstrip(os.sep) + os.sep) else ""
        found = found or next((one for one in _files(path) if _file_holds(one, body)), "")
        if found:
            raise UsageProblem(
                "the key lies among the submissions",
                where=found,
                next_step="keep the key in a folder of its own; nothing was run",
            )


def _files(path: str) -> Iterator[str]:
    if not os.path.isdir(path):
        yield path
    for here, inner, names in os.walk(path):
        inner.sort()
        yield from (os.path.join(here, name) for name in sorted(names))


def _file_holds(path: str, body: bytes) -> bool:
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > _LARGEST_COPY:
            return False
        return _holds(Path(path).read_bytes(), body)
    except OSError:
        return False


def learner(name: str | None) -> LearnerPart | None:
    """Return whose submission it is, None where nobody was named.

    Raises: UsageProblem where the name is empty, very long, or no text.
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
    try:
        kept.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UsageProblem(
            "--learner is no text in UTF-8",
            next_step='for example --learner "Ada Lovelace"; nothing was run',
        ) from error
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
