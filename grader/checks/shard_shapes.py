"""How each program's result is stored: shape on each device, replicas equal, slices in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from grader import compare
from grader.case import BY_ANY_PROGRAM, ONE_REPLICA, Case, Decision, absent, idle, item
from grader.catalog.models import Content, Points, Tolerance
from grader.records.evidence import Shard
from grader.records.finding import Item
from grader.records.observation import Observation
from grader.shapes import no_guess

NAMES = {
    **BY_ANY_PROGRAM,
    **ONE_REPLICA,
    "wrong-slice-order": "the slices lie on the devices in another order",
}
_DIFFER = (
    "print the values of each shard, not only its shape: [s.data for s in"
    " result.addressable_shards]. Every device has to compute the same; check_vma=False hides that"
    " it does not"
)
_NOT_FINITE = "look for a division by zero or an overflow, on the inputs of this exercise too"


class ProgramItem(Content):
    """One program: the per-device shape and the layout its result must have."""

    id: str
    points: Points
    program: str
    stored: tuple[int, ...]
    layout: Literal["replicated", "split"]


class Rule(Content):
    """A mistake told by what is stored instead; fields left out match anything."""

    mistake: str
    program: str | None = None
    wanted: Literal["replicated", "split"] | None = None
    layout: Literal["replicated", "split", "other"] | None = None
    stored: tuple[int, ...] | None = None


class Params(Content):
    """Parameters: `relative_tolerance` is how far replicas may lie apart; first rule wins."""

    items: tuple[ProgramItem, ...]
    devices: int = 4
    relative_tolerance: Tolerance
    mistakes: tuple[Rule, ...] = ()


def judge(params: Params, case: Case) -> tuple[list[Item], list[dict[str, Any]]]:
    """Return one item for each program, and what every device stores."""
    items, evidence = [], []
    for spec in params.items:
        decision = absent(case, spec.program) or idle(case, spec.program)
        if decision is None:
            seen = case.observations[spec.program]
            decision = _stored(params, spec, case, seen)
            evidence.append(_evidence(seen))
        items.append(item(spec.id, spec.points, decision))
    return items, evidence


def _evidence(seen: Observation) -> dict[str, Any]:
    shards = seen.any_shards()
    return {
        "what": "values stored on each device",
        "program": seen.name,
        "global_shape": list(seen.shape),
        "layout": compare.layout(shards, seen.shape),
        "device_ids": sorted(shard.device for shard in shards),
        "shapes": compare.stored(shards),
    }


def _stored(params: Params, spec: ProgramItem, case: Case, seen: Observation) -> Decision:
    shards = seen.any_shards()
    shapes = compare.stored(shards)
    line = case.line(spec.program)
    if not shards:
        why = next((r.error for r in seen.replays.values() if r.error), "it gave no result")
        return Decision("failed", f"`{seen.name}` gave no result to look at: {why}", line=line)
    layout = compare.layout(shards, seen.shape)
    right_shape = len(shards) == params.devices and all(s == list(spec.stored) for s in shapes)
    if not right_shape or layout != spec.layout:
        told = sorted({tuple(shape) for shape in shapes})
        what = " and ".join(str(shape) for shape in told)
        message = (
            f"`{seen.name}` stores {what} on {_devices(shards)}, {_words(layout)}; {_asked(spec)}"
        )
        mistake = _rule(params, spec, layout, told)
        decision = Decision("failed", message, mistake, line)
        # A rule that names the very shape that is stored is no guess.
        return decision if _by_shape(params, mistake) else no_guess(case, seen, decision)
    if layout == "split" and not compare.in_device_order(shards):
        message = f"`{seen.name}`: the slices are not in device order"
        return Decision("failed", message, "wrong-slice-order", line)
    apart = _apart(params, seen) if layout == "replicated" else []
    if apart:
        if len(apart) == len(shards):
            message = f"`{seen.name}`: the values are not finite, so no replicas can be equal"
            return Decision("failed", message, None, line, hint=_NOT_FINITE)
        devices = ", ".join(map(str, apart))
        message = f"`{seen.name}`: the replicas differ ({_plural(apart)} {devices} from device 0)"
        return Decision("failed", message, _replica_mistake(case, seen), line, hint=_DIFFER)
    return Decision("passed", f"`{seen.name}` stores {tuple(spec.stored)} on each device")


def _by_shape(params: Params, mistake: str | None) -> bool:
    return any(rule.stored is not None for rule in params.mistakes if rule.mistake == mistake)


def _devices(shards: Sequence[Shard]) -> str:
    return "1 device" if len(shards) == 1 else f"{len(shards)} devices"


def _asked(spec: ProgramItem) -> str:
    """Return what was meant: the exercise says it too, so it gives nothing away."""
    return f"asked is {tuple(spec.stored)} on every device, {_words(spec.layout)}"


def _plural(devices: list[int]) -> str:
    return "device" if len(devices) == 1 else "devices"


def _words(layout: str) -> str:
    return {"replicated": "each the whole", "split": "each a slice"}.get(layout, "not evenly laid")


def _rule(
    params: Params, spec: ProgramItem, layout: str, shapes: list[tuple[int, ...]]
) -> str | None:
    for rule in params.mistakes:
        if (
            rule.program in (None, spec.program)
            and rule.wanted in (None, spec.layout)
            and rule.layout in (None, layout)
            and (rule.stored is None or shapes == [rule.stored])
        ):
            return rule.mistake
    return None


def _apart(params: Params, seen: Observation) -> list[int]:
    """Return the devices whose replica differs from the first one's, in any case."""
    wrong: set[int] = set()
    for replay in seen.replays.values():
        shards = sorted(replay.shards, key=lambda shard: shard.device)
        if shards:
            first = np.asarray(shards[0].data)
            atol = params.relative_tolerance * float(np.abs(first).max(initial=0.0))
            wrong |= {s.device for s in shards if not compare.array(s.data, first, atol)}
    return sorted(wrong)


def _replica_mistake(case: Case, seen: Observation) -> str | None:
    """Return `one-replica-only` where exactly one device holds the right values in every case."""
    alone: set[int] | None = None
    for name, replay in seen.replays.items():
        answer = case.truth.answers.get((name, seen.name))
        if answer is None or answer.value.shape != seen.shape:
            continue
        atol = 4e-6 * float(np.abs(answer.value).max(initial=0.0))
        right = {s.device for s in replay.shards if compare.array(s.data, answer.value, atol)}
        alone = right if alone is None else alone & right
        if len(right) != 1:
            return None
    return "one-replica-only" if alone and len(alone) == 1 else None
