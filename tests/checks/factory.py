"""Cases by hand on the real rubric and oracle: everything right, but for what a test changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from grader import checks, compare
from grader.case import Case, as_array
from grader.catalog.course import Course, shipped
from grader.catalog.load import entry
from grader.records.evidence import Claim, Evidence, Outcome, Program, Shard
from grader.records.finding import Finding, Item
from grader.records.observation import Collective, Observation, Replay
from grader.records.truth import Answer, Truth

Array = np.ndarray[Any, Any]
# What a program gives on some inputs: one global array, or one view for each device.
Compute = Callable[[list[Array]], Any]

ENTRY = entry(Course(shipped()), "distributed-03")
RUBRIC, ORACLE = ENTRY.rubric, ENTRY.oracle
CHECKS = {check.spec.id: check for check in checks.load(RUBRIC, ENTRY.exercise)}
CASES = ORACLE.cases(b"a seed for tests")
DEVICES = 4
PROGRAMS = ("all_gradient", "shard_gradient", "gather")
LAYOUTS = {"all_gradient": "replicated", "shard_gradient": "split", "gather": "replicated"}

PSUM = Collective("all-reduce", "f32[8]", 32, 4, 1, 48.0)
SCATTER = Collective("reduce-scatter", "f32[8]", 32, 4, 1, 24.0)
GATHER = Collective("all-gather", "f32[2]", 8, 4, 1, 24.0)
SCALAR = Collective("all-reduce", "f32[]", 4, 4, 1, 6.0)
PERMUTE = Collective("collective-permute", "f32[2]", 8, 4, 1, 8.0)
COLLECTIVES = {"all_gradient": PSUM, "shard_gradient": SCATTER, "gather": GATHER}


def asked(*collectives: Collective) -> tuple[Collective, ...]:
    """Return collectives as a program asks for them: who takes part is left open."""
    return tuple(replace(one, group_size=None, bytes_per_rank=None) for one in collectives)


# ------------------------------------------------------------------------------------------ shards


def replicated(*views: Any) -> tuple[Shard, ...]:
    """Return one whole view for each device; a single view is given to all four."""
    whole = [np.array(view) for view in (views if len(views) > 1 else views * DEVICES)]
    return tuple(
        Shard(device, tuple((0, n) for n in view.shape), view) for device, view in enumerate(whole)
    )


def split(array: Any, turned: int = 0) -> tuple[Shard, ...]:
    """Return one slice of the first dimension for each device, turned by some devices."""
    whole = np.array(array)
    step = whole.shape[0] // DEVICES
    rest = tuple((0, n) for n in whole.shape[1:])
    return tuple(
        Shard(
            (piece + turned) % DEVICES,
            ((piece * step, (piece + 1) * step), *rest),
            whole[piece * step : (piece + 1) * step].copy(),
        )
        for piece in range(DEVICES)
    )


def stored(value: Any, layout: str) -> tuple[Shard, ...]:
    """Return a global array, or a tuple of views, as devices store it in float32."""
    views = value if isinstance(value, tuple) else (value,) * DEVICES
    narrow = [np.asarray(view, dtype=np.float32) for view in views]
    if layout == "replicated":
        return replicated(*narrow)
    return tuple(split(view)[device] for device, view in enumerate(narrow))


# ---------------------------------------------------------------------------------------- programs


def right(program: str) -> Compute:
    """Return what the oracle says is right."""
    return lambda inputs: ORACLE.answer(program, inputs).value


def observed(
    program: str,
    compute: Compute | None = None,
    *,
    layout: str = "",
    cases: Mapping[str, Any] | None = None,
    **changes: Any,
) -> Observation:
    """Return a program replayed on every case; `changes` replace fields of the observation."""
    compute = compute or right(program)
    replays: dict[str, Replay] = {}
    shape: tuple[int, ...] = ()
    for name, programs in (cases or {**CASES, **MORE}).items():
        value = compute(programs[program])
        shape = np.shape(value[0] if isinstance(value, tuple) else value)
        replays[name] = Replay(stored(value, layout or LAYOUTS[program]))
    fields: dict[str, Any] = {
        "shape": shape,
        "dtype": "float32",
        "devices": DEVICES,
        "replays": replays,
        "requested": asked(COLLECTIVES[program]),
        "compiled": (COLLECTIVES[program],),
        "element_types": ("f32",),
        **changes,
    }
    return Observation(program, "replayed", **fields)


# ------------------------------------------------------------------------------------------ claims

LESSON = CASES["lesson"]["all_gradient"]
XH, YH, WH = (np.asarray(a) for a in LESSON)
W2H = (WH + 0.25).astype(np.float32)


def on_devices(name: str, array: Any, layout: str = "replicated") -> Claim:
    """Return a claim for an array that lies on the devices."""
    shards = stored(array, layout)
    return Claim(name, "device_array", "ArrayImpl", np.shape(array), "float32", shards, line=3)


def on_host(name: str, array: Any) -> Claim:
    """Return a claim for a NumPy array."""
    value = np.asarray(array)
    return Claim(name, "array", "ndarray", value.shape, str(value.dtype), value=value, line=3)


def number(name: str, value: Any) -> Claim:
    """Return a claim for one Python number."""
    return Claim(name, "number", type(value).__name__, value=value, line=3)


def written(name: str, kind: Any, type_name: str, value: Any = None, **more: Any) -> Claim:
    """Return a claim of any kind."""
    return Claim(name, kind, type_name, value=value, line=3, **more)


def budget(**columns: Callable[[int], Any]) -> list[dict[str, Any]]:
    """Return the right table of the byte budget, some columns computed otherwise from the ranks."""
    mebibyte = 2**20
    share: dict[str, Callable[[int], Any]] = {
        "ranks": lambda p: p,
        "all_reduce_bytes": lambda p: 2 * (p - 1) / p * mebibyte,
        "scatter_gather_bytes": lambda p: 2 * (p - 1) / p * mebibyte,
        "shard_storage_bytes": lambda p: mebibyte / p,
        **columns,
    }
    return [{column: compute(p) for column, compute in share.items()} for p in (2, 4, 8)]


def right_claims() -> dict[str, Claim]:
    """Return every written answer as a perfect solution leaves it."""
    gradient = ORACLE.answer("all_gradient", [XH, YH, W2H]).value
    wrong = ORACLE.answer("all_gradient", [XH, YH[::-1], W2H]).value
    momentum = ORACLE.claims({}, {})
    values = {name: momentum[name].value for name in ("new_v", "new_w", "updated")}
    found = [
        on_devices("new_v", values["new_v"], "split"),
        on_devices("new_w", values["new_w"], "split"),
        on_devices("updated", values["updated"]),
        on_devices("x2", XH[::-1], "split"),
        on_devices("y2", YH[::-1], "split"),
        on_host("w2h", W2H),
        on_devices("w2", W2H),
        on_devices("r2", gradient),
        on_host("wrong_labels", wrong),
        number("ring_all_bytes", 48),
        number("ring_scatter_bytes", 24.0),
        written("budget", "list", "list", budget()),
    ]
    return {claim.name: claim for claim in found}


MORE = ORACLE.replays(
    {n: as_array(c) for n, c in right_claims().items() if n in ("x2", "y2", "w2")}
)

# ------------------------------------------------------------------------------------------- cases


def case(
    programs: Mapping[str, Observation | Program | None] | None = None,
    claims: Sequence[Claim] = (),
    *,
    without: Sequence[str] = (),
    outcome: Outcome | None = None,
    **evidence: Any,
) -> Case:
    """Return a case in which everything is right.

    Args:
        programs: what was observed of some programs instead, or why there is nothing to observe.
        claims: written answers in place of the right ones of the same name.
        without: written answers that are not there.
        outcome: how the module ended.
        evidence: further fields of the evidence.
    """
    seen: dict[str, Observation] = {}
    exported: dict[str, Program] = {}
    for name in PROGRAMS:
        given = (programs or {}).get(name, ...)
        exported[name] = given if isinstance(given, Program) else Program(name, "exported", b"x")
        if given is ...:
            seen[name] = observed(name)
        elif isinstance(given, Observation):
            seen[name] = given
    answers = {**right_claims(), **{claim.name: claim for claim in claims}}
    answers = {name: claim for name, claim in answers.items() if name not in without}
    fields: dict[str, Any] = {
        "outcome": outcome or Outcome("finished"),
        "programs": exported,
        "claims": answers,
        "lines": {
            name: 10 + number
            for number, name in enumerate(PROGRAMS)
            if exported[name].status != "missing"
        },
        **evidence,
    }
    return Case(RUBRIC, Evidence(**fields), seen, _truth(answers, seen))


def _truth(claims: Mapping[str, Claim], seen: Mapping[str, Observation]) -> Truth:
    """Return what the engine would work out from these answers and observations."""
    given = {name: as_array(claim) for name, claim in claims.items()}
    usable = {n: a for n, a in given.items() if a is not None and bool(np.all(np.isfinite(a)))}
    own = {}
    for name, one in seen.items():
        replay = one.replays.get("lesson")
        whole = compare.assemble(replay.shards, one.shape) if replay else None
        if whole is not None:
            own[name] = whole
    answers: dict[tuple[str, str], Answer] = {
        (name, program): ORACLE.answer(program, inputs)
        for name, programs in CASES.items()
        for program, inputs in programs.items()
    }
    expected = ORACLE.claims(usable, own)
    return Truth(CASES, answers, expected, ORACLE.figures(), ORACLE.rows())


def judge(check: str, given: Case) -> Finding:
    """Return one check's finding, with those before it judged first, as a grade does it."""
    for name, loaded in CHECKS.items():
        finding = loaded.judge(given)
        if name == check:
            return finding
        given = replace(given, findings={**given.findings, name: finding})
    raise KeyError(check)


def part(finding: Finding, item: str) -> Item:
    """Return one item of a finding."""
    return next(one for one in finding.items if one.id == item)
