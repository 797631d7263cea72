"""A program whose result ignores its input earns nothing for the form of that result."""

from __future__ import annotations

import numpy as np
import pytest

from tests.checks.factory import case, judge, observed, part


@pytest.mark.parametrize("value", [0.0, 3.0])
@pytest.mark.parametrize(
    ("check", "item"),
    [
        ("shard_shapes", "all_gradient"),
        ("collectives", "all_gradient"),
        ("byte_budget", "compiled_all_gradient"),
    ],
)
def test_a_constant_earns_nothing_for_its_storage_collectives_or_bytes(
    check: str, item: str, value: float
) -> None:
    constant = observed("all_gradient", lambda _inputs: np.full(8, value))
    found = part(judge(check, case({"all_gradient": constant})), item)
    assert (found.status, found.points) == ("failed", 0)
    assert found.message == "`all_gradient` gives the same result whatever its input"
    assert found.hint == "compute the result from the arguments"


def test_a_wrong_result_that_follows_its_input_keeps_them() -> None:
    doubled = observed("all_gradient", lambda inputs: 2 * np.asarray(inputs[2], np.float64))
    for check in ("shard_shapes", "collectives"):
        assert part(judge(check, case({"all_gradient": doubled})), "all_gradient").points
