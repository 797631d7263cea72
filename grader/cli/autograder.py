"""`grade gradescope-autograder EXERCISE`: write the zip that Gradescope runs, or run in it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import click
from pydantic import ValidationError

from grader.catalog import course as courses
from grader.catalog.load import Entry
from grader.catalog.load import entry as load
from grader.cli import options, settle
from grader.gradebook import autograder, exports, results
from grader.receipt.escape import visible
from grader.records.gradebook import Row
from grader.records.receipt import Receipt

# Gradescope gives ten minutes unless it is told otherwise.
TIME_LIMIT_S = 540
_GRACE_S = 10
_MOST_SAID = 4000


@click.command("gradescope-autograder")
@click.argument("exercise")
@click.option("--out", default="autograder.zip", metavar="ZIP", help="The zip to write.")
@click.option(
    "--root",
    metavar="DIR",
    help="In the container: grade DIR/submission, write DIR/results/results.json.",
)
@click.option(
    "--time-limit",
    type=click.IntRange(1),
    default=TIME_LIMIT_S,
    show_default=True,
    metavar="SECONDS",
    help="In the container: stop the grader then.",
)
@options.require_confinement
@options.course
def command(
    exercise: str,
    out: str,
    root: str | None,
    time_limit: int,
    require_confinement: autograder.Confinement | None,
    course: str | None,
) -> int:
    """Write EXERCISE as an autograder for Gradescope: upload the zip as it is.

    Example: grade gradescope-autograder distributed-03 --out autograder.zip
    """
    entry = load(courses.find(course), exercise)
    # Nobody looks at each file before it runs.
    confinement = require_confinement or "full"
    if root is not None:
        _grade(entry, Path(root), time_limit, confinement)
        return 0
    place = Path(out)
    changed = results.put(place, autograder.package(entry, confinement))
    click.echo(f"{'wrote' if changed else 'same '} {place}")
    return 0


def _grade(entry: Entry, root: Path, limit_s: int, confinement: str) -> None:
    """Grade what was handed in; effects: writes `results.json`, whatever comes of it."""
    metadata = root / "submission_metadata.json"
    scale = autograder.maximum(metadata.read_bytes()) if metadata.is_file() else None
    render = settle.renderer(entry)

    def receipt_bytes(row: Row, form: str) -> bytes:
        assert row.receipt is not None
        return render(row.receipt, form).encode()

    chosen = autograder.choose(root / "submission", entry)
    ran = _Ran(None)
    if chosen.name:
        with tempfile.TemporaryDirectory(prefix="grade-") as folder:
            for name, raw in (chosen.files or {}).items():
                Path(folder, name).write_bytes(raw)
            ran = _run(entry, Path(folder, chosen.name), limit_s, confinement)
    given = exports.Options(scale_to=scale, receipt_bytes=receipt_bytes)
    made = autograder.results(
        entry, ran.receipt, fault=ran.fault, notes=chosen.notes, options=given
    )
    results.put(root / "results" / "results.json", made)
    click.echo(visible(ran.said) if ran.fault else "results.json is written")


@dataclass(frozen=True)
class _Ran:
    """What the grader did: its receipt, else the fault and what it said, for an instructor."""

    receipt: Receipt | None
    fault: str = ""
    said: str = ""


def _run(entry: Entry, file: Path, limit_s: int, confinement: str) -> _Ran:
    """Run the grader in a process of its own: whatever becomes of it, a result can be written."""
    line = [sys.executable, "-P", "-m", "grader", entry.exercise.id, "--json", "--no-receipt"]
    # Every container is new, so that filling the cache would cost more than it gives.
    line += ["--no-cache", "--require-confinement", confinement]
    line += ["--course", str(entry.course.root), "--", str(file)]
    with subprocess.Popen(
        line,
        cwd=file.parent,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        try:
            told, said = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            _, said = _end(process)
            return _Ran(None, f"The grader was stopped after {limit_s} s.", _last(said))
        except BaseException:
            _end(process)
            raise
    try:
        return _Ran(Receipt.model_validate_json(told))
    except ValidationError:
        fault = autograder.ended(process.returncode)
        return _Ran(None, fault, f"code {process.returncode}: {_last(said)}")


def _end(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """End the grader, politely first: it has children of its own to end."""
    process.terminate()
    try:
        return process.communicate(timeout=_GRACE_S)
    except subprocess.TimeoutExpired:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        return process.communicate()


def _last(said: bytes) -> str:
    return said.decode("utf-8", "replace").strip()[-_MOST_SAID:]
