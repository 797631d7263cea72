"""Relations between replays: what must hold of any right program, without knowing what is right.

An order of the rows that must not matter, a factor that must come out again, a sum of inputs that
gives the sum of results, a program on one device that agrees with one on four.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import Field

from grader import compare
from grader.case import BY_ANY_PROGRAM, Case, Decision, absent, idle, item, known
from grader.catalog.models import Content, Points, Tolerance
from grader.records.finding import Item
from grader.records.observation import Observation
from grader.records.truth import Array
from grader.results import program_of

NAMES = BY_ANY_PROGRAM


class Term(Content):
    """The result of a program on a case, multiplied by `factor`.

    Without `program` it is the item's own; `reversed` turns the result round along that dimension.
    """

    case: str
    program: str | None = None
    factor: float = 1.0
    reversed: int | None = Field(default=None, ge=0)


class RelationItem(Content):
    """The result of `program` on `case` is the sum of the terms, on every device.

    `because` says in words why: it ends the sentence a learner reads.
    """

    id: str
    points: Points
    program: str
    case: str
    equals: tuple[Term, ...] = Field(min_length=1)
    because: str
    mistake: str | None = None


class Params(Content):
    """Parameters: `relative_tolerance` is a share of the largest absolute value of any term."""

    items: tuple[RelationItem, ...]
    relative_tolerance: Tolerance


def judge(params: Params, case: Case) -> tuple[list[Item], list[dict[str, Any]]]:
    """Return one item for each relation, and how far its two sides are apart."""
    items, evidence = [], []
    for spec in params.items:
        decision = _missing(case, spec)
        if decision is None:
            decision, row = _decide(params, spec, case)
            evidence.append(row)
        items.append(item(spec.id, spec.points, decision))
    return items, evidence


def _missing(case: Case, spec: RelationItem) -> Decision | None:
    programs = dict.fromkeys([spec.program, *(_of(spec, term) for term in spec.equals)])
    for name in programs:
        for asked in (spec.case, *(term.case for term in spec.equals)):
            known(case.truth.cases, asked, "cases")
        missing = absent(case, name) or idle(case, name)
        if missing is not None:
            return missing
    return None


def _of(spec: RelationItem, term: Term) -> str:
    return term.program or spec.program


def _decide(params: Params, spec: RelationItem, case: Case) -> tuple[Decision, dict[str, Any]]:
    seen, line = case.observations[spec.program], case.line(program_of(spec.program))
    terms = [_result(case.observations[_of(spec, term)], term) for term in spec.equals]
    replay = seen.replays.get(spec.case)
    row: dict[str, Any] = {
        "what": "relation between results",
        "program": spec.program,
        "because": spec.because,
        "holds": False,
    }
    known_terms = [term for term in terms if term is not None]
    shapes = {term.shape for term in known_terms}
    if replay is None or not replay.shards or len(known_terms) < len(terms) or len(shapes) > 1:
        message = f"`{spec.program}` gave no results that can be compared: {spec.because}"
        return Decision("failed", message, None, line), row
    with np.errstate(over="ignore", invalid="ignore"):
        wanted = np.sum(known_terms, axis=0)
    scale = max(float(np.abs(term).max(initial=0.0)) for term in known_terms)
    found = compare.shards(replay.shards, seen.shape, wanted, params.relative_tolerance * scale)
    row |= {"holds": found.equal, "wrong_devices": list(found.wrong_devices)}
    if found.equal:
        return Decision("passed", f"`{spec.program}`: {spec.because}"), row
    message = f"`{spec.program}` does not keep this on {_where(found)}: {spec.because}"
    return Decision("failed", message, spec.mistake, line), row


def _result(seen: Observation, term: Term) -> Array | None:
    replay = seen.replays.get(term.case)
    whole = compare.assemble(replay.shards, seen.shape) if replay else None
    if whole is None or not np.issubdtype(whole.dtype, np.number):
        return None
    if term.reversed is not None:
        if term.reversed >= whole.ndim:
            return None
        whole = np.flip(whole, term.reversed)
    wide = np.asarray(whole, dtype=np.complex128 if np.iscomplexobj(whole) else np.float64)
    result: Array = term.factor * wide
    return result


def _where(found: compare.Comparison) -> str:
    if not found.covered:
        return "every device: what they store does not make up the whole result"
    devices = ", ".join(str(device) for device in found.wrong_devices)
    return f"device {devices}" if len(found.wrong_devices) < 4 else "any device"
