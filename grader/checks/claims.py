"""Written answers: arrays in module variables, and what the programs give on those same arrays.

A written answer is judged by what it holds, not by where it came from: its source is `claimed`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from grader import compare
from grader.case import (
    ONE_REPLICA,
    Case,
    Decision,
    a_type,
    as_array,
    claim,
    item,
    known,
    undefined,
)
from grader.catalog.models import Content, Points, Tolerance
from grader.records.evidence import Claim, Shard
from grader.records.finding import Item
from grader.records.truth import Array, Expected

NAMES = ONE_REPLICA
Layout = Literal["replicated", "split"]


class Replayed(Content):
    """A case whose replayed result must be a claim's right value, on every device.

    It is asked for only where the answers it was built on (`inputs`) are right themselves.
    """

    case: str
    programs: tuple[str, ...]
    inputs: tuple[str, ...] = ()


class ClaimItem(Content):
    """One written answer.

    `stored` and `layout` ask for a place on the devices; `different_from_right` asks that the
    value is NOT the one the oracle names (weights that must change) by `min_difference`;
    `apart_from` names another answer whose right value this one must differ from; `rests_on` names
    an earlier check from which a wrong value may follow: it waits for that one to pass.
    """

    id: str
    points: Points
    name: str
    stored: tuple[int, ...] | None = None
    layout: Layout | None = None
    different_from_right: bool = False
    apart_from: str | None = None
    rests_on: str | None = None
    min_difference: Tolerance = 0.0
    replayed: Replayed | None = None


class Params(Content):
    """Parameters: `after` names the check without which replays are not asked for."""

    items: tuple[ClaimItem, ...]
    after: str | None = None
    replay_tolerance: Tolerance = 1e-5
    layout_mistakes: dict[str, str] = {}


def judge(params: Params, case: Case) -> tuple[list[Item], list[dict[str, Any]]]:
    """Return one item for each written answer, with what was found as evidence."""
    items, evidence = [], []
    for spec in params.items:
        decision, rows = _decide(params, spec, case)
        items.append(item(spec.id, spec.points, decision))
        evidence += rows
    return items, evidence


def _decide(params: Params, spec: ClaimItem, case: Case) -> tuple[Decision, list[dict[str, Any]]]:
    found = claim(case, spec.name)
    expected = known(case.truth.claims, spec.name, "claims")
    line = found.line or case.line(spec.name)
    value = as_array(found)
    rows = [_evidence(found)] if found.kind != "missing" else []
    if found.kind == "missing":
        return undefined(case, spec.name, "claimed"), rows
    cut_short = _cut_short(case, found, value, line)
    if cut_short is not None:
        return cut_short, rows
    if value is None:
        return _claimed("failed", f"`{spec.name}` {_unusable(found)}", line=line), rows
    if expected.value is None:
        message = f"`{spec.name}` follows from `{expected.needs}`, which is not usable yet"
        return _claimed("blocked", message, line=line), rows
    if spec.different_from_right:
        return _changed(spec, expected, value, line), rows
    if not _equal(found, value, expected.value, expected.atol):
        return _wrong(params, spec, case, found, expected, value, line), rows
    placed = _placed(params, spec, found, line)
    if placed is not None:
        return placed, rows
    too_close = _too_close(spec, case, value, line)
    if too_close is not None:
        return too_close, rows
    replayed, more = _replayed(params, spec, case, expected.value, line)
    return replayed or _claimed("passed", _holding(params, spec, case)), [*rows, *more]


def _cut_short(case: Case, found: Claim, value: Array | None, line: int | None) -> Decision | None:
    """Return that a module stopped before it filled an answer, None where it may be whole."""
    outcome = case.evidence.outcome
    empty = found.kind == "mapping" and not found.value if value is None else value.size == 0
    later = line is None or outcome.line is None or line <= outcome.line
    if outcome.kind == "finished" or not empty or not later:
        return None
    place = outcome.place or (f"line {outcome.line}" if outcome.line else "")
    where = f" at {place}" if place else ""
    message = f"`{found.name}` is still empty: the module stopped{where} first"
    hint = "mend what is said above; the rest of the file did not run"
    return Decision("failed", message, line=line, source="claimed", hint=hint)


def _claimed(
    status: Literal["passed", "failed", "blocked", "undecided"],
    message: str,
    mistake: str | None = None,
    line: int | None = None,
) -> Decision:
    return Decision(status, message, mistake, line, "claimed")


def _unusable(found: Claim) -> str:
    if found.kind in ("none", "other") and found.type_name in ("NoneType", "ellipsis"):
        return f"is still empty (it is {'None' if found.kind == 'none' else '...'})"
    reason = f": {found.reason}" if found.reason else ""
    return f"is {a_type(found)}, not an array of real numbers{reason}"


def _evidence(found: Claim) -> dict[str, Any]:
    row: dict[str, Any] = {"what": "written answer", "name": found.name, "type": found.type_name}
    if found.kind == "device_array":
        row["global_shape"] = list(found.shape)
        row["layout"] = compare.layout(found.shards, found.shape)
        row["device_ids"] = sorted(shard.device for shard in found.shards)
        row["shapes"] = compare.stored(found.shards)
    elif found.kind == "array":
        row["global_shape"] = list(found.value.shape)
    return row


def _equal(found: Claim, value: Array, reference: Array, atol: float) -> bool:
    if found.kind == "device_array":
        return compare.shards(_numbers(found), found.shape, reference, atol).equal
    return compare.array(value, reference, atol)


def _numbers(found: Claim) -> list[Shard]:
    """Return the shards of an answer with truth values as 0 and 1, as a list of them is read."""
    return [
        replace(one, data=one.data.astype(np.float32)) if one.data.dtype.kind == "b" else one
        for one in found.shards
    ]


def _changed(spec: ClaimItem, expected: Expected, value: Array, line: int | None) -> Decision:
    assert expected.value is not None
    if value.shape != expected.value.shape or not np.all(np.isfinite(value)):
        message = f"`{spec.name}` has shape {value.shape}, not {expected.value.shape}"
        return _claimed("failed", message, line=line)
    if np.abs(value - expected.value).max() < spec.min_difference:
        mistake = next(iter(expected.mistakes), None)
        message = f"`{spec.name}` is no different from where the lesson starts"
        return _claimed("failed", message, mistake, line)
    return _claimed("passed", f"`{spec.name}` differs from where the lesson starts")


def _wrong(
    params: Params,
    spec: ClaimItem,
    case: Case,
    found: Claim,
    expected: Expected,
    value: Array,
    line: int | None,
) -> Decision:
    assert expected.value is not None
    if value.shape != expected.value.shape:
        message = f"`{spec.name}` has shape {value.shape}, not {expected.value.shape}"
        return _claimed("failed", message, line=line)
    cause = params.after if _follows_from_own(params, case, found, expected, value) else None
    if spec.rests_on and not case.passed(spec.rests_on):
        cause = cause or spec.rests_on
    if cause:
        message = f"`{spec.name}` follows from a result that is wrong; mend `{cause}` first"
        return _claimed("blocked", message, line=line)
    mistake = next(
        (
            name.partition("/")[0]
            for name, wrong in expected.mistakes.items()
            if _equal(found, value, wrong, expected.atol)
        ),
        None,
    )
    right = _right_devices(found, expected)
    if mistake is None and 0 < right < len(found.shards):
        whole = compare.layout(found.shards, found.shape) == "replicated"
        alone = "one-replica-only" if whole and right == 1 else None
        message = f"`{spec.name}` is right on {right} of {len(found.shards)} devices only"
        return _claimed("failed", message, alone, line)
    # No difference in figures: answer after answer, it would lead to the right one.
    finite = "" if np.all(np.isfinite(value)) else ", and has values that are not finite"
    return _claimed("failed", f"`{spec.name}` is not what was asked{finite}", mistake, line)


def _follows_from_own(
    params: Params, case: Case, found: Claim, expected: Expected, value: Array
) -> bool:
    """Return whether an answer is what the learner's own, wrong program leads to."""
    if expected.other is None or params.after is None or case.passed(params.after):
        return False
    return _equal(found, value, expected.other, expected.atol)


