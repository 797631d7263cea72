from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from grader.errors import ContentProblem
from grader.records.observation import Replay
from tests.checks.factory import (
    CASES,
    CHECKS,
    GATHER,
    ORACLE,
    PROGRAMS,
    PSUM,
    Array,
    Compute,
    asked,
    case,
    judge,
    observed,
    part,
    replicated,
    right,
    split,
    stored,
)

GRADIENTS = ("all_gradient", "shard_gradient")
HIDDEN = [name for name in CASES if name.startswith("hidden")]


def values(program: str, compute: Compute, **changes: Any):  # type: ignore[no-untyped-def]
    """Return the finding and the item of one program that computes something else."""
    finding = judge("values", case({program: observed(program, compute, **changes)}))
    return finding, part(finding, program)


# ----------------------------------------------------------------------------------------- passing


def test_right_values_on_every_device_pass() -> None:
    finding = judge("values", case())
    assert (finding.status, finding.points, finding.message) == ("passed", 24, "all 3 parts hold")
    assert (finding.mistake, finding.hint, finding.line) == (None, "", None)
    assert {item.source for item in finding.items} == {"replayed"}


def test_how_far_off_each_program_was_is_evidence() -> None:
    evidence = judge("values", case()).evidence
    assert [row["program"] for row in evidence] == list(PROGRAMS)
    for row in evidence:
        for share in ("on 4 hidden inputs", "on the lesson's own"):
            assert row[share] < row["allowed"] == TOLERANCE
        assert row["wrong_devices"] == []


def test_the_layout_is_not_judged_here() -> None:
    assert values("shard_gradient", right("shard_gradient"), layout="replicated")[1].points == 8
    assert values("all_gradient", right("all_gradient"), layout="split")[1].points == 8


def in_any_order(rng: np.random.Generator, x: Array, y: Array, w: Array) -> Array:
    """Return the gradient in float32, every sum in an order of its own.

    The devices are summed apart, as a ring does it, or all rows in one go.
    """
    columns, rows = rng.permutation(8), rng.permutation(16)
    residual = np.zeros(16, np.float32)
    for column in columns:
        residual = residual + x[:, column] * w[column]
    terms = np.float32(2) * x * (residual - y)[:, None]
    blocks = [rows] if rng.random() < 0.5 else [rng.permutation(4) + 4 * d for d in range(4)]
    early = rng.random() < 0.5
    terms = terms / np.float32(16) if early else terms
    total = np.zeros(8, np.float32)
    for block in blocks:
        partial = np.zeros(8, np.float32)
        for row in block:
            partial = partial + terms[row]
        total = total + partial
    return total if early else total / np.float32(16)


def draws(count: int) -> Iterator[tuple[str, list[Array]]]:
    for seed in range(count):
        for name, programs in ORACLE.cases(seed.to_bytes(4, "big")).items():
            if name.startswith("hidden"):
                yield name, programs["all_gradient"]


TOLERANCE = CHECKS["values"].params.relative_tolerance  # type: ignore[attr-defined]


def share(found: Any, reference: Array) -> float:
    gap = np.abs(np.asarray(found, np.float64) - reference).max()
    return float(gap / np.abs(reference).max())


def test_any_order_of_float32_sums_is_far_inside_and_16_bits_far_outside() -> None:
    rng = np.random.default_rng(7)
    inside, half, brain = 0.0, np.inf, np.inf
    for _name, inputs in draws(100):
        reference = ORACLE.answer("all_gradient", inputs).value
        for _ in range(3):
            inside = max(inside, share(in_any_order(rng, *inputs), reference))
        half = min(half, share(reference.astype(np.float16), reference))
        brain = min(brain, share(reference.astype(ml_dtypes.bfloat16), reference))
    assert inside < TOLERANCE / 4
    assert half > TOLERANCE * 2
    assert brain > TOLERANCE * 20


def test_no_draw_has_labels_close_to_the_prediction() -> None:
    for _name, (x, y, w) in draws(200):
        xw = x.astype(np.float64) @ w
        assert np.linalg.norm(xw - y) >= 0.3 * (np.linalg.norm(xw) + np.linalg.norm(y))


def test_draws_differ_in_scale_and_fill_every_slice() -> None:
    largest: dict[str, list[float]] = {}
    for name, inputs in draws(20):
        slices = np.abs(ORACLE.answer("all_gradient", inputs).value.reshape(4, 2)).max(axis=1)
        assert slices.min() > 0.05 * slices.max()
        largest.setdefault(name, []).append(slices.max())
    middle = sorted(float(np.median(found)) for found in largest.values())
    assert middle[-1] / middle[0] > 1000


def test_a_solution_in_any_order_passes_with_any_seed() -> None:
    rng = np.random.default_rng(3)
    for program in GRADIENTS:
        for _ in range(10):
            assert values(program, lambda inputs: in_any_order(rng, *inputs))[1].status == "passed"


