"""Says how two receipts of one submission differ: what was graded with, and what came of it.

It looks at all that has to come out the same; who handed it in, dates, timings, printed output and
the last digits of stored numbers are no difference.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from grader.receipt.digest import evidence_digest
from grader.receipt.view import number
from grader.records.finding import Finding, Item, Verdict
from grader.records.receipt import CompiledRow, Environment, Receipt

_NOTHING = "nothing"
# What `results` tells of in words of its own, by its place; `*` is the name of an entry.
_STANDS = ("status", "points", "max_points", "mistake")
_TOLD = (
    *((one,) for one in ("verdict", "points", "max_points")),
    ("outcome", "kind"),
    *(("checks", "*", one) for one in _STANDS),
    *(("checks", "*", "items", "*", one) for one in _STANDS),
    *(
        ("compiled_bytes", "rows", "*", "compiled", "*", one)
        for one in ("op", "operand", "group_size", "trip_count")
    ),
)
# What another machine or another moment makes otherwise, or what no grade knows.
_OUTSIDE = ("created_at", "wall_s", "learner", "environment", "output", "notes", "evidence_digest")
_NAMES = ("id", "program", "line", "device", "case", "op", "kind")
# A number that a program stores, or one that a message says, differs in its last bits.
_CLOSE = 1e-4
_CLOSE_IN = frozenset({"stored_values", "evidence"})
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
NOT_CONFIRMED = (
    "not confirmed: who handed it in, dates, timings, program output, notes, environment, what "
    "predict, quiz and hint remembered, and the last digits of stored values"
)

Path = tuple[str, ...]


@dataclass(frozen=True)
class Difference:
    """One thing that is not as it was."""

    what: str
    was: str
    now: str


def recomputed(receipt: Receipt) -> str:
    """Return the evidence digest of what a receipt says, whatever digest it states."""
    return evidence_digest(
        exercise=receipt.exercise,
        submission_sha256=receipt.submission.sha256,
        siblings=receipt.submission.siblings,
        rubric_sha256=receipt.environment.rubric_sha256,
        seed_sha256=receipt.environment.seed_sha256,
        outcome=receipt.outcome.kind,
        verdict=Verdict(
            verdict=receipt.verdict,
            points=receipt.points,
            max_points=receipt.max_points,
            blame=receipt.blame,
        ),
        findings=receipt.checks,
        compiled=receipt.compiled_bytes,
    )


def circumstances(was: Environment, now: Environment) -> list[Difference]:
    """Return what the two were graded with where it differs, the rubric first."""
    # Those that were loaded when it was asked; one that is not listed may be installed as well.
    packages = sorted({*was.packages}.intersection(now.packages))
    pairs = [
        ("rubric", was.rubric_sha256, now.rubric_sha256),
        ("grade", was.grader, now.grader),
        ("Python", was.python, now.python),
        ("jax", was.jax, now.jax),
        ("jaxlib", was.jaxlib, now.jaxlib),
        ("numpy", was.numpy, now.numpy),
        *((name, was.packages[name], now.packages[name]) for name in packages),
        ("platform", was.platform, now.platform),
        ("devices", _devices(was), _devices(now)),
        ("confinement", _confinement(was), _confinement(now)),
    ]
    return _of(pairs)


def _devices(at: Environment) -> str:
    return str(at.devices) if at.execution is None else at.told_devices()


def _confinement(at: Environment) -> str:
    off = ", ".join(layer.name for layer in at.confinement.layers if not layer.on)
    return f"{at.confinement.level}, without {off}" if off else at.confinement.level


def results(was: Receipt, now: Receipt) -> list[Difference]:
    """Return where the two came to different results: verdict, checks and their items, programs."""
    pairs = [
        ("verdict", was.verdict, now.verdict),
        ("points", _points(was), _points(now)),
        ("how the module ended", was.outcome.kind, now.outcome.kind),
    ]
    old, new = ({one.id: one for one in receipt.checks} for receipt in (was, now))
    for name in {**old, **new}:
        pairs += _check(name, old.get(name), new.get(name))
    before, after = (
        {row.program: row for row in receipt.compiled_bytes.rows} for receipt in (was, now)
    )
    for name in {**before, **after}:
        pairs += _program(name, before.get(name), after.get(name))
    return _of(pairs)


def beyond(was: Receipt, now: Receipt) -> list[Difference]:
    """Return where a receipt says something else than the one made now, of what stands elsewhere.

    So of titles, messages, hints, evidence, answers and their marks, models, bytes, stored values
    and the source. Where another version of grade made it, what it does not say is no difference.
    """
    old, new = (dict(_flat(_facts(receipt))) for receipt in (was, now))
    same_grader = was.environment.grader == now.environment.grader
    paths = {**old, **new} if same_grader else old
    return [
        Difference(", ".join(path), _written(old, path), _written(new, path))
        for path in paths
        if not _is_told(path)
        and not _alike(old.get(path), new.get(path), exact=not _CLOSE_IN.intersection(path[1:4]))
    ]


def _is_told(path: Path) -> bool:
    return any(
        len(path) == len(told) and all(b in ("*", a) for a, b in zip(path, told, strict=True))
        for told in _TOLD
    )


def _facts(receipt: Receipt) -> dict[str, Any]:
    facts = receipt.model_dump(mode="json", exclude=set(_OUTSIDE))
    facts["submission"].pop("name")
    for remembered in ("predicted", "quiz", "hints"):  # by one learner's machine, which no grade is
        facts["separate"].pop(remembered, None)
    facts["observed_cpu_us"] = {"label": receipt.observed_cpu_us.label}
    return facts


def _flat(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield path and value of every leaf; an entry of a list is called by what it is about."""
    if isinstance(value, dict) and value:
        for key, one in value.items():
            yield from _flat(one, (*path, key))
    elif isinstance(value, list) and value:
        taken: set[str] = set()
        for number, one in enumerate(value):
            known = one if isinstance(one, dict) else {}
            name = next((str(known[key]) for key in _NAMES if key in known), str(number + 1))
            name = f"{name} (entry {number + 1})" if name in taken else name
            taken.add(name)
            yield from _flat(one, (*path, name))
    else:
        yield path, value


