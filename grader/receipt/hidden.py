"""Gathers what only an instructor may see of a grade: hidden inputs, expected values, shards.

It judges nothing, and nothing it gives may reach a learner's receipt.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from grader.case import HIDDEN
from grader.catalog.models import Exercise
from grader.catalog.oracle import Oracle
from grader.records.evidence import Claim, Shard
from grader.records.instructor import (
    Held,
    HiddenCase,
    HiddenInput,
    HiddenProgram,
    HiddenResult,
    InstructorRecord,
    InstructorView,
    SeedSource,
    Values,
    WrittenAnswer,
)
from grader.records.observation import Observation
from grader.records.truth import Array, Expected, Truth

# Of one array, of one result and of one text: a hostile program may give far more of each.
MOST_VALUES = 512
MOST_SHARDS = 64
MOST_CHARS = 300


def observed(observations: Mapping[str, Observation]) -> list[HiddenResult]:
    """Return what the programs gave on the hidden cases, by case and program."""
    found = [
        HiddenResult(
            case=case, program=name, error=replay.error[:MOST_CHARS], held=_held(replay.shards)
        )
        for name, seen in observations.items()
        for case, replay in seen.replays.items()
        if case.startswith(HIDDEN)
    ]
    return sorted(found, key=lambda one: one.case)


def written(claims: Mapping[str, Claim], truth: Truth) -> list[WrittenAnswer]:
    """Return the written answers beside what they should hold."""
    return [_answer(name, claims.get(name), wanted) for name, wanted in truth.claims.items()]


def _answer(name: str, claim: Claim | None, wanted: Expected) -> WrittenAnswer:
    claim = claim or Claim(name, "missing")
    found, text = None, ""
    if claim.kind == "array":
        found = values(claim.value)
    elif claim.kind == "number" and not isinstance(claim.value, bool):
        found = values(np.asarray(claim.value, dtype=np.float64))
    elif claim.kind != "device_array":
        told = claim.kind if claim.value is None else repr(claim.value)
        text = told[:MOST_CHARS]
    return WrittenAnswer(
        name=name,
        expected=None if wanted.value is None else values(wanted.value),
        atol=_cell(float(wanted.atol)),
        needs=wanted.needs,
        found=found,
        held=_held(claim.shards),
        text=text,
    )


def _held(shards: Sequence[Shard]) -> list[Held]:
    ordered = sorted(shards, key=lambda shard: shard.device)[:MOST_SHARDS]
    return [
        Held(device=one.device, index=[list(pair) for pair in one.index], data=values(one.data))
        for one in ordered
    ]


def values(array: Array) -> Values:
    """Return an array as a record: the first `MOST_VALUES` of it, exactly."""
    first = array.reshape(-1)[:MOST_VALUES]
    return Values(
        shape=list(array.shape), dtype=str(array.dtype), values=[_cell(x) for x in first.tolist()]
    )


def _cell(value: Any) -> float | str:
    if isinstance(value, complex):
        return str(value)
    return float(value) if math.isfinite(value) else str(value)


def view(
    exercise: Exercise,
    oracle: Oracle,
    seed: bytes,
    source: SeedSource,
    record: InstructorRecord | None,
) -> InstructorView:
    """Return the instructor's additions, worked out again from the seed of the grade.

    Without a record what the devices held is not known, nor what written answers should hold.

    Raises: ContentProblem, when the oracle fails.
    """
    seen = {(one.case, one.program): one for one in record.observed} if record else {}
    cases = [
        HiddenCase(
            case=case,
            programs=[
                HiddenProgram(
                    program=program,
                    inputs=_inputs(exercise, program, given),
                    expected=values(oracle.answer(program, given).value),
                    seen=seen.get((case, program)),
                )
                for program, given in programs.items()
            ],
        )
        for case, programs in oracle.cases(seed).items()
        if case.startswith(HIDDEN)
    ]
    return InstructorView(
        seed=seed.hex(),
        seed_source=source,
        note="" if seen else "What each device held was not kept: there is no record of this grade",
        cases=cases,
        written=record.written if record else [],
        figures={name: figure["right"] for name, figure in oracle.figures().items()},
        tables=[dict(row) for row in oracle.rows().get("right", {}).values()],
    )


def kept(record: InstructorRecord) -> InstructorView:
    """Return the additions that a record holds by itself, where the rubric is another by now."""
    found: dict[str, list[HiddenProgram]] = {}
    for one in record.observed:
        known = HiddenProgram(program=one.program, inputs=[], expected=None, seen=one)
        found.setdefault(one.case, []).append(known)
    return InstructorView(
        seed=record.seed,
        seed_source=record.seed_source,
        note="The rubric has changed since: hidden inputs and expected values are not known here",
        cases=[HiddenCase(case=case, programs=programs) for case, programs in found.items()],
        written=record.written,
        figures={},
        tables=[],
    )


def _inputs(exercise: Exercise, program: str, given: Sequence[Array]) -> list[HiddenInput]:
    names = [
        one.name for made in exercise.programs if made.name == program for one in made.arguments
    ]
    return [
        HiddenInput(name=name, data=values(np.asarray(one)))
        for name, one in zip(names, given, strict=False)
    ]
