"""Grade a whole class: `grade EXERCISE PATHS...` for a folder, an archive or a platform's export.

What is finished is kept at once: an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader import secret
from grader.catalog import course as courses
from grader.catalog import needs
from grader.catalog.load import Entry
from grader.cli import early, settle, signing
from grader.cli.main import STARTED
from grader.cli.progress import Display, Silent, display
from grader.errors import UsageProblem
from grader.gradebook import part, receipts, results, runner, sources, ungraded, versions
from grader.gradebook.book import graded_row
from grader.gradebook.executors import Executor
from grader.gradebook.ledger import Ledger
from grader.gradebook.ungraded import Hindrance, Taken
from grader.receipt.escape import visible_line
from grader.records.gradebook import Collected, Note
from grader.sandbox import cache
from grader.sandbox.host import open_host

if TYPE_CHECKING:
    from grader.gradebook.report import Times
    from grader.gradebook.runner import Done, Plan

_MOST_NAMES = 10
_MOST_NOTES = 200


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
    preview: bool = False
    anonymous: bool = False
    executor: str = "local"
    scheduler: str | None = None
    sign: str | None = None


@dataclass
class Run:
    """Everything a run holds open."""

    entry: Entry
    root: Path
    ledger: Ledger
    collected: Collected
    plan: Plan
    shelf: receipts.Shelf
    show: Display = field(default_factory=Silent)
    undecided: set[str] = field(default_factory=set)
    hindered: dict[str, Hindrance] = field(default_factory=dict)


def grade_many(found: courses.Course, exercise: str, order: Order) -> int:
    """Grade everything under the paths of an order; returns the exit code.

    Effects: writes the results folder, and the course secret on first use.
    """
    from grader.catalog.load import entry as load

    entry = load(found, exercise)
    root = results.folder(Path(order.out), exercise)
    with Ledger(root / results.LEDGER) as ledger:
        # Before anything is graded: a sheet that is spoilt would stop the end of the run.
        settle.read_marks(root)
        run = prepare(entry, root, ledger, order)
        keys = {at: key.text() for at, key in run.plan.keys.items()}
        gone = ledger.set_class(run.collected, keys, rest=order.again)
        hindered = run.collected.hindered if isinstance(run.collected, Taken) else {}
        here = [person.key for one in run.collected.hand_ins for person in one.people]
        ungraded.keep(ledger, hindered, rest=order.again, but=here)
        facts = {"exercise": exercise, "course": str(found.root)}
        if order.roster:
            facts["roster"] = os.path.realpath(order.roster)
        ledger.note_about(facts)
        with display(len(run.plan.pending), order.quiet) as run.show:
            _say_plan(run)
            _say_gone(run, gone)
            _grade(run, order)
            ended = settle.finish(
                run.shelf, entry, anonymous=order.anonymous, times=lambda: _times(ledger)
            )
            _say_strays(run, ended.strays)
            for place in ended.aside:
                run.show.say(f"  of an earlier file, moved aside: {place}")
            if ended.mended:
                run.show.say(f"  changed or removed by somebody, now as graded: {_listed(ended)}")
            run.hindered = ungraded.of(ledger)
    return _say_end(run, ended)


def _grade(run: Run, order: Order) -> None:
    """Grade what is pending, and count the time."""
    people = _people(run)
    if not run.plan.pending:
        return
    from grader.gradebook import spent

    clock = spent.Spent(run.ledger, STARTED)

    def progress(done: Done) -> None:
        _keep(run, done, people)
        clock.tick()

    try:
        grade_only(run, order, progress, run.ledger)
    finally:
        clock.keep()


def _times(ledger: Ledger) -> Times:
    # Not at the top, as the executor: a second run has nothing to grade and nothing to write.
    from grader.gradebook import spent

    return spent.times(ledger)


def prepare(entry: Entry, root: Path, ledger: Ledger, order: Order) -> Run:
    """Take in what was handed in, and see what the ledger knows of it."""
    signing.refuse_among(order.sign, order.paths)
    signer = signing.signer(order.sign)
    shelf = settle.shelf(root, ledger, entry, signer, reading=order.preview)
    collected = sources.collect(
        order.paths,
        wanted=entry.exercise.id,
        source=order.source,
        roster=_roster(ledger, order),
    )
    if order.again:
        collected = part.of_class(collected, ledger.members(), ledger.notes())
    known = runner.Known(entry.digest, versions.environment(), entry.exercise.siblings)
    plan = runner.plan(collected, ledger, known, again=order.again)
    return Run(entry, root, ledger, collected, plan, shelf)


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
    own = people.get(done.key, ())
    run.show.advance(done, own)
    if done.receipt is None or done.receipt.verdict == "undecided":
        run.undecided.update(own)
        why = (
            Hindrance("undecided", done.problem, done.next_step or ungraded.AGAIN)
            if done.receipt is None
            else ungraded.undecided(done.receipt)
        )
        ungraded.keep(run.ledger, dict.fromkeys(own, why), rest=True)
        return
    for person in people.get(done.key, ()):
        member = run.ledger.member(person)
        # Somebody with two hand-ins has the receipt of the one that counts.
        if member is not None and member.key == done.key:
            run.shelf.write(graded_row(member, done.receipt), done.number)


@contextmanager
def _executor(run: Run, order: Order) -> Iterator[Executor]:
    # Not at the top: it brings all that grades, and a second run has nothing to grade.
    from grader.gradebook.executors.local import Local, Terms

    if order.executor == "local":
        # Once, and not for each file; a worker of a cluster says it for itself.
        needs.insist(run.entry.exercise)
    # A preview leaves nothing behind, so without a secret it draws inputs for itself.
    key = (secret.read() or os.urandom(32)) if order.preview else secret.ensure()
    terms = Terms(run.entry, key, order.only_full)
    if order.executor == "dask":
        from grader.gradebook.executors.dask import Dask

        made: Executor = Dask(
            terms,
            order.scheduler,
            early.forbidden(run.entry.course, order.sign),
            warm=settle.warmed if order.cache and not order.preview else None,
        )
    else:
        place = early.cache_place(run.entry.course, run.entry.exercise.id) if order.cache else None
        place = place if order.preview else settle.warmed(run.entry, place)
        forbidden, kept = (
            early.forbidden(run.entry.course, order.sign),
            cache.usable(place) if place else None,
        )
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
    for note in told[:_MOST_NOTES]:
        run.show.say(f"  {': '.join(filter(None, (note.kind, note.who, note.text)))}")
    if len(told) > _MOST_NOTES:
        run.show.say(f"  and {len(told) - _MOST_NOTES} more; report.html has them all")
    of_class = {check.id for check in run.entry.rubric.checks}
    here = {person.key for person in run.collected.people}
    for person, check in run.ledger.overridden():
        if person in here and check not in of_class:
            text = f"{check} of {person}, which this rubric does not have: it does not count"
            run.show.say(f"  override of {text}")
    ignored = len(run.collected.notes) - len(told)
    if ignored:
        counted = "1 file" if ignored == 1 else f"{ignored} files"
        run.show.say(f"  {counted} ignored; report.html says which")


def _say_gone(run: Run, gone: Sequence[str]) -> None:
    """Say who was there before and is no longer."""
    if gone:
        names = ", ".join(gone)
        run.show.say(f"  no longer here, their attempts stay in the ledger: {names}")
    changed = [key for key in gone if run.ledger.overrides(key)]
    if changed:
        run.show.say(f"  among them with overrides: {', '.join(changed)}")


def _say_strays(run: Run, strays: Sequence[Note]) -> None:
    """Say what lies in the results and counts for nobody: how much, and each."""
    if strays:
        run.show.say(f"  {len(strays)} in the results without a learner or a grade here:")
    for note in strays[:_MOST_NAMES]:
        run.show.say(f"    {note.who}: {note.text}")
    if len(strays) > _MOST_NAMES:
        run.show.say(f"    and {len(strays) - _MOST_NAMES} more; summary.json names them")


def _listed(ended: settle.Finished) -> str:
    more = len(ended.mended) - _MOST_NAMES
    names = ", ".join(ended.mended[:_MOST_NAMES])
    return f"{names} and {more} more" if more > 0 else names


def _say_end(run: Run, ended: settle.Finished) -> int:
    """Say what came of it; returns the exit code: 5 where somebody has no verdict of this run."""
    stuck = {k: why.kind for k, why in run.hindered.items() if why.kind in ("ambiguous", "refused")}
    kinds, undecided = list(stuck.values()), (run.undecided | ended.undecided) - stuck.keys()
    words = [f"{ended.passed} of {ended.graded} passed"]
    words += [f"{ended.missing} handed in nothing"] if ended.missing else []
    words += [f"{len(undecided)} undecided: {ungraded.AGAIN}"] if undecided else []
    words += [
        f"{kinds.count(kind)} {said} and not graded"
        for kind, said in (("ambiguous", "ambiguous"), ("refused", "not readable"))
        if kind in kinds
    ]
    click.echo(f"{', '.join(words)}")
    _say_open(run, sorted(undecided | stuck.keys()))
    click.echo(f"\nresults  {run.root}")
    for name in ("report.html", "gradebook.csv", "summary.json"):
        click.echo(f"         {run.root / name}")
    shown = run.root / results.ANONYMOUS
    if shown.is_dir():
        click.echo(f"         {shown} (under pseudonyms; {results.PSEUDONYMS} leads back)")
    return 5 if undecided or stuck else 0


def _say_open(run: Run, people: Sequence[str]) -> None:
    """Say of each who has no verdict of this run what to do."""
    for key in people[:_MOST_NAMES]:
        why = run.hindered.get(key)
        if why is not None:
            click.echo(visible_line(f"  {key}: {why.kind}: {why.text}"))
    if len(people) > _MOST_NAMES:
        click.echo(f"  and {len(people) - _MOST_NAMES} more; report.html names them")