# ------------------------------------------------------------------------------------------ failing


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(
    "change",
    [
        lambda g: 0 * g,
        lambda g: -g,
        lambda g: g / 2,
        lambda g: 2 * g,
        lambda g: g[::-1],
        lambda g: g.astype(np.float16),
        lambda g: g.astype(ml_dtypes.bfloat16),
        lambda g: g * (1 + 1e-5),
        lambda g: np.where(np.arange(8) == 5, 0, g),
        lambda g: np.where(np.arange(8) == 5, np.nan, g),
        lambda g: np.where(np.arange(8) == 0, np.inf, g),
        lambda g: np.full(8, np.nan),
    ],
    ids=[
        *("zeros", "sign", "half", "twice", "turned round", "float16", "bfloat16", "a little"),
        *("one value missing", "one NaN", "one infinity", "only NaN"),
    ],
)
def test_wrong_values_earn_nothing(program: str, change: Any) -> None:
    finding, item = values(program, lambda inputs: change(right(program)(inputs)))
    assert (finding.status, item.status, item.points, finding.points) == ("failed", "failed", 0, 16)
    assert item.line == 10 + PROGRAMS.index(program)


@pytest.mark.parametrize("name", CASES)
def test_one_wrong_case_is_enough_to_fail(name: str) -> None:
    seen = observed("all_gradient")
    zeros = Replay(replicated(np.zeros(8, np.float32)))
    wrong = replace(seen, replays={**seen.replays, name: zeros})
    item = part(judge("values", case({"all_gradient": wrong})), "all_gradient")
    assert item.status == "failed"
    assert "1 of 5 inputs" in item.message


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("lost", [None, Replay(), Replay(error="ValueError: no")], ids=str)
def test_a_case_without_a_result_is_no_pass(name: str, lost: Replay | None) -> None:
    seen = observed("all_gradient")
    replays = {n: r for n, r in seen.replays.items() if n != name}
    if lost is not None:
        replays[name] = lost
    item = part(
        judge("values", case({"all_gradient": replace(seen, replays=replays)})), "all_gradient"
    )
    assert (item.status, item.points) == ("failed", 0)
    expected = "raised when it was replayed: ValueError: no" if lost and lost.error else "0 of 4"
    assert expected in item.message


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("device", range(4))
def test_a_missing_shard_is_no_pass(program: str, device: int) -> None:
    seen = observed(program)
    replays = {
        name: Replay(tuple(s for s in replay.shards if s.device != device))
        for name, replay in seen.replays.items()
    }
    item = part(judge("values", case({program: replace(seen, replays=replays)})), program)
    assert item.status == "failed"
    assert item.message == f"`{program}` left its result on 3 of 4 devices"


def test_one_wrong_replica_is_told_with_its_device() -> None:
    def compute(inputs: list[Array]) -> tuple[Array, ...]:
        g = right("all_gradient")(inputs)
        return g, g, g + 1, g

    item = values("all_gradient", compute)[1]
    assert "is wrong on device 2 for 5 of 5 inputs" in item.message
    assert item.mistake is None


def test_another_global_shape_is_told() -> None:
    item = values("gather", lambda inputs: right("gather")(inputs).reshape(2, 4))[1]
    assert item.message == "`gather` gives a global shape (2, 4), not (8,)"
    assert item.mistake is None


def test_a_wrong_value_without_a_known_mistake_names_none() -> None:
    finding, item = values("all_gradient", lambda inputs: right("all_gradient")(inputs) + 3)
    assert (item.mistake, finding.mistake, finding.mistake_title) == (None, None, None)
    assert finding.hint == CHECKS["values"].spec.hint


# ---------------------------------------------------------------------------------------- mistakes

# Told apart by a second observation, see below.
FOUR_TIMES = {"local-mean", "summed-twice", "replicated-inputs"}
PREDICTED = sorted(
    (program, key)
    for program in PROGRAMS
    for key in ORACLE.answer(program, CASES["lesson"][program]).mistakes
    if key not in FOUR_TIMES
)


@pytest.mark.parametrize(("program", "key"), PREDICTED, ids=str)
def test_a_result_that_a_mistake_predicts_names_it(program: str, key: str) -> None:
    finding, item = values(program, lambda inputs: ORACLE.answer(program, inputs).mistakes[key])
    assert item.mistake == key.partition("/")[0]
    words = finding.mistake_title
    assert words is not None and finding.hint != CHECKS["values"].spec.hint


def test_mistakes_that_are_named_never_pass_for_another() -> None:
    for program in PROGRAMS:
        for name in HIDDEN:
            answer = ORACLE.answer(program, CASES[name][program])
            views = {k: v for k, v in answer.mistakes.items() if not isinstance(v, tuple)}
            for (one, a), (two, b) in itertools.combinations(views.items(), 2):
                same = a.shape == b.shape and share(a, np.asarray(b)) < 10 * TOLERANCE
                assert not same or {one, two} <= FOUR_TIMES


