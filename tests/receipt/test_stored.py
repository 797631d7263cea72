"""A receipt holds numbers of inputs that a learner knows, and no others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from grader.catalog.models import CheckSpec
from grader.receipt.stored import MOST_VALUES, stored_values
from grader.records.evidence import Shard
from grader.records.finding import Finding, Item, Status
from grader.records.observation import Observation, Replay
from grader.records.receipt import StoredValues

SPECS = (
    CheckSpec(
        id="values",
        kind="program_values",
        title="t",
        hint="h",
        params={"open_case": "lesson"},
        items=(
            {"id": "make", "points": 1, "program": "make"},
            {"id": "move", "points": 1, "program": "move", "whole": True},
        ),
    ),
    CheckSpec(
        id="permutation",
        kind="claims",
        title="t",
        hint="h",
        items=(
            {
                "id": "r2",
                "points": 1,
                "name": "r2",
                "replayed": {"case": "reversed", "programs": ["make", "move"]},
            },
        ),
    ),
)


def finding(check: str, **items: tuple[Status, Any]) -> Finding:
    parts = [
        Item(id=name, status=status, points=0, max_points=1, source=source)
        for name, (status, source) in items.items()
    ]
    return Finding(
        id=check, kind=check, title="t", status="failed", points=0, max_points=1, message="",
        mistake=None, hint="", line=None, items=parts, evidence=[],
    )  # fmt: skip


def seen(program: str, data: np.ndarray[Any, Any] | None = None) -> Observation:
    whole = np.arange(8, dtype=np.float32) / 10 if data is None else data
    index = tuple((0, extent) for extent in whole.shape)
    shards = tuple(Shard(device, index, whole) for device in (1, 0, 2, 3))
    cases = ("hidden_0", "lesson", "reversed", "private")
    return Observation(
        program, "replayed", replays={case: Replay(shards=shards) for case in cases}, shape=(8,)
    )


def shown(program: str, make: Status, r2: tuple[Status, Any]) -> list[str]:
    findings = [
        finding("values", make=(make, "replayed"), move=("failed", "replayed")),
        finding("permutation", r2=r2),
    ]
    return [one.case for one in stored_values(SPECS, findings, seen(program))]


def test_a_wrong_program_shows_its_own_numbers_on_the_lessons_inputs() -> None:
    assert shown("make", "failed", ("failed", "claimed")) == ["lesson"]


def test_a_program_that_moves_a_right_result_gives_none_away() -> None:
    assert shown("move", "failed", ("failed", "claimed")) == []
    assert shown("move", "undecided", ("failed", "claimed")) == []
    assert shown("move", "passed", ("failed", "claimed")) == ["lesson"]


def test_a_case_built_on_answers_is_shown_once_its_answer_is_right() -> None:
    assert shown("make", "passed", ("failed", "claimed")) == ["lesson"]
    assert shown("make", "passed", ("blocked", "claimed")) == ["lesson"]
    assert shown("make", "passed", ("passed", "claimed")) == ["lesson", "reversed"]
    assert shown("make", "passed", ("failed", "replayed")) == ["lesson", "reversed"]


def test_a_case_that_no_rubric_calls_known_is_never_shown() -> None:
    findings = [finding("values", make=("passed", "replayed"), move=("passed", "replayed"))]
    for program in ("make", "move"):
        told = stored_values(SPECS, findings, seen(program))
        assert [one.case for one in told] == ["lesson"]
    assert stored_values(SPECS, findings, seen("other")) == []
    assert stored_values((), findings, seen("make")) == []


def only(data: np.ndarray[Any, Any]) -> StoredValues:
    findings = [finding("values", make=("passed", "replayed"))]
    return stored_values(SPECS, findings, seen("make", data))[0]


def test_devices_stand_in_order_with_shape_place_and_exact_values() -> None:
    told = only(np.arange(8, dtype=np.float32) / 10)
    assert told.inputs == "lesson"
    assert [one.device for one in told.devices] == [0, 1, 2, 3]
    first = told.devices[0]
    assert (first.shape, first.index) == ([8], [[0, 8]])
    assert first.values[:3] == [0.0, 0.1, 0.2]
    assert np.float32(first.values[1]) == np.float32(0.1)


def test_a_large_result_is_cut_and_what_json_has_no_number_for_is_text() -> None:
    assert len(only(np.ones((50, 20), np.float32)).devices[0].values) == MOST_VALUES
    odd = np.array([math.nan, math.inf, -math.inf, 1.5])
    assert only(odd).devices[0].values == ["nan", "inf", "-inf", 1.5]
    assert only(np.array([True, False])).devices[0].values == [True, False]
    assert only(np.array([3, -4])).devices[0].values == [3, -4]
    assert only(np.array([1 + 2j])).devices[0].values == ["(1+2j)"]
