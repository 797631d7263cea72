from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from grader import compare
from grader.records.evidence import Shard

Array = np.ndarray[Any, Any]
WHOLE = np.array([1.0, -2.0, 3.0, -4.0, 5.0, -6.0, 7.0, 8.0])
ATOL = 1e-6


def replicated(*views: Array) -> list[Shard]:
    return [
        Shard(d, tuple((0, n) for n in view.shape), np.array(view)) for d, view in enumerate(views)
    ]


def split(array: Array, devices: int = 4, dim: int = 0) -> list[Shard]:
    step = array.shape[dim] // devices
    found = []
    for d in range(devices):
        index = [(0, n) for n in array.shape]
        index[dim] = (d * step, (d + 1) * step)
        found.append(Shard(d, tuple(index), array[tuple(slice(*part) for part in index)].copy()))
    return found


def changed(found: list[Shard], device: int, value: float) -> list[Shard]:
    for shard in found:
        if shard.device == device:
            shard.data.reshape(-1)[0] = value
    return found


# ------------------------------------------------------------------------------------------ shards


@pytest.mark.parametrize("found", [replicated(*[WHOLE] * 4), split(WHOLE)], ids=["whole", "slices"])
def test_right_shards_are_equal_in_any_order(found: list[Shard]) -> None:
    for order in (found, found[::-1]):
        result = compare.shards(order, (8,), WHOLE, ATOL)
        assert result == compare.Comparison(True, 0.0, (), True)


@pytest.mark.parametrize("device", range(4))
def test_one_wrong_replica_is_found_on_its_device(device: int) -> None:
    found = changed(replicated(*[WHOLE] * 4), device, 1.5)
    result = compare.shards(found, (8,), WHOLE, ATOL)
    assert not result.equal
    assert result.wrong_devices == (device,)
    assert result.worst == pytest.approx(0.5 / 8)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("make", [split, lambda a: replicated(*[a] * 4)], ids=["split", "whole"])
def test_a_value_that_is_not_finite_is_never_equal(make: Any, value: float) -> None:
    result = compare.shards(changed(make(WHOLE), 2, value), (8,), WHOLE, math.inf)
    assert not result.equal
    assert (result.worst, result.wrong_devices) == (math.inf, (2,))


def test_two_infinities_are_not_equal_either() -> None:
    reference = np.full(8, np.inf)
    assert not compare.shards(split(reference), (8,), reference, 1.0).equal
    assert not compare.array(reference, reference, 1.0)


@pytest.mark.parametrize("missing", range(4))
def test_a_missing_slice_is_never_equal(missing: int) -> None:
    found = [shard for shard in split(WHOLE) if shard.device != missing]
    result = compare.shards(found, (8,), WHOLE, ATOL)
    assert (result.equal, result.covered, result.wrong_devices) == (False, False, ())


def test_no_shard_at_all_is_never_equal() -> None:
    assert compare.shards([], (8,), WHOLE, math.inf) == compare.Comparison(
        False, math.inf, (), False
    )


def test_another_global_shape_is_never_equal() -> None:
    wide = WHOLE.reshape(1, 8)
    result = compare.shards(replicated(*[wide] * 4), (1, 8), WHOLE, math.inf)
    assert not result.equal
    assert result.wrong_devices == (0, 1, 2, 3)


def test_data_that_does_not_fill_its_index_is_never_equal() -> None:
    found = [Shard(0, ((0, 8),), np.zeros(1)), *replicated(*[WHOLE] * 4)[1:]]
    assert compare.shards(found, (8,), WHOLE, math.inf).wrong_devices == (0,)


def test_booleans_are_not_numbers() -> None:
    flags = np.ones(8, dtype=bool)
    assert not compare.shards(split(flags), (8,), np.ones(8), 2.0).equal
    assert not compare.array(flags, np.ones(8), 2.0)


def test_integers_are_numbers() -> None:
    assert compare.shards(split(np.arange(8)), (8,), np.arange(8.0), 0.0).equal


def test_an_imaginary_part_counts() -> None:
    assert not compare.shards(split(WHOLE + 1j), (8,), WHOLE, 0.5).equal
    assert not compare.array(WHOLE + 1j, WHOLE, 0.5)


def test_a_complex_result_is_none_where_a_real_one_is_asked_for() -> None:
    whole = WHOLE.astype(np.complex64)
    assert not compare.shards(split(whole), (8,), WHOLE, 0.5).equal
    assert compare.shards(split(whole), (8,), whole, 0.0).equal


def test_the_tolerance_is_the_largest_difference_that_counts_as_equal() -> None:
    assert compare.shards(changed(split(WHOLE), 0, 1.25), (8,), WHOLE, 0.25).equal
    assert not compare.shards(changed(split(WHOLE), 0, 1.251), (8,), WHOLE, 0.25).equal


@pytest.mark.parametrize("atol", [math.nan, -1.0])
def test_a_broken_tolerance_lets_nothing_pass(atol: float) -> None:
    assert not compare.shards(split(WHOLE), (8,), WHOLE, atol).equal
    assert not compare.array(WHOLE, WHOLE, atol)


