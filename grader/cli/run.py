"""`grade EXERCISE FILE`: grade one submission, show it, write its receipts."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from grader import intake, secret
from grader.catalog import course as courses
from grader.cli import early, memory, options, own_file, signing
from grader.errors import EnvironmentProblem, GradeError, UsageProblem
from grader.sandbox import cache
from grader.sandbox.host import Host

if TYPE_CHECKING:
    from securesystemslib.signer import CryptoSigner

    from grader.catalog.load import Entry
    from grader.engine import Grade
    from grader.receipt.store import Written
    from grader.records.instructor import InstructorRecord, SeedSource
    from grader.records.receipt import Receipt
    from grader.records.submission import Submission
    from grader.sandbox.platforms import Platform

_RENDERED: tuple[Literal["md", "html"], ...] = ("md", "html")
EXIT_CODES = {"passed": 0, "failed": 1, "error": 1, "undecided": 5}


class _Grade(click.Command):
    """The command whose name is an exercise, which is its first argument as well."""

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return what stands after the exercise in the usage line."""
        return ["FILE...", "[OPTIONS]"]


@click.command("grade", cls=_Grade)
@click.argument("exercise")
@click.argument("files", nargs=-1, metavar="FILE...")
@click.option(
    "--out", metavar="DIR", help="Where receipts go (receipts), or a class's results (results)."
)
@options.require_confinement
@options.platform
@click.option("--no-cache", is_flag=True, help="Do without the cache of compiled programs.")
@options.course
@click.option("--no-receipt", is_flag=True, help="One file: show the verdict, write nothing.")
@click.option("--json", "as_json", is_flag=True, help="One file: print the JSON receipt alone.")
@click.option(
    "--seed",
    metavar="HEX",
    help="One file: make a grade again; 2 to 64 hexadecimal digits, an even number.",
)
@click.option(
    "--instructor", is_flag=True, help="One file: write the seed and what was hidden too."
)
@click.option("--learner", metavar="NAME", help="One file: whose it is, for the receipt.")
@click.option(
    "--not-mine", is_flag=True, help="One file: leave out what predict, quiz and hint remember."
)
@click.option("--sign", metavar="KEY", help="Sign every receipt; see `grade keygen`.")
@click.option("--timings", is_flag=True, help="One file: say on stderr where the time went.")
@click.option("--source", metavar="LAYOUT", help="A class: take the files to be laid out so.")
@click.option("--roster", metavar="CSV", help="A class: who is in it, with names and ids.")
@click.option("--jobs", type=click.IntRange(1, 256), help="A class: how many at a time (cores).")
@click.option("--quiet", is_flag=True, help="A class: show no progress.")
@click.option("--anonymize", is_flag=True, help="A class: pseudonyms in report and gradebook.")
@click.option(
    "--executor",
    type=click.Choice(["local", "dask"]),
    default="local",
    help="A class: where it is graded.",
)
@click.option("--scheduler", metavar="ADDRESS", help="A class: of the Dask cluster.")
def command(exercise: str, files: tuple[str, ...], **asked: Any) -> int:
    """Grade FILE as a solution of EXERCISE; a folder, an archive or several paths are a class.

    Example: grade distributed-03 my_solution.py

    Example: grade distributed-03 submissions.zip --roster students.csv
    """
    found = courses.find(asked["course"])
    if exercise not in found.ids():
        complain_about(found, exercise)
    if not files:
        raise own_file.none_named(exercise)
    many = _is_class(files, asked)
    _refuse_misplaced(asked, _OF_ONE if many else _OF_CLASS, many)
    if not many:
        return _one(found, exercise, files[0], asked)
    own_file.tell_folder(exercise, files)
    return _class(found, exercise, files, asked)


# What makes no sense for the other kind of grading; by parameter, the option and its idle value.
_OF_ONE = {
    "no_receipt": ("--no-receipt", False),
    "as_json": ("--json", False),
    "seed": ("--seed", None),
    "instructor": ("--instructor", False),
    "learner": ("--learner", None),
    "platform": ("--platform", "cpu"),
    "not_mine": ("--not-mine", False),
    "timings": ("--timings", False),
}
_OF_CLASS = {
    "jobs": ("--jobs", None),
    "quiet": ("--quiet", False),
    "anonymize": ("--anonymize", False),
    "executor": ("--executor", "local"),
    "scheduler": ("--scheduler", None),
}


