"""`grade export RESULTS --to FORMAT`: give the grades back in the form of a platform."""

from __future__ import annotations

import os
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import click

from grader import secret
from grader.cli import options, settle
from grader.cli.opened import learner, opened
from grader.errors import UsageProblem
from grader.gradebook import exports, results, strays
from grader.receipt.escape import visible
from grader.records.gradebook import Gradebook


@click.command("export")
@click.argument("results_dir", metavar="RESULTS")
@click.option("--to", "form", required=True, metavar="FORMAT", help="See `grade export --list`.")
@click.option(
    "--list",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda ctx, _param, wanted: _list(ctx) if wanted else None,
    help="Show the formats.",
)
@click.option("--template", metavar="FILE", help="The platform's own file, to be filled in.")
@click.option("--column", default="", metavar="TITLE", help="Canvas: the assignment's column.")
@click.option("--id-column", metavar="TITLE", help="Moodle: the column of the learners' ids.")
@click.option("--grade-column", metavar="TITLE", help="Moodle: the column of the grades.")
@click.option("--maximum-column", metavar="TITLE", help="Moodle: the column of the maximum.")
@click.option("--comment-column", metavar="TITLE", help="Moodle: the column of the comments.")
@click.option("--scale-to", metavar="N", help="Map the points to this maximum.")
@click.option("--learner", "who", default="", metavar="LEARNER", help="Of one learner alone.")
@click.option("--receipts", default="html", type=click.Choice(["html", "md"]), help="Their form.")
@click.option("--hide", multiple=True, metavar="CHECK", help="Gradescope: hide this check.")
@click.option("--assignment", multiple=True, metavar="NAME=VALUE", help="A word of the platform.")
@click.option("--bom", is_flag=True, help="Begin a CSV with a byte order mark, as Excel likes it.")
@click.option("--replace-comments", is_flag=True, help="Moodle: write over comments of others.")
@click.option("--anonymize", is_flag=True, help="Use pseudonyms; pseudonyms.csv leads back.")
@click.option("--out", metavar="DIR", help="Where to write; RESULTS/exports/FORMAT without it.")
@click.option("--dry-run", is_flag=True, help="Show what would change, write nothing.")
@options.course
def command(results_dir: str, form: str, course: str | None, **asked: Any) -> int:
    """Write the grades of RESULTS in a platform's own form.

    Example: grade export results --to canvas --template gradebook.csv --column "Week 3 (4711)"
    """
    with opened(results_dir, course) as found:
        book = found.book()
        for note in strays.unused(found.ledger.stands(), settle.read_marks(found.root)):
            click.echo(visible(f"note: {note.who}: {note.text}"), err=True)
        if asked["who"]:
            asked["who"] = learner(book, asked["who"]).person.key
        shelf = settle.shelf(found.root, found.ledger, found.entry, reading=True)
        if asked["anonymize"]:
            book = _hidden(found.root, book, asked, write=not asked["dry_run"])
        made = exports.export(form, book, _options(asked, shelf.content))
        out = Path(asked["out"]) if asked["out"] else found.root / "exports" / form
        for remark in made.remarks:
            click.echo(visible(f"note: {remark}"), err=True)
        if asked["dry_run"]:
            _show(made, out)
        else:
            _write(made, out)
    return 0


def _list(ctx: click.Context) -> None:
    for name in exports.names():
        click.echo(f"{name:18s} {exports.summary(name)}")
    ctx.exit()


def _hidden(root: Path, book: Gradebook, asked: dict[str, Any], *, write: bool) -> Gradebook:
    # What is only shown leaves nothing behind, a secret neither.
    known_key = secret.ensure() if write else secret.read()
    if known_key is None:
        click.echo("note: no course secret yet, so the real pseudonyms will differ", err=True)
    hidden = exports.anonymize(book, known_key or os.urandom(32))
    if asked["who"]:
        known = {person.key: pseudonym for pseudonym, person in hidden.people.items()}
        asked["who"] = known[asked["who"]]
    if write:
        results.put(root / results.PSEUDONYMS, hidden.table())
    return hidden.gradebook


def _options(asked: dict[str, Any], receipt_bytes: Any) -> exports.Options:
    columns = {
        name: asked[f"{name}_column"]
        for name in ("id", "grade", "maximum", "comment")
        if asked[f"{name}_column"]
    }
    return exports.Options(
        template=Path(asked["template"]) if asked["template"] else None,
        column=asked["column"],
        columns=columns,
        scale_to=_scale(asked["scale_to"]),
        form=asked["receipts"],
        receipt_bytes=receipt_bytes,
        learner=asked["who"],
        hidden=frozenset(asked["hide"]),
        assignment=dict(_pair(text) for text in asked["assignment"]),
        bom=asked["bom"],
        replace_comments=asked["replace_comments"],
    )


def _scale(text: str | None) -> Decimal | None:
    if text is None:
        return None
    try:
        value = Decimal(text.replace(",", "."))
    except InvalidOperation:
        value = Decimal(0)
    if not value.is_finite() or not 0 < value < 1_000_000:
        raise UsageProblem(
            f"--scale-to {text!r} is no maximum of points", next_step="for example --scale-to 20"
        )
    return value


def _pair(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise UsageProblem(
            f"--assignment {text!r} is not NAME=VALUE", next_step="for example --assignment name=w3"
        )
    return name, value


def _show(made: exports.Export, out: Path) -> None:
    present = {}
    for name, _ in made.files:
        place = out / name
        if place.is_file():
            present[name] = place.read_bytes()
    for difference in exports.difference(made, present):
        click.echo(f"{difference.state:8s}{out / difference.name}")
        for line in difference.lines:
            click.echo(visible(f"  {line}"))
    for change in made.changes:
        click.echo(
            visible(f"  {change.who}: {change.column}: {change.before!r} -> {change.after!r}")
        )


def _write(made: exports.Export, out: Path) -> None:
    changed = results.put_all(out, dict(made.files))
    for name, _ in made.files:
        click.echo(f"{'wrote' if name in changed else 'same':6s}{out / name}")
