"""A receipt is put together from a grade's parts: capped, complete, and with no fact of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from grader.catalog.models import CheckpointSpec, CheckSpec, Exercise, Program, Rubric
from grader.receipt import capped
from grader.receipt.build import Parts, build
from grader.records.evidence import Claim, Evidence, Outcome, Shard
from grader.records.finding import Finding, Item, Verdict
from grader.records.observation import Observation, Replay
from grader.records.receipt import Receipt
from grader.records.submission import Submission

EXERCISE = Exercise(
    id="toy-01", title="t", summary="s", lesson="l", minutes=1, claims=(),
    programs=(Program(name="step", arguments=()),),
)  # fmt: skip
CHECK = CheckSpec(
    id="values", kind="program_values", title="t", hint="h", params={"open_case": "lesson"},
    items=({"id": "step", "points": 1, "program": "step"},),
)  # fmt: skip
RUBRIC = Rubric(
    exercise="toy-01", max_points=1, checks=(CHECK,), mistakes=(),
    checkpoint=CheckpointSpec(answer="c", because="Both phases count."),
)  # fmt: skip
FINDING = Finding(
    id="values", kind="program_values", title="t", status="failed", points=0, max_points=1,
    message="m", mistake=None, hint="", line=None, evidence=[],
    items=[
        Item(id="step", status="failed", points=0, max_points=1, source="replayed", line=2),
    ],
)  # fmt: skip


def claim(value: Any) -> Claim:
    kind: Any = "mapping" if isinstance(value, Mapping) else "text"
    return Claim("x", kind, value=value)


def receipt(raw: bytes = b"a = 1\nb = 2\n", name: str = "s.py", **told: Any) -> Receipt:
    whole = np.arange(2, dtype=np.float32)
    shards = tuple(Shard(device, ((0, 2),), whole) for device in range(4))
    replays = {case: Replay(shards=shards) for case in ("hidden_0", "lesson")}
    claims = {key: claim(value) for key, value in told.get("claims", {}).items()}
    return build(
        Parts(
            exercise=EXERCISE,
            rubric=RUBRIC,
            rubric_sha256="a",
            seed_sha256="b",
            submission=Submission(name, name, raw),
            evidence=Evidence(outcome=told.get("outcome", Outcome("finished")), claims=claims),
            observations={"step": Observation("step", "replayed", shape=(2,), replays=replays)},
            findings=[FINDING],
            verdict=Verdict(verdict="failed", points=0, max_points=1, blame="learner"),
            platform="p",
            notes=[],
            created_at="now",
            wall_s=0.0,
        )
    )


def test_the_lessons_values_are_in_it_and_the_hidden_ones_are_not() -> None:
    (row,) = receipt().compiled_bytes.rows
    assert [one.case for one in row.stored_values] == ["lesson"]
    assert row.stored_values[0].devices[3].values == [0.0, 1.0]
    assert "hidden_0" not in receipt().model_dump_json()


def test_the_whole_submission_is_in_it() -> None:
    made = receipt("é = 1\r\n\r\nb = 2".encode())
    assert [(one.line, one.text) for one in made.source_lines] == [
        (1, "é = 1"),
        (2, ""),
        (3, "b = 2"),
    ]
    assert made.source_cut is False


@pytest.mark.parametrize(
    "raw",
    [
        b"x = 1\n" * 5000, b"y = 1 + 1" * 200 + b"\n", ("é" * 390 + "\n").encode() * 200,
    ],
)  # fmt: skip
def test_a_long_submission_is_cut_and_says_so(raw: bytes) -> None:
    made = receipt(raw)
    assert made.source_cut is True
    assert len(made.source_lines) <= capped.MOST_LINES
    assert sum(len(one.text.encode()) for one in made.source_lines) <= capped.MOST_SOURCE_BYTES


def test_a_line_in_question_is_kept_beyond_the_cut() -> None:
    made = receipt(b"x = 1\n" * 5000, outcome=Outcome("raised", "boom", 4321))
    assert made.source_lines[-1].line == 4321


def test_what_is_no_text_is_not_kept() -> None:
    assert receipt(b"a\0b\n" * 9).source_cut is None
    assert [one.line for one in receipt(b"a\0b\n" * 9).source_lines] == [2]
    assert receipt(name="s.ipynb").source_cut is None


def test_the_sentence_of_the_checkpoint_comes_with_the_answer() -> None:
    for answer, correct in ((" (C) ", True), ("a", False)):
        found = receipt(claims={"checkpoint": answer}).separate.checkpoint
        assert found is not None
        assert (found.correct, found.because) == (correct, "Both phases count.")
    assert receipt().separate.checkpoint is None


def test_a_forged_explanation_cannot_make_a_huge_receipt() -> None:
    huge = {f"{n}" + "k" * 100_000: "v" * 100_000 for n in range(200)}
    made = receipt(claims={"explanation": huge, "checkpoint": "c" * 10**6})
    assert len(made.model_dump_json()) < 100_000
    assert isinstance(made.separate.explanation, dict)
    assert made.separate.explanation["…"] == "[184 more answers left out]"
    long = receipt(claims={"explanation": "x" * 10**7}).separate.explanation
    assert str(long).endswith("more characters left out]")


def test_a_huge_message_and_traceback_are_cut() -> None:
    told = Outcome("raised", "m" * 10**6, 1, tuple("f" * 10**5 for _ in range(100)), "n" * 10**5)
    assert len(receipt(outcome=told).model_dump_json()) < 120_000


@pytest.mark.parametrize("predicted", [10**400, float("inf"), float("nan"), 2.5, True, "2", None])
def test_a_prediction_that_is_no_count_is_unknown(predicted: object) -> None:
    (row,) = receipt(claims={"prediction": {"step": predicted}}).separate.prediction or []
    assert (row.predicted, row.observed, row.agrees) == (None, 2, None)


@pytest.mark.parametrize(("predicted", "agrees"), [(2, True), (2.0, True), (8, False)])
def test_a_prediction_stands_beside_what_was_observed(predicted: float, agrees: bool) -> None:
    (row,) = receipt(claims={"prediction": {"step": predicted}}).separate.prediction or []
    assert (row.predicted, row.observed, row.agrees) == (int(predicted), 2, agrees)
