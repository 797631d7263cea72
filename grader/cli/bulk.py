"""Grade a whole class: `grade EXERCISE PATHS...` for a folder, an archive or a platform's export.

What is finished is kept at once: an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader import secret
from grader.catalog import course as courses
from grader.catalog.load import Entry
from grader.cli import early, settle
from grader.cli.main import STARTED
from grader.cli.progress import Display, Silent, display
from grader.engine import now
from grader.errors import UsageProblem
from grader.gradebook import receipts, results, runner, sources, versions
from grader.gradebook.book import standing_row
from grader.gradebook.executors import Executor
from grader.gradebook.executors.local import Local, Terms
from grader.gradebook.ledger import Ledger
from grader.gradebook.report import Times
from grader.records.gradebook import Collected, Gradebook
from grader.sandbox import cache
from grader.sandbox.host import open_host

if TYPE_CHECKING:
    from grader.gradebook.runner import Done, Plan


@dataclass(frozen=True)
class Order:
    """What a bulk run was asked for."""

    paths: Sequence[str]
    out: str
    source: str | None
    roster: str | None
    jobs: int
    quiet: bool
    only_full: bool
    cache: bool
    again: bool = False
    anonymous: bool = False
    executor: str = "local"
    scheduler: str | None = None


@dataclass
class Run:
    """Everything a run holds open."""

    entry: Entry
    root: Path
    ledger: Ledger
    collected: Collected
    plan: Plan
    render: receipts.Render
    show: Display = field(default_factory=Silent)
    undecided: set[str] = field(default_factory=set)


def grade_many(found: courses.Course, exercise: str, order: Order) -> int:
    """Grade everything under the paths of an order; returns the exit code.

    Effects: writes the results folder, and the course secret on first use.
    """
    from grader.catalog.load import entry as load

    entry = load(found, exercise)
    root = results.folder(Path(order.out), exercise)
    with Ledger(root / results.LEDGER) as ledger:
        run = prepare(entry, root, ledger, order)
        keys = {at: key.text() for at, key in run.plan.keys.items()}
        gone = ledger.set_class(run.collected, keys, rest=order.again)
        facts = {"exercise": exercise, "course": str(found.root)}
        if order.roster:
            facts["roster"] = os.path.realpath(order.roster)
        ledger.note_about(facts)
        with display(len(run.plan.pending), order.quiet) as run.show:
            _say_plan(run)
            if gone:
                names = ", ".join(gone)
                run.show.say(f"  no longer here, their attempts stay in the ledger: {names}")
                changed = [key for key in gone if ledger.overrides(key)]
                if changed:
                    run.show.say(f"  among them with overrides: {', '.join(changed)}")
            people = _people(run)
            grade_only(run, order, lambda done: _keep(run, done, people), ledger)
            times = Times(now(), round(time.monotonic() - STARTED, 1))
            book = settle.finish(
                root, ledger, entry, run.render, anonymous=order.anonymous, times=times
            )
    return _say_end(run, book)


def prepare(entry: Entry, root: Path, ledger: Ledger, order: Order) -> Run:
    """Take in what was handed in, and see what the ledger knows of it."""
    collected = sources.collect(
        order.paths,
        wanted=entry.exercise.id,
        source=order.source,
        roster=_roster(ledger, order),
    )
    known = runner.Known(entry.digest, versions.environment(), entry.exercise.siblings)
    plan = runner.plan(collected, ledger, known, again=order.again)
    return Run(entry, root, ledger, collected, plan, settle.renderer(entry))


def _roster(ledger: Ledger, order: Order) -> Path | None:
    """Return the roster that is named, else that of the last run: it gave learners their keys."""
    if order.roster is not None:
        return Path(order.roster)
    kept = ledger.about("roster")
    if not kept:
        return None
    if not os.path.isfile(kept):
        raise UsageProblem(
            f"the roster of the last run is not there any more: {kept}",
            where=str(ledger.path),
            next_step="name it with --roster: without it learners, overrides and marks get lost",
        )
    return Path(kept)


def grade_only(
    run: Run, order: Order, progress: runner.Progress, ledger: Ledger | None = None
) -> None:
    """Grade what is pending and tell of each result; without a ledger nothing is kept."""
    if not run.plan.pending:
        return
    with _executor(run, order) as executor:
        try:
            runner.grade_all(run.plan, ledger, executor, progress)
        except KeyboardInterrupt:
            run.show.close()
            click.echo(
                "interrupted; what is finished is kept, and the same command goes on from there",
                err=True,
            )
            raise click.exceptions.Exit(130) from None


def _people(run: Run) -> dict[str, list[str]]:
    """Return by key of an attempt everybody whom it counts for."""
    found: dict[str, list[str]] = {}
    for position, hand_in in enumerate(run.collected.hand_ins):
        people = found.setdefault(run.plan.keys[position].text(), [])
        people += [person.key for person in hand_in.people]
    return found


def _keep(run: Run, done: Done, people: Mapping[str, Sequence[str]]) -> None:
    """Write the receipts of everybody whom a result counts for, while others are still graded."""
    run.show.advance(done)
    if done.receipt is None or done.receipt.verdict == "undecided":
        run.undecided.update(people.get(done.key, ()))
        return
    for person in people.get(done.key, ()):
        row = standing_row(run.ledger, person)
        if row is not None:
            receipts.write(row, run.root, run.render)


@contextmanager
def _executor(run: Run, order: Order) -> Iterator[Executor]:
    key = secret.ensure()
    terms = Terms(run.entry, key, order.only_full)
    if order.executor == "dask":
        from grader.gradebook.executors.dask import Dask

        made: Executor = Dask(
            terms,
            order.scheduler,
            early.forbidden(run.entry.course),
            warm=settle.warmed if order.cache else None,
        )
    else:
        place = early.cache_place(run.entry.course, run.entry.exercise.id) if order.cache else None
        place = settle.warmed(run.entry, place)
        forbidden, kept = early.forbidden(run.entry.course), cache.usable(place) if place else None
        made = Local(terms, lambda: open_host(forbidden, kept, many=True), order.jobs)
    try:
        yield made
    finally:
        made.close()


def default_jobs() -> int:
    """Return how many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def _say_plan(run: Run) -> None:
    plan, count = run.plan, len(run.collected.hand_ins)
    parts = [f"{len(plan.pending)} to grade"]
    if plan.reused:
        parts.append(f"{len(plan.reused)} graded before")
    if plan.changed:
        parts.append(f"{len(plan.changed)} again, because rubric or versions changed")
    if plan.shared:
        parts.append(f"{plan.shared} of equal bytes")
    run.show.say(f"{run.collected.layout}: {count} submissions: {', '.join(parts)}")
    told = [note for note in run.collected.notes if note.kind != "ignored"]
    for note in told:
        run.show.say(f"  {': '.join(filter(None, (note.kind, note.who, note.text)))}")
    ignored = len(run.collected.notes) - len(told)
    if ignored:
        run.show.say(f"  {ignored} files ignored; report.html names them")


def _say_end(run: Run, book: Gradebook) -> int:
    """Say what came of it; returns the exit code: 5 where somebody has no verdict of this run."""
    graded = [row for row in book.rows if row.receipt is not None]
    passed = sum(row.receipt.verdict == "passed" for row in graded if row.receipt)
    missing = sum(row.status == "missing" for row in book.rows)
    undecided = run.undecided | {row.person.key for row in book.rows if row.status == "undecided"}
    unclear = sum(note.kind == "ambiguous" for note in run.collected.notes)
    words = [f"{passed} of {len(graded)} passed"]
    words += [f"{missing} handed in nothing"] if missing else []
    words += [f"{len(undecided)} undecided: run the same command again"] if undecided else []
    words += [f"{unclear} ambiguous and not graded"] if unclear else []
    click.echo(f"{', '.join(words)}\n\nresults  {run.root}")
    for name in ("report.html", "gradebook.csv", "summary.json"):
        click.echo(f"         {run.root / name}")
    return 5 if undecided or unclear else 0
