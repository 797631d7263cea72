"""Of a result of another shape no mistake is guessed from its bytes, collectives or storage."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from grader.records.observation import Observation, Replay
from tests.checks.factory import CASES, SCALAR, case, judge, observed, part, replicated, written
from tests.checks.factory import budget as rows

FIRST = "mend the shape of `all_gradient` first: it gives (4,), and (8,) is asked for"


def cut(**changes: Any) -> Observation:
    """Return all_gradient with half of its result on every device."""
    seen = observed("all_gradient", **changes)
    halves = {
        name: Replay(replicated(np.asarray(seen.replays[name].shards[0].data)[:4]))
        for name in CASES
    }
    return replace(seen, shape=(4,), replays=halves)


@pytest.mark.parametrize("check", ["shard_shapes", "collectives", "byte_budget"])
def test_the_shape_is_to_be_mended_first(check: str) -> None:
    # Nothing travels at all, of which the rubric would name a mistake.
    seen = cut(requested=(), compiled=(replace(SCALAR, by_compiler=True, op="all-gather"),))
    name = "compiled_all_gradient" if check == "byte_budget" else "all_gradient"
    item = part(judge(check, case({"all_gradient": seen})), name)
    assert (item.status, item.mistake, item.hint) == ("failed", None, FIRST)


def test_values_say_which_shape_and_where_to_look() -> None:
    item = part(judge("values", case({"all_gradient": cut()})), "all_gradient")
    assert item.message == "`all_gradient` gives a global shape (4,), not (8,)"
    assert item.hint.startswith("compare the shape of the result with the one that the prompt asks")


def test_replicas_that_differ_are_to_be_printed() -> None:
    seen = observed("all_gradient", lambda inputs: tuple(np.arange(8.0) + d for d in range(4)))
    changing = {
        name: Replay(tuple(replace(s, data=s.data * (n + 1)) for s in replay.shards))
        for n, (name, replay) in enumerate(seen.replays.items())
    }
    item = part(
        judge("shard_shapes", case({"all_gradient": replace(seen, replays=changing)})),
        "all_gradient",
    )
    assert "the replicas differ" in item.message
    assert item.hint.startswith("print the values of each shard, not only its shape")


def test_values_that_are_not_finite_are_no_replicas_that_differ() -> None:
    seen = observed("all_gradient", lambda inputs: np.where(np.arange(8) == 2, np.nan, inputs[2]))
    item = part(judge("shard_shapes", case({"all_gradient": seen})), "all_gradient")
    assert item.message == "`all_gradient`: the values are not finite, so no replicas can be equal"
    assert item.hint.startswith("look for a division by zero or an overflow")


def test_rows_without_their_number_of_ranks_are_told_so() -> None:
    nameless = [{k: v for k, v in row.items() if k != "ranks"} for row in rows()]
    found = judge("byte_budget", case(claims=[written("budget", "list", "list", nameless)]))
    said = "the rows of `budget` lack `ranks`, so none can be told from another"
    assert {part(found, f"rows_{ranks}").message for ranks in (2, 4, 8)} == {said}


def test_rows_of_another_size_are_told_by_their_one_factor() -> None:
    other = [{k: v if k == "ranks" else v * 40 / 2**20 for k, v in row.items()} for row in rows()]
    found = judge("byte_budget", case(claims=[written("budget", "list", "list", other)]))
    item = part(found, "rows_2")
    assert item.mistake is None
    assert item.message.endswith(
        "does not follow from the model; all of it is off by the same factor, so the size it starts"
        " from is another"
    )


def test_an_answer_that_waits_for_the_programs_says_so() -> None:
    wrong = observed("gather", lambda inputs: 2 * inputs[0])
    item = part(judge("permutation", case({"gather": wrong})), "r2")
    assert item.status == "passed"
    assert item.message == "`r2` holds; the programs are held against it once `values` passes"
