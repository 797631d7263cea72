"""What can be found wrong with an exercise before anything of it runs, one sentence each.

Pure but for reading the course's own files: names, strays, and tolerances held against results that
are right by the oracle's own word and results that must never pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from grader import checks
from grader.case import Case
from grader.catalog import expected
from grader.catalog.load import Entry
from grader.records.evidence import Evidence, Outcome, Program, Shard
from grader.records.finding import Item
from grader.records.observation import Observation, Replay
from grader.records.truth import Answer, Array, Truth

_DEVICES = 4
_SEED = b"an audit's own seed"
_KIND = "program_values"
_NOISE = ("__pycache__", ".DS_Store", ".ipynb_checkpoints")
_OF_A_LEARNER = ("exercise.toml", "prompt.md", "starter.py", "starter.ipynb", "questions.toml")
_OF_A_RUBRIC = ("rubric.toml", "oracle.py", "mistakes.toml")
# Of the last digits of float32, as another order of summation may leave them.
_ULPS = 2.0


def unsound(entry: Entry) -> Iterator[str]:
    """Yield every reason why this exercise is not sound.

    Raises:
        ContentProblem: the oracle fails.
    """
    yield from _strays(entry)
    yield from _unmentioned(entry)
    yield from _same_as_starter(entry)
    loaded = checks.load(entry.rubric, entry.exercise)
    truth = _truth(entry)
    checks.answered(loaded, truth)
    yield from expected.never_told(truth.answers)
    yield from _tolerances(entry, loaded, truth)
    yield from _of_claims(truth)


# ------------------------------------------------------------------------------------------- files


def _strays(entry: Entry) -> Iterator[str]:
    """Yield files that nothing reads; a misspelt name is silent otherwise."""
    beside = set(entry.exercise.siblings)
    for path in _files(entry.folder):
        if path.name not in {*_OF_A_LEARNER, *beside}:
            yield f"exercises/{entry.exercise.id}/{path.name} is read by nothing"
    for path in _files(entry.rubric_folder):
        if path.name not in _OF_A_RUBRIC:
            yield f"rubrics/{entry.exercise.id}/{path.name} is read by nothing"
    for path in _folders(entry.rubric_folder):
        if path.name != "warm":
            yield f"rubrics/{entry.exercise.id}/{path.name}/ is read by nothing"
    yield from _stray_solutions(entry, beside)


def _stray_solutions(entry: Entry, beside: set[str]) -> Iterator[str]:
    for path in _files(entry.solutions):
        yield f"solutions/{entry.exercise.id}/{path.name} lies in none of the three folders"
    for folder in _folders(entry.solutions):
        if folder.name not in ("accepted", "rejected", "hostile"):
            yield f"solutions/{entry.exercise.id}/{folder.name}/ is read by nothing"
            continue
        for path in _files(folder):
            if path.suffix not in (".py", ".ipynb") and path.name not in beside:
                yield f"{folder.name}/{path.name} is no solution: it is neither .py nor .ipynb"


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*") if path.is_file() and path.name not in _NOISE)


def _folders(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*") if path.is_dir() and path.name not in _NOISE)


def _unmentioned(entry: Entry) -> Iterator[str]:
    """Yield required names that a learner cannot know of, and TODOs that ask for none."""
    asked = _asked(entry)
    for name in ("prompt.md", "starter.py"):
        text = (entry.folder / name).read_text(encoding="utf-8")
        words = set(re.findall(r"[A-Za-z_]\w*", text))
        yield from (f"{name} does not mention {one}" for one in asked if one not in words)
    starter = (entry.folder / "starter.py").read_text(encoding="utf-8")
    parts = re.split(r"^(?=# %% )", starter, flags=re.MULTILINE)
    found = [part for part in parts if part[:2] == "# " and "TODO" in part]
    if not found:
        yield "starter.py has no TODO"
    separate = set(entry.exercise.separate.model_dump().values())
    for part in found:
        words = set(re.findall(r"[A-Za-z_]\w*", part))
        if not words & {*asked, *separate}:
            yield f"starter.py: no name that is graded is reached by {part.splitlines()[0]!r}"


def _asked(entry: Entry) -> list[str]:
    """Return the names that a solution has to define."""
    exercise = entry.exercise
    trips = [name for trip in exercise.round_trips for name in (trip.save, trip.restore)]
    return [*(program.name for program in exercise.programs), *exercise.claims, *trips]


def _same_as_starter(entry: Entry) -> Iterator[str]:
    starter = (entry.folder / "starter.py").read_bytes()
    for path in _files(entry.solutions / "accepted"):
        if path.read_bytes() == starter:
            yield f"accepted/{path.name} is the starter itself"


# -------------------------------------------------------------------------------------- tolerances


@dataclass(frozen=True)
class _Variant:
    """What devices hold in place of the right values, and whether that may pass."""

    words: str
    passes: bool
    narrow: bool = False


_VARIANTS = {
    "rounded": _Variant("the right values in float32, another order of summation apart", True),
    "zeros": _Variant("zeros", False),
    "negative": _Variant("values of the wrong sign", False),
    "missing": _Variant("results of which one device's is missing", False),
    "bfloat16": _Variant("the right values rounded to bfloat16", False, narrow=True),
    "float16": _Variant("the right values rounded to float16", False, narrow=True),
}


def _truth(entry: Entry) -> Truth:
    """Return what the oracle says, all of it, for a seed of our own. Raises: ContentProblem."""
    cases = expected.cases(entry.oracle, entry.exercise, _SEED)
    return Truth(
        cases,
        expected.answers(entry.oracle, entry.exercise, cases),
        entry.oracle.claims({}, {}),
        entry.oracle.figures(),
        entry.oracle.rows(),
        entry.oracle.states(_SEED, entry.exercise.round_trips),
    )


def _tolerances(entry: Entry, loaded: Sequence[checks.Check], truth: Truth) -> Iterator[str]:
    """Yield tolerances that let pass what must not, or refuse what is right."""
    for check in loaded:
        if check.spec.kind != _KIND:
            continue
        for kind, variant in _VARIANTS.items():
            if not (variant.narrow and check.params.model_dump()["sixteen_bits"]):
                items = check.judge(_case(entry, truth, kind)).items
                told = [
                    one for one in items if not (variant.narrow and _exact(check, one, truth, kind))
                ]
                yield from _surprises(check.spec.id, told, variant)


def _exact(check: checks.Check, found: Item, truth: Truth, kind: str) -> bool:
    """Return whether a program's right values are such that 16 bits hold them as they are."""
    asked = {one["id"]: one["program"] for one in check.params.model_dump()["items"]}
    right = [one.value for (_, name), one in truth.answers.items() if name == asked[found.id]]
    return all(np.array_equal(_narrowed(value, kind), value) for value in right)


