"""Prove an exercise with its own solutions: right ones pass, each wrong one fails as it should.

It decides from receipts alone and prints nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from grader import checks, engine, intake, soundness
from grader.catalog import needs, questions, starter
from grader.catalog.load import Entry
from grader.errors import ContentProblem, EnvironmentProblem, GradeError
from grader.records import cells
from grader.records.receipt import Receipt
from grader.records.submission import Submission
from grader.sandbox.host import Host

Role = Literal["starter", "accepted", "rejected", "hostile"]
NOTEBOOK = "starter.ipynb"
_ENDINGS = frozenset({".py", ".ipynb"})
OpenHost = Callable[[], Host]


@dataclass(frozen=True)
class Trial:
    """One solution file, what it is meant to show, and what came of it."""

    role: Role
    path: Path
    receipt: Receipt | None = None
    problem: str = ""

    @property
    def name(self) -> str:
        """Return the file's name without its ending."""
        return self.path.stem

    @property
    def meant(self) -> tuple[str, str]:
        """Return the check and the mistake that a rejected file's name promises."""
        check, _, mistake = self.name.partition("--")
        return check, mistake


@dataclass(frozen=True)
class Audit:
    """All trials of one exercise and what was found wrong with the exercise itself."""

    exercise: str
    checks: tuple[str, ...]
    trials: tuple[Trial, ...] = ()
    content: tuple[str, ...] = field(default=())

    @property
    def problems(self) -> list[str]:
        """Return every reason why the audit fails."""
        told = [f"{t.role}/{t.path.name}: {t.problem}" for t in self.trials if t.problem]
        return [*told, *self.content]

    def killed(self, check: str) -> list[Trial]:
        """Return the rejected files that this check does not let pass."""
        return [
            t
            for t in self.trials
            if t.role == "rejected" and t.receipt and _status(t.receipt, check) != "passed"
        ]


def audit(
    entry: Entry,
    open_host: OpenHost,
    jobs: int,
    done: Callable[[Trial], None] = lambda _trial: None,
) -> Audit:
    """Return the audit of one exercise.

    Args:
        entry: the exercise.
        open_host: gives the host that all trials share; it must survive every one of them.
        jobs: how many are graded at a time.
        done: told of each trial as it ends, in no order.

    Raises:
        EnvironmentProblem: the solutions are not here (they do not travel in the wheel), or a
            package that the exercise uses.
        ContentProblem: what no file could be graded with.
    """
    found = trials(entry)
    # Before anything is graded: what is wrong with all files is said once, and not once for each.
    alone = tuple(itself(entry))
    host = open_host()
    try:
        with ThreadPoolExecutor(max_workers=jobs) as pool:

            def one(trial: Trial) -> Trial:
                judged = tried(entry, trial, host)
                done(judged)
                return judged

            judged = tuple(pool.map(one, found))
    finally:
        host.close()
    ids = tuple(check.id for check in entry.rubric.checks)
    whole = Audit(entry.exercise.id, ids, judged)
    return replace(whole, content=(*alone, *_together(entry, whole)))


def itself(entry: Entry) -> Iterator[str]:
    """Yield what is wrong with an exercise before anything of it is graded.

    Raises:
        ContentProblem: the rubric or the oracle is such that nothing can be graded.
    """
    checks.load(entry.rubric, entry.exercise)
    place = entry.folder / NOTEBOOK
    made = starter.of(entry.folder, entry.exercise.id)
    if place.is_file() and place.read_bytes() != made:
        step = f"`grade audit {entry.exercise.id} --renew-notebook` writes it anew"
        yield f"{NOTEBOOK} is not what starter.py gives: {step}"
    yield from _shown(entry)
    yield from _told(entry)
    yield from soundness.unsound(entry)
    yield from questions.problems(entry.questions, entry.exercise, entry.rubric)


