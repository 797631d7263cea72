"""One file is one kind of check: pure functions of parameters and a case, found by file name."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from pydantic import ValidationError

from grader.case import Case
from grader.case import known as said_of
from grader.catalog import wrong
from grader.catalog.models import CheckSpec, Content, Exercise, Rubric
from grader.errors import ContentProblem
from grader.records.finding import Finding, Item, Status
from grader.records.receipt import as_json_value
from grader.records.truth import Truth


def kinds() -> list[str]:
    """Return the names of all kinds, sorted: the modules of this package."""
    return sorted(info.name for info in pkgutil.iter_modules(__path__))


@dataclass(frozen=True)
class Check:
    """A check of a rubric whose parameters its kind has accepted."""

    spec: CheckSpec
    module: ModuleType
    params: Content

    def judge(self, case: Case) -> Finding:
        """Return the finding: the kind decides the items, the points are their sum."""
        items, evidence = self.module.judge(self.params, case)
        return _finding(self.spec, items, evidence, case)


def load(rubric: Rubric, exercise: Exercise) -> list[Check]:
    """Return the rubric's checks in order.

    Raises:
        ContentProblem: an unknown kind, a parameter its kind does not take, an id used twice,
            points whose sum is not the rubric's, or a name that exercise.toml does not ask for.
    """
    checks = _accepted(rubric)
    _ids_differ(rubric)
    for check in checks:
        _names_exist(check, rubric, exercise)
        _one_array_each(check, rubric, exercise)
    total = sum(int(i.get("points", 0)) for spec in rubric.checks for i in spec.items)
    if total != rubric.max_points:
        raise ContentProblem(
            f"rubric of {rubric.exercise}: the items' points sum to {total}, "
            f"max_points says {rubric.max_points}",
            where="rubric.toml",
            next_step="make them agree",
        )
    return checks


def _ids_differ(rubric: Rubric) -> None:
    seen: set[str] = set()
    places = [f"checks.{spec.id}" for spec in rubric.checks]
    places += [
        f"checks.{spec.id}.items.{i.get('id')}" for spec in rubric.checks for i in spec.items
    ]
    for place in places:
        if place in seen:
            raise ContentProblem(
                f"rubric of {rubric.exercise}: {place} is there twice",
                where="rubric.toml",
                next_step="give each its own id",
            )
        seen.add(place)


# What a parameter of this name refers to, in every kind of check.
_PROGRAMS = {"program", "programs"}
_CLAIMS = {"name", "figure", "table", "apart_from", "inputs", "exchanged"}
_RESTORED = {"leaf", "written"}
_MISTAKES = {"mistake", "gathered_inputs", "nothing_written", "written_late"}


def _names_exist(check: Check, rubric: Rubric, exercise: Exercise) -> None:
    programs = {program.name for program in exercise.programs} | set(exercise.judged())
    known = {"exercise.toml asks for no program": programs}
    known["exercise.toml has no claim"] = set(exercise.claims)
    trips = {trip.name: trip.judged() for trip in exercise.round_trips}
    known["exercise.toml has no round trip"] = {*trips, *(n for one in trips.values() for n in one)}
    known["there are no words for the mistake"] = {mistake.id for mistake in rubric.mistakes}
    lacks = dict(zip(("program", "claim", "round trip", "mistake"), known, strict=True))
    for sort, name in _references([check.params.model_dump(), rubric.model_dump()["refusals"]]):
        if name not in known[lacks[sort]]:
            raise ContentProblem(
                f"rubric of {rubric.exercise}: checks.{check.spec.id}: {lacks[sort]} {name!r}",
                where="rubric.toml",
                next_step="correct the name, or add it there",
            )


def _references(value: Any) -> Iterator[tuple[str, str]]:
    """Return each program, claim, round trip and mistake that parameters name, wherever."""
    if isinstance(value, list | tuple):
        for entry in value:
            yield from _references(entry)
        return
    if not isinstance(value, dict):
        return
    for key, inner in value.items():
        names = [inner] if isinstance(inner, str) else inner
        if key in _PROGRAMS | _CLAIMS and names is not None:
            yield from (("program" if key in _PROGRAMS else "claim", name) for name in names)
        elif key in _RESTORED and inner is not None:
            yield "round trip", str(inner)
        elif key in _MISTAKES and inner is not None:
            yield "mistake", str(inner)
        elif key == "layout_mistakes":
            yield from (("mistake", name) for name in inner.values())
        elif key == "reductions":
            yield from (("mistake", name) for name in inner)
        else:
            yield from _references(inner)


# Kinds that look at one array; the others take a program as a whole too.
_OF_ONE_ARRAY = ("program_values", "shard_shapes", "metamorphic")


def _one_array_each(check: Check, rubric: Rubric, exercise: Exercise) -> None:
    if check.spec.kind not in _OF_ONE_ARRAY:
        return
    several = {program.name: program.judged() for program in exercise.programs if program.results}
    for sort, name in _references(check.params.model_dump()):
        if sort == "program" and name in several:
            raise ContentProblem(
                f"rubric of {rubric.exercise}: checks.{check.spec.id}: {name!r} gives several"
                f" results, and {check.spec.kind} looks at one",
                where="rubric.toml",
                next_step=f"name {' or '.join(several[name])}",
            )


def _accepted(rubric: Rubric) -> list[Check]:
    """Return the checks. Raises: ContentProblem with every parameter that no kind takes."""
    found, faults = [], list[str]()
    for spec in rubric.checks:
        _kind_exists(spec, rubric)
        module = importlib.import_module(f"{__name__}.{spec.kind}")
        given = {**spec.params, "items": spec.items}
        try:
            found.append(Check(spec, module, module.Params.model_validate(given)))
        except ValidationError as error:
            faults += wrong.faults(error, module.Params, given, within=f"check {spec.id}")
    if faults:
        step = "mend that; `grade kinds KIND` says what a kind takes"
        subject = f"rubric of {rubric.exercise}"
        raise wrong.problem(subject, faults, where="rubric.toml", step=step)
    return found


def _kind_exists(spec: CheckSpec, rubric: Rubric) -> None:
    if spec.kind not in kinds():
        raise ContentProblem(
            f"rubric of {rubric.exercise}: checks.{spec.id}.kind: there is no kind {spec.kind!r}",
            where="rubric.toml",
            next_step=f"use one of {', '.join(kinds())}",
        )


def answered(loaded: Sequence[Check], truth: Truth) -> None:
    """Insist that the oracle speaks of everything that the checks ask about.

    Raises:
        ContentProblem: a case, a written answer, a figure or a row that it does not give.
    """
    for check in loaded:
        asked = check.params.model_dump()
        for case, program in _asked_of(asked):
            if program not in said_of(truth.cases, case, "cases").keys() | _judged(truth, case):
                raise ContentProblem(
                    f"oracle.py: cases() gives no inputs of {program!r} in {case!r}, which"
                    f" the check {check.spec.id} asks about",
                    where="oracle.py",
                    next_step="add them there, or correct the rubric",
                )
        for sort, name in _references(asked):
            if sort == "claim" and check.spec.kind == "claims":
                said_of(truth.claims, name, "claims")
        for item in asked["items"]:
            if "figure" in item:
                said_of(said_of(truth.figures, item["figure"], "figures"), "right", "figures")
            if "ranks" in item:
                rows = said_of(truth.rows, "right", "rows")
                for column in item["columns"]:
                    said_of(said_of(rows, item["ranks"], "rows"), column, "rows")


def _judged(truth: Truth, case: str) -> set[str]:
    return {name for known, name in truth.answers if known == case}


def _asked_of(asked: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Return each case of which parameters name a program."""
    for item in asked["items"]:
        if "open_case" in asked:
            yield asked["open_case"], item["program"]
        for term in (item, *item["equals"]) if "equals" in item else ():
            yield term["case"], term["program"] or item["program"]


