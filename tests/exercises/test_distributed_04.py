"""The truth of distributed-04 draws as JAX does, and every draw keeps its mistakes apart."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.command import ROOT, environment

EXERCISE = "distributed-04"
PLACE = ROOT / "rubrics" / EXERCISE / "oracle.py"
DRAWS = 60
TOLERANCE = 4e-6
AGAINST_JAX = """
import importlib.util, sys
import jax, numpy as np
spec = importlib.util.spec_from_file_location("oracle", sys.argv[1])
oracle = importlib.util.module_from_spec(spec)
spec.loader.exec_module(oracle)
rng = np.random.default_rng(1)
for number in range(40):
    raw = rng.integers(0, 2**32, 2, dtype=np.uint32)
    key = jax.random.wrap_key_data(raw)
    pair = jax.random.key_data(jax.random.split(key))
    assert np.array_equal(pair, np.stack(oracle.split(raw))), raw
    assert np.array_equal(jax.random.permutation(key, 12), oracle.permutation(raw)), raw
    order = rng.permutation(12).astype(np.int32)
    assert np.array_equal(jax.random.permutation(key, order), oracle.permutation(raw, order)), raw
assert np.array_equal(jax.random.key_data(jax.random.key(7)), oracle.SEED_KEY)
assert np.array_equal(jax.random.key_data(jax.random.key(8)), oracle.OTHER_KEY)
print("alike")
"""


@pytest.fixture(scope="module")
def oracle() -> ModuleType:
    spec = importlib.util.spec_from_file_location("oracle_04", PLACE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def draws(oracle: ModuleType) -> list[list[list[Any]]]:
    """Return the inputs of the hidden cases of many seeds."""
    found = [oracle.cases(np.random.default_rng(seed)) for seed in range(DRAWS)]
    return [[c["transition"] for n, c in one.items() if n.startswith("hidden_")] for one in found]


def test_keys_and_orders_are_those_of_jax() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", AGAINST_JAX, str(PLACE)],
        env={**environment(), "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.stdout.strip() == "alike", ran.stderr


@pytest.mark.once
def test_an_epoch_uses_each_row_once_and_the_next_has_another_order(oracle: ModuleType) -> None:
    after, ids = oracle.transition_many(oracle.start(), 6)
    for epoch in (ids[:3], ids[3:]):
        assert sorted(epoch.ravel()) == list(range(12))
    assert not np.array_equal(ids[:3], ids[3:])
    assert (after["cursor"], after["step"]) == (0, 6)


@pytest.mark.once
def test_a_wrong_key_shows_when_the_epoch_has_ended(oracle: ModuleType) -> None:
    right = oracle.claims({}, {})
    wrong, ids = right["wrong_key_ids"]["value"], right["ids5"]["value"]
    np.testing.assert_array_equal(wrong[0], ids[0])
    assert not np.array_equal(wrong[1:4], ids[1:4])
    apart = np.abs(right["w_without_momentum"]["value"] - right["w5"]["value"]).max()
    assert apart > 1000 * right["w5"]["atol"]


@pytest.mark.once
def test_no_written_answer_is_right_by_a_known_mistake(oracle: ModuleType) -> None:
    for name, expected in oracle.claims({}, {}).items():
        for mistake, wrong in expected["mistakes"].items():
            apart = (
                np.abs(wrong - expected["value"]).max()
                if (wrong.shape == expected["value"].shape)
                else np.inf
            )
            assert apart > 10 * expected["atol"], (name, mistake)


@pytest.mark.once
def test_each_mistake_is_wrong_somewhere_and_none_looks_like_another(
    oracle: ModuleType, draws: list[list[list[Any]]]
) -> None:
    rules = ("right", *oracle.RULES)
    alike = [[a.partition("/")[0] == b.partition("/")[0] for b in rules] for a in rules]
    for cases in draws:
        shown = np.stack([_shown(oracle, cases, rule) for rule in rules])
        apart = np.abs(shown[:, None] - shown[None]).max(axis=-1)
        close = (apart <= 10 * TOLERANCE) & ~np.array(alike)
        assert not close.any(), [(rules[a], rules[b]) for a, b in np.argwhere(close)]


def _shown(oracle: ModuleType, cases: list[list[Any]], rule: str) -> Any:
    """Return all that a rule gives on these cases in one row, each value by its right size."""
    pieces = []
    for inputs in cases:
        state, xs, ys = oracle._of(inputs)
        given, right = (oracle.transition(state, xs, ys, one) for one in (rule, "right"))
        for name in oracle.RESULTS:
            size = max(float(np.abs(right[name]).max()), 1.0)
            pieces.append(np.ravel(given[name]).astype(np.float64) / size)
    return np.concatenate(pieces)


@pytest.mark.once
def test_what_is_lost_of_a_state_shows(oracle: ModuleType) -> None:
    for seed in range(DRAWS):
        first, second = oracle.states(np.random.default_rng(seed))["restored"]
        for saved, other in ((first, second), (second, first)):
            for mistake, leaves in oracle.lost("restored", saved, other).items():
                changed = [n for n, a in leaves.items() if not np.array_equal(a, saved[n])]
                assert changed, mistake
