"""The path of one submission, stage by stage; the only module that sees every stage.

It decides nothing itself: each stage is a function of the one before.
"""

from __future__ import annotations

import hashlib
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from platform import uname
from typing import TYPE_CHECKING

import numpy as np

from grader import checks, compare, intake, scoring, secret
from grader.case import HIDDEN, Case, as_array
from grader.catalog import carried, expected, needs
from grader.catalog.load import Entry
from grader.receipt.build import Parts, build
from grader.records.evidence import Claim, Evidence, Outcome
from grader.records.finding import Finding
from grader.records.observation import Observation
from grader.records.receipt import Execution, Receipt
from grader.records.submission import Submission
from grader.records.truth import Array, Truth
from grader.replay.client import PROGRAM_S, Replayer
from grader.sandbox import notebook
from grader.sandbox.client import Learner
from grader.sandbox.host import Host
from grader.sandbox.launching import Allowance
from grader.sandbox.rooms import no_temporary_folder

if TYPE_CHECKING:
    from grader.sandbox.platforms import Found, Platform

OPEN_CASE = "lesson"
# Of the clean room: starting JAX and compiling take their share on a busy machine.
LEAST_REPLAY_CPU_S = 10
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Grade:
    """One graded submission: the receipt, and what only an instructor may see."""

    receipt: Receipt
    seed: bytes
    stages_s: Mapping[str, float]
    claims: Mapping[str, Claim]
    observations: Mapping[str, Observation]
    truth: Truth
    cache_hits: int = 0


def grade(
    entry: Entry,
    submission: Submission,
    host: Host,
    *,
    seed: bytes | None = None,
    course_secret: bytes | None = None,
    only_full: bool = False,
    alone: bool = True,
    platform: Platform | None = None,
    progress: Progress = lambda _stage: None,
    started: float | None = None,
) -> Grade:
    """Return the grade of one submission.

    Args:
        entry: exercise, rubric and oracle.
        submission: the learner's file.
        host: starts the confined children.
        seed: that of an earlier grade, to make it again.
        course_secret: key that makes a seed of submission and rubric; None: 16 random bytes do.
        only_full: whether to run nothing where a required layer of confinement is missing.
        alone: whether cores idle meanwhile, so that work ahead makes this grade faster.
        platform: real devices for which `host` was opened, None for logical CPU devices.
        progress: told the name of each stage as it begins.
        started: monotonic time from which `wall_s` counts.

    Raises:
        ContentProblem: the course is wrong.
        EnvironmentProblem: full confinement, four devices or a package are missing.
        Undecided: our side could not run it.
    """
    needs.insist(entry.exercise)
    rubric_checks = checks.load(entry.rubric, entry.exercise)
    seed = seed or _seed(entry, submission, course_secret or secrets.token_bytes(16))
    clock = _Clock(started, progress, "running")
    entry, room = _on_devices(entry, _Room(host, only_full, alone), platform)
    submission, refused = _opened(submission, room)
    evidence, observations, truth = _measure(entry, submission, refused, room, seed, clock)
    clock.stage("checking")
    findings = _judge(entry, rubric_checks, evidence, observations, truth)
    parts = Parts(
        exercise=entry.exercise,
        rubric=entry.rubric,
        rubric_sha256=entry.digest,
        seed_sha256=hashlib.sha256(seed).hexdigest(),
        submission=submission,
        evidence=evidence,
        observations=observations,
        findings=findings,
        verdict=scoring.verdict(findings, evidence.outcome),
        platform=machine(),
        notes=_notes(entry, submission, evidence, room.found),
        execution=_execution(room.found),
        created_at=now(),
        wall_s=round(clock.total(), 3),
    )
    receipt, stages, hits = build(parts), clock.stages_s(), evidence.cache_hits
    return Grade(receipt, seed, stages, evidence.claims, observations, truth, hits)


def machine() -> str:
    """Return system, release and architecture."""
    return " ".join(uname()[index] for index in (0, 2, 4))


