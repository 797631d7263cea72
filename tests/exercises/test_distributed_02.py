"""The truth of distributed-02 is the lesson's, and every draw keeps its mistakes apart."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from grader.catalog.oracle import Oracle
from tests.command import ROOT

EXERCISE = "distributed-02"
PROGRAMS = ("train_step.new_w", "train_step.loss", "train_step.gradient", "global_gradient")
TOLERANCE = 4e-6
# Told apart by how often a program asks for a reduction, or by what the compiler gathers.
ALIKE = (
    {"local-means-summed", "gradient-summed-twice", "replicated-inputs"},
    {"halved", "divided-again"},
)
DRAWS = 60

XH = np.array([[1, 0], [0, 1], [1, 1], [2, 0], [0, 2], [2, 1], [1, 2], [2, 2]], np.float32)

pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    return Oracle.load(ROOT / "rubrics" / EXERCISE / "oracle.py")


@pytest.fixture(scope="module")
def draws(oracle: Oracle) -> list[dict[str, dict[str, list[Any]]]]:
    """Return the hidden cases of many seeds."""
    found = [oracle.cases(number.to_bytes(4, "little")) for number in range(DRAWS)]
    return [{name: one for name, one in cases.items() if name != "lesson"} for cases in found]


def inputs_of(case: dict[str, list[Any]], name: str) -> list[Any]:
    return case[name.partition(".")[0]]


def distance(one: Any, other: Any, scale: float) -> float:
    """Return the largest difference of two predictions on any device, infinite between shapes."""
    views = [list(a) if isinstance(a, tuple) else [a] * 4 for a in (one, other)]
    if np.shape(views[0][0]) != np.shape(views[1][0]):
        return np.inf
    return max(float(np.abs(a - b).max()) for a, b in zip(*views, strict=True)) / scale


# ------------------------------------------------------------------------------- the lesson's facts


def test_the_oracle_gives_the_lessons_own_step(oracle: Oracle) -> None:
    zero, y = np.zeros(2, np.float32), XH @ np.array([2, -1], np.float32)
    found = {name: oracle.answer(name, [zero, XH, y]).value for name in PROGRAMS}
    assert found["train_step.loss"] == 4.875
    np.testing.assert_array_equal(found["train_step.gradient"], [-5.25, -0.75])
    np.testing.assert_array_equal(found["global_gradient"], [-5.25, -0.75])
    # The lesson's rate is twice the exercise's: from (0, 0) twice this step is (0.525, 0.075).
    np.testing.assert_allclose(2 * found["train_step.new_w"], [0.525, 0.075])


def test_another_order_of_the_rows_changes_no_answer(oracle: Oracle, draws: Any) -> None:
    order = [3, 0, 6, 1, 7, 4, 2, 5]
    for case in draws[0].values():
        w, x, y = case["train_step"]
        for name in PROGRAMS:
            one, other = (oracle.answer(name, [w, x[o], y[o]]).value for o in (range(8), order))
            np.testing.assert_allclose(one, other, rtol=1e-12)


def test_a_gradient_is_the_slope_of_the_loss(oracle: Oracle, draws: Any) -> None:
    w, x, y = draws[0]["hidden_0"]["train_step"]
    w = w.astype(np.float64)

    def loss(at: Any) -> float:
        return float(oracle.answer("train_step.loss", [at, x, y]).value)

    slope = [(loss(w + 1e-5 * e) - loss(w - 1e-5 * e)) / 2e-5 for e in np.eye(2)]
    found = oracle.answer("train_step.gradient", [w, x, y]).value
    np.testing.assert_allclose(found, slope, rtol=1e-6)


def test_joined_means_are_the_mean_of_all_rows(oracle: Oracle) -> None:
    parts = [np.arange(n, dtype=np.float64).reshape(n, 1) * [1, -2] + n for n in (1, 5, 2, 4)]
    means, counts = np.stack([p.mean(axis=0) for p in parts]), np.array([1, 5, 2, 4])
    found = oracle.answer("combine", [means, counts]).value
    np.testing.assert_allclose(found, np.concatenate(parts).mean(axis=0))


# ------------------------------------------------------------------------ what the draws keep apart


@pytest.mark.parametrize("name", [*PROGRAMS, "combine"])
def test_each_mistake_is_apart_from_the_truth_and_from_the_others(
    oracle: Oracle, draws: Any, name: str
) -> None:
    for cases in draws:
        far: dict[tuple[str, str], float] = {}
        for case in cases.values():
            answer = oracle.answer(name, inputs_of(case, name))
            scale = float(np.abs(answer.value).max())
            known = {"right": answer.value, **answer.mistakes}
            for (a, one), (b, other) in itertools.combinations(known.items(), 2):
                gap = distance(one, other, scale)
                far[a, b] = max(far.get((a, b), 0.0), gap)
        for (a, b), gap in far.items():
            ids = {a.partition("/")[0], b.partition("/")[0]}
            if len(ids) == 2 and not any(ids <= alike for alike in ALIKE):
                assert gap > 100 * TOLERANCE, (a, b)


def test_no_order_of_summation_in_float32_comes_near_the_tolerance(
    oracle: Oracle, draws: Any
) -> None:
    worst = 0.0
    for case in itertools.chain.from_iterable(cases.values() for cases in draws):
        w, x, y = case["train_step"]
        terms = np.float32(2) * x * (x @ w - y)[:, None]
        right = oracle.answer("global_gradient", [w, x, y]).value
        for order in (range(8), range(7, -1, -1), (0, 4, 1, 5, 2, 6, 3, 7)):
            total = np.zeros(2, np.float32)
            for row in order:
                total = total + terms[row]
            worst = max(worst, float(np.abs(total / 8 - right).max() / np.abs(right).max()))
    assert worst < TOLERANCE / 4


def test_a_hidden_batch_of_parts_never_has_eight_rows(draws: Any) -> None:
    counts = [case["combine"][1] for cases in draws for case in cases.values()]
    assert all(len(set(c.tolist())) == 4 and c.sum() != 8 and c.min() >= 1 for c in counts)


# ---------------------------------------------------------------------------------- written answers


def own_step(oracle: Oracle, mistake: str) -> dict[str, Any]:
    """Return what a program with one mistake in its gradient gives on the exercise's inputs."""
    inputs = oracle.cases(b"any ")["lesson"]["train_step"]
    own = {}
    for name in ("train_step.new_w", "train_step.loss"):
        answer = oracle.answer(name, inputs)
        own[name] = answer.mistakes.get(mistake, answer.value)
    return own


