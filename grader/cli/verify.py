"""`grade verify RECEIPT --key PUB`: whether receipts are what a pinned key signed."""

from __future__ import annotations

import json
import shutil
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader import intake
from grader.errors import GradeError, UsageProblem
from grader.receipt.escape import visible_line

if TYPE_CHECKING:
    from securesystemslib.signer import SSlibKey

    from grader.trust.shelf import Place
    from grader.trust.verify import Expected, Verified

_LONGEST_NAME = 100


@dataclass(frozen=True)
class _Result:
    """What came of one receipt."""

    receipt: str
    verified: bool
    reason: str = ""
    problem: str = ""
    exercise: str = ""
    learner: str = ""
    verdict: str = ""
    points: int | None = None
    max_points: int | None = None
    graded_at: str = ""
    key: str = ""
    checked: tuple[str, ...] = ()
    unsigned: tuple[str, ...] = ()


@click.command("verify")
@click.argument("receipts", nargs=-1, required=True, metavar="RECEIPT...")
@click.option(
    "--key",
    "pinned",
    multiple=True,
    required=True,
    metavar="PUB",
    help="The public key of whoever signs, from them and not from the receipt; several are tried.",
)
@click.option("--submission", metavar="FILE", help="One receipt: the file that was graded.")
@click.option("--learner", metavar="NAME", help="Whose they have to be; name or id.")
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
def command(
    receipts: tuple[str, ...],
    pinned: tuple[str, ...],
    submission: str | None,
    learner: str | None,
    as_json: bool,
) -> int:
    """Check RECEIPT, any form of it or a folder of them; exit code 0 only if all are as signed.

    Example: grade verify receipts/distributed-03/my_solution.html --key course.pub
    """
    from grader.trust import keys
    from grader.trust.verify import Expected

    _refuse_empty(pinned, submission, learner)
    known = [keys.load_public(Path(one)) for one in pinned]
    asked = _asked(receipts)
    if submission is not None and len(asked.places) > 1:
        raise UsageProblem(
            f"--submission is for one receipt, and there are {len(asked.places)}",
            next_step="name the one receipt of that file",
        )
    graded = intake.read(submission).sha256 if submission is not None else ""
    results = list(_check(asked.places, known, Expected(learner or "", graded)))
    if as_json:
        click.echo(json.dumps(_as_json(results, asked), indent=2))
    else:
        _tell(results, asked)
    whole = all(one.verified for one in results) and not asked.unseen
    return 0 if whole else 1


@dataclass
class _Asked:
    """The receipts that are meant, and what else lies in the folders that were named."""

    places: list[Place] = field(default_factory=list)
    others: list[Path] = field(default_factory=list)
    copies: list[Path] = field(default_factory=list)
    unseen: list[tuple[Path, str]] = field(default_factory=list)


def _refuse_empty(pinned: Sequence[str], submission: str | None, learner: str | None) -> None:
    """Refuse an option without a value, as a variable that is not set leaves it: it asks nothing.

    Raises: UsageProblem, also for a name that is no text.
    """
    given = [("--key", one) for one in pinned]
    given += [("--submission", submission or "")] if submission is not None else []
    given += [("--learner", learner or "")] if learner is not None else []
    for option, value in given:
        if not value.strip():
            raise UsageProblem(
                f"{option} is empty, so nothing would be checked by it",
                next_step=f"give it a value, or leave {option} out"
                if option != "--key"
                else "name the public key of whoever signs",
            )
    if learner is not None and not learner.isprintable():
        raise UsageProblem(
            "--learner is no printable text (in UTF-8)",
            next_step='for example --learner "Ada Lovelace"',
        )


def _asked(receipts: Sequence[str]) -> _Asked:
    from grader.trust import shelf

    asked = _Asked()
    for given in receipts:
        path = Path(given)
        if not shelf.is_folder(path):
            asked.places.append(shelf.place(path))
            continue
        found = shelf.below(path)
        if not found.receipts and not found.unseen:
            copies = "; copies under pseudonyms are never signed" if found.copies else ""
            raise UsageProblem(
                f"there is no receipt in {visible_line(given)}{copies}",
                next_step="name the folder that `grade EXERCISE FILE` wrote, such as receipts",
            )
        asked.places += found.receipts
        asked.others += found.others
        asked.copies += found.copies
        asked.unseen += found.unseen
    return asked


