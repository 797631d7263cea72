"""Drive one learner child to its end and turn whatever it sent into evidence.

This is the seam: what a child sends is validated here once, and what it does becomes an Outcome.
A child that dies is followed by a second one that runs only the finished statements.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from grader import wire
from grader.catalog.models import Exercise
from grader.errors import EnvironmentProblem, Undecided, WireProblem
from grader.process import SIGKILL, Child, Deadline, Exit, exhausted
from grader.records import cells
from grader.records.evidence import (
    REQUIRED_LAYERS,
    Evidence,
    Layer,
    Outcome,
    Program,
    confinement_level,
)
from grader.records.submission import Submission
from grader.records.truth import Sent
from grader.sandbox import fault_dump, outcomes, overrides, places, trip_frames
from grader.sandbox.frames import read_claim, read_layers, read_program
from grader.sandbox.host import Host
from grader.sandbox.launching import Allowance
from grader.sandbox.so_far import Run

RELAUNCHES = 4
_SETTING = re.compile(
    r"jax_[a-z0-9_]+ "
    r"(is switched on|was set to [\w.\-]{1,40}; the programs were exported without it)"
)
_OVERRIDDEN = {f"{name} {overrides.TOLD}" for name in (*overrides.CONFIG, *overrides.VARIABLES)}
GRACE_S = 10
READY_S = 30.0
Listener = Callable[[Program], None]


class Learner:
    """One submission's way through the sandbox."""

    def __init__(
        self,
        host: Host,
        exercise: Exercise,
        submission: Submission,
        workdir: str,
        *,
        only_full: bool = False,
        precision: str = "",
        states: Mapping[str, Sequence[Sent]] = {},
    ) -> None:
        self._host = host
        self._states = states
        self._precision = precision
        self._exercise = exercise
        self._submission = submission
        self._workdir = workdir
        self._only_full = only_full
        self._wall_s = exercise.limits.wall_s
        self._first: Child | None = None
        # Children that replace one another share one budget, or a hang would cost it each time.
        self._left_s = 2.0 * (self._wall_s + GRACE_S)

    def start(self) -> None:
        """Start the first child, so that it warms up while the coordinator loads."""
        self._first = self._launch()

    def _launch(self) -> Child:
        limits = self._exercise.limits
        allowance = Allowance(
            cpu_s=limits.cpu_s,
            memory_bytes=limits.memory_mib << 20,
            output_bytes=limits.output_mib << 20,
            scratch_bytes=limits.scratch_mib << 20,
            only_full=self._only_full,
            checkpoints=bool(self._exercise.round_trips),
        )
        return self._host.start("learner", self._workdir, allowance)

    def evidence(self, on_program: Listener) -> Evidence:
        """Return what the module left; `on_program` is told of each exported program at once.

        Raises:
            EnvironmentProblem: a required layer of confinement is missing, and nothing was run; or
                states are to be saved, and nothing can be written here.
            Undecided: no child could be started.
        """
        child = self._first or self._launch()
        first, ended = self._run(child, None, Run(), on_program)
        if _ended_from_outside(first, ended, child, self._exercise.limits.cpu_s):
            # A machine short of memory does that; a module cannot. Tried once more.
            child = self._launch()
            first, ended = self._run(child, None, first, on_program)
        if self._only_full and first.layers:
            insist_on_full(first.layers)
        if not first.ready:
            words = child.output.result().text.strip().splitlines()
            raise Undecided(
                "the confined process did not start" + (f": {words[-1][:300]}" if words else ""),
                next_step="`grade doctor` shows what this machine lacks",
            )
        self._insist_on_an_end(first, ended, child)
        if not first.done and first.stop is None and self._is_machines_fault(child):
            raise Undecided(
                "this machine gave the module's process no more threads",
                next_step="wait until it is less busy, or raise `ulimit -u`, then run it again",
            )
        outcome = outcomes.tell(
            self._submission.name,
            first.stop,
            first.done,
            first.named,
            ended,
            child.output,
            first.timed_out,
            first.garbled,
            self._exercise.limits.cpu_s,
            first.unfinished(),
            self._known(first),
        )
        whole = first
        relaunches = 0
        while self._may_go_on(whole, relaunches):
            relaunches += 1
            last, whole = whole, self._again(first, whole, on_program)
            if relaunches > 1 and whole.progress() == last.progress():
                break
        trip_frames.insist_on_room(self._exercise.id, whole.trips)
        return self._assemble(first, whole, outcome, child)

    def _is_machines_fault(self, child: Child) -> bool:
        """Return whether a process ended because the machine gave it no more threads.

        What it printed may be the module's own words: the machine has to refuse a new process too.
        """
        if not exhausted(child.output.result().text):
            return False
        idle = self._launch()
        try:
            return not _gets_ready(idle)
        finally:
            idle.kill()
            idle.finish()

    def _known(self, run: Run) -> outcomes.Known:
        limits = self._exercise.limits
        has_scratch = any(layer.name == "scratch" and layer.on for layer in run.layers)
        return outcomes.Known(
            source=self._submission.source.decode("utf-8", "replace"),
            endings=run.endings[run.ran] if run.ran < len(run.endings) else (),
            wall_limit_s=limits.wall_s,
            memory_mib=limits.memory_mib,
            # A layer that is off holds nothing, whatever the exercise would allow.
            scratch_mib=limits.scratch_mib if has_scratch else None,
        )

    def _may_go_on(self, run: Run, relaunches: int) -> bool:
        unfinished = not run.done and run.parsed and relaunches < RELAUNCHES
        return unfinished and self._left_s > 0

    def _again(self, first: Run, last: Run, on_program: Listener) -> Run:
        """Run the statements that finished, without what did not come to an end."""
        stop_before = first.ran if not first.named else None
        if last is not first and not last.named:
            stop_before = last.ran
        child = self._launch()
        run, ended = self._run(child, stop_before, last.without_stuck(), on_program)
        self._insist_on_an_end(run, ended, child)
        return run

    def _insist_on_an_end(self, run: Run, ended: Exit | None, child: Child) -> None:
        """Raise Undecided where something else than the module or a limit ended its process."""
        if ended is None and not run.done:
            what = "the process that starts the children ended while this module ran"
        elif _ended_from_outside(run, ended, child, self._exercise.limits.cpu_s):
            what = "the module's process was ended from outside, twice"
        else:
            return
        raise Undecided(
            what,
            next_step="look whether memory runs out or something ends processes on this machine, "
            "then run it again",
        )

    def _run(
        self,
        child: Child,
        stop_before: int | None,
        before: Run,
        on_program: Listener,
    ) -> tuple[Run, Exit | None]:
        run = Run(programs=dict(before.programs), trips=dict(before.trips))
        child.send(
            {
                "filename": self._submission.name,
                "workdir": self._workdir,
                "siblings": bool(self._submission.siblings),
                "cells": cells.packed(self._submission.cells.python)
                if self._submission.cells
                else None,
                "stop_before": stop_before,
                "precision": self._precision,
                "programs": [p.model_dump(mode="json") for p in self._exercise.programs],
                "claims": self._names(),
                "round_trips": trip_frames.asked(self._exercise.round_trips, self._states),
                "skip": [*run.programs, *run.trips],
            }
        )
        deadline = Deadline(min(self._wall_s, self._left_s))
        try:
            for frame in _frames(child, deadline):
                self._take(run, frame, on_program)
        except TimeoutError:
            run.timed_out = True
            child.kill()
        except (WireProblem, *wire.MALFORMED) as problem:
            lacks = isinstance(problem, KeyError)
            run.garbled = f"a frame lacks {problem}" if lacks else str(problem)
            child.kill()
        self._left_s -= deadline.spent()
        return run, child.finish()

    def _names(self) -> list[str]:
        separate = self._exercise.separate
        return [
            *self._exercise.claims,
            separate.prediction,
            separate.checkpoint,
            separate.explanation,
        ]

    def _defined(self) -> list[str]:
        """Return every name that a submission may be asked to define."""
        trips = [name for trip in self._exercise.round_trips for name in (trip.save, trip.restore)]
        return [*(p.name for p in self._exercise.programs), *self._names(), *trips]

    def _take(self, run: Run, frame: Mapping[str, Any], on_program: Listener) -> None:
        kind = frame["t"]
        if kind == "layers" and not run.layers:
            run.layers = read_layers(frame)
        elif kind == "ready" and not run.ready:
            run.ready, run.devices = True, wire.integer(frame["devices"])
            run.versions = {wire.text(k): wire.text(v) for k, v in frame["versions"].items()}
        elif kind == "parsed":
            run.parsed = True
            run.starts = tuple(wire.integer(line) for line in frame["starts"])
            run.endings = tuple(
                tuple((wire.integer(line), wire.text(call, 200)) for line, call in calls)
                for calls in frame["endings"]
            )
            run.lines = {wire.text(k): wire.integer(v) for k, v in frame["lines"].items()}
        elif kind == "ran":
            run.ran = max(run.ran, wire.integer(frame["i"]) + 1)
        elif kind == "stop" and run.stop is None:
            run.stop = dict(frame)
        elif kind == "names":
            run.named, run.hidden_in = True, wire.text(frame["hidden_in"])
            run.names = tuple(wire.text(name) for name in frame["names"][:400])
            inside = frame.get("inside", {})
            run.inside = {n: wire.text(inside[n], 80) for n in self._defined() if n in inside}
        elif kind == "claim":
            found = read_claim(frame)
            if found.name in self._names():
                run.claims.setdefault(found.name, found)
        elif kind == "settings":
            # Shown in our own voice, so only in our own words.
            told = (wire.text(one, 200) for one in frame["settings"][:16])
            known = _OVERRIDDEN if self._precision else set()
            run.settings = tuple(one for one in told if one in known or _SETTING.fullmatch(one))
        elif kind == "exporting":
            run.exporting = wire.text(frame["name"])
        elif kind == "program":
            self._take_program(run, frame, on_program)
        elif kind == "travelling":
            run.travelling = wire.text(frame["name"])
        elif kind == "round_trip":
            trip = trip_frames.read(frame, run.layers, self._exercise.limits.scratch_mib)
            if trip.name in self._states:
                run.trips.setdefault(trip.name, trip)
        elif kind == "done":
            run.done, run.cache_hits = True, wire.integer(frame.get("cache_hits", 0))

    def _take_program(self, run: Run, frame: Mapping[str, Any], on_program: Listener) -> None:
        program = read_program(frame)
        asked = {p.name for p in self._exercise.programs}
        if program.name in asked and program.name not in run.programs:
            run.programs[program.name] = program
            on_program(program)

    def _assemble(self, first: Run, whole: Run, outcome: Outcome, child: Child) -> Evidence:
        lines = first.lines or whole.lines
        claims = {n: replace(c, line=lines.get(n)) for n, c in whole.claims.items()}
        found = Evidence(
            outcome=outcome,
            programs=whole.programs,
            claims=claims,
            round_trips=whole.trips,
            lines=lines,
            names=whole.names,
            hidden_in=whole.hidden_in,
            inside=whole.inside,
            # The dumps name files of ours and addresses; what they tell is in the outcome.
            output=fault_dump.left_out(child.output.result()),
            layers=first.layers,
            versions=first.versions,
            devices=first.devices,
            settings=whole.settings,
            cache_hits=whole.cache_hits,
        )
        return places.in_cells(found, self._submission)