def now() -> str:
    """Return the moment as ISO 8601 in UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class _Clock:
    """When each stage began; timings stand outside every verdict."""

    def __init__(self, started: float | None, progress: Progress, first: str) -> None:
        self._started = time.monotonic() if started is None else started
        self._progress = progress
        self._at, self._name = time.monotonic(), ""
        self.stages: dict[str, float] = {}
        self.stage(first)

    def stage(self, name: str) -> None:
        now = time.monotonic()
        if self._name:
            self.stages[self._name] = now - self._at
        self._at, self._name = now, name
        if name:
            self._progress(name)

    def stages_s(self) -> Mapping[str, float]:
        """Return what each stage took; the last one ends here."""
        self.stage("")
        return self.stages

    def total(self) -> float:
        return time.monotonic() - self._started


def _seed(entry: Entry, submission: Submission, key: bytes) -> bytes:
    return seed_from(key, submission.sha256, entry.digest, submission.siblings)


def seed_from(
    key: bytes, submission_sha256: str, rubric_sha256: str, siblings: Iterable[tuple[str, bytes]]
) -> bytes:
    """Return the seed of a grade under a key: the same for the same files and the same rubric."""
    beside = (part for name, raw in siblings for part in (name.encode(), raw))
    return secret.seed(key, submission_sha256.encode(), rubric_sha256.encode(), *beside)


@dataclass(frozen=True)
class _Room:
    """Where the children run, and how; `found` are real devices, which one child has at a time."""

    host: Host
    only_full: bool
    alone: bool
    found: Found | None = None

    @property
    def precision(self) -> str:
        """Return the fixed precision of matrix products, empty where it is a module's own."""
        return self.found.platform.precision if self.found else ""

    @property
    def program_s(self) -> float:
        """Return the seconds that the clean room has for one program."""
        return PROGRAM_S * self.found.platform.patience if self.found else PROGRAM_S


def _on_devices(entry: Entry, room: _Room, wanted: Platform | None) -> tuple[Entry, _Room]:
    """Return entry and room for real devices. Raises: EnvironmentProblem where they are missing."""
    if wanted is None:
        return entry, room
    from grader.sandbox import platforms

    with _workdir(room.host, None) as empty:
        found = platforms.find(room.host, wanted, empty, only_full=room.only_full)
    entry = replace(entry, exercise=platforms.patient(entry.exercise, wanted))
    # The clean room starts when the module's process has left the devices, and not ahead.
    return entry, replace(room, alone=False, found=found)


def _execution(found: Found | None) -> Execution | None:
    if found is None:
        return None
    wanted = found.platform
    return Execution(platform=wanted.name, kind=found.kind, matmul_precision=wanted.precision)


def _opened(submission: Submission, room: _Room) -> tuple[Submission, Outcome | None]:
    """Return the submission, a notebook with its cells, and why it cannot run if it cannot."""
    refused = intake.problem(submission)
    if refused is None and submission.format == "ipynb":
        with _workdir(room.host, submission) as folder:
            found = notebook.opened(room.host, submission, folder, only_full=room.only_full)
        if isinstance(found, Submission):
            return found, None
        refused = found
    return submission, refused


def _measure(
    entry: Entry,
    submission: Submission,
    refused: Outcome | None,
    room: _Room,
    seed: bytes,
    clock: _Clock,
) -> tuple[Evidence, dict[str, Observation], Truth]:
    """Run the module, replay its programs while it still exports, and work out what is right."""
    cases = expected.cases(entry.oracle, entry.exercise, seed)
    answers = expected.answers(entry.oracle, entry.exercise, cases)
    states = entry.oracle.states(seed, entry.exercise.round_trips)
    if refused is not None:
        truth = Truth(cases, answers, entry.oracle.claims({}, {}), round_trips=states)
        return Evidence(outcome=refused), {}, _with_numbers(entry, truth)
    with _workdir(room.host, submission) as folder, _workdir(room.host, None) as empty:
        learner = Learner(
            room.host,
            entry.exercise,
            submission,
            folder,
            only_full=room.only_full,
            precision=room.precision,
            states=states,
        )
        learner.start()
        allowance = _replay_allowance(entry, room)
        replayer = Replayer(
            lambda: room.host.start("replay", empty, allowance),
            allowance.cpu_s,
            entry.exercise,
            OPEN_CASE,
            room.program_s,
        )
        try:
            replayer.start(cases, ahead=room.alone)
            evidence = learner.evidence(replayer.hand)
            clock.stage("replaying")
            replayer.collect()
            given = _usable(evidence)
            replayer.again(entry.oracle.replays(given))
        finally:
            replayer.close()
        own = _own(replayer.observations)
        truth = Truth(cases, answers, entry.oracle.claims(given, own), round_trips=states)
        return evidence, replayer.observations, _with_numbers(entry, truth)