def test_ten_steps_are_the_hosts_own_loop(oracle: Oracle) -> None:
    w, y, losses = np.array([0.2, -0.1]), XH @ np.array([-1, 3]), []
    for _ in range(10):
        losses.append(np.mean((XH @ w - y) ** 2))
        w = w - 0.05 * 2 / 8 * XH.T @ (XH @ w - y)
    found = oracle.claims({}, {})
    assert found["w10"].value is not None and found["losses"].value is not None
    np.testing.assert_allclose(found["w10"].value, w, rtol=1e-6)
    np.testing.assert_allclose(found["losses"].value, losses, rtol=1e-6)


@pytest.mark.parametrize("mistake", ["local-means-summed", "halved", "not-subtracted"])
def test_ten_steps_of_a_wrong_program_are_known_as_its_consequence(
    oracle: Oracle, mistake: str
) -> None:
    found = oracle.claims({}, own_step(oracle, mistake))
    grown = mistake == "not-subtracted"
    assert (found["w10"].value is None) == grown, "what has run away is not compared at all"
    if not grown:
        assert found["w10"].other is not None and found["w10"].value is not None
        assert np.abs(found["w10"].other - found["w10"].value).max() > 1e-3


def test_what_follows_from_a_step_that_nothing_explains_waits_unless_it_is_right(
    oracle: Oracle,
) -> None:
    own = own_step(oracle, "") | {"train_step.new_w": np.array([7.0, 7.0])}
    right = oracle.claims({}, {})
    w10 = right["w10"].value
    assert w10 is not None
    found = oracle.claims({"w10": w10, "losses": np.zeros(10)}, own)
    assert found["w10"].value is not None and np.array_equal(found["w10"].value, w10)
    assert (found["losses"].value, found["losses"].needs) == (None, "train_step")


@pytest.mark.parametrize(
    ("order", "mistake"),
    [(list(range(8)), "order-unchanged"), ([0, 0, 1, 2, 3, 4, 5, 6], "not-an-order")],
)
def test_an_order_that_is_none_is_told_which_way(
    oracle: Oracle, order: list[int], mistake: str
) -> None:
    given = np.array(order)
    found = oracle.claims({"order": given}, {})["order"]
    assert found.value is not None and not np.array_equal(found.value, given)
    np.testing.assert_array_equal(found.mistakes[mistake], given)


def test_rows_in_an_order_of_their_own_are_known(oracle: Oracle) -> None:
    order, other = np.array([3, 0, 6, 1, 7, 4, 2, 5]), np.arange(8)[::-1]
    found = oracle.claims({"order": order, "xp": XH[other]}, {})
    assert "another-order" in found["xp"].mistakes
    strange = oracle.claims({"order": order, "xp": XH[other] + 1}, {})
    assert "another-order" not in strange["xp"].mistakes


def test_an_order_that_is_its_own_inverse_names_both_mistakes_of_a_pair(oracle: Oracle) -> None:
    backwards = oracle.claims({"order": np.arange(8)[::-1]}, {})["gp"].mistakes
    assert "rows-only-permuted-or-labels-only-permuted" in backwards
    turned = oracle.claims({"order": np.array([3, 0, 6, 1, 7, 4, 2, 5])}, {})["gp"].mistakes
    assert {"rows-only-permuted", "labels-only-permuted"} <= set(turned)


def test_nothing_that_a_learner_gives_breaks_the_oracle(oracle: Oracle) -> None:
    for odd in (np.zeros(()), np.zeros((0,)), np.full((8, 2), 1e300), np.zeros((8, 1, 1))):
        given = dict.fromkeys(("order", "xp", "yp", "gp", "w10", "losses", "joined"), odd)
        own = dict.fromkeys((*PROGRAMS, "permuted/train_step.gradient"), odd)
        assert set(oracle.claims(given, own)) == set(given)
        oracle.replays(given)
