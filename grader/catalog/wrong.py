"""What is wrong with a course's TOML, in the words of someone who writes it: a line for each fault.

pydantic says where a fault lies by keys and counted places; here a place has its own name.
"""

from __future__ import annotations

import difflib
import functools
import re
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from grader.errors import ContentProblem

_NAMED_BY = ("name", "id", "mistake", "program", "package")
_MISSING, _UNKNOWN = "missing", "extra_forbidden"


@dataclass(frozen=True)
class _Fault:
    place: tuple[str | int, ...]
    kind: str
    said: str

    @property
    def key(self) -> str:
        return str(self.place[-1]) if self.place else ""


def faults(
    error: ValidationError,
    model: type[BaseModel],
    given: Any,
    text: str = "",
    within: str = "",
) -> tuple[str, ...]:
    """Return each fault as `program step, argument u: unknown key splitt; did you mean split?`.

    Args:
        error: what pydantic found.
        model: what it held the file against.
        given: the file as plain data.
        text: the file itself, for the line of an unknown key; none where it is not at hand.
        within: where in the file all of this stands, in words.
    """
    found = list(_of_the_nearest(error, {one.__name__ for one in _reached(model)}))
    meant = _meant(found, model, given)
    explained = {(fault.place[:-1], key) for fault, key in meant.items() if key}
    return tuple(
        _sentence(fault, meant.get(fault, ""), given, text, within)
        for fault in found
        if fault.kind != _MISSING or (fault.place[:-1], fault.key) not in explained
    )


def _of_the_nearest(error: ValidationError, models: set[str]) -> Iterator[_Fault]:
    """Yield the faults; where one of several models would do, those of the one that fits best."""
    seen: dict[tuple[Any, ...], dict[str, list[_Fault]]] = {}
    for one in error.errors():
        place = tuple(one["loc"])
        # In a place, a model of several stands for itself: `Name`, or `function-after[…, Name]`.
        at = next((n for n, part in enumerate(place) if _last_word(part) in models), None)
        before, chosen = (place, "") if at is None else (place[:at], str(place[at]))
        rest = place if at is None else (*before, *place[at + 1 :])
        fault = _Fault(rest, str(one["type"]), _plain(str(one["msg"])))
        seen.setdefault(before, {}).setdefault(chosen, []).append(fault)
    for by_model in seen.values():
        yield from min(by_model.values(), key=_distance)


def _last_word(part: str | int) -> str:
    return str(part).removesuffix("]").rpartition(" ")[2]


def _plain(said: str) -> str:
    """Return what pydantic says of a value as it goes on after the value's place."""
    said = said.removeprefix("Value error, ").replace(" after validation", "")
    return re.sub(r"^(?:Input|String|Tuple|List) should ", "should ", said)


def _distance(found: Sequence[_Fault]) -> int:
    """Return how far from a model something is; a key too many tells more than one that lacks."""
    return sum(2 if fault.kind == _UNKNOWN else 1 for fault in found)


def _meant(found: Sequence[_Fault], model: type[BaseModel], given: Any) -> dict[_Fault, str]:
    """Return for each unknown key the one that was meant: a missing one first."""
    meant = {}
    for fault in found:
        around = fault.place[:-1]
        if fault.kind == _UNKNOWN:
            missing = [o.key for o in found if o.kind == _MISSING and o.place[:-1] == around]
            there = functools.reduce(_inside, around, given) or {}
            free = [key for one in _at(model, around) for key in one.model_fields]
            for keys in (missing, [key for key in free if key not in there]):
                near = difflib.get_close_matches(fault.key, keys, n=1, cutoff=0.6)
                if near and fault not in meant:
                    meant[fault] = near[0]
    return meant


def _at(model: type[BaseModel], place: Sequence[str | int]) -> list[type[BaseModel]]:
    here = [model]
    for part in place:
        if isinstance(part, str):
            fields = [one.model_fields[part] for one in here if part in one.model_fields]
            here = [inner for field in fields for inner in _models(field.annotation)]
    return here


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in typing.get_args(annotation) for model in _models(part)]


def _reached(model: type[BaseModel]) -> list[type[BaseModel]]:
    """Return a model and all that it is made of."""
    found = [model]
    for one in found:
        inner = [m for field in one.model_fields.values() for m in _models(field.annotation)]
        found += [m for m in dict.fromkeys(inner) if m not in found]
    return found


def _sentence(fault: _Fault, meant: str, given: Any, text: str, within: str) -> str:
    lacks = fault.kind in (_UNKNOWN, _MISSING)
    place = _place(fault.place[:-1] if lacks else fault.place, given)
    what = fault.said
    if fault.kind == _UNKNOWN:
        instead = f"; did you mean {meant}?" if meant else ", which nothing reads"
        what = f"unknown key {fault.key}{_line(fault.key, text)}{instead}"
    elif fault.kind == _MISSING:
        what = f"{fault.key} is missing"
    where = ", ".join(part for part in (within, place) if part)
    return f"{where}: {what}" if where else what


def _line(key: str, text: str) -> str:
    """Return the line of a key where it stands once in the file."""
    wanted = re.compile(rf"(?:^|[\s{{,\[.]){re.escape(key)}\s*[=\].]")
    lines = [number for number, line in enumerate(text.splitlines(), 1) if wanted.search(line)]
    return f" (line {lines[0]})" if len(lines) == 1 else ""


def _place(place: Sequence[str | int], given: Any) -> str:
    """Return a place by names: `program step, argument u, split`."""
    words: list[str] = []
    for part in place:
        given = _inside(given, part)
        if isinstance(part, str):
            words.append(part)
            continue
        word = words.pop() if words else ""
        name = _name(given)
        words.append(f"{word.removesuffix('s')} {name}" if name else f"{word}, entry {part + 1}")
    return ", ".join(words)


def _inside(given: Any, part: str | int) -> Any:
    if isinstance(part, str):
        return given.get(part) if isinstance(given, Mapping) else None
    return given[part] if isinstance(given, Sequence) and part < len(given) else None


def _name(given: Any) -> str:
    if not isinstance(given, Mapping):
        return ""
    return next((str(given[key]) for key in _NAMED_BY if isinstance(given.get(key), str)), "")


def problem(subject: str, found: Sequence[str], *, where: str, step: str) -> ContentProblem:
    """Return faults as one problem: the only one beside its file, several on a line each."""
    if len(found) == 1:
        return ContentProblem(f"{subject}: {found[0]}", where=where, next_step=step)
    head = f"{subject} has {len(found)} problems ({where}):"
    return ContentProblem("\n".join([head, *(f"  {one}" for one in found)]), next_step=step)
