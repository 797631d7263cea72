"""What the oracle says is right and what mistakes would give; never leaves the coordinator."""

from __future__ import annotations

from collections.abc import Mapping
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
class Truth:
    """Everything the coordinator knows about one grade.

    `cases` holds the inputs by case and program; `answers` is keyed by (case, program); `claims`
    by module variable; `figures` and `rows` are numbers in bytes, each with the mistakes' numbers.
    """

    cases: Mapping[str, Mapping[str, list[Array]]]
    answers: Mapping[tuple[str, str], Answer]
    claims: Mapping[str, Expected] = field(default_factory=dict)
    figures: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    rows: Mapping[str, Mapping[int, Mapping[str, float]]] = field(default_factory=dict)
