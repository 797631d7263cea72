"""States that a module's own functions saved and restored: is what came back what was sent?

The functions are host code and run in the learner's process: what is found here is `claimed`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from pydantic import model_validator

from grader import compare
from grader.case import (
    EMPTY,
    FILL_IN,
    Case,
    Decision,
    a_type,
    as_array,
    item,
    known,
    undefined,
    with_article,
)
from grader.catalog.models import Content, Points
from grader.records.evidence import Claim, RoundTrip
from grader.records.finding import Item
from grader.records.truth import Array, Sent
from grader.results import program_of
from grader.sandbox import plainly
from grader.sandbox.meaning import Raised

_NO_FOLDER = "this machine gives a module no folder to write in, so nothing could be saved"
_STUCK = "look for an exit or a loop inside the function, and for threads that it leaves behind"


class TripItem(Content):
    """One array that comes back (`leaf`), or whether anything was written at all (`written`).

    A leaf is called `name.leaf`, and `stored` and `layout` ask for its place on the devices.
    """

    id: str
    points: Points
    leaf: str | None = None
    written: str | None = None
    stored: tuple[int, ...] | None = None
    layout: Literal["replicated", "split"] | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> TripItem:
        if (self.leaf is None) == (self.written is None):
            raise ValueError("an item has either leaf or written")
        return self


class Params(Content):
    """Parameters: the mistakes of folders that stay empty, and of right values stored elsewhere.

    `written_late` is that of a folder in which nothing lies when saving has returned.
    """

    items: tuple[TripItem, ...]
    nothing_written: str | None = None
    written_late: str | None = None
    layout_mistakes: dict[str, str] = {}


def judge(params: Params, case: Case) -> tuple[list[Item], list[dict[str, Any]]]:
    """Return one item for each array that comes back, and what was found of each."""
    items, evidence = [], []
    for spec in params.items:
        name = program_of(spec.leaf or spec.written or "")
        sent = known(case.truth.round_trips, name, "states")
        trip = case.evidence.round_trips.get(name)
        decision = _not_there(params, case, trip)
        if decision is None and trip is not None:
            decision, row = _decide(params, spec, trip, sent, case)
            evidence.append(row)
        assert decision is not None
        items.append(item(spec.id, spec.points, decision))
    return items, evidence


def _claimed(
    status: Literal["passed", "failed", "undecided"],
    message: str,
    mistake: str | None = None,
    line: int | None = None,
    hint: str = "",
) -> Decision:
    return Decision(status, message, mistake, line, "claimed", hint)


def _not_there(params: Params, case: Case, trip: RoundTrip | None) -> Decision | None:
    """Return why nothing came back, None where something did."""
    if trip is None:
        told = case.evidence.outcome.message
        message = "nothing was saved and restored: the module's process ended before"
        return _claimed("failed", message + (f" ({told})" if told else ""))
    if trip.status == "missing":
        return undefined(case, trip.function, "claimed")
    line = trip.line or case.line(trip.function)
    if trip.status == "no_folder":
        return _claimed("undecided", f"{_NO_FOLDER} ({trip.reason})")
    if trip.status == "not_callable":
        if trip.reason in EMPTY:
            return _claimed("failed", f"`{trip.function}` is still empty", None, line, FILL_IN)
        message = f"`{trip.function}` is not a function (it is {with_article(trip.reason)})"
        return _claimed("failed", message, line=line)
    if trip.status == "refused":
        message, hint = _why(trip)
        late = _late(trip) and trip.cause in ("raised", "own")
        mistake = params.written_late if late else None
        rules = case.rubric.refusals if trip.cause == "raised" else ()
        told_by = next((rule.mistake for rule in rules if rule.says in trip.reason), None)
        return _claimed("failed", message, mistake or told_by, line, hint)
    return None


def _late(trip: RoundTrip) -> bool:
    """Return whether something is written, and was not yet when saving had returned."""
    pairs = zip(trip.at_once, trip.in_the_end, strict=False)
    return any(later and not at_once for at_once, later in pairs)


def _why(trip: RoundTrip) -> tuple[str, str]:
    """Return why one of the two functions failed, and what to try."""
    called = f"`{trip.function}`"
    if trip.cause == "stuck":
        return "saving and restoring a state did not come to an end", _STUCK
    if trip.cause == "limit":
        return f"{called} did not come to an end within the limits", _STUCK
    if trip.cause == "refused_by_sandbox":
        return f"{called}: {trip.reason}", trip.step
    if trip.cause == "result":
        wanted = "return a dict with the names of the state"
        if trip.reason == "NoneType":
            return f"{called} returns nothing, and a dict was asked", wanted
        return f"{called} returns {with_article(trip.reason)}, and a dict was asked", wanted
    if trip.cause == "unfilled":
        return f"{called} is not filled in yet", FILL_IN
    plain = plainly.told(Raised(trip.reason, by_hand=trip.cause == "own"))
    if plain is not None:
        return f"{called} stopped: {plain.message}", plain.step
    said = textwrap.shorten(trip.reason, 240, placeholder=" …")
    return f"{called} stopped: {said}", "call it on a state of your own and mend that line"


def _decide(
    params: Params, spec: TripItem, trip: RoundTrip, sent: Sequence[Sent], case: Case
) -> tuple[Decision, dict[str, Any]]:
    held = [bool(count) for count in trip.in_the_end]
    if spec.leaf is None:
        at_once = [bool(count) for count in trip.at_once]
        row = {"what": "files in the folder of each state", "when saving had returned": at_once}
        return _written(params, trip, len(sent), case), {**row, "in the end": held}
    leaf = spec.leaf.partition(".")[2]
    found = [_found(trip, number, leaf) for number in range(len(sent))]
    equal = [_equal(one, state.leaves[leaf]) for one, state in zip(found, sent, strict=True)]
    row = {"what": "restored", "name": spec.leaf, "equal": equal, "type": found[0].type_name}
    if found[0].kind == "device_array":
        row["layout"] = compare.layout(found[0].shards, found[0].shape)
        row["shapes"] = compare.stored(found[0].shards)
    if not all(held):
        return _written(params, trip, len(sent), case), row
    return _leaf(params, spec, leaf, trip, found, equal, sent, case), row


def _found(trip: RoundTrip, number: int, leaf: str) -> Claim:
    states = trip.states
    return (
        states[number].get(leaf, Claim(leaf, "missing"))
        if number < len(states)
        else (Claim(leaf, "missing"))
    )


def _written(params: Params, trip: RoundTrip, states: int, case: Case) -> Decision:
    line = case.line(trip.function) or trip.line
    if sum(map(bool, trip.in_the_end)) < states:
        message = "no file lies in the folder that was passed"
        return _claimed("failed", message, params.nothing_written, line)
    if sum(map(bool, trip.at_once)) < states:
        message = "no file lies in the folder yet when saving returns"
        return _claimed("failed", message, params.written_late, line)
    return _claimed("passed", "each state lies in its own folder when saving returns")


def _leaf(
    params: Params,
    spec: TripItem,
    leaf: str,
    trip: RoundTrip,
    found: Sequence[Claim],
    equal: Sequence[bool],
    sent: Sequence[Sent],
    case: Case,
) -> Decision:
    assert spec.leaf is not None
    line = case.line(trip.function)
    if all(equal):
        return _placed(params, spec, found, line)
    wrong = next(one for one, right in zip(found, equal, strict=True) if not right)
    mistake = _mistake(leaf, trip, sent)
    if wrong.kind == "missing":
        message = f"what is restored has no `{leaf}`"
        return _claimed("failed", message, mistake, line, "return every leaf of the state")
    wanted = sent[0].leaves[leaf]
    value = as_array(wrong)
    if value is None:
        message = f"`{spec.leaf}` is {a_type(wrong)}, not an array of numbers"
        return _claimed("failed", message, mistake, line)
    if value.shape != wanted.shape:
        message = f"`{spec.leaf}` comes back with shape {value.shape}, not {wanted.shape}"
        return _claimed("failed", message, mistake, line)
    some = f" for {equal.count(False)} of {len(equal)} states" if any(equal) else ""
    message = f"`{spec.leaf}` is not what was saved{some}"
    return _claimed("failed", message, mistake, line)


def _placed(params: Params, spec: TripItem, found: Sequence[Claim], line: int | None) -> Decision:
    """Decide on where right values lie, of the first state for which that is wrong."""
    assert spec.leaf is not None
    for one in found if spec.layout else ():
        assert spec.layout is not None
        layout = compare.layout(one.shards, one.shape) if one.shards else "host"
        message = f"`{spec.leaf}` is {a_type(one)} on the host, not an array on the devices"
        if one.kind == "device_array":
            message = compare.elsewhere(spec.leaf, one.shards, one.shape, spec.layout, spec.stored)
        if message:
            known_as = params.layout_mistakes
            mistake = known_as.get(f"{spec.id}:{layout}") or known_as.get(layout)
            return _claimed("failed", message, mistake, line)
    return _claimed("passed", f"`{spec.leaf}` comes back as it was saved")


def _equal(found: Claim, right: Array) -> bool:
    value = as_array(found)
    if value is None:
        return False
    if found.kind == "device_array":
        return compare.shards(found.shards, found.shape, right, 0.0).equal
    return compare.array(value, right, 0.0)


def _mistake(leaf: str, trip: RoundTrip, sent: Sequence[Sent]) -> str | None:
    """Return the mistake that tells what came back of a leaf, of each state.

    Of several it is the one that tells most of the other leaves too.
    """
    fitting = [name for name in sent[0].mistakes if _tells(name, leaf, trip, sent)]
    others = sent[0].leaves

    def told(name: str) -> int:
        return sum(_tells(name, other, trip, sent) for other in others)

    return max(fitting, key=told).partition("/")[0] if fitting else None


def _tells(name: str, leaf: str, trip: RoundTrip, sent: Sequence[Sent]) -> bool:
    shown = False
    for number, state in enumerate(sent):
        found = _found(trip, number, leaf)
        changed: Mapping[str, Array] = state.mistakes.get(name, {})
        right = _equal(found, state.leaves[leaf])
        wrong = leaf in changed and _equal(found, np.asarray(changed[leaf]))
        if not right and not wrong:
            return False
        shown = shown or (wrong and not right)
    return shown