def _shown(entry: Entry) -> Iterator[str]:
    """Yield what the names of the solutions leave out, and mistakes without words."""
    files = trials(entry)
    if not any(trial.role == "accepted" for trial in files):
        yield "accepted/ holds no solution: nothing shows that the exercise can be solved"
    own: dict[str, list[str]] = {}
    for kind in dict.fromkeys(check.kind for check in entry.rubric.checks):
        for mistake_id in checks.names(kind):
            own.setdefault(mistake_id, []).append(kind)
    rejected = [trial.meant[1] for trial in files if trial.role == "rejected"]
    for mistake in entry.rubric.mistakes:
        if mistake.id not in {*rejected, *own}:
            yield f"mistake {mistake.id} is shown by no rejected file"
    known = {mistake.id for mistake in entry.rubric.mistakes}
    for mistake_id, kinds in own.items():
        if mistake_id not in known:
            can = f"the kind{'s' if len(kinds) > 1 else ''} {' and '.join(kinds)} can name"
            yield f"the rubric has no words for {mistake_id}, which {can}"
    for mistake_id in sorted({*rejected} - known - own.keys() - {""}):
        yield f"the rubric has no words for the mistake {mistake_id}"


def trials(entry: Entry) -> list[Trial]:
    """Return the starter and every solution file of an exercise, none of them tried yet.

    Raises:
        EnvironmentProblem: the solutions are not here, or a package that the exercise uses.
        ContentProblem: the starter or the prompt is missing.
    """
    needs.insist(entry.exercise)
    if not entry.solutions.is_dir():
        raise EnvironmentProblem(
            f"no solutions of {entry.exercise.id} are here: they stay in the checkout",
            where=str(entry.course.root),
            next_step="run the audit in a checkout, or name one with --course",
        )
    for name in ("starter.py", "prompt.md"):
        if not (entry.folder / name).is_file():
            raise ContentProblem(
                f"{name} of {entry.exercise.id} is missing",
                where=str(entry.folder / name),
                next_step="write it; docs/writing-an-exercise.md says what it holds",
            )
    starters = [entry.folder / name for name in ("starter.py", NOTEBOOK)]
    found = [Trial("starter", place) for place in starters if place.is_file()]
    roles: tuple[Role, ...] = ("accepted", "rejected", "hostile")
    for role in roles:
        files = sorted(p for p in (entry.solutions / role).glob("*") if p.suffix in _ENDINGS)
        beside = entry.exercise.siblings
        found += [Trial(role, path) for path in files if path.name not in beside]
    return found


def tried(entry: Entry, trial: Trial, host: Host) -> Trial:
    """Return a trial with its receipt, and with what is wrong with that as its problem."""
    try:
        submission = Submission(trial.path.name, str(trial.path), trial.path.read_bytes())
        submission = intake.with_siblings(submission, entry.exercise.siblings)
        receipt = engine.grade(entry, submission, host).receipt
    except GradeError as error:
        return Trial(trial.role, trial.path, None, f"could not be graded: {error.what}")
    return Trial(trial.role, trial.path, receipt, _problem(trial, receipt))


def _problem(trial: Trial, receipt: Receipt) -> str:
    """Return what this receipt should have been and is not, nothing where it is as meant."""
    if receipt.verdict == "undecided":
        return f"it was left undecided: {_first_message(receipt)}"
    if trial.role == "accepted":
        lost = f"{receipt.points} of {receipt.max_points} points ({_first_message(receipt)})"
        return "" if receipt.verdict == "passed" else f"a right solution got {lost}"
    if trial.role == "starter" and receipt.outcome.kind != "finished":
        return f"it does not run to its end: {_where(receipt)}{receipt.outcome.message}"
    if trial.role in ("starter", "hostile"):
        return (
            "" if receipt.points == 0 else f"it earned {receipt.points} points for {_won(receipt)}"
        )
    return _rejected(trial, receipt)


def _rejected(trial: Trial, receipt: Receipt) -> str:
    check, mistake = trial.meant
    if not mistake:
        return "its name promises no mistake; it must be CHECK--MISTAKE.py"
    found = next((c for c in receipt.checks if c.id == check), None)
    if found is None:
        return f"there is no check {check!r}; the name must be CHECK--MISTAKE.py"
    if found.status == "passed":
        return f"it passes {check}"
    named = {mistake_id for item in found.items if (mistake_id := item.mistake)}
    if mistake not in named:
        told = ", ".join(sorted(named)) or "none"
        return f"{check} fails, but the mistake named is {told}: {found.message}"
    return ""


def _first_message(receipt: Receipt) -> str:
    if receipt.outcome.kind != "finished":
        return receipt.outcome.message
    return next((f"{c.id}: {c.message}" for c in receipt.checks if c.status != "passed"), "")


def _where(receipt: Receipt) -> str:
    line = receipt.outcome.line
    return f"{cells.said(receipt.submission.cells, line)}: " if line else ""