def _right_devices(found: Claim, expected: Expected) -> int:
    """Return how many devices hold a right piece of an answer that is wrong as a whole."""
    if found.kind != "device_array":
        return 0
    assert expected.value is not None
    result = compare.shards(_numbers(found), found.shape, expected.value, expected.atol)
    return len(found.shards) - len(result.wrong_devices)


def _placed(params: Params, spec: ClaimItem, found: Claim, line: int | None) -> Decision | None:
    """Return what is wrong with where an answer is stored, None when nothing is."""
    if spec.layout is None:
        return None
    if found.kind != "device_array":
        message = f"`{spec.name}` is {a_type(found)} on the host, not an array on the devices"
        return _claimed("failed", message, params.layout_mistakes.get(f"{spec.id}:host"), line)
    message = compare.elsewhere(spec.name, found.shards, found.shape, spec.layout, spec.stored)
    if not message:
        return None
    layout = compare.layout(found.shards, found.shape)
    mistake = params.layout_mistakes.get(f"{spec.id}:{layout}")
    return _claimed("failed", message, mistake or params.layout_mistakes.get(layout), line)


def _too_close(spec: ClaimItem, case: Case, value: Array, line: int | None) -> Decision | None:
    other = known(case.truth.claims, spec.apart_from, "claims").value if spec.apart_from else None
    if other is None or np.abs(value - other).max() > spec.min_difference:
        return None
    message = f"`{spec.name}` is within {spec.min_difference:g} of `{spec.apart_from}`"
    return _claimed("failed", message, line=line)


