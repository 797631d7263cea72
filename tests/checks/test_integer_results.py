"""Counts and keys are compared exactly; several results of a program tell mistakes apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from grader.case import Case
from grader.checks import claims, program_values
from grader.records.evidence import Claim, Evidence, Outcome, Program
from grader.records.finding import Item
from grader.records.observation import Observation, Replay
from grader.records.truth import Answer, Expected, Truth
from tests.checks.factory import RUBRIC, replicated

pytestmark = pytest.mark.once
NAMES = ("hidden_0", "hidden_1", "lesson")
PARAMS = program_values.Params.model_validate(
    {
        "items": [{"id": n, "points": 1, "program": f"turn.{n}"} for n in ("key", "count")],
        "relative_tolerance": 1e-3,
        "open_case": "lesson",
    }
)
KEY = np.array([7, 2**32 - 1], np.uint32)
COUNT = np.int32(1_000_000)
# One mistake leaves both as they were, the other the key alone.
LEFT_OUT = {"turn.key": KEY - 1, "turn.count": np.int32(5)}
KEPT = {"turn.key": KEY - 1, "turn.count": COUNT}


def judged(key: Any, count: Any) -> dict[str, Item]:
    given = {"turn.key": key, "turn.count": count}
    right = {"turn.key": KEY, "turn.count": COUNT}
    answers = {
        (case, name): Answer(value, {"kept": KEPT[name], "left-out/all": LEFT_OUT[name]})
        for case in NAMES
        for name, value in right.items()
    }
    observations = {
        name: Observation(
            name,
            "replayed",
            shape=np.shape(value),
            devices=4,
            replays={case: Replay(replicated(value)) for case in NAMES},
        )
        for name, value in given.items()
    }
    cases: dict[str, dict[str, list[Any]]] = {case: {"turn": []} for case in NAMES}
    evidence = Evidence(Outcome("finished"), programs={"turn": Program("turn", "exported")})
    items, _rows = program_values.judge(
        PARAMS, Case(RUBRIC, evidence, observations, Truth(cases, answers))
    )
    return {item.id: item for item in items}


def test_integers_are_compared_exactly_whatever_the_tolerance() -> None:
    assert {item.status for item in judged(KEY, COUNT).values()} == {"passed"}
    near = judged(KEY, COUNT + np.int32(1))
    assert (near["key"].status, near["count"].status) == ("passed", "failed")
    assert judged(KEY ^ np.uint32(1), COUNT)["key"].status == "failed"


def test_a_key_that_became_a_float_is_no_key() -> None:
    assert judged(KEY.astype(np.float32), COUNT)["key"].status == "failed"


def test_mistakes_that_look_alike_in_one_result_are_told_apart_by_the_others() -> None:
    assert judged(KEPT["turn.key"], KEPT["turn.count"])["key"].mistake == "kept"
    assert judged(LEFT_OUT["turn.key"], LEFT_OUT["turn.count"])["key"].mistake == "left-out"


@pytest.mark.parametrize(("passed", "status"), [(False, "blocked"), (True, "failed")])
def test_an_answer_that_rests_on_a_check_waits_for_it(passed: bool, status: str) -> None:
    params = claims.Params.model_validate(
        {"items": [{"id": "w", "points": 1, "name": "w", "rests_on": "saved"}]}
    )
    found = Claim("w", "number", "float", value=3.0)
    truth = Truth({}, {}, {"w": Expected(np.array(2.0), 0.1)})
    case = _Passed if passed else Case
    items, _rows = claims.judge(
        params, case(RUBRIC, Evidence(Outcome("finished"), claims={"w": found}), {}, truth)
    )
    assert items[0].status == status
    if not passed:
        assert items[0].message == "`w` follows from a result that is wrong; mend `saved` first"


class _Passed(Case):
    def passed(self, check: str) -> bool:
        return True