def _check(
    places: Sequence[Place], keys: Sequence[SSlibKey], expected: Expected
) -> Iterator[_Result]:
    from grader.trust import shelf
    from grader.trust.refused import Refused

    for one in places:
        shown = str(one.shown())
        try:
            yield _verified(shown, shelf.check(one, keys, expected))
        except Refused as error:
            yield _Result(shown, False, error.reason, error.sentence())
        except GradeError:
            raise
        # One receipt that nobody foresaw must not keep the others from being told.
        except Exception as error:  # noqa: BLE001 - a stranger made the file
            said = f"this could not be made sense of: {type(error).__name__}: {str(error)[:200]}"
            yield _Result(shown, False, "malformed", said)


def _verified(shown: str, found: Verified) -> _Result:
    receipt = found.receipt
    learner = receipt.learner
    return _Result(
        receipt=shown,
        verified=True,
        exercise=receipt.exercise,
        learner=(learner.name or learner.id or learner.email) if learner else "",
        verdict=receipt.verdict,
        points=receipt.points,
        max_points=receipt.max_points,
        graded_at=receipt.created_at,
        key=found.keyid,
        checked=found.checked,
        unsigned=found.unsigned,
    )


def _as_json(results: Sequence[_Result], asked: _Asked) -> dict[str, object]:
    return {
        "receipts": [asdict(one) for one in results],
        "others": [str(path) for path in asked.others],
        "copies_under_pseudonyms": [str(path) for path in asked.copies],
        "not_looked_into": [{"path": str(path), "because": told} for path, told in asked.unseen],
    }


def _tell(results: Sequence[_Result], asked: _Asked) -> None:
    for one in results:
        _say("verified" if one.verified else "refused", one.receipt)
        if not one.verified:
            _say("", f"{one.reason}: {one.problem}")
            continue
        # Ours first: a name can be made to read like a verdict.
        whose = f"learner {_quoted(one.learner)}" if one.learner else "no learner named"
        _say("", f"{one.verdict}, {one.points} of {one.max_points} points in {one.exercise}")
        _say("", whose)
        _say("", f"graded {one.graded_at}; forms compared: {', '.join(one.checked)}")
        _say("", f"signed by key {one.key}")
        if one.unsigned:
            _say("", f"beside it, and not signed: {', '.join(one.unsigned)}")
    bad = sum(not one.verified for one in results)
    if len(results) > 1:
        unsigned = sum(one.reason == "unsigned" for one in results)
        _say("", f"{len(results)} receipts: {len(results) - bad} verified, {bad} refused"
             f" ({unsigned} unsigned)")  # fmt: skip
    for path, told in asked.unseen:
        _say("unchecked", f"{path}")
        _say("", f"{told}: what is in it is not known; name it by itself")
    _tell_of("copy under a pseudonym, never signed", "copies under pseudonyms, never signed",
             asked.copies)  # fmt: skip
    _tell_of("other file is no receipt and was passed over",
             "other files are no receipts and were passed over", asked.others)  # fmt: skip


def _tell_of(one: str, several: str, paths: Sequence[Path]) -> None:
    if paths:
        _say("", f"{len(paths)} {one if len(paths) == 1 else several}:")
        for path in paths:
            _say("", f"  {path}")


def _quoted(name: str) -> str:
    """Return a name that ends where its quotes do, and that no line is too short for."""
    cut = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"
    return '"' + cut.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _say(label: str, text: str) -> None:
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    for line in wrapped(visible_line(f"{label:<10}{text}"), width):
        click.echo(line)


def wrapped(line: str, width: int) -> list[str]:
    """Return a line in pieces of at most `width` columns, all but the first one indented.

    A terminal begins the rest of a long line at its edge, where our own words stand. With a width
    of less than 40 columns, or none, the line stays whole.
    """
    if width < 40:
        return [line]
    pieces, used = [""], 0
    for char in line:
        columns = 2 if unicodedata.east_asian_width(char) in "WF" else 1
        if used + columns > width:
            pieces.append(" " * 12)
            used = 12
        pieces[-1] += char
        used += columns
    return pieces
