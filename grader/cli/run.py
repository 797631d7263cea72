"""`grade EXERCISE FILE`: grade one submission, show it, write its receipts."""

from __future__ import annotations

import functools
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from grader import intake
from grader.catalog import course as courses
from grader.cli import early, options
from grader.errors import EnvironmentProblem, GradeError, UsageProblem
from grader.sandbox import cache
from grader.sandbox.host import Host

if TYPE_CHECKING:
    from grader.catalog.load import Entry
    from grader.engine import Grade
    from grader.receipt.store import Written
    from grader.records.receipt import Receipt
    from grader.records.submission import Submission

_RENDERED: tuple[Literal["md", "html"], ...] = ("md", "html")
EXIT_CODES = {"passed": 0, "failed": 1, "error": 1, "undecided": 5}


class _Grade(click.Command):
    """The command whose name is an exercise, which is its first argument as well."""

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return what stands after the exercise in the usage line."""
        return ["FILE", "[OPTIONS]"]


@click.command("grade", cls=_Grade)
@click.argument("exercise")
@click.argument("file")
@click.option("--out", default="receipts", metavar="DIR", help="Where receipts go.")
@click.option("--no-receipt", is_flag=True, help="Show the verdict, write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON receipt alone on stdout.")
@click.option(
    "--seed", metavar="HEX", help="Make a grade again: 2 to 64 hexadecimal digits, an even number."
)
@click.option("--no-cache", is_flag=True, help="Do without the cache of compiled programs.")
@click.option("--timings", is_flag=True, help="Say on stderr where the time went.")
@options.course
@click.pass_context
def command(
    ctx: click.Context,
    exercise: str,
    file: str,
    out: str,
    no_receipt: bool,
    as_json: bool,
    seed: str | None,
    no_cache: bool,
    timings: bool,
    course: str | None,
) -> int:
    """Grade FILE as a solution of EXERCISE.

    Example: grade distributed-03 my_solution.py
    """
    material = _material(seed)
    submission = intake.read(file)
    found = courses.find(course)
    if exercise not in found.ids():
        _complain_about(found, exercise)
    place = None if no_cache else early.cache_place(found, exercise)
    host = early.take(found, place)
    try:
        result, entry = _grade(host, found, exercise, submission, material, no_receipt)
        trouble = _deliver(result, entry, submission, out, no_receipt, as_json)
    finally:
        host.close()
    if timings:
        _say_timings(result)
    if place is not None and not cache.state(place) and result.receipt.verdict != "undecided":
        _warm(entry, place)
    if trouble is not None:
        raise trouble
    return EXIT_CODES[result.receipt.verdict]


def _material(seed: str | None) -> bytes | None:
    if seed is None:
        return None
    try:
        material = bytes.fromhex(seed)
    except ValueError:
        material = b""
    if not material or len(material) > 32:
        raise UsageProblem(
            f"--seed {seed!r} is not an even number of hexadecimal digits, 2 to 64 of them",
            next_step="for example --seed 00ff",
        )
    return material


def _complain_about(found: courses.Course, exercise: str) -> None:
    from grader.catalog.load import entry

    entry(found, exercise)


def _grade(
    host: Host,
    found: courses.Course,
    exercise: str,
    submission: Submission,
    material: bytes | None,
    no_receipt: bool,
) -> tuple[Grade, Entry]:
    from grader import engine
    from grader.catalog.load import entry as load
    from grader.cli.main import STARTED
    from grader.cli.terminal import make_console, spinner

    with spinner(make_console(stderr=True), f"grading {submission.name}"):
        entry = load(found, exercise)
        if not no_receipt:
            _prepare(entry)
        result = engine.grade(entry, submission, host, seed_material=material, started=STARTED)
    return result, entry


def _prepare(entry: Entry) -> None:
    """Load what showing and writing need while the children are still loading JAX."""
    from grader.receipt import render

    for form in _RENDERED:
        render.prepare(form, entry.course.templates, _compiled_templates())


@functools.cache
def _compiled_templates() -> Path | None:
    # Read back as code in this very process, so it must be a folder of our own.
    return cache.private("templates")


def _deliver(
    result: Grade,
    entry: Entry,
    submission: Submission,
    out: str,
    no_receipt: bool,
    as_json: bool,
) -> GradeError | None:
    """Show the verdict and write the receipts; a folder that cannot be written is told last."""
    from grader.cli.terminal import make_console, print_whole, show_receipt
    from grader.receipt.render import to_json

    written: Written | None = None
    trouble: GradeError | None = None
    if not no_receipt:
        try:
            written = _write(result.receipt, entry, submission, Path(out))
        except EnvironmentProblem as problem:
            trouble = problem
    if as_json:
        print_whole(to_json(result.receipt))
    show_receipt(make_console(stderr=as_json), result.receipt, written)
    return trouble


def _write(receipt: Receipt, entry: Entry, submission: Submission, out: Path) -> Written:
    from grader.receipt.render import render
    from grader.receipt.store import write

    templates = entry.course.templates
    forms = {"json": render(receipt, "json", templates)}
    for form in _RENDERED:
        forms[form] = render(receipt, form, templates, cache=_compiled_templates())
    return write(receipt, out, forms, origin=os.path.realpath(submission.path))


def _say_timings(result: Grade) -> None:
    for stage, seconds in result.stages_s.items():
        click.echo(f"{stage:12s} {seconds * 1000:7.0f} ms", err=True)
    click.echo(f"{'all':12s} {result.receipt.wall_s * 1000:7.0f} ms", err=True)


def _warm(entry: Entry, place: Path) -> None:
    """Fill the cache for the next grade; no failure of this may change the outcome."""
    from grader import warming

    if sys.stderr.isatty():
        click.echo("preparing faster grading on this machine (once, a few seconds)", err=True)
    try:
        warming.warm(entry, place)
    except KeyboardInterrupt:
        click.echo("stopped preparing; the grade above stands", err=True)
    except (OSError, GradeError) as error:
        click.echo(f"the cache of compiled programs is not available: {error}", err=True)
