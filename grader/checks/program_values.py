"""Values of programs, replayed on hidden inputs: every device's shard against the truth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from grader import compare
from grader.case import (
    BY_ANY_PROGRAM,
    HIDDEN,
    ONE_REPLICA,
    Case,
    Decision,
    absent,
    item,
    known,
)
from grader.catalog.models import Content, Points, Tolerance
from grader.errors import ContentProblem
from grader.records.finding import Item
from grader.records.observation import Observation
from grader.records.truth import Answer
from grader.results import program_of
from grader.shapes import misshapen

NAMES = {
    **BY_ANY_PROGRAM,
    **ONE_REPLICA,
    "low-precision": "a 16-bit format is used, whose digits do not suffice",
    "hard-coded": "the result is right on the exercise's own numbers only",
}
REDUCTIONS = ("all-reduce", "reduce-scatter")
_SHAPE = (
    "compare the shape of the result with the one that the prompt asks for: out_specs (or"
    " out_shardings) says how the pieces make it up, and tiled or a reduction what the pieces are"
)


class ProgramItem(Content):
    """One program worth some points.

    With `whole` each device has to hold all of the result: a program that only moves values would
    be right by doing nothing.
    """

    id: str
    points: Points
    program: str
    whole: bool = False


class Params(Content):
    """Parameters.

    `relative_tolerance` is a share of the answer's largest absolute value (an answer of an integer
    dtype has none); `open_case` is the case a learner knows; `reductions` tells mistakes with equal
    values apart by how often the program asks for a reduction, and `gathered_inputs` from them by
    an all-gather that the compiler had to add; `low_precision` is the largest relative error of a
    16-bit format; `sixteen_bits` says that right values rounded to one may pass, which an audit
    reports else.
    """

    items: tuple[ProgramItem, ...]
    devices: int = 4
    relative_tolerance: Tolerance
    open_case: str
    hidden: str = HIDDEN
    reductions: dict[str, int] = {}
    gathered_inputs: str | None = None
    low_precision: Tolerance = 0.03
    sixteen_bits: bool = False


def judge(params: Params, case: Case) -> tuple[list[Item], list[dict[str, Any]]]:
    """Return one item for each program, and how far each was from the truth."""
    items, evidence = [], []
    for spec in params.items:
        decision = absent(case, spec.program)
        if decision is None:
            decision, rows = _compare(params, case, spec)
            evidence += rows
        items.append(item(spec.id, spec.points, decision))
    return items, evidence


def _compare(
    params: Params, case: Case, spec: ProgramItem
) -> tuple[Decision, list[dict[str, Any]]]:
    program = spec.program
    seen = case.observations[program]
    results = {name: _one(params, case, seen, name) for name in _names(params, case, program)}
    answer = case.truth.answers[(params.open_case, program)]
    evidence = [_evidence(params, program, results, _exact(answer))]
    if all(r.equal for r in results.values()):
        if spec.whole and not _is_whole(seen):
            message = f"`{program}` leaves each device with a part of the values, not with all"
            return Decision("failed", message, None, case.line(program)), evidence
        return Decision("passed", f"`{program}` is right on every device"), evidence
    mistake = _mistake(params, case, seen, results)
    message = _message(params, case, seen, results)
    # The check's own hint is about values.
    hint = _SHAPE if misshapen(case, seen) and mistake is None else ""
    return Decision("failed", message, mistake, case.line(program), hint=hint), evidence


def _is_whole(seen: Observation) -> bool:
    shards = [shard for replay in seen.replays.values() for shard in replay.shards]
    return all(shard.data.shape == seen.shape for shard in shards)


def _evidence(
    params: Params, program: str, results: dict[str, compare.Comparison], exact: bool
) -> dict[str, Any]:
    def share(found: list[compare.Comparison]) -> float | None:
        worst = max((one.worst for one in found), default=0.0)
        return float(f"{worst:.3g}") if np.isfinite(worst) else None

    hidden = [result for name, result in results.items() if name != params.open_case]
    return {
        "what": "largest difference as a share of the largest value",
        "program": program,
        f"on {len(hidden)} hidden inputs": share(hidden),
        "on the lesson's own": share([results[params.open_case]]),
        "allowed": 0.0 if exact else params.relative_tolerance,
        "wrong_devices": sorted({d for r in results.values() for d in r.wrong_devices}),
    }


def _names(params: Params, case: Case, program: str) -> list[str]:
    hidden = [
        name
        for name, programs in case.truth.cases.items()
        if name.startswith(params.hidden) and program_of(program) in programs
    ]
    if not hidden:
        raise ContentProblem(
            f"oracle.py: cases() gives no {params.hidden}… inputs for {program!r}",
            where="oracle.py",
            next_step="draw some: a program may be right on the inputs a learner knows only",
        )
    return [*hidden, params.open_case]


def _one(params: Params, case: Case, seen: Observation, name: str) -> compare.Comparison:
    answer = known(case.truth.answers, (name, seen.name), "cases")
    return _against(params, seen, name, answer.value, _exact(answer))


def _exact(answer: Answer) -> bool:
    """Return whether a result is right or wrong and never nearly right: a count, a place, a key."""
    return np.issubdtype(answer.value.dtype, np.integer)


def _against(
    params: Params, seen: Observation, name: str, reference: compare.Reference, exact: bool
) -> compare.Comparison:
    replay = seen.replays.get(name)
    shards = replay.shards if replay else ()
    views = reference if isinstance(reference, tuple) else (reference,)
    scale = max(float(np.abs(view).max(initial=0.0)) for view in views)
    atol = 0.0 if exact else params.relative_tolerance * scale
    if len(shards) != params.devices:
        # A replica that is missing leaves no gap: only the count tells.
        return compare.Comparison(False, np.inf, (), False)
    return compare.shards(shards, seen.shape, reference, atol)


def _mistake(
    params: Params, case: Case, seen: Observation, results: dict[str, compare.Comparison]
) -> str | None:
    """Return the mistake whose prediction is what every hidden case shows."""
    hidden = {n: r for n, r in results.items() if n != params.open_case}
    matching = _matching(params, case, seen, hidden)
    if len(matching) > 1:
        matching = _by_other_results(params, case, seen, hidden, matching)
    if matching:
        return _told_apart(params, seen, matching)
    if _only_some_devices(results, seen):
        return "one-replica-only"
    worst = max(r.worst for r in hidden.values())
    if {"bf16", "f16"} & set(seen.element_types) and worst <= params.low_precision:
        return "low-precision"
    far = all(params.low_precision < r.worst < np.inf for r in hidden.values())
    if results[params.open_case].equal and far:
        return "hard-coded"
    return None


def _matching(params: Params, case: Case, seen: Observation, names: Iterable[str]) -> set[str]:
    """Return the mistakes of which some prediction is what a result shows, in each of the cases."""
    found = [_fitting(params, case, seen, [name]) for name in names]
    return set.intersection(*({one.partition("/")[0] for one in fits} for fits in found))


def _fitting(params: Params, case: Case, seen: Observation, names: Iterable[str]) -> set[str]:
    """Return the predictions, `mistake/variant`, that a result shows in all of these cases."""
    fits: list[set[str]] = []
    for name in names:
        answer: Answer = case.truth.answers[(name, seen.name)]
        fits.append(
            {
                mistake
                for mistake, value in answer.mistakes.items()
                if _against(params, seen, name, value, _exact(answer)).equal
            }
        )
    return set.intersection(*fits)


def _by_other_results(
    params: Params, case: Case, seen: Observation, names: Iterable[str], matching: set[str]
) -> set[str]:
    """Keep the mistakes that tell most of what the same program's other results show."""
    program = program_of(seen.name)
    others = [
        _fitting(params, case, other, names)
        for name, other in case.observations.items()
        if name not in (seen.name, program) and program_of(name) == program
    ]
    told = dict.fromkeys(matching, 0)
    for variant in _fitting(params, case, seen, names):
        mistake = variant.partition("/")[0]
        told[mistake] = max(told.get(mistake, 0), sum(variant in fits for fits in others))
    return {mistake for mistake in matching if told[mistake] == max(told.values())}


