"""Which collectives a program runs: read from the compiled module, beside what it asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import model_validator

from grader.case import BY_ANY_PROGRAM, Case, Decision, absent, idle, item
from grader.catalog.models import Content, Points, in_order
from grader.records.finding import Item
from grader.records.observation import Collective, Observation
from grader.shapes import no_guess

NAMES = BY_ANY_PROGRAM
Op = Literal["all-reduce", "reduce-scatter", "all-gather"]
_DOES = {
    "all-reduce": "reduces across the devices",
    "reduce-scatter": "reduces and scatters",
    "all-gather": "gathers",
}
# Several permutes, or one exchange and a local sum, can do the same work with the same bytes.
_EQUIVALENT = {
    "all-reduce": [
        {"reduce-scatter", "all-gather"},
        {"reduce-scatter", "collective-permute"},
        {"all-to-all", "all-gather"},
        {"collective-permute"},
        {"all-to-all"},
    ],
    "reduce-scatter": [{"collective-permute"}, {"all-to-all"}],
    "all-gather": [{"collective-permute"}, {"all-to-all"}],
}


class ProgramItem(Content):
    """One program: the collective it must be, and the bytes per rank of anything equivalent."""

    id: str
    points: Points
    program: str
    op: Op
    floor: float
    ceiling: float

    @model_validator(mode="after")
    def _can_be_met(self) -> ProgramItem:
        in_order(self.floor, self.ceiling)
        return self


class Rule(Content):
    """A mistake told by what runs instead; fields left out match anything, lists match as sets."""

    mistake: str
    program: str | None = None
    compiled: tuple[str, ...] | None = None
    requested: tuple[str, ...] | None = None
    replicated: bool | None = None


class Params(Content):
    """Parameters: how many devices take part; the first rule that fits names the mistake."""

    items: tuple[ProgramItem, ...]
    participants: int = 4
    mistakes: tuple[Rule, ...] = ()


def judge(params: Params, case: Case) -> tuple[list[Item], list[dict[str, Any]]]:
    """Return one item for each program, with requested and compiled collectives as evidence."""
    items, evidence = [], []
    for spec in params.items:
        decision = absent(case, spec.program) or idle(case, spec.program)
        if decision is None:
            seen = case.observations[spec.program]
            decision = no_guess(case, seen, _decide(params, spec, case, seen))
            evidence += _evidence(seen)
        items.append(item(spec.id, spec.points, decision))
    return items, evidence


def _evidence(seen: Observation) -> list[dict[str, Any]]:
    """Return what was asked for beside what runs; group and bytes are known of the latter only."""
    requested = [
        {
            "what": "requested collective",
            "program": seen.name,
            "op": one.op,
            "operand": one.operand,
            "inside_a_loop": one.trip_count is None,
        }
        for one in seen.requested
    ]
    compiled = [
        {
            "what": "compiled collective",
            "program": seen.name,
            "op": one.op,
            "operand": one.operand,
            "group_size": one.group_size,
            "trip_count": one.trip_count,
            "bytes_per_rank": one.bytes_per_rank,
            "by_compiler": one.by_compiler,
        }
        for one in seen.compiled
    ]
    return [*requested, *compiled]


def _decide(params: Params, spec: ProgramItem, case: Case, seen: Observation) -> Decision:
    if seen.compiled_unknown:
        why = f"the compiled program has a spelling not known here ({seen.compiled_unknown})"
        return Decision("undecided", f"`{seen.name}`: {why}")
    # A scalar on the side (a loss, a norm) is forgiven here; its bytes count in the budget.
    vectors = [one for one in seen.compiled if not one.scalar]
    narrow = [one for one in vectors if not _wide_enough(one, params.participants)]
    ops = {one.op for one in vectors}
    found = _listed(vectors)
    line = case.line(spec.program)
    if not ops:
        message = f"`{seen.name}` runs no collective: nothing is exchanged between devices"
        return Decision("failed", message, _rule(params, spec, seen, ops), line)
    if narrow:
        message = f"`{seen.name}`: {_listed(narrow)} does not span all devices"
        return Decision("failed", message, _rule(params, spec, seen, ops), line)
    asked = {one.op for one in vectors if not one.by_compiler}
    if spec.op in (ops if len(ops) == 1 else asked) and not _enough(spec, vectors):
        message = f"`{seen.name}` runs {found}, too little to be {_article(spec.op)} of the whole"
        return Decision("failed", message, _rule(params, spec, seen, ops), line)
    if ops == {spec.op} and _too_much(spec, seen.compiled):
        # Gathering by a sum, or one number at a time beside a decoy, moves far more.
        sent = _listed(list(seen.compiled))
        message = f"`{seen.name}` runs {sent}, more than {_article(spec.op)} of its result sends"
        return Decision("failed", message, _rule(params, spec, seen, ops), line)
    if ops == {spec.op}:
        return Decision("passed", f"`{seen.name}` {_DOES[spec.op]}: {found}{_who(vectors)}")
    if asked == {spec.op} and not _reduced_again(vectors):
        more = _listed([one for one in vectors if one.by_compiler])
        message = f"`{seen.name}` {_DOES[spec.op]}; the compiler adds {more} (see the bytes)"
        return Decision("passed", message)
    if ops in _EQUIVALENT[spec.op] and _in_budget(spec, vectors):
        return Decision("passed", f"`{seen.name}` {_DOES[spec.op]} by {found}{_who(vectors)}")
    message = f"`{seen.name}` runs {found}, which is not {_article(spec.op)}"
    return Decision("failed", message, _rule(params, spec, seen, ops), line)


def _wide_enough(one: Collective, participants: int) -> bool:
    """Return whether every device takes part; a permute may leave out the one that waits."""
    if one.op == "collective-permute":
        return (one.group_size or 0) >= participants - 1
    return one.group_size == participants


def _enough(spec: ProgramItem, found: list[Collective]) -> bool:
    """Return whether the collective asked for can be the one that does the work.

    One of a single value, or one that may never run, can stand beside anything. Half of the bytes
    are enough: a 16-bit format is a mistake of its own.
    """
    sent = [one.bytes_per_rank for one in found if one.op == spec.op]
    return sum(b for b in sent if b is not None) >= spec.floor / 2


def _too_much(spec: ProgramItem, found: Sequence[Collective]) -> bool:
    """Return whether all that is sent, scalars too, is more than this program may send."""
    sent = [one.bytes_per_rank for one in found]
    return all(b is not None for b in sent) and sum(b for b in sent if b) > spec.ceiling


def _reduced_again(found: list[Collective]) -> bool:
    """Return whether the compiler had to add a reduction: then what was asked for did not do it."""
    return any(one.by_compiler and one.op in ("all-reduce", "reduce-scatter") for one in found)


def _in_budget(spec: ProgramItem, found: list[Collective]) -> bool:
    total = [one.bytes_per_rank for one in found]
    known = [b for b in total if b is not None]
    return len(known) == len(total) and spec.floor <= sum(known) <= spec.ceiling


def _listed(found: list[Collective]) -> str:
    counts: dict[str, int] = {}
    for one in found:
        times = 1 if one.trip_count is None else one.trip_count
        label = f"{one.op} of {one.operand}"
        counts[label] = counts.get(label, 0) + times
    return ", ".join(f"{n} × {label}" if n > 1 else label for label, n in counts.items())


def _who(found: list[Collective]) -> str:
    return " (chosen by the compiler)" if all(one.by_compiler for one in found) else ""


def _article(op: str) -> str:
    return f"an {op}" if op[0] in "aeiou" else f"a {op}"


def _rule(params: Params, spec: ProgramItem, seen: Observation, ops: set[str]) -> str | None:
    requested = {one.op for one in seen.requested if not one.scalar}
    for rule in params.mistakes:
        if (
            rule.program in (None, spec.program)
            and (rule.compiled is None or set(rule.compiled) == ops)
            and (rule.requested is None or set(rule.requested) == requested)
            and rule.replicated in (None, seen.replicated)
        ):
            return rule.mistake
    return None
