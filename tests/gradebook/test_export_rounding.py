"""One rounding rule: exact, half up, and parts that add up."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.gradebook.rounding import exact, rounded, scaled, scores, shares, shown

DERANDOMIZED = settings(derandomize=True, max_examples=200, deadline=None)


@pytest.mark.parametrize(
    ("value", "want"),
    [
        (0.125, "0.13"),
        (2.675, "2.68"),  # as a binary float it lies below
        (1.005, "1.01"),
        (Decimal("-0.005"), "0.00"),
        (Fraction(1, 3), "0.33"),
        (85, "85.00"),
    ],
)
def test_half_goes_up_by_the_digits_that_are_written(value: float, want: str) -> None:
    assert rounded(value) == Decimal(want)


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="nan"):
        exact(float("nan"))


@pytest.mark.parametrize(
    ("value", "want"), [(85, "85"), (85.5, "85.5"), (0, "0"), (-0.001, "0"), (100.0, "100")]
)
def test_numbers_are_shown_without_idle_zeros(value: float, want: str) -> None:
    assert shown(value) == want


def test_scaling_is_exact_until_the_end() -> None:
    assert scaled(2, 3, 100) == Decimal("66.67")
    assert scaled(1, 8, 1) == Decimal("0.13")
    assert scaled(5, 0, 100) == 0
    assert scaled(Decimal("52.5"), 105, None) == Decimal("52.5")


def test_cents_left_over_go_to_the_largest_remainders_then_to_the_earlier() -> None:
    assert shares([1, 1, 1], 3, 100) == [Decimal("33.34"), Decimal("33.33"), Decimal("33.33")]
    assert shares([1, 2, 3], 7, 1) == [Decimal("0.14"), Decimal("0.29"), Decimal("0.43")]


def test_a_part_with_nothing_gets_no_cent() -> None:
    found = scores([0, 1, 1], [1, 1, 1], 100)
    assert [score for score, _ in found] == [0, Decimal("33.34"), Decimal("33.33")]
    assert sum(best for _, best in found) == 100


def test_all_points_are_all_points_after_scaling() -> None:
    assert all(score == best for score, best in scores([3, 3, 1], [3, 3, 1], 10))


@DERANDOMIZED
@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), min_size=1, max_size=12),
    st.decimals(Decimal("0.01"), 1000, places=2),
)
def test_parts_add_up_to_the_rounded_total(pairs: list[tuple[int, int]], to: Decimal) -> None:
    got = [min(pair) for pair in pairs]
    most = [max(pair) for pair in pairs]
    found = scores(got, most, to)
    assert sum(score for score, _ in found) == scaled(sum(got), sum(most), to)
    assert sum(best for _, best in found) == (rounded(to) if sum(most) else 0)
    for (score, best), one in zip(found, got, strict=True):
        assert 0 <= score <= best + Decimal("0.01")
        assert one or not score