def _told_apart(params: Params, seen: Observation, matching: set[str]) -> str:
    """Choose among mistakes with equal values by a second observation; else name them all."""
    if len(matching) > 1 and params.gathered_inputs in matching:
        if any(c.by_compiler and c.op == "all-gather" for c in seen.compiled):
            return params.gathered_inputs
        matching = matching - {params.gathered_inputs}
    if len(matching) > 1:
        count = sum(1 for c in seen.requested if c.op in REDUCTIONS and not c.scalar)
        left = {m for m in matching if params.reductions.get(m) == min(count, 2)}
        matching = left or matching
    return "-or-".join(sorted(matching))


def _only_some_devices(results: dict[str, compare.Comparison], seen: Observation) -> bool:
    """Return whether the same device alone is right in every case of a replicated result."""
    wrong = {r.wrong_devices for r in results.values()}
    if len(wrong) != 1 or not seen.replicated:
        return False
    return len(next(iter(wrong))) == seen.devices - 1


def _message(
    params: Params, case: Case, seen: Observation, results: dict[str, compare.Comparison]
) -> str:
    wanted = case.truth.answers[(params.open_case, seen.name)].value.shape
    errors = [seen.replays[n].error for n in results if n in seen.replays and seen.replays[n].error]
    if errors:
        return f"`{seen.name}` raised when it was replayed: {errors[0]}"
    if seen.shape != wanted:
        return f"`{seen.name}` gives a global shape {seen.shape}, not {wanted}"
    pieces = min(len(seen.replays[n].shards) if n in seen.replays else 0 for n in results)
    if pieces != params.devices:
        return f"`{seen.name}` left its result on {pieces} of {params.devices} devices"
    if not all(r.covered for r in results.values()):
        return f"`{seen.name}`: what the devices store does not make up the whole result"
    bad = [name for name, r in results.items() if not r.equal]
    devices = Counter(d for name in bad for d in results[name].wrong_devices)
    where = "every device" if len(devices) == seen.devices else f"device {_listed(devices)}"
    worst = max(results[name].worst for name in bad)
    by = f"by {_times(worst)} the largest value" if np.isfinite(worst) else "not finite"
    of = f"for {len(bad)} of {len(results)} inputs"
    if params.open_case not in bad:
        of += " (right for the lesson's own)"
    return f"`{seen.name}` is wrong on {where} {of}, {by}"


def _times(worst: float) -> str:
    """Return a share in words too coarse to work the right value out from a number of one's own."""
    if worst > 10:
        return "more than 10 times"
    return f"up to {worst:.0f} times" if worst >= 1 else f"up to {worst:.1g} times"


def _listed(devices: Counter[int]) -> str:
    return ", ".join(str(device) for device in sorted(devices)) or "(none)"