def _with_numbers(entry: Entry, truth: Truth) -> Truth:
    return replace(truth, figures=entry.oracle.figures(), rows=entry.oracle.rows())


def _usable(evidence: Evidence) -> dict[str, Array]:
    """Return the written answers that are arrays of finite numbers."""
    found = {name: as_array(claim) for name, claim in evidence.claims.items()}
    return {
        name: value
        for name, value in found.items()
        if value is not None and np.isrealobj(value) and bool(np.all(np.isfinite(value)))
    }


def _own(observations: Mapping[str, Observation]) -> dict[str, Array]:
    """Return what the learner's programs gave on inputs that the learner knows.

    Under the program's name for the lesson's own inputs, under `case/program` for the cases built
    on the learner's answers.
    """
    found = {}
    for name, seen in observations.items():
        for case, replay in seen.replays.items():
            whole = compare.assemble(replay.shards, seen.shape)
            if whole is not None and not case.startswith(HIDDEN):
                found[name if case == OPEN_CASE else f"{case}/{name}"] = whole
    return found


def _judge(
    entry: Entry,
    rubric_checks: list[checks.Check],
    evidence: Evidence,
    observations: Mapping[str, Observation],
    truth: Truth,
) -> list[Finding]:
    findings: dict[str, Finding] = {}
    for check in rubric_checks:
        case = Case(entry.rubric, evidence, observations, truth, dict(findings), entry.given_names)
        findings[check.spec.id] = check.judge(case)
    return list(findings.values())


def _replay_allowance(entry: Entry, room: _Room) -> Allowance:
    limits = entry.exercise.limits
    return Allowance(
        cpu_s=max(limits.cpu_s // 2, LEAST_REPLAY_CPU_S),
        memory_bytes=limits.memory_mib << 20,
        output_bytes=limits.output_mib << 20,
        only_full=room.only_full,
    )


@contextmanager
def _workdir(host: Host, submission: Submission | None) -> Iterator[str]:
    """Give a private folder with a copy of the submission, and remove it afterwards."""
    try:
        folder = tempfile.mkdtemp(prefix="run-", dir=host.room)
    except OSError as error:
        raise no_temporary_folder(error) from error
    try:
        if submission is not None:
            for name, raw in ((submission.name, submission.raw), *submission.siblings):
                Path(folder, name).write_bytes(raw)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _notes(
    entry: Entry, submission: Submission, evidence: Evidence, found: Found | None
) -> list[str]:
    notes = notebook.notes(submission.cells) if submission.cells else []
    if found is not None:
        from grader.sandbox import platforms

        notes += platforms.notes(found)
    notes += evidence.settings
    if intake.is_empty(submission):
        notes.append(f"{submission.name} is empty: it holds no statement; `grade start` writes one")
    notes += carried.notes(entry, submission.name, evidence)
    for program in evidence.programs.values():
        notes += [f"{program.name}: {note}" for note in program.notes]
    if evidence.hidden_in:
        notes.append(
            f"everything sits inside {evidence.hidden_in}(), so no name is visible to the grader: "
            "move the definitions to module level"
        )
    if evidence.layers and not all(layer.on for layer in evidence.layers):
        off = ", ".join(layer.name for layer in evidence.layers if not layer.on)
        lacks = "confinement on this machine lacks:"
        if found is not None:
            lacks = f"confinement is partial beside a driver of a {found.platform.name}, without"
        notes.append(f"{lacks} {off}")
    return notes
