from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from grader.records.evidence import Program
from grader.records.finding import Item
from grader.records.observation import Observation, Replay
from tests.checks.factory import (
    CASES,
    Array,
    case,
    judge,
    observed,
    part,
    replicated,
    right,
    split,
)

WHOLE = "asked is (8,) on every device, each the whole"


def shown(program: str, seen: Any) -> Item:
    """Return the item of one program that was observed otherwise."""
    return part(judge("shard_shapes", case({program: seen})), program)


def stored_as(program: str, make: Any, shape: tuple[int, ...] | None = None) -> Observation:
    """Return a program whose right results are stored by `make`, global array in, shards out."""
    seen = observed(program)
    replays = {}
    for name in CASES:
        value = np.asarray(right(program)(CASES[name][program]), np.float32)
        replays[name] = Replay(tuple(make(value)))
    return replace(seen, replays=replays, shape=shape or seen.shape)


def test_what_the_lesson_stores_passes() -> None:
    finding = judge("shard_shapes", case())
    assert (finding.status, finding.points) == ("passed", 12)
    messages = [item.message for item in finding.items]
    assert messages == [
        "`all_gradient` stores (8,) on each device",
        "`shard_gradient` stores (2,) on each device",
        "`gather` stores (8,) on each device",
    ]
    assert {item.source for item in finding.items} == {"replayed"}


def test_every_device_and_its_shape_is_evidence() -> None:
    row = judge("shard_shapes", case()).evidence[1]
    assert row == {
        "what": "values stored on each device",
        "program": "shard_gradient",
        "global_shape": [8],
        "layout": "split",
        "device_ids": [0, 1, 2, 3],
        "shapes": [[2], [2], [2], [2]],
    }


def test_values_are_not_judged_here() -> None:
    wrong = observed("all_gradient", lambda inputs: 7 * right("all_gradient")(inputs))
    assert shown("all_gradient", wrong).status == "passed"


@pytest.mark.parametrize("program", ["all_gradient", "gather"])
def test_slices_where_the_whole_was_asked_are_named(program: str) -> None:
    item = shown(program, stored_as(program, split))
    assert (item.status, item.mistake) == ("failed", "sharded-not-replicated")
    assert item.message == f"`{program}` stores (2,) on 4 devices, each a slice; {WHOLE}"


def test_the_whole_where_slices_were_asked_is_named() -> None:
    item = shown("shard_gradient", stored_as("shard_gradient", replicated))
    assert (item.status, item.mistake) == ("failed", "replicated-not-sharded")
    assert item.message == (
        "`shard_gradient` stores (8,) on 4 devices, each the whole;"
        " asked is (2,) on every device, each a slice"
    )


@pytest.mark.parametrize("tiles", [replicated, split], ids=["every tile everywhere", "one each"])
def test_a_gather_that_stacks_is_named_tiled_missing(tiles: Any) -> None:
    seen = stored_as("gather", lambda g: tiles(g.reshape(4, 2)), (4, 2))
    assert shown("gather", seen).mistake == "tiled-missing"


@pytest.mark.parametrize("turned", [1, 2, 3])
def test_slices_on_the_wrong_devices_are_named(turned: int) -> None:
    seen = stored_as("shard_gradient", lambda g: split(g, turned))
    item = shown("shard_gradient", seen)
    assert (item.status, item.mistake) == ("failed", "wrong-slice-order")


def test_replicas_that_differ_are_told_with_their_devices() -> None:
    seen = stored_as("all_gradient", lambda g: replicated(g, g, g + 1, g))
    item = shown("all_gradient", seen)
    assert (item.status, item.mistake) == ("failed", None)
    assert item.message == "`all_gradient`: the replicas differ (device 2 from device 0)"


@pytest.mark.parametrize("device", range(4))
def test_a_single_right_replica_is_named(device: int) -> None:
    def make(g: Array) -> tuple[Any, ...]:
        return replicated(*[g if d == device else g + 1 + d for d in range(4)])

    assert shown("all_gradient", stored_as("all_gradient", make)).mistake == "one-replica-only"


def test_a_different_right_replica_in_each_case_is_no_mistake_with_a_name() -> None:
    turn = iter(range(100))

    def make(g: Array) -> tuple[Any, ...]:
        good = next(turn) % 4
        return replicated(*[g if d == good else g + 1 + d for d in range(4)])

    item = shown("all_gradient", stored_as("all_gradient", make))
    assert (item.status, item.mistake) == ("failed", None)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_replicas_without_finite_values_are_not_equal(value: float) -> None:
    seen = stored_as("all_gradient", lambda g: replicated(np.full(8, value, np.float32)))
    assert shown("all_gradient", seen).status == "failed"


def test_a_difference_in_one_case_is_enough() -> None:
    seen = observed("all_gradient")
    g = np.asarray(right("all_gradient")(CASES["hidden_2"]["all_gradient"]), np.float32)
    uneven = Replay(replicated(g, g, g, 1.001 * g))
    seen = replace(seen, replays={**seen.replays, "hidden_2": uneven})
    item = shown("all_gradient", seen)
    assert item.message == "`all_gradient`: the replicas differ (device 3 from device 0)"


def test_replicas_in_another_order_of_sums_are_equal() -> None:
    seen = stored_as("all_gradient", lambda g: replicated(g, np.nextafter(g, np.float32(9)), g, g))
    assert shown("all_gradient", seen).status == "passed"


@pytest.mark.parametrize("program", ["all_gradient", "shard_gradient"])
@pytest.mark.parametrize("device", range(4))
def test_a_device_without_a_piece_is_no_pass(program: str, device: int) -> None:
    seen = observed(program)
    replays = {
        name: Replay(tuple(s for s in replay.shards if s.device != device))
        for name, replay in seen.replays.items()
    }
    item = shown(program, replace(seen, replays=replays))
    assert (item.status, item.points) == ("failed", 0)
    assert "on 3 devices" in item.message


def test_a_result_on_one_device_is_no_pass() -> None:
    seen = stored_as("all_gradient", lambda g: replicated(g)[:1])
    assert "on 1 device, not evenly laid" in shown("all_gradient", seen).message


def test_uneven_slices_are_no_pass() -> None:
    seen = observed("shard_gradient")
    shards = seen.any_shards()
    uneven = Replay((*shards[:3], replace(shards[3], data=shards[3].data[:1], index=((6, 7),))))
    item = shown("shard_gradient", replace(seen, replays={"lesson": uneven}))
    assert item.status == "failed"
    assert "(1,) and (2,)" in item.message


@pytest.mark.parametrize(
    ("replays", "why"),
    [
        ({}, "it gave no result"),
        ({"lesson": Replay(error="ValueError: no")}, "ValueError: no"),
    ],
)
def test_no_result_is_no_pass(replays: Any, why: str) -> None:
    item = shown("all_gradient", replace(observed("all_gradient"), replays=replays))
    assert item.message == f"`all_gradient` gave no result to look at: {why}"
    assert (item.status, item.mistake) == ("failed", None)


def test_a_program_that_is_not_there_fails_for_that_reason_alone() -> None:
    finding = judge("shard_shapes", case({"gather": Program("gather", "missing")}))
    assert (finding.status, finding.points) == ("failed", 8)
    assert part(finding, "gather").message == "`gather` is not defined"


def test_what_was_not_measured_leaves_the_check_undecided() -> None:
    finding = judge("shard_shapes", case({"gather": None}))
    assert (finding.status, finding.points) == ("undecided", 8)
    both = judge("shard_shapes", case({"gather": None, "all_gradient": Program("x", "missing")}))
    assert both.status == "undecided"
