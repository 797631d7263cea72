"""`grade portfolio [DIR]`: gather receipts into one page and one zip, or restore such a zip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli import options
from grader.errors import UsageProblem

if TYPE_CHECKING:
    from grader.portfolio.gather import Told
    from grader.portfolio.make import Made
    from grader.portfolio.restore import Restored
    from grader.portfolio.verify import Verified

_MOST_TOLD = 50


@click.command("portfolio")
@click.argument("directory", default="receipts", metavar="[DIR]")
@click.option("--out", metavar="FOLDER_OR_ZIP", help="Where it goes (portfolio.zip, here).")
@click.option("--submissions", metavar="DIR", help="Where the graded files are looked for too.")
@click.option(
    "--key",
    metavar="FILE",
    help="Sign with this private key; with --import, refuse what this public key did not sign.",
)
@click.option("--import", "source", metavar="ZIP", help="Check a portfolio and restore it to DIR.")
@options.course
def command(
    directory: str,
    out: str | None,
    submissions: str | None,
    key: str | None,
    source: str | None,
    course: str | None,
) -> int:
    """Gather the receipts in DIR (receipts) into one page and one zip, to keep or hand in.

    Example: grade portfolio

    Example: grade portfolio --import portfolio.zip receipts
    """
    _refuse_empty(
        {
            **{"DIR": directory, "--out": out, "--submissions": submissions},
            **{"--key": key, "--import": source, "--course": course},
        }
    )
    if source is None:
        return _make(directory, out, submissions, key, course)
    for option, given in (("--out", out), ("--submissions", submissions), ("--course", course)):
        if given is not None:
            raise UsageProblem(
                f"{option} is for making a portfolio, and --import restores one",
                next_step=f"leave {option} out",
            )
    return _restore(source, directory, key)


def _refuse_empty(named: Mapping[str, str | None]) -> None:
    # An empty --key must not pass for none: nothing would be signed, or nothing checked.
    for name, value in named.items():
        if value == "":
            raise UsageProblem(
                f"{name} is empty, as when a variable of the shell is not set",
                next_step=f"give {name} a value, or leave it out",
            )


def _make(
    directory: str, out: str | None, submissions: str | None, key: str | None, course: str | None
) -> int:
    from grader.catalog import course as courses
    from grader.cli.run import compiled_templates
    from grader.portfolio.gather import gather
    from grader.portfolio.make import Asked, make
    from grader.portfolio.seal import signing

    asked = Asked(
        receipts=Path(directory),
        out=Path("." if out is None else out),
        submissions=None if submissions is None else Path(submissions),
        templates=courses.find(course).templates,
        created_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        # Before anything is read, so that a wrong key costs no time.
        sign=None if key is None else signing(Path(key)),
        cache=compiled_templates(),
    )
    gathered = gather(asked.receipts)
    if not gathered.attempts:
        _tell("left out", gathered.told)
        raise UsageProblem(
            f"there is no receipt in {directory}",
            next_step="grade something first: grade EXERCISE FILE; or name the folder of receipts",
        )
    _say_made(make(asked, gathered), signed=key is not None)
    return 0


def _say_made(made: Made, *, signed: bool) -> None:
    from grader.portfolio.files import shown

    what = f"{_count(made.receipts, 'receipt')} of {_count(made.exercises, 'exercise')}"
    files = f"{_count(made.submissions, 'graded file')}" if made.submissions else "no graded file"
    seal = "signed" if signed else "not signed"
    if made.was_signed and not signed:
        seal += " (the earlier one was: add --key to sign)"
    click.echo(f"portfolio {shown(made.zip)}: {what}, {files}, {seal}")
    click.echo(f"page      {shown(made.page)}")
    _tell("left out", made.told)
    restore = f"grade portfolio --import {shown(made.zip)}"
    click.echo(f"  Next: keep the zip in another place too; `{restore}` restores it")


def _restore(source: str, directory: str, key: str | None) -> int:
    from grader.portfolio.files import shown
    from grader.portfolio.restore import restore
    from grader.portfolio.seal import checking
    from grader.portfolio.unpack import members
    from grader.portfolio.verify import verify

    where = shown(source)
    check = None if key is None else checking(Path(key), where)
    found = verify(members(Path(source)), where, check)
    _say_checked(found, where)
    _say_restored(restore(found, Path(directory)), directory)
    return 0


def _say_checked(found: Verified, where: str) -> None:
    whole = f"{where} is whole: {_count(len(found.manifest.files), 'file')} as its manifest lists"
    if found.checked:
        click.echo(f"checked   {whole}, signed with this key")
    elif found.signed:
        said = "it holds something that calls itself a signature, which was not checked"
        click.echo(f"checked   {whole}; {said}")
        click.echo("  Next: to check who made it, add --key and their public key", err=True)
    else:
        click.echo(f"checked   {whole}; not signed, so nobody vouches for who made it")


def _say_restored(done: Restored, directory: str) -> None:
    from grader.portfolio.files import shown

    there = f"; {done.there} there already" if done.there else ""
    click.echo(f"restored  {_count(done.added, 'receipt')} to {shown(directory)}{there}")
    if done.submissions or done.submissions_there:
        there = f"; {done.submissions_there} there already" if done.submissions_there else ""
        place = shown(Path(directory) / "submissions")
        click.echo(f"          {_count(done.submissions, 'graded file')} to {place}{there}")
    _tell("beside", done.aside)
    _tell("conflict", done.conflicts)
    click.echo(f"  Next: `grade portfolio {shown(directory)}` makes the page again")


def _tell(what: str, told: Sequence[Told]) -> None:
    """Say what was left out or left alone, one line each; of very many the number of the rest."""
    from grader.receipt.escape import visible_line

    for one in told[:_MOST_TOLD]:
        click.echo(visible_line(f"{what:9} {one.who}: {one.why}"), err=True)
    if len(told) > _MOST_TOLD:
        click.echo(f"{what:9} and {len(told) - _MOST_TOLD} more", err=True)


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
