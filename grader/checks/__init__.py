"""One file is one kind of check: pure functions of parameters and a case, found by file name."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from pydantic import ValidationError

from grader.case import Case
from grader.catalog.load import told
from grader.catalog.models import CheckSpec, Content, Exercise, Rubric
from grader.errors import ContentProblem
from grader.records.finding import Finding, Item, Status
from grader.records.receipt import as_json_value


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
    checks = [_load_one(spec, rubric) for spec in rubric.checks]
    _ids_differ(rubric)
    for check in checks:
        _names_exist(check, rubric, exercise)
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


def _load_one(spec: CheckSpec, rubric: Rubric) -> Check:
    if spec.kind not in kinds():
        raise ContentProblem(
            f"rubric of {rubric.exercise}: checks.{spec.id}.kind: there is no kind {spec.kind!r}",
            where="rubric.toml",
            next_step=f"use one of {', '.join(kinds())}",
        )
    module = importlib.import_module(f"{__name__}.{spec.kind}")
    try:
        params = module.Params.model_validate({**spec.params, "items": spec.items})
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise ContentProblem(
            f"rubric of {rubric.exercise}: checks.{spec.id}.{key}: {told(first)}",
            where="rubric.toml",
            next_step="mend that key",
        ) from error
    return Check(spec, module, params)


def _finding(
    spec: CheckSpec, items: list[Item], evidence: list[dict[str, Any]], case: Case
) -> Finding:
    status = _status([entry.status for entry in items])
    told = next((e for e in items if e.status != "passed" and e.mistake), None)
    first = told or next((e for e in items if e.status != "passed"), None)
    words = case.mistake(told.mistake) if told else None
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
        mistake_title=words.title if words else None,
        hint="" if first is None else words.hint if words else first.hint or spec.hint,
        line=first.line if first else None,
        items=items,
        evidence=[{key: as_json_value(value) for key, value in row.items()} for row in evidence],
    )


def _status(statuses: list[Status]) -> Status:
    # A part that our side could not judge costs points: the whole must not look like a failure.
    order: tuple[Status, ...] = ("undecided", "failed", "blocked")
    return next((status for status in order if status in statuses), "passed")
