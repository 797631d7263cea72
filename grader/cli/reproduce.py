"""`grade reproduce RECEIPT --submission FILE`: grade again with the same seed, and compare.

It writes nothing, and changes no receipt.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING

import click

from grader import __version__, intake
from grader.catalog import course as courses
from grader.cli import early, options
from grader.errors import EnvironmentProblem, UsageProblem
from grader.receipt.escape import visible_line

if TYPE_CHECKING:
    from grader.catalog.load import Entry
    from grader.receipt.differences import Difference
    from grader.records.receipt import Receipt
    from grader.records.submission import Submission
    from grader.sandbox.platforms import Platform

# Names (PEP 508) and versions (PEP 440) alone: pip reads whole lines as options.
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+!_-]{0,60}")
_DIGITS = 16
_LONGEST_NAME = 255
# Of one value, and of a list of differences: a whole source may differ.
_LONGEST_VALUE, _MOST_TOLD = 60, 24


@click.command("reproduce")
@click.argument("file", metavar="RECEIPT")
@click.option("--submission", metavar="FILE", help="The file that was graded.")
@click.option(
    "--instructor-record",
    "record",
    metavar="RECORD",
    help="What `grade … --instructor` wrote. Without it: the one beside RECEIPT, else the course "
    "secret.",
)
@click.option(
    "--print-requirements",
    "requirements",
    is_flag=True,
    help="Grade nothing: print the receipt's exact versions for pip install -r.",
)
@click.option(
    "--require-confinement",
    type=click.Choice(["auto", "full"]),
    default="full",
    help="full, also without it: run nothing where a layer of the sandbox is missing (exit code "
    "4). auto: run with what there is.",
)
@options.platform
@options.course
def command(
    file: str,
    submission: str | None,
    record: str | None,
    requirements: bool,
    require_confinement: str,
    platform: str,
    course: str | None,
) -> int:
    """Grade FILE again with the seed of RECEIPT: 0 the same evidence, 1 not, 5 undecided now.

    The file may be anybody's, so it runs with full confinement or not at all. Nothing is written.

    Example: grade reproduce my_solution.json --submission my_solution.py

    Example: grade reproduce my_solution.json --print-requirements > requirements.txt
    """
    from grader.receipt import read

    receipt = read.receipt(file)
    if requirements:
        click.echo(_requirements(receipt), nl=False)
        return 0
    if submission is None:
        raise UsageProblem(
            "no submission was named", next_step="name the file that was graded: --submission FILE"
        )
    only_full = require_confinement != "auto"
    found = courses.find(course)
    again = _again(receipt, file, submission, record, found, only_full, platform)
    return compare(receipt, again)


def _requirements(receipt: Receipt) -> str:
    at = receipt.environment
    if not at.jax:
        raise UsageProblem(
            "this receipt names no versions: the submission never ran",
            next_step="take a receipt of the same machine whose module ran",
        )
    named = {"jax": at.jax, "jaxlib": at.jaxlib, "numpy": at.numpy, **at.packages}
    for name, version in (("Python", at.python), ("grade", at.grader), *named.items()):
        if not _NAME.fullmatch(name) or not _VERSION.fullmatch(version):
            raise UsageProblem(
                f"this receipt names a version that is none: {visible_line(name)[:60]} "
                f"{visible_line(version)[:60]}",
                next_step="ask for the receipt again where it was made",
            )
    lines = [f"# grade {at.grader}, Python {at.python}"]
    lines += [f"{name}=={version}" for name, version in named.items()]
    return "".join(f"{line}\n" for line in lines)


def _again(
    receipt: Receipt,
    file: str,
    path: str,
    record: str | None,
    found: courses.Course,
    only_full: bool,
    wanted: str,
) -> Receipt:
    """Return the receipt of the same grade, made now."""
    from grader import engine
    from grader.catalog.load import entry as load
    from grader.cli import earlier

    submission = _submission(receipt, path)
    entry = load(found, receipt.exercise)
    submission = _with_siblings(receipt, submission, entry)
    known = earlier.record(receipt, file, record)
    if known is not None:
        seed = bytes.fromhex(known.seed)
    else:
        seed = earlier.from_secret(receipt, submission.siblings)
    # Without the cache of compiled programs, which would be written to.
    platform = _platform(receipt, wanted)
    host = early.take(found, None, None, platform)
    try:
        return engine.grade(
            entry, submission, host, seed=seed, only_full=only_full, platform=platform
        ).receipt
    except EnvironmentProblem as problem:
        if platform is None:
            raise
        raise _only_there(receipt, problem) from problem
    finally:
        host.close()


def _platform(receipt: Receipt, wanted: str) -> Platform | None:
    """Return the real devices that a receipt tells of and that were asked for.

    Raises: UsageProblem for unknown ones, and where the two differ: a receipt may come from
    anybody, and shall lift no layer of confinement by itself.
    """
    execution = receipt.environment.execution
    told = "cpu" if execution is None else execution.platform
    if wanted != told and wanted != "cpu":
        raise UsageProblem(
            f"this receipt is of an execution on {visible_line(told)!r}, not on {wanted!r}",
            next_step=f"leave --platform {wanted} out",
        )
    if execution is None:
        return None
    from grader.sandbox import platforms

    found = platforms.named(execution.platform)
    if found is None:
        raise UsageProblem(
            f"this receipt is of an accelerator execution on {visible_line(execution.platform)!r}, "
            f"which grade {__version__} does not know",
            next_step="grade it again with the version that made it",
        )
    if wanted != told:
        raise UsageProblem(
            f"this receipt is of an accelerator execution (--platform {told}), where confinement"
            " is partial",
            next_step=f"add --platform {told}, on such a machine and for a file that you trust",
        )
    return found


def _only_there(receipt: Receipt, problem: EnvironmentProblem) -> EnvironmentProblem:
    """Return a problem of this machine with what the receipt needs."""
    execution = receipt.environment.execution
    assert execution is not None
    return EnvironmentProblem(
        f"this receipt is of an accelerator execution (--platform {execution.platform}, "
        f"{visible_line(execution.kind)}) and can be made again on such a machine alone: "
        f"{problem.what}",
        where=problem.where,
        next_step=problem.next_step,
    )


def _submission(receipt: Receipt, path: str) -> Submission:
    submission = intake.read(path)
    if submission.sha256 != receipt.submission.sha256:
        raise UsageProblem(
            f"{visible_line(path)} is not the file that this receipt is about: its SHA-256 is "
            f"{submission.sha256[:_DIGITS]}…, the receipt's {receipt.submission.sha256[:_DIGITS]}…",
            next_step=f"name the {visible_line(receipt.submission.name)} that was handed in",
        )
    size = len(receipt.submission.name.encode(errors="replace"))
    if size > _LONGEST_NAME:
        raise UsageProblem(
            f"this receipt calls its submission by a name of {size} bytes, and a file's has "
            f"at most {_LONGEST_NAME}",
            next_step="ask for the receipt again where it was made",
        )
    # Under its name then, as long as that is the name of a file and of nothing else.
    name = receipt.submission.name
    if name in ("", ".", "..") or PurePath(name).name != name or "\\" in name or "\0" in name:
        return submission
    return replace(submission, name=name)


def _with_siblings(receipt: Receipt, submission: Submission, entry: Entry) -> Submission:
    submission = intake.with_siblings(submission, entry.exercise.siblings)
    was = receipt.submission.siblings
    now = {name: hashlib.sha256(raw).hexdigest() for name, raw in submission.siblings}
    for name in sorted({*was, *now}):
        if was.get(name) == now.get(name):
            continue
        told = "has changed" if name in was and name in now else "was not there then"
        told = told if name in now else "is missing"
        raise UsageProblem(
            f"the files beside the submission are not those of the receipt: "
            f"{visible_line(name)} {told}",
            next_step="put the submission into a folder with the files it was graded with alone",
        )
    return submission


def compare(was: Receipt, now: Receipt) -> int:
    """Say how a receipt and the one made now differ; returns 0 same, 1 not, 5 undecided now."""
    from grader.receipt import differences

    if now.verdict == "undecided":
        _say(f"undecided now: {was.submission.name} could not be graded again")
        for told in sorted({c.message for c in now.checks if c.status == "undecided"}):
            _say(f"  {told}")
        _say("  Next: run it again when this machine is less busy")
        return 5
    made_with = differences.circumstances(was.environment, now.environment)
    came_to = differences.results(was, now)
    more = differences.beyond(was, now)
    altered = _altered(was)
    same_digest = was.evidence_digest == now.evidence_digest
    same = same_digest and not came_to and not more and not altered
    if same:
        _say(f"same: {was.submission.name} of {was.exercise} comes to the same evidence again")
        _say(f"  {now.verdict}, {now.points} of {now.max_points} points")
        _say(f"  evidence digest {now.evidence_digest}")
        _list("although graded with something else", made_with)
    else:
        told = "the receipt is not what comes out of it" if same_digest else "does not come to"
        told = told if same_digest else f"{told} the same evidence"
        comma = ":" if same_digest else ""
        _say(f"differs: {was.submission.name} of {was.exercise}{comma} {told}")
        _say(f"  evidence digest of the receipt {was.evidence_digest}")
        _say(f"  evidence digest now            {now.evidence_digest}")
    if altered:
        _say("the receipt was changed after it was made: its digest is not that of what it says")
    if was.environment.grader != __version__:
        _say(f"its own digest could not be checked: it says that grade {was.environment.grader} "
             f"made it, and this is {__version__}")  # fmt: skip
    if not same:
        _list("graded with something else", made_with)
        _list("came to something else", came_to)
        _list("the receipt says more than this confirms", more)
        if not made_with and not came_to and not more and not altered:
            _say("nothing that the receipt lists is different but what checks say of stored values")
    _say(f"  {differences.NOT_CONFIRMED}")
    if not same:
        _say_next(made_with)
    return 0 if same else 1


def _altered(receipt: Receipt) -> bool:
    from grader.receipt import differences

    # Another version of grade may put other facts under the digest.
    same_version = receipt.environment.grader == __version__
    return same_version and differences.recomputed(receipt) != receipt.evidence_digest


def _list(title: str, found: list[Difference]) -> None:
    if not found:
        return
    _say(title)
    wide = max(len(one.what) for one in found[:_MOST_TOLD])
    for one in found[:_MOST_TOLD]:
        _say(f"  {one.what:<{wide}}  {_short(one.was)} -> {_short(one.now)}")
    if len(found) > _MOST_TOLD:
        _say(f"  and {len(found) - _MOST_TOLD} more")


def _short(value: str) -> str:
    if re.fullmatch(r"[0-9a-f]{64}", value):
        return f"{value[:_DIGITS]}…"
    return value if len(value) <= _LONGEST_VALUE else f"{value[:_LONGEST_VALUE]}…"


def _say_next(made_with: list[Difference]) -> None:
    what = {one.what for one in made_with}
    if "rubric" in what:
        _say("  Next: name the course as it was then with --course DIR")
    elif what - {"platform", "devices", "confinement"}:
        _say("  Next: install the versions of the receipt, which --print-requirements prints")


def _say(text: str) -> None:
    click.echo(visible_line(text))
