"""What the oracle says is right and what mistakes would give; never leaves the coordinator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """The right result of one program on one case, and the result of each mistake."""

    value: Array
    mistakes: Mapping[str, Array | tuple[Array, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Expected:
    """What a written answer should hold.

    `value` is None where the answer it follows from is missing; `needs` names that answer.
    `atol` is absolute; `other` is the value that the learner's own, wrong program would lead to.
    """

    value: Array | None
    atol: float
    mistakes: Mapping[str, Array] = field(default_factory=dict)
    needs: str = ""
    other: Array | None = None


@dataclass(frozen=True, slots=True)
class Sent:
    """One state that a module had to save, by leaf, and what each mistake would restore of it.

    A mistake tells of the leaves that it changes; the others it leaves right.
    """

    leaves: Mapping[str, Array]
    mistakes: Mapping[str, Mapping[str, Array]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Truth:
    """Everything the coordinator knows about one grade.

    `cases` holds the inputs by case and program; `answers` is keyed by (case, program); `claims`
    by module variable; `figures` and `rows` are numbers in bytes, each with the mistakes' numbers;
    `round_trips` holds the states that were to be saved, by name.
    """

    cases: Mapping[str, Mapping[str, list[Array]]]
    answers: Mapping[tuple[str, str], Answer]
    claims: Mapping[str, Expected] = field(default_factory=dict)
    figures: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    rows: Mapping[str, Mapping[int, Mapping[str, float]]] = field(default_factory=dict)
    round_trips: Mapping[str, Sequence[Sent]] = field(default_factory=dict)
