"""`grade verify RECEIPT --key PUB`: whether receipts are what a pinned key signed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader import intake
from grader.errors import UsageProblem
from grader.receipt.escape import visible_line

if TYPE_CHECKING:
    from securesystemslib.signer import SSlibKey

    from grader.trust.shelf import Place
    from grader.trust.verify import Expected, Verified


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
@click.option("--learner", metavar="NAME", default="", help="Whose they have to be; name or id.")
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
def command(
    receipts: tuple[str, ...],
    pinned: tuple[str, ...],
    submission: str | None,
    learner: str,
    as_json: bool,
) -> int:
    """Check RECEIPT, any form of it or a folder of them; exit code 0 only if all are as signed.

    Example: grade verify receipts/distributed-03/my_solution.html --key course.pub
    """
    from grader.trust import keys
    from grader.trust.verify import Expected

    known = [keys.load_public(Path(one)) for one in pinned]
    places, others = _places(receipts)
    if submission is not None and len(places) > 1:
        raise UsageProblem(
            f"--submission is for one receipt, and there are {len(places)}",
            next_step="name the one receipt of that file",
        )
    graded = intake.read(submission).sha256 if submission is not None else ""
    results = list(_check(places, known, Expected(learner, graded)))
    if as_json:
        click.echo(json.dumps([asdict(one) for one in results], indent=2))
    else:
        _tell(results, others)
    return 0 if all(one.verified for one in results) else 1


def _places(receipts: Sequence[str]) -> tuple[list[Place], list[Path]]:
    """Return the receipts that are meant, and the files in folders that are none."""
    from grader.trust import shelf

    places: list[Place] = []
    others: list[Path] = []
    for given in receipts:
        path = Path(given)
        if path.is_dir():
            found = shelf.below(path)
            if not found.receipts:
                raise UsageProblem(
                    f"there is no receipt in {given}",
                    next_step="name the folder that `grade EXERCISE FILE` wrote, such as receipts",
                )
            places += found.receipts
            others += found.others
        else:
            places.append(shelf.place(path))
    return places, others


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


def _tell(results: Sequence[_Result], others: Sequence[Path]) -> None:
    for one in results:
        _say("verified" if one.verified else "refused", one.receipt)
        if not one.verified:
            _say("", f"{one.reason}: {one.problem}")
            continue
        whose = f"{one.learner}, " if one.learner else "no learner named, "
        _say("", f"{whose}{one.exercise}: {one.verdict}, {one.points} of {one.max_points} points")
        _say("", f"graded {one.graded_at}; forms compared: {', '.join(one.checked)}")
        _say("", f"signed by key {one.key}")
        if one.unsigned:
            _say("", f"beside it, and not signed: {', '.join(one.unsigned)}")
    bad = sum(not one.verified for one in results)
    if len(results) > 1:
        unsigned = sum(one.reason == "unsigned" for one in results)
        _say("", f"{len(results)} receipts: {len(results) - bad} verified, {bad} refused"
             f" ({unsigned} unsigned)")  # fmt: skip
    if others:
        said = "is no receipt and was" if len(others) == 1 else "are no receipts and were"
        files = "file" if len(others) == 1 else "files"
        _say("", f"{len(others)} other {files} {said} passed over")


def _say(label: str, text: str) -> None:
    click.echo(visible_line(f"{label:<10}{text}"))
