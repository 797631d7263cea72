from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from grader import checks
from grader.case import Case
from grader.checks import metamorphic
from grader.errors import ContentProblem
from grader.records.finding import Item
from grader.records.observation import Observation
from grader.records.truth import Answer
from tests.checks.factory import ENTRY, case, observed

RNG = np.random.default_rng(4)
ONE, TWO = (RNG.standard_normal(8).astype(np.float32) for _ in range(2))
INPUTS = {
    "hidden_one": {"gather": [ONE]},
    "hidden_two": {"gather": [TWO]},
    "hidden_sum": {"gather": [ONE + TWO]},
    "hidden_triple": {"gather": [3 * ONE]},
    "hidden_back": {"gather": [ONE[::-1].copy()]},
}
RELATIONS: dict[str, dict[str, Any]] = {
    "sum": {"case": "hidden_sum", "equals": [{"case": "hidden_one"}, {"case": "hidden_two"}]},
    "triple": {"case": "hidden_triple", "equals": [{"case": "hidden_one", "factor": 3.0}]},
    "back": {"case": "hidden_back", "equals": [{"case": "hidden_one", "reversed": 0}]},
    "same": {"case": "hidden_one", "equals": [{"case": "hidden_one", "program": "all_gradient"}]},
}
BECAUSE = "what goes in twice comes out twice"


def params(**relation: Any) -> metamorphic.Params:
    item = {"id": "it", "points": 5, "program": "gather", "because": BECAUSE, **relation}
    return metamorphic.Params.model_validate({"items": [item], "relative_tolerance": 1e-5})


def with_cases(*observations: Observation) -> Case:
    """Return a case in which these programs were replayed on this file's inputs."""
    made = case({seen.name: seen for seen in observations})
    answers = {(name, "gather"): Answer(inputs["gather"][0]) for name, inputs in INPUTS.items()}
    return replace(made, truth=replace(made.truth, cases=INPUTS, answers=answers))


def gather(compute: Any = lambda inputs: inputs[0], **more: Any) -> Observation:
    return observed("gather", compute, cases=INPUTS, **more)


def judged(relation: dict[str, Any], *observations: Observation) -> tuple[Item, dict[str, Any]]:
    items, evidence = metamorphic.judge(params(**relation), with_cases(*observations))
    return items[0], evidence[0] if evidence else {}


def twin(compute: Any = lambda inputs: inputs[0], devices: int = 4) -> Observation:
    return replace(gather(compute), name="all_gradient", devices=devices)


@pytest.mark.parametrize("relation", RELATIONS)
def test_what_keeps_a_relation_passes(relation: str) -> None:
    item, row = judged(RELATIONS[relation], gather(), twin())
    assert (item.status, item.points, item.source) == ("passed", 5, "replayed")
    assert item.message == f"`gather`: {BECAUSE}"
    assert row == {
        "what": "relation between results",
        "program": "gather",
        "because": BECAUSE,
        "holds": True,
        "wrong_devices": [],
    }


@pytest.mark.parametrize(
    ("relation", "compute"),
    [
        ("sum", lambda inputs: inputs[0] ** 2),
        ("triple", lambda inputs: inputs[0] + 1),
        ("back", lambda inputs: np.cumsum(inputs[0])),
        ("same", lambda inputs: 1.001 * inputs[0]),
    ],
)
def test_what_breaks_it_fails_with_its_mistake(relation: str, compute: Any) -> None:
    broken = {**RELATIONS[relation], "mistake": "summed-twice"}
    item, row = judged(broken, gather(compute), twin())
    assert (item.status, item.points, item.mistake) == ("failed", 0, "summed-twice")
    assert item.message == f"`gather` does not keep this on any device: {BECAUSE}"
    assert row["holds"] is False and row["wrong_devices"] == [0, 1, 2, 3]


def test_one_replica_that_breaks_it_is_found() -> None:
    def but_one(inputs: Any) -> Any:
        right = inputs[0]
        wrong = right + (1 if np.array_equal(right, INPUTS["hidden_triple"]["gather"][0]) else 0)
        return right, right, wrong, right

    item, _ = judged(RELATIONS["triple"], gather(but_one))
    assert item.message == f"`gather` does not keep this on device 2: {BECAUSE}"


def test_a_result_that_ignores_its_input_keeps_nothing() -> None:
    item, row = judged(RELATIONS["sum"], gather(lambda inputs: np.zeros(8)))
    assert (item.status, row) == ("failed", {})
    assert item.message == "`gather` gives the same result whatever its input"


@pytest.mark.parametrize("which", ["hidden_one", "hidden_two"])
def test_a_replay_that_raised_is_no_result(which: str) -> None:
    seen = gather()
    lost = replace(seen.replays[which], shards=(), error="RuntimeError")
    item, _ = judged(RELATIONS["sum"], replace(seen, replays={**seen.replays, which: lost}))
    assert item.status == "failed"
    assert item.message == f"`gather` gave no results that can be compared: {BECAUSE}"


def test_values_that_are_not_finite_keep_nothing() -> None:
    item, _ = judged(
        RELATIONS["triple"], gather(lambda inputs: np.where(np.arange(8) == 3, np.nan, inputs[0]))
    )
    assert item.status == "failed"


def test_results_of_differing_shape_are_not_compared() -> None:
    other = replace(twin(lambda inputs: inputs[0][:4]), shape=(4,))
    item, _ = judged(RELATIONS["same"], gather(), other)
    assert item.status == "failed"


def test_a_dimension_that_is_not_there_is_no_result() -> None:
    item, _ = judged(
        {**RELATIONS["back"], "equals": [{"case": "hidden_one", "reversed": 1}]}, gather()
    )
    assert item.message == f"`gather` gave no results that can be compared: {BECAUSE}"


def test_a_program_on_one_device_is_held_against_one_on_four() -> None:
    single = twin(devices=1)
    single = replace(
        single,
        replays={
            name: replace(replay, shards=replay.shards[:1])
            for name, replay in single.replays.items()
        },
    )
    assert judged(RELATIONS["same"], gather(), single)[0].status == "passed"


def test_a_case_that_the_oracle_does_not_give_is_the_author_s_mistake() -> None:
    with pytest.raises(ContentProblem) as raised:
        judged({**RELATIONS["sum"], "case": "hidden_none"}, gather())
    assert "gives nothing for 'hidden_none'" in raised.value.sentence()


def test_a_rubric_that_names_no_program_of_the_exercise_is_refused() -> None:
    check = ENTRY.rubric.checks[0].model_copy(
        update={
            "id": "relations",
            "kind": "metamorphic",
            "items": (params(**RELATIONS["same"]).items[0].model_dump() | {"program": "nowhere"},),
            "params": {"relative_tolerance": 1e-5},
        }
    )
    rubric = ENTRY.rubric.model_copy(update={"checks": (check,), "max_points": 5})
    with pytest.raises(ContentProblem) as raised:
        checks.load(rubric, ENTRY.exercise)
    assert "exercise.toml asks for no program 'nowhere'" in raised.value.sentence()