# Only zips are opened; of the others a class's own way says what to do.
_PACKED = (".zip", ".rar", ".7z", ".tar", ".tgz", ".tbz", ".tbz2", ".txz", ".tzst") + tuple(
    f".tar.{packed}" for packed in ("gz", "bz2", "xz", "zst", "z")
)


def _is_class(files: tuple[str, ...], asked: Mapping[str, Any]) -> bool:
    if len(files) > 1 or asked["source"] or asked["roster"]:
        return True
    return os.path.isdir(files[0]) or files[0].lower().endswith(_PACKED)


def _refuse_misplaced(
    asked: Mapping[str, Any], other: Mapping[str, tuple[str, object]], many: bool
) -> None:
    for name, (option, idle) in other.items():
        if asked[name] != idle:
            kind, words = ("a class", "one file") if many else ("one file", "a class")
            raise UsageProblem(
                f"{option} is for {words}, and this is {kind}", next_step=f"leave {option} out"
            )


def _class(
    found: courses.Course, exercise: str, files: tuple[str, ...], asked: Mapping[str, Any]
) -> int:
    from grader.cli import bulk

    order = bulk.Order(
        paths=files,
        out=asked["out"] or "results",
        source=asked["source"],
        roster=asked["roster"],
        jobs=asked["jobs"] or bulk.default_jobs(),
        quiet=asked["quiet"],
        # Nobody looks at each file of a class before it runs.
        only_full=asked["require_confinement"] != "auto",
        cache=not asked["no_cache"],
        anonymous=asked["anonymize"],
        executor=asked["executor"],
        scheduler=asked["scheduler"],
        sign=asked["sign"],
    )
    return bulk.grade_many(found, exercise, order)


def _one(found: courses.Course, exercise: str, file: str, asked: Mapping[str, Any]) -> int:
    given = _given(asked["seed"])
    if asked["instructor"] and asked["no_receipt"]:
        raise UsageProblem(
            "--instructor writes a record, and --no-receipt writes nothing",
            next_step="leave one of them out",
        )
    learner, signer = signing.learner(asked["learner"]), _signer(asked)
    submission = intake.read(file)
    platform = options.chosen(asked["platform"])
    place = None if asked["no_cache"] or platform else early.cache_place(found, exercise)
    host = early.take(found, place, asked["sign"], platform)
    try:
        wanted = _Wanted(
            seed=given,
            course_secret=None if given else secret.read(),
            only_full=signing.only_full(asked["require_confinement"], asked["sign"]),
            receipts=not asked["no_receipt"],
            key=asked["sign"],
            platform=platform,
        )
        result, entry = _grade(host, found, exercise, submission, wanted)
        result = replace(result, receipt=result.receipt.model_copy(update={"learner": learner}))
        result = memory.told(result, entry) if memory.is_own(asked) else result
        record = _record(result, wanted) if asked["instructor"] else None
        out = Path(asked["out"] or "receipts") if wanted.receipts else None
        trouble = _deliver(result, record, entry, submission, out, asked["as_json"], signer)
    finally:
        host.close()
    if asked["timings"]:
        _say_timings(result)
    if place is not None and not cache.state(place) and result.receipt.verdict != "undecided":
        _warm(entry, place)
    if trouble is not None:
        raise trouble
    return EXIT_CODES[result.receipt.verdict]


@dataclass(frozen=True)
class _Wanted:
    """How to grade: with which seed or secret, confined how, and whether to write receipts.

    `key` is the file of the key that signs, which no child may be given; `platform` are real
    devices.
    """

    seed: bytes | None
    course_secret: bytes | None
    only_full: bool
    receipts: bool
    key: str | None = None
    platform: Platform | None = None


def _signer(asked: Mapping[str, Any]) -> CryptoSigner | None:
    """Return what signs; read before anything runs, so that a wrong key costs no grade."""
    if asked["sign"] and asked["no_receipt"]:
        raise UsageProblem(
            "--sign signs a receipt, and --no-receipt writes none",
            next_step="leave one of them out",
        )
    return signing.signer(asked["sign"])