def names(kind: str) -> dict[str, str]:
    """Return the mistakes that a kind names by itself, each in plain words."""
    found: dict[str, str] = getattr(importlib.import_module(f"{__name__}.{kind}"), "NAMES", {})
    return found


def _finding(
    spec: CheckSpec, items: list[Item], evidence: list[dict[str, Any]], case: Case
) -> Finding:
    status = _status([entry.status for entry in items])
    told = next((e for e in items if e.status != "passed" and e.mistake), None)
    first = told or next((e for e in items if e.status != "passed"), None)
    words = case.mistake(told.mistake) if told else None
    title = words.title if words else names(spec.kind).get((told and told.mistake) or "")
    count = sum(1 for entry in items if entry.status == "passed")
    whole = f"all {count} parts hold" if count > 1 else items[0].message
    message = first.message if first else whole
    return Finding(
        id=spec.id,
        kind=spec.kind,
        title=spec.title,
        status=status,
        points=sum(entry.points for entry in items),
        max_points=sum(entry.max_points for entry in items),
        message=message,
        mistake=told.mistake if told else None,
        mistake_title=title,
        hint="" if first is None else words.hint if words else first.hint or spec.hint,
        line=first.line if first else None,
        items=items,
        evidence=[{key: as_json_value(value) for key, value in row.items()} for row in evidence],
    )


def _status(statuses: list[Status]) -> Status:
    # A part that our side could not judge costs points: the whole must not look like a failure.
    order: tuple[Status, ...] = ("undecided", "failed", "blocked")
    return next((status for status in order if status in statuses), "passed")
