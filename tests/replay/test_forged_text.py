"""A program cannot write into the compiled text that its collectives are read from."""

from __future__ import annotations

import pytest

from grader.replay import hlo

MODULE = """
%body (p: f32[8]) -> f32[8] {
  %p = f32[8]{0} parameter(0)
  ROOT %r = f32[8]{0} all-reduce(f32[8]{0} %p), replica_groups={{0,1,2,3}}, to_apply=%add
}

ENTRY %main (p: f32[8]) -> f32[8] {
  %p = f32[8]{0} parameter(0)
  ROOT %w = f32[8]{0} while(f32[8]{0} %p), condition=%c, body=%body, ATTRIBUTES
}
"""


def test_a_second_entry_or_computation_of_the_same_name_is_not_read() -> None:
    text = MODULE.replace("ATTRIBUTES", "x=1")
    for forged in ("ENTRY %zz (p: f32[8]) -> f32[8] {", "%body (p: f32[8]) -> f32[8] {"):
        with pytest.raises(hlo.UnknownSpelling, match="two computations"):
            hlo.collectives(f"{text}\n{forged}\n}}\n", 4)


def test_only_the_trip_count_that_xla_worked_out_counts() -> None:
    forged = 'frontend_attributes={k={"known_trip_count":{"n":"1"}}}'
    real = 'backend_config={"known_trip_count":{"n":"100"}}'
    (found,) = hlo.collectives(MODULE.replace("ATTRIBUTES", f"{forged}, {real}"), 4)
    assert found.trip_count == 100
    (found,) = hlo.collectives(MODULE.replace("ATTRIBUTES", forged), 4)
    assert found.trip_count is None