def four_times(inputs: list[Array]) -> Array:
    return 4 * ORACLE.answer("all_gradient", inputs).value


@pytest.mark.parametrize(
    ("requested", "mistake"),
    [
        ((PSUM,), "local-mean"),
        ((PSUM, PSUM), "summed-twice"),
        ((PSUM, PSUM, PSUM), "summed-twice"),
        ((PSUM, replace(PSUM, operand="f32[]")), "local-mean"),
        ((), "local-mean-or-summed-twice"),
    ],
    ids=["one", "two", "three", "one and a scalar", "none"],
)
def test_four_times_the_gradient_is_told_apart_by_the_reductions(
    requested: tuple[Any, ...], mistake: str
) -> None:
    finding, item = values("all_gradient", four_times, requested=asked(*requested))
    assert item.mistake == mistake
    assert finding.mistake_title is not None
    assert ("; or " in finding.mistake_title) == ("-or-" in mistake)


def test_four_times_the_gradient_with_gathered_inputs_is_told_from_local_means() -> None:
    hidden_gather = replace(GATHER, operand="f32[4,8]", by_compiler=True)
    found = {"requested": asked(PSUM), "compiled": (hidden_gather, PSUM)}
    assert values("all_gradient", four_times, **found)[1].mistake == "replicated-inputs"
    asked_for = replace(hidden_gather, by_compiler=False)
    found["compiled"] = (asked_for, PSUM)
    assert values("all_gradient", four_times, **found)[1].mistake == "local-mean"


@pytest.mark.parametrize("narrow", [np.float16, ml_dtypes.bfloat16], ids=lambda d: d.__name__)
def test_a_16_bit_type_inside_the_program_is_named_low_precision(narrow: Any) -> None:
    kind = {"float16": "f16", "bfloat16": "bf16"}[narrow.__name__]

    def compute(inputs: list[Array]) -> Array:
        rounded: Array = right("all_gradient")(inputs).astype(narrow)
        return rounded

    types = ("f32", kind)
    assert values("all_gradient", compute, element_types=types)[1].mistake == "low-precision"
    assert values("all_gradient", compute)[1].mistake is None
    far = values("all_gradient", lambda inputs: 0 * compute(inputs), element_types=types)
    assert far[1].mistake is None


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_lessons_own_numbers_on_every_input_are_named_hard_coded(program: str) -> None:
    lesson = right(program)(CASES["lesson"][program])
    finding, item = values(program, lambda _inputs: lesson)
    assert item.mistake == "hard-coded"
    assert "for 4 of 5 inputs (right for the lesson's own)" in item.message
    assert finding.points == 16


@pytest.mark.parametrize("device", range(4))
def test_one_right_replica_is_named(device: int) -> None:
    def compute(inputs: list[Array]) -> tuple[Array, ...]:
        g = right("all_gradient")(inputs)
        return tuple(g if d == device else 0 * g for d in range(4))

    assert values("all_gradient", compute)[1].mistake == "one-replica-only"


def test_one_right_slice_is_not_called_a_replica() -> None:
    def compute(inputs: list[Array]) -> Array:
        return np.where(np.arange(8) < 2, right("shard_gradient")(inputs), 0)

    assert values("shard_gradient", compute)[1].mistake is None


def test_a_mistake_must_fit_every_hidden_case() -> None:
    seen = observed("all_gradient", lambda inputs: -right("all_gradient")(inputs))
    other = Replay(stored(np.ones(8), "replicated"))
    mixed = replace(seen, replays={**seen.replays, HIDDEN[1]: other})
    assert part(judge("values", case({"all_gradient": mixed})), "all_gradient").mistake is None


def test_slices_on_the_wrong_devices_are_told_by_their_values() -> None:
    seen = observed("shard_gradient")
    turned = {
        name: Replay(split(np.asarray(right("shard_gradient")(CASES[name]["shard_gradient"])), 1))
        for name in CASES
    }
    item = part(
        judge("values", case({"shard_gradient": replace(seen, replays=turned)})), "shard_gradient"
    )
    assert item.status == "passed", "the global array is right; shard_shapes tells the order"


# ----------------------------------------------------------------------------------------- content


@pytest.mark.parametrize("missing", ["hidden", "lesson"])
def test_an_oracle_without_the_inputs_is_a_content_problem(missing: str) -> None:
    given = case()
    kept = {n: c for n, c in CASES.items() if not n.startswith(missing)}
    answers = {k: a for k, a in given.truth.answers.items() if k[0] in kept}
    with pytest.raises(ContentProblem, match=r"oracle\.py: cases\(\)"):
        judge("values", replace(given, truth=replace(given.truth, cases=kept, answers=answers)))
