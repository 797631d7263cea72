"""Load an exercise's truth: hidden inputs from a seed, right answers, predicted mistakes.

The oracle is plain NumPy written by the course's author. It is trusted, runs in the coordinator
only, and is never sent to a child.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.util
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

from grader.catalog.models import RoundTrip
from grader.errors import ContentProblem
from grader.records.truth import Answer, Expected, Sent

Array = np.ndarray[Any, Any]
Made = TypeVar("Made")
Cases = dict[str, dict[str, list[Array]]]
_REQUIRED = ("cases", "answer", "mistakes", "claims", "replays", "figures", "rows")


class Oracle:
    """The functions of one `oracle.py`, with every failure turned into a content problem."""

    def __init__(self, module: ModuleType, path: Path) -> None:
        self._module = module
        self._path = path

    @classmethod
    def load(cls, path: Path) -> Oracle:
        """Return the oracle in `path`.

        Raises:
            ContentProblem: it is missing, does not import, or lacks a function.
        """
        try:
            spec = importlib.util.spec_from_file_location(f"oracle_{path.parent.name}", path)
            if spec is None or spec.loader is None:
                raise FileNotFoundError(path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        except (Exception, SystemExit) as error:
            said = f"{type(error).__name__}: {getattr(error, 'msg', None) or error}"
            raise ContentProblem(
                f"oracle.py does not load: {said}{_line(error, path)}",
                where=str(path),
                next_step="mend it; `grade audit` runs it again",
            ) from error
        lacking = [name for name in _REQUIRED if not callable(getattr(module, name, None))]
        if lacking:
            raise ContentProblem(
                f"oracle.py does not define {', '.join(lacking)}",
                where=str(path),
                next_step="docs/writing-an-exercise.md says what each gives",
            )
        return cls(module, path)

    def cases(self, seed: bytes) -> Cases:
        """Return the inputs by case and program, drawn from a seed of any length."""
        return self._call("cases", dict, _drawn_from(seed))

    def states(self, seed: bytes, trips: Sequence[RoundTrip]) -> dict[str, list[Sent]]:
        """Return the states that a module has to save and restore, by round trip.

        They are sent to the learner's process, so nothing hidden is drawn from the same numbers.

        Raises:
            ContentProblem: `states` or `lost` is missing or fails, or gives other leaves.
        """
        if not trips:
            return {}
        lacking = [n for n in ("states", "lost") if not callable(getattr(self._module, n, None))]
        if lacking:
            raise ContentProblem(
                f"oracle.py does not define {' and '.join(lacking)}, which round_trips need",
                where=str(self._path),
                next_step="docs/writing-an-exercise.md says what each gives",
            )
        apart = hashlib.sha256(b"round trips\0" + seed).digest()
        drawn = self._call("states", dict, _drawn_from(apart))
        found: dict[str, list[Sent]] = {}
        for trip in trips:
            given = drawn.get(trip.name, ())
            states = [self._state(trip, one) for one in given]
            if len(states) < 2:
                self._wrong_states(
                    f"too few states of {trip.name!r} ({len(states)}, not two or more)"
                )
            found[trip.name] = [
                Sent(state, self._call("lost", _by_leaf, trip.name, state, states[number - 1]))
                for number, state in enumerate(states)
            ]
        return found

    def _state(self, trip: RoundTrip, given: Mapping[str, Any]) -> dict[str, Array]:
        if sorted(given) != sorted(leaf.name for leaf in trip.leaves):
            self._wrong_states(f"a state of {trip.name!r} with the leaves {', '.join(given)}")
        state = {leaf.name: np.asarray(given[leaf.name], leaf.dtype) for leaf in trip.leaves}
        for leaf in trip.leaves:
            if state[leaf.name].shape != leaf.shape:
                self._wrong_states(f"{trip.name}.{leaf.name} of shape {state[leaf.name].shape}")
        return state

    def _wrong_states(self, what: str) -> None:
        raise ContentProblem(
            f"oracle.py: states() gives {what}",
            where=str(self._path),
            next_step="let it give what exercise.toml says under round_trips",
        )

    def answer(self, program: str, inputs: list[Array], case: str = "") -> Answer:
        """Return the right global result on `inputs` and what each mistake would give.

        `case` is where the inputs are from, for a message.
        """
        about = f"{program} in {case}" if case else program
        value = self._call("answer", np.asarray, program, inputs, about=about)
        if value.dtype.kind not in "biufc":
            raise ContentProblem(
                f"oracle.py: answer() gives no array of numbers for {about}",
                where=str(self._path),
                next_step="let it return the right array for each name in exercise.toml",
            )
        return Answer(value, self._call("mistakes", _views, program, inputs, about=about))

    def claims(
        self, given: Mapping[str, Array], own: Mapping[str, Array]
    ) -> Mapping[str, Expected]:
        """Return what each written answer should hold, where it follows from others: `given`.

        `own` holds what the learner's replayed programs gave on the lesson's inputs.
        """
        return self._call("claims", _expected, given, own)

    def replays(self, given: Mapping[str, Array]) -> Cases:
        """Return more cases, built on the learner's own answers, where those allow it."""
        return self._call("replays", dict, given)

    def figures(self) -> dict[str, dict[str, float]]:
        """Return each single number asked for: `right`, and one entry per mistake."""
        return self._call("figures", dict)

    def rows(self) -> dict[str, dict[int, dict[str, float]]]:
        """Return the table asked for: `right`, and one table per mistake, keyed by ranks."""
        return self._call("rows", dict)

    def _call(self, name: str, make: Callable[[Any], Made], *args: Any, about: str = "") -> Made:
        """Return what a function of the author's gives, as `make` takes it."""
        of = f", for {about}" if about else ""
        try:
            # Answers may be as large as float32 allows; a warning would show the oracle's lines.
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                given = getattr(self._module, name)(*args)
        except Exception as error:
            said = f"{type(error).__name__}: {error}{_line(error, self._path)}"
            raise ContentProblem(
                f"oracle.py: {name}() raised {said}{of}",
                where=str(self._path),
                next_step="mend it; `grade audit` runs it again",
            ) from error
        try:
            return make(given)
        except Exception as error:
            plain = f"{name}() gives {_kind(given)}, which is not what it has to give"
            what = f"{name}(): {error}" if isinstance(error, _Unfit) else plain
            raise ContentProblem(
                f"oracle.py: {what}{of}",
                where=str(self._path),
                next_step="docs/writing-an-exercise.md says what each function gives",
            ) from error


