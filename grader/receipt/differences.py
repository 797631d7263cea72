"""Says how two receipts of one submission differ: what was graded with, and what came of it.

It looks at what the evidence digest holds; dates, timings and printed output are no difference.
"""

from __future__ import annotations

from dataclasses import dataclass

from grader.receipt.digest import evidence_digest
from grader.receipt.view import number
from grader.records.finding import Finding, Item, Verdict
from grader.records.receipt import CompiledRow, Environment, Receipt

_NOTHING = "nothing"


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
        ("devices", str(was.devices), str(now.devices)),
        ("confinement", _confinement(was), _confinement(now)),
    ]
    return _of(pairs)


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