def _of_claims(truth: Truth) -> Iterator[str]:
    """Yield written answers whose tolerance takes zeros, or refuses what float32 can hold."""
    for name, wanted in truth.claims.items():
        if wanted.value is None or not np.issubdtype(wanted.value.dtype, np.number):
            continue
        value = np.asarray(wanted.value)
        largest = float(np.abs(value).max(initial=0.0))
        if 0 < largest <= wanted.atol:
            yield f"claims(): {name} may be zero: atol is as large as its values"
        narrow = value.astype(np.float32) if value.dtype.kind == "f" else value
        if np.abs(narrow - value).max(initial=0.0) > wanted.atol:
            yield f"claims(): {name} refuses the right value in float32: atol is too small"


def _surprises(check: str, items: Iterable[Item], variant: _Variant) -> Iterator[str]:
    for item in items:
        if (item.status == "passed") != variant.passes:
            verb = "refuses" if variant.passes else "lets pass"
            yield f"check {check}: {item.id} {verb} {variant.words}"


def _case(entry: Entry, truth: Truth, kind: str) -> Case:
    """Return a grade in which every program gives this variant of the right values."""
    names = [program.name for program in entry.exercise.programs]
    exported = {name: Program(name, "exported", b"-") for name in names}
    seen: dict[str, Observation] = {}
    for program in entry.exercise.programs:
        for name in (program.name, *program.judged()):
            seen[name] = _observed(name, truth.answers, kind)
    evidence = Evidence(outcome=Outcome("finished"), programs=exported)
    return Case(entry.rubric, evidence, seen, truth)


def _observed(name: str, answers: Mapping[tuple[str, str], Answer], kind: str) -> Observation:
    replays, shape = {}, ()
    for (case, program), answer in answers.items():
        if program == name:
            right = np.asarray(answer.value)
            shape = right.shape
            replays[case] = Replay(_shards(_varied(right, kind), kind))
    return Observation(name, "replayed", shape=shape, devices=_DEVICES, replays=replays)


def _varied(right: Array, kind: str) -> Array:
    if kind == "zeros":
        return np.zeros_like(right)
    if kind == "negative":
        return -right if right.dtype.kind != "u" else np.zeros_like(right)
    if kind == "missing" or not np.issubdtype(right.dtype, np.floating):
        return right
    if kind in ("bfloat16", "float16"):
        return _narrowed(right, kind)
    largest = np.float32(np.abs(right).max(initial=0.0))
    signs = np.where(np.arange(right.size).reshape(right.shape) % 2, 1.0, -1.0)
    moved: Array = (right + signs * _ULPS * np.spacing(largest)).astype(np.float32)
    return moved


def _narrowed(right: Array, kind: str) -> Array:
    """Return real values as a 16-bit format holds them, in float32; others as they are."""
    if right.dtype.kind != "f":
        return right
    with np.errstate(over="ignore", under="ignore"):
        if kind == "float16":
            return right.astype(np.float16).astype(np.float32)
        # bfloat16 is the upper half of float32, rounded to nearest, ties to even.
        bits = right.astype(np.float32).view(np.uint32).astype(np.uint64)
        rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16 << 16
    narrowed: Array = rounded.astype(np.uint32).view(np.float32)
    return narrowed


def _shards(values: Array, kind: str) -> tuple[Shard, ...]:
    """Return the whole on every device, which every check of values takes as a place to be."""
    index = tuple((0, extent) for extent in values.shape)
    devices = range(_DEVICES - 1 if kind == "missing" else _DEVICES)
    return tuple(Shard(device, index, values) for device in devices)
