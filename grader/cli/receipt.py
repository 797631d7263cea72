"""`grade receipt FILE --to FORM`: show a stored receipt again, for its learner or an instructor."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from grader.catalog import course as courses
from grader.cli import options
from grader.errors import EnvironmentProblem, GradeError, UsageProblem
from grader.receipt.escape import visible_line

if TYPE_CHECKING:
    from grader.records.instructor import InstructorView
    from grader.records.receipt import Receipt


@click.command("receipt")
@click.argument("file", metavar="FILE")
@click.option(
    "--to",
    "form",
    type=click.Choice(["html", "md", "txt", "json", "pdf"]),
    default="txt",
    help="The form to give; txt without it. pdf needs pip install 'shardgrade[pdf]'.",
)
@click.option("--out", metavar="PATH", help="Write it there; never over another file.")
@click.option(
    "--instructor",
    "record",
    is_flag=False,
    flag_value="",
    metavar="[RECORD]",
    help="Add hidden inputs, expected values and what devices held, after FILE. RECORD is what "
    "`grade … --instructor` wrote: the one beside FILE without it, else the course secret.",
)
@options.course
def command(file: str, form: str, course: str | None, **asked: Any) -> int:
    """Show the receipt in FILE (.json, or an .html page that holds it) again, from its record.

    Example: grade receipt receipts/distributed-03/my_solution.json --to pdf --out mine.pdf
    """
    from grader.receipt import instructor, read
    from grader.receipt.render import Form, render, to_json

    _refuse_names(form, course, asked["out"], instructors=asked["record"] is not None)
    receipt = read.receipt(file)
    found = _course(course)
    text: Form = "html" if form == "pdf" else form  # type: ignore[assignment]
    if asked["record"] is None:
        shown = render(receipt, text, found.templates)
    else:
        added = _added(receipt, found, file, asked["record"])
        shown = instructor.render(receipt, added, text, found.templates)
    content = shown.encode(errors="backslashreplace")
    if form == "pdf":
        from grader.receipt import pdf

        content = pdf.make(shown)
    elif form == "html":
        from grader.trust import page

        # As `grade` writes it, so that the page can be read again; no signature covers it.
        content = page.with_receipt(content, to_json(receipt).encode())
    _deliver(content, asked["out"], text=form != "pdf")
    return 0


def _refuse_names(form: str, course: str | None, out: str | None, *, instructors: bool) -> None:
    for name, value in (("--out", out), ("--course", course)):
        if value == "":
            raise UsageProblem(
                f"{name} is empty, as when a variable of the shell is not set",
                next_step=f"give {name} a value, or leave it out",
            )
    # By that name a portfolio and whoever hands files back know it, and never take it.
    if instructors and out is not None and ".instructor." not in Path(out).name.casefold():
        stem = Path(out).stem or "mine"
        raise UsageProblem(
            f"{visible_line(out)} could be taken for the learner's own, and the instructor's view "
            "tells hidden inputs",
            next_step=f"name it so: --out {visible_line(stem)}.instructor.{form}",
        )


def _course(given: str | None) -> courses.Course:
    """Return the course; a reader of receipts needs none, so the shipped one will do."""
    try:
        return courses.find(given)
    except UsageProblem:
        if given:
            raise
        return courses.Course(courses.shipped())


def _added(receipt: Receipt, found: courses.Course, file: str, given: str) -> InstructorView:
    from grader.catalog.load import entry as load
    from grader.cli import earlier
    from grader.receipt import hidden

    record = earlier.record(receipt, file, given)
    try:
        entry = load(found, receipt.exercise)
        same = entry.digest == receipt.environment.rubric_sha256
    except GradeError:
        if record is None:
            raise
        same = False
    if record is not None and not same:
        return hidden.kept(record)
    if record is not None:
        seed = bytes.fromhex(record.seed)
        return hidden.view(entry.exercise, entry.oracle, seed, record.seed_source, record)
    if not same:
        raise UsageProblem(
            "the hidden inputs of this grade cannot be made again: the rubric has changed since",
            where=str(found.root),
            next_step="name the course as it was with --course DIR",
        )
    seed = _of_secret(receipt)
    return hidden.view(entry.exercise, entry.oracle, seed, "course secret", None)


def _of_secret(receipt: Receipt) -> bytes:
    from grader.cli import earlier

    if receipt.submission.siblings:
        raise UsageProblem(
            "the seed of this grade follows from files beside the submission too, "
            "which a receipt does not hold",
            next_step="name the record that `grade … --instructor` wrote, or grade it again",
        )
    return earlier.from_secret(receipt)


def _deliver(content: bytes, out: str | None, *, text: bool) -> None:
    if out is not None:
        _write(Path(out), content)
        click.echo(f"wrote {visible_line(out)}", err=True)
    elif text or not sys.stdout.isatty():
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    else:
        raise UsageProblem(
            "a PDF is nothing for a terminal", next_step="say where it goes with --out PATH"
        )


def _write(place: Path, content: bytes) -> None:
    """Write a new file whole; one that holds just this already is left as it is."""
    shown = visible_line(str(place))
    try:
        with contextlib.suppress(FileNotFoundError):
            if place.is_file() and place.read_bytes() == content:
                return
        handle = os.open(
            place, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o666
        )
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
        except BaseException:
            place.unlink(missing_ok=True)
            raise
    except FileExistsError:
        raise UsageProblem(
            f"{shown} exists already and is left as it is", next_step="name another file"
        ) from None
    except OSError as error:
        raise EnvironmentProblem(
            f"{shown} cannot be written: {error.strerror}",
            next_step="name a place in a folder that is there and can be written",
        ) from error