def _won(receipt: Receipt) -> str:
    return ", ".join(i.id for c in receipt.checks for i in c.items if i.points)


def _status(receipt: Receipt, check: str) -> str:
    return next(c.status for c in receipt.checks if c.id == check)


def _together(entry: Entry, found: Audit) -> Iterator[str]:
    """Yield what only all receipts together show."""
    for check in found.checks:
        if not found.killed(check):
            yield f"check {check} kills none of the rejected files"
    yield from _agreeing(found)
    promised = {trial.meant[1] for trial in found.trials if trial.role == "rejected"}
    own = {name for check in entry.rubric.checks for name in checks.names(check.kind)}
    known = {*(mistake.id for mistake in entry.rubric.mistakes), *promised, *own}
    for mistake_id in sorted({name for trial in found.trials for name in _named(trial)} - known):
        yield f"the rubric has no words for the mistake {mistake_id}"


def _agreeing(found: Audit) -> Iterable[str]:
    """Return pairs of checks that every rejected file fails alike: one of the two says nothing."""
    failed = {check: {t.name for t in found.killed(check)} for check in found.checks}
    for one, other in itertools.combinations(found.checks, 2):
        if failed[one] and failed[one] == failed[other]:
            yield f"checks {one} and {other} fail for the same rejected files, so one tells nothing"


def _told(entry: Entry) -> Iterable[str]:
    """Return what is missing of hints and explanations; an exercise may do without either."""
    if any(check.hints for check in entry.rubric.checks):
        for check in entry.rubric.checks:
            if not 3 <= len(check.hints) <= 4:
                yield f"check {check.id} has {len(check.hints)} hints, not 3 or 4"
    explained = [one.mistake for one in entry.explanations.explanations]
    if not explained:
        return
    known = [mistake.id for mistake in entry.rubric.mistakes]
    for mistake_id in known:
        if explained.count(mistake_id) != 1:
            times = explained.count(mistake_id)
            yield f"mistakes.toml explains the mistake {mistake_id} {times} times, not once"
    for mistake_id in sorted(set(explained) - set(known)):
        yield f"mistakes.toml explains {mistake_id}, which is no mistake of the rubric"
    prompt = (entry.folder / "prompt.md").read_text(encoding="utf-8")
    headings = {line.lstrip("# ").strip() for line in prompt.splitlines() if line[:1] == "#"}
    for one in entry.explanations.explanations:
        if one.read not in headings:
            yield f"mistakes.toml: {one.mistake}: prompt.md has no section {one.read!r}"


def _named(trial: Trial) -> Iterator[str]:
    """Yield the mistakes that a receipt names."""
    for finding in trial.receipt.checks if trial.receipt else []:
        for item in finding.items:
            yield from item.mistake.split("-or-") if item.mistake else ()


def facts(found: Audit) -> dict[str, Any]:
    """Return an audit as plain JSON: the checks, each file with what every check said, problems."""
    return {
        "exercise": found.exercise,
        "checks": list(found.checks),
        "killed": {check: len(found.killed(check)) for check in found.checks},
        "problems": found.problems,
        "trials": [_fact(found, trial) for trial in found.trials],
    }


def _fact(found: Audit, trial: Trial) -> dict[str, Any]:
    receipt = trial.receipt
    return {
        "role": trial.role,
        "file": trial.path.name,
        "verdict": receipt.verdict if receipt else "not graded",
        "points": receipt.points if receipt else None,
        "checks": {check: _cell(trial, check) if receipt else "" for check in found.checks},
        "problem": trial.problem,
    }


def matrix(found: Audit) -> list[list[str]]:
    """Return the table of rejected files by checks: a header, then one row for each file.

    A cell is `named` where the check named the file's mistake, else the check's status unless it
    passed, else empty.
    """
    rows = [["rejected file", *found.checks]]
    for trial in found.trials:
        if trial.role == "rejected" and trial.receipt is not None:
            rows.append([trial.name, *(_cell(trial, check) for check in found.checks)])
    return rows


def _cell(trial: Trial, check: str) -> str:
    assert trial.receipt is not None
    finding = next(c for c in trial.receipt.checks if c.id == check)
    if finding.status == "passed":
        return ""
    if any(item.mistake == trial.meant[1] for item in finding.items):
        return "named"
    return finding.status