def _ended_from_outside(run: Run, ended: Exit | None, child: Child, cpu_s: int) -> bool:
    """Return whether a child was killed, and neither by us nor for its CPU seconds."""
    ours = run.done or run.timed_out or bool(run.garbled) or child.output.flooded
    if ours or ended is None or ended.signal != SIGKILL:
        return False
    return not ended.by_cpu_limit(cpu_s)


def _gets_ready(child: Child) -> bool:
    """Return whether a child that was given nothing to do starts its backend."""
    deadline = Deadline(READY_S)
    try:
        while (frame := child.receive(deadline)) is not None:
            if frame.get("t") == "ready":
                return True
    except (TimeoutError, WireProblem):
        pass
    return False


def insist_on_full(layers: Sequence[Layer]) -> None:
    """Raise EnvironmentProblem where a required layer of confinement is missing."""
    if confinement_level(layer.name for layer in layers if layer.on) == "full":
        return
    off = {layer.name: layer.reason for layer in layers if not layer.on}
    missing = ", ".join(
        f"{name} ({off[name]})" if off.get(name) else name
        for name in sorted(REQUIRED_LAYERS & {*off})
    )
    raise EnvironmentProblem(
        f"nothing was run: full confinement is required, and this machine lacks {missing}",
        next_step="grade on Linux with Landlock and seccomp (docs/security.md); "
        "--require-confinement auto runs files that you trust",
    )


def _frames(child: Child, deadline: Deadline) -> Iterator[dict[str, Any]]:
    """Give what a child sends; once its time is up it is told so each second, for some seconds.

    Raises:
        TimeoutError: it did not end in those seconds either.
    """
    for _ in range(GRACE_S):
        try:
            while (frame := child.receive(deadline)) is not None:
                yield frame
            return
        except TimeoutError:
            child.remind()
            deadline.extend(1.0)
    raise TimeoutError