def _given(seed: str | None) -> bytes | None:
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


def complain_about(found: courses.Course, exercise: str) -> None:
    """Raise what keeps an exercise from being one of this course: a GradeError that says so."""
    from grader.catalog.load import entry

    entry(found, exercise)


def _grade(
    host: Host,
    found: courses.Course,
    exercise: str,
    submission: Submission,
    wanted: _Wanted,
) -> tuple[Grade, Entry]:
    from grader import engine
    from grader.catalog.load import entry as load
    from grader.cli.main import STARTED
    from grader.cli.terminal import make_console, spinner

    with spinner(make_console(stderr=True), f"grading {submission.name}"):
        entry = load(found, exercise)
        submission = intake.with_siblings(submission, entry.exercise.siblings)
        signing.refuse_handing_over(wanted.key, submission)
        if wanted.receipts:
            prepare(entry)
        result = engine.grade(
            entry,
            submission,
            host,
            seed=wanted.seed,
            course_secret=wanted.course_secret,
            only_full=wanted.only_full,
            platform=wanted.platform,
            started=STARTED,
        )
    return result, entry


def _record(result: Grade, wanted: _Wanted) -> InstructorRecord:
    from grader.receipt import hidden
    from grader.records.instructor import InstructorRecord

    receipt = result.receipt
    source: SeedSource = "course secret" if wanted.course_secret else "drawn for this grade"
    return InstructorRecord(
        exercise=receipt.exercise,
        submission=receipt.submission,
        rubric_sha256=receipt.environment.rubric_sha256,
        seed=result.seed.hex(),
        seed_source="given with --seed" if wanted.seed else source,
        evidence_digest=receipt.evidence_digest,
        created_at=receipt.created_at,
        observed=hidden.observed(result.observations),
        written=hidden.written(result.claims, result.truth),
    )


def prepare(entry: Entry) -> None:
    """Load what showing and writing need while the children are still loading JAX."""
    from grader.receipt import render

    for form in _RENDERED:
        render.prepare(form, entry.course.templates, compiled_templates())


@functools.cache
def compiled_templates() -> Path | None:
    """Return a folder of our own for compiled templates, None where there is none."""
    # Read back as code in this very process, so it must be a folder of our own.
    return cache.private("templates")


def _deliver(
    result: Grade,
    record: InstructorRecord | None,
    entry: Entry,
    submission: Submission,
    out: Path | None,
    as_json: bool,
    signer: CryptoSigner | None,
) -> GradeError | None:
    """Show the verdict and write the receipts; a folder that cannot be written is told last."""
    from grader.cli.terminal import make_console, print_whole, show_receipt
    from grader.receipt.render import to_json

    written: Written | None = None
    trouble: GradeError | None = None
    if out is not None:
        try:
            origin = os.path.realpath(submission.path)
            written = write_receipts(result.receipt, record, entry, origin, out, signer)
        except EnvironmentProblem as problem:
            trouble = problem
    if as_json:
        print_whole(to_json(result.receipt))
    show_receipt(make_console(stderr=as_json), result.receipt, written)
    if written is not None:
        signing.tell(result.receipt, written.envelope, signer, err=as_json)
    return trouble


def write_receipts(
    receipt: Receipt,
    record: InstructorRecord | None,
    entry: Entry,
    origin: str,
    out: Path,
    signer: CryptoSigner | None,
) -> Written:
    """Render a receipt in every form and keep them under `out`; see `store.write`."""
    from grader.receipt import instructor
    from grader.receipt.render import render
    from grader.receipt.store import write
    from grader.trust.seal import seal

    templates = entry.course.templates
    forms = {"json": render(receipt, "json", templates)}
    for form in _RENDERED:
        forms[form] = render(receipt, form, templates, cache=compiled_templates())
    forms = seal(forms, signer if receipt.verdict != "undecided" else None)
    if record is not None:
        forms["instructor.json"] = instructor.to_json(record)
    return write(receipt, out, forms, origin=origin)


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