def _holds(case: Case, name: str) -> bool:
    found, expected = claim(case, name), known(case.truth.claims, name, "claims")
    value = as_array(found)
    if value is None or expected.value is None:
        return False
    return _equal(found, value, expected.value, expected.atol)


def _holding(params: Params, spec: ClaimItem, case: Case) -> str:
    if spec.replayed is not None and params.after and not case.passed(params.after):
        return f"`{spec.name}` holds; the programs are held against it once `{params.after}` passes"
    return f"`{spec.name}` holds"


def _replayed(
    params: Params, spec: ClaimItem, case: Case, value: Array, line: int | None
) -> tuple[Decision | None, list[dict[str, Any]]]:
    """Return what is wrong with the programs' own results on the learner's arrays, if anything."""
    if spec.replayed is None or (params.after and not case.passed(params.after)):
        return None, []
    if not all(_holds(case, name) for name in spec.replayed.inputs):
        return None, []
    rows: list[dict[str, Any]] = []
    for program in spec.replayed.programs:
        seen = case.observations.get(program)
        replay = seen.replays.get(spec.replayed.case) if seen else None
        if seen is None or replay is None:
            message = f"`{program}` was not replayed on the arrays of this part"
            return Decision("undecided", message), rows
        atol = params.replay_tolerance * float(np.abs(value).max(initial=0.0)) + 2e-6
        result = compare.shards(replay.shards, seen.shape, value, atol)
        rows.append(
            {
                "what": f"replayed on the learner's own arrays ({spec.replayed.case})",
                "program": program,
                "equal_on_every_device": result.equal,
                "wrong_devices": list(result.wrong_devices),
            }
        )
        if not result.equal:
            message = f"`{program}`, replayed on the arrays of this part, does not give the value"
            return Decision("failed", message, None, line), rows
    return None, rows