def test_a_view_for_each_device_is_compared_by_device_id() -> None:
    views = tuple(WHOLE * d for d in range(4))
    found = replicated(*views)
    assert compare.shards(found[::-1], (8,), views, ATOL).equal
    assert not compare.shards(found, (8,), views[::-1], ATOL).equal


def test_views_for_other_devices_than_there_are_is_never_equal() -> None:
    views = tuple(WHOLE for _ in range(3))
    assert not compare.shards(replicated(*[WHOLE] * 4), (8,), views, math.inf).equal


def test_against_zeros_any_difference_is_infinitely_large() -> None:
    zeros = np.zeros(8)
    assert compare.shards(split(zeros), (8,), zeros, 0.0).worst == 0.0
    assert compare.shards(split(WHOLE), (8,), zeros, 0.0).worst == math.inf


def test_empty_arrays_are_equal() -> None:
    empty = np.zeros((0, 2))
    assert compare.shards(replicated(*[empty] * 4), (0, 2), empty, 0.0).equal


def test_narrow_floats_are_compared_by_value() -> None:
    narrow = WHOLE.astype(ml_dtypes.bfloat16).astype(np.float32)
    assert compare.shards(split(narrow), (8,), WHOLE, 0.0).equal


def test_huge_values_raise_no_warning() -> None:
    huge = np.full(8, 1.7e308)
    assert not compare.shards(split(-huge), (8,), huge, 1.0).equal
    assert not compare.array(-huge, huge, 1.0)


# ---------------------------------------------------------------------------------------- assemble


def test_slices_make_the_whole() -> None:
    whole = compare.assemble(split(WHOLE)[::-1], (8,))
    assert whole is not None
    np.testing.assert_array_equal(whole, WHOLE)


def test_a_gap_makes_no_whole() -> None:
    assert compare.assemble(split(WHOLE)[:3], (8,)) is None
    assert compare.assemble([], (8,)) is None


def test_the_lowest_device_wins_where_replicas_differ() -> None:
    whole = compare.assemble(replicated(*[WHOLE + d for d in range(4)])[::-1], (8,))
    assert whole is not None
    np.testing.assert_array_equal(whole, WHOLE)


def test_data_that_does_not_fill_its_index_makes_no_whole() -> None:
    assert compare.assemble([Shard(0, ((0, 8),), np.zeros(1))], (8,)) is None


# ----------------------------------------------------------------------------------- array, layout


def test_a_host_array_needs_the_right_shape_and_values() -> None:
    assert compare.array(WHOLE.astype("float32"), WHOLE, ATOL)
    assert not compare.array(WHOLE[:7], WHOLE, math.inf)
    assert not compare.array(WHOLE.reshape(1, 8), WHOLE, math.inf)
    assert not compare.array(WHOLE + 1e-3, WHOLE, ATOL)
    assert not compare.array(np.full(8, np.nan), WHOLE, math.inf)
    assert compare.array(np.zeros((0,)), np.zeros((0,)), 0.0)


MATRIX = np.arange(16.0).reshape(4, 4)
UNEVEN = [Shard(0, ((0, 6),), WHOLE[:6]), Shard(1, ((6, 8),), WHOLE[6:])]
OVERLAP = [Shard(0, ((0, 5),), WHOLE[:5]), Shard(1, ((3, 8),), WHOLE[3:])]
BLOCKS = [
    Shard(2 * r + c, ((2 * r, 2 * r + 2), (2 * c, 2 * c + 2)), MATRIX[2 * r :, 2 * c :][:2, :2])
    for r in range(2)
    for c in range(2)
]
HALVES_TWICE = [Shard(d, ((4 * (d % 2), 4 * (d % 2) + 4),), WHOLE[:4]) for d in range(4)]


@pytest.mark.parametrize(
    ("found", "shape", "layout"),
    [
        (replicated(*[WHOLE] * 4), (8,), "replicated"),
        (replicated(*[np.float64(1).reshape(())] * 4), (), "replicated"),
        (split(WHOLE), (8,), "split"),
        (split(MATRIX, dim=1), (4, 4), "split"),
        (split(WHOLE)[::-1], (8,), "split"),
        (split(WHOLE)[:3], (8,), "other"),
        (replicated(WHOLE), (8,), "other"),
        ([], (8,), "other"),
        (UNEVEN, (8,), "other"),
        (OVERLAP, (8,), "other"),
        (BLOCKS, (4, 4), "other"),
        (HALVES_TWICE, (8,), "other"),
    ],
    ids=[
        *("whole", "scalar", "slices", "columns", "any order", "a slice missing"),
        *("one device", "nothing", "uneven", "overlapping", "blocks", "halves twice"),
    ],
)
def test_layout_says_how_an_array_is_stored(
    found: list[Shard], shape: tuple[int, ...], layout: str
) -> None:
    assert compare.layout(found, shape) == layout


def test_slices_rise_with_the_device_or_they_do_not() -> None:
    found = split(WHOLE)
    assert compare.in_device_order(found)
    assert compare.in_device_order(found[::-1])
    turned = [Shard(3 - s.device, s.index, s.data) for s in found]
    assert not compare.in_device_order(turned)


def test_stored_shapes_follow_the_device_ids() -> None:
    assert compare.stored(UNEVEN[::-1]) == [[6], [2]]
