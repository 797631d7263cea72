"""Drive the replay child: hand it programs and inputs, take back observations.

This is the seam: a child that crashes, hangs or talks nonsense costs the program it was running,
and the next program gets a new child.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

from grader import wire
from grader.catalog.models import Exercise
from grader.errors import WireProblem
from grader.process import BROKEN_DOWN, SIGKILL, Child, Deadline, Exit, exhausted
from grader.records.evidence import Program
from grader.records.observation import Collective, Fate, Observation, Replay, Result
from grader.records.truth import Array

PROGRAM_S = 40.0
Cases = Mapping[str, Mapping[str, list[Array]]]
Launch = Callable[[], Child]


class Replayer:
    """The clean room as the coordinator sees it; programs may be handed in one at a time."""

    def __init__(
        self,
        launch: Launch,
        cpu_s: int,
        exercise: Exercise,
        timed: str,
        program_s: float = PROGRAM_S,
    ) -> None:
        self._launch = launch
        self._cpu_s = cpu_s
        self._exercise = exercise
        self._timed = timed
        self._program_s = program_s
        self._child: Child | None = None
        self._cases: dict[str, Mapping[str, list[Array]]] = {}
        self._waiting: list[Program] = []
        self._one_at_a_time = False
        self._seen: dict[str, Observation] = {}

    @property
    def observations(self) -> dict[str, Observation]:
        """What was seen so far by program, and by `program.result` where it gives several."""
        found = dict(self._seen)
        for name, seen in self._seen.items():
            found.update(seen.apart(self._exercise.program(name).judged()))
        return found

    def start(self, cases: Cases, *, ahead: bool = True) -> None:
        """Take the inputs known from the beginning.

        With `ahead` the child starts now, so that it is warm when the first program comes; without
        it no sooner than there is something to replay, which takes less of a busy machine.
        """
        self._cases.update(cases)
        if ahead:
            self._child = self._launch()
            self._child.send({"t": "warm"})
            self._send_cases(self._child, cases)

    def hand(self, program: Program) -> None:
        """Give one exported program to the child, which works on it while others are made."""
        self._waiting.append(program)
        if self._child is not None:
            self._send_program(self._child, program)

    def collect(self) -> None:
        """Wait until every program that was handed in has been observed.

        The child works on several at a time, so when it ends nobody knows for which: then each
        program that is left gets the child for itself.
        """
        while self._waiting:
            child = self._child or self._restart()
            program = self._waiting[0]
            seen, alive = self._observe(child, program)
            if not alive:
                self._child = None
                if len(self._waiting) > 1 and not self._one_at_a_time:
                    self._one_at_a_time = True
                    continue
            self._seen[program.name] = seen
            self._waiting.pop(0)
            if alive and self._one_at_a_time and self._waiting:
                self._send_program(child, self._waiting[0])

    def again(self, cases: Cases) -> None:
        """Run the programs that were replayed on further inputs."""
        self._cases.update(cases)
        names = [n for n, seen in self._seen.items() if seen.replayed]
        child = self._child
        if child is None or not names or not cases:
            return
        self._send_cases(child, cases)
        wanted = [(n, case) for case, programs in cases.items() for n in names if n in programs]
        for name, case in wanted:
            child.send({"t": "again", "name": name, "case": case})
        alive = True
        for name, case in wanted:
            alive = alive and self._replay_again(child, name, case)
            if not alive:
                self._lose(name, case)

    def close(self) -> None:
        """End the child."""
        if self._child is not None:
            self._child.kill()
            self._child.finish()
            self._child = None

    def _restart(self) -> Child:
        self._child = self._launch()
        self._send_cases(self._child, self._cases)
        for program in self._waiting[:1] if self._one_at_a_time else self._waiting:
            self._send_program(self._child, program)
        return self._child

    @staticmethod
    def _send_cases(child: Child, cases: Cases) -> None:
        packed = {
            case: {n: [wire.array_to_json(a) for a in arrays] for n, arrays in programs.items()}
            for case, programs in cases.items()
        }
        child.send({"t": "cases", "cases": packed})

    def _send_program(self, child: Child, program: Program) -> None:
        spec = self._exercise.program(program.name)
        child.send(
            {
                "t": "program",
                "name": program.name,
                "blob": base64.b64encode(program.blob).decode("ascii"),
                "arguments": [a.model_dump(mode="json") for a in spec.arguments],
                "results": list(spec.results),
                "cases": [c for c, names in self._cases.items() if program.name in names],
                "timed": self._timed,
            }
        )

    def _observe(self, child: Child, program: Program) -> tuple[Observation, bool]:
        """Return what was seen of one program, and whether the child still lives."""
        seen = Observation(program.name, "undecided", "the clean room gave no answer")
        deadline = Deadline(self._program_s)
        started = False
        try:
            while (frame := child.receive(deadline)) is not None:
                started = started or frame["t"] == "ready"
                if frame.get("name") != program.name:
                    continue
                seen = self._take(seen, frame)
                if frame["t"] in ("end_of_program", "refused"):
                    return seen, True
        except TimeoutError:
            child.kill()
            child.finish()
            if not started and not self._seen:
                return _lost(seen, "undecided", "the clean room did not start in time"), False
            return _lost(seen, "wall_limit", ""), False
        except (WireProblem, *wire.MALFORMED) as problem:
            child.kill()
            child.finish()
            return _lost(seen, "crashed", f"it sent something that is no result: {problem}"), False
        ended = child.finish()
        # The frame that says so came before an earlier program's, where there was one.
        began = started or bool(self._seen)
        return _ended(seen, ended, child.output.result().text, began, self._cpu_s), False

    def _take(self, seen: Observation, frame: Mapping[str, Any]) -> Observation:
        """Return an observation with what a frame adds; raises ValueError for too few results."""
        taken = _take(seen, frame)
        if taken.replayed and len(taken.others) + 1 != len(
            self._exercise.program(seen.name).judged()
        ):
            raise ValueError("the number of results is another one")
        return taken

    def _replay_again(self, child: Child, name: str, case: str) -> bool:
        """Take in one further replay; returns False when the child is no more."""
        deadline = Deadline(self._program_s)
        try:
            while (frame := child.receive(deadline)) is not None:
                if frame.get("name") == name and frame.get("case") == case:
                    if frame["t"] == "end_of_case":
                        return True
                    self._seen[name] = self._take(self._seen[name], frame)
        except (TimeoutError, WireProblem, *wire.MALFORMED):
            child.kill()
            child.finish()
        else:
            ended, text = child.finish(), child.output.result().text
            told = _ended(self._seen[name], ended, text, True, self._cpu_s)
            if told.fate == "undecided":
                self._seen[name] = told
        self._child = None
        return False

    def _lose(self, name: str, case: str) -> None:
        seen = self._seen[name]
        lost = Replay(error="the program did not survive this input")
        self._seen[name] = seen.with_replays(case, [lost] * (1 + len(seen.others)))


def _take(seen: Observation, frame: Mapping[str, Any]) -> Observation:
    kind = frame["t"]
    if kind == "refused":
        return replace(seen, fate="refused", reason=wire.text(frame["reason"], 500))
    if kind == "loaded":
        first, *others = [_result(one) for one in frame["results"]]
        return replace(
            seen,
            fate="replayed",
            reason="",
            shape=first.shape,
            dtype=first.dtype,
            others=tuple(others),
            devices=wire.integer(frame["devices"]),
            requested=tuple(_collective(one) for one in frame["requested"]),
            compiled=tuple(_collective(one) for one in frame["compiled"]),
            compiled_unknown=wire.text(frame["unknown"], 300),
            element_types=tuple(wire.text(t, 40) for t in frame["element_types"]),
        )
    if kind == "case":
        error = wire.text(frame.get("error", ""), 500)
        shapes = [seen.shape, *(other.shape for other in seen.others)]
        given = [[] for _ in shapes] if error else frame["results"]
        replays = [
            Replay(() if error else wire.shards_from_json(shards, shape), error)
            for shards, shape in zip(given, shapes, strict=True)
        ]
        return seen.with_replays(wire.text(frame["case"]), replays)
    if kind == "timed":
        return replace(seen, cpu_us=tuple(wire.number(us) for us in frame["us"][:32]))
    return seen


def _result(message: Mapping[str, Any]) -> Result:
    return Result(tuple(wire.integer(n) for n in message["shape"]), wire.text(message["dtype"]))


def _collective(message: Mapping[str, Any]) -> Collective:
    def optional(key: str) -> int | None:
        return None if message[key] is None else wire.integer(message[key])

    sent = message["bytes_per_rank"]
    return Collective(
        op=wire.text(message["op"], 40),
        operand=wire.text(message["operand"], 400),
        operand_bytes=wire.integer(message["operand_bytes"]),
        group_size=optional("group_size"),
        trip_count=optional("trip_count"),
        bytes_per_rank=None if sent is None else wire.number(sent),
        by_compiler=message["by_compiler"] is True,
    )


def _lost(seen: Observation, fate: str, reason: str) -> Observation:
    return replace(seen, fate=cast(Fate, fate), reason=reason)


def _ended(
    seen: Observation, ended: Exit | None, text: str, began: bool, cpu_s: int
) -> Observation:
    """Return the observation of a program whose child died."""
    if "rendezvous" in text and "timeout" in text.lower():
        return _lost(seen, "deadlock", "")
    if not began:
        last = text.strip().splitlines()[-1:] or ["no word"]
        return _lost(seen, "undecided", f"the clean room did not start: {last[0][:300]}")
    if exhausted(text) or (ended is not None and ended.code == BROKEN_DOWN):
        # The clean room runs no Python of a stranger's: what ends it so is the machine or us.
        last = text.strip().splitlines()[-1:] or ["no word"]
        return _lost(seen, "undecided", f"the clean room broke down: {last[0][:300]}")
    if ended is not None and ended.signal is not None:
        if ended.by_cpu_limit(cpu_s):
            return _lost(seen, "cpu_limit", "")
        if ended.signal == SIGKILL:
            # No program can do that: memory and CPU end otherwise, and nobody else may signal it.
            return _lost(seen, "undecided", "the clean room was ended from outside")
        return _lost(seen, "crashed", f"signal {ended.signal}")
    if ended is None:
        # Nobody could tell how it ended: whoever starts the children is gone.
        return _lost(seen, "undecided", "the process that starts the clean room ended")
    return _lost(seen, "crashed", f"exit code {ended.code}")