class _Unfit(Exception):
    """What a function of the author's gives lacks something, or has too much."""


def _line(error: BaseException, path: Path) -> str:
    """Return the author's own line that an exception came from, nothing where there is none."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return f" at line {error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    return f" at line {lines[-1]}" if lines else ""


def _kind(given: Any) -> str:
    return "nothing" if given is None else f"a value of type {type(given).__name__}"


def _drawn_from(seed: bytes) -> np.random.Generator:
    words = list(np.frombuffer(seed.ljust((len(seed) + 3) // 4 * 4, b"\0"), dtype="<u4"))
    return np.random.default_rng([int(word) for word in words])


def _by_leaf(raw: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Array]]:
    return {
        mistake: {leaf: np.asarray(value) for leaf, value in leaves.items()}
        for mistake, leaves in raw.items()
    }


def _views(raw: Mapping[str, Any]) -> dict[str, Array | tuple[Array, ...]]:
    """Return each mistake's prediction as an array, or as one for each device."""
    return {
        name: tuple(map(np.asarray, value)) if isinstance(value, tuple) else np.asarray(value)
        for name, value in raw.items()
    }


def _fits(name: str, fields: Mapping[str, Any]) -> None:
    known = {field.name for field in dataclasses.fields(Expected)}
    lacking = [key for key in ("value", "atol") if key not in fields]
    unread = [key for key in fields if key not in known]
    told = [f"lacks {' and '.join(lacking)}"] if lacking else []
    told += [f"has {', '.join(map(repr, unread))}, which nothing reads"] if unread else []
    if told:
        raise _Unfit(f"{name} {' and '.join(told)}")


def _expected(raw: Mapping[str, Mapping[str, Any]]) -> dict[str, Expected]:
    for name, fields in raw.items():
        _fits(name, fields)

    def taken(key: str, value: Any) -> Any:
        if key == "mistakes":
            return {mistake: np.asarray(wrong) for mistake, wrong in value.items()}
        return np.asarray(value) if key in ("value", "other") and value is not None else value

    return {
        name: Expected(**{key: taken(key, value) for key, value in fields.items()})
        for name, fields in raw.items()
    }