def _alike(was: Any, now: Any, *, exact: bool) -> bool:
    if not exact and type(was) is float and type(now) is float:
        return was == now or math.isclose(was, now, rel_tol=_CLOSE, abs_tol=_CLOSE)
    if isinstance(was, str) and isinstance(now, str):
        return _ADDRESS.sub("0x", was) == _ADDRESS.sub("0x", now)
    return type(was) is type(now) and bool(was == now)


def _written(facts: dict[Path, Any], path: Path) -> str:
    return "" if path not in facts else str(facts[path])


def _points(receipt: Receipt) -> str:
    return f"{receipt.points} of {receipt.max_points}"


def _check(name: str, was: Finding | None, now: Finding | None) -> list[tuple[str, str, str]]:
    old, new = ({one.id: one for one in found.items} if found else {} for found in (was, now))
    pairs = [(name, _stands(was), _stands(now))]
    pairs += [
        (f"{name}, {item}", _stands(old.get(item)), _stands(new.get(item)))
        for item in {**old, **new}
    ]
    return pairs


def _stands(one: Finding | Item | None) -> str:
    if one is None:
        return ""
    mistake = f", {one.mistake}" if one.mistake else ""
    return f"{one.status}, {one.points} of {one.max_points}{mistake}"


def _program(
    name: str, was: CompiledRow | None, now: CompiledRow | None
) -> list[tuple[str, str, str]]:
    return [
        (f"{name}, stored shapes", _shapes(was), _shapes(now)),
        (f"{name}, compiled collectives", _collectives(was), _collectives(now)),
    ]


def _shapes(row: CompiledRow | None) -> str:
    if row is None:
        return ""
    pairs = zip(row.stored_devices, row.stored_shapes, strict=False)
    return ", ".join(f"{device}: {tuple(shape)}" for device, shape in pairs)


def _collectives(row: CompiledRow | None) -> str:
    if row is None:
        return ""
    told = [
        f"{one.op} of {one.operand} among {number(one.group_size)}, {number(one.trip_count)} times"
        for one in row.compiled
    ]
    return "; ".join(told)


def _of(pairs: list[tuple[str, str, str]]) -> list[Difference]:
    return [
        Difference(what, was or _NOTHING, now or _NOTHING) for what, was, now in pairs if was != now
    ]
