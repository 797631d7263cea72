"""The truth of distributed-01: its figures, and inputs that keep every mistake apart."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.command import ROOT

pytestmark = pytest.mark.once
ID = "distributed-01"
DRAWS = 200
TOLERANCE = 4e-6
Array = np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def oracle() -> ModuleType:
    spec = importlib.util.spec_from_file_location("oracle_01", ROOT / f"rubrics/{ID}/oracle.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def draws(oracle: ModuleType) -> list[tuple[str, list[Array]]]:
    """Return program and inputs of every hidden case of many draws."""
    return [
        (program, inputs)
        for seed in range(DRAWS)
        for name, programs in oracle.cases(np.random.default_rng(seed)).items()
        if name.startswith("hidden_")
        for program, inputs in programs.items()
    ]


def test_the_figures_of_the_prompt_are_those_of_its_small_example() -> None:
    prompt = (ROOT / "exercises" / ID / "prompt.md").read_text(encoding="utf-8")
    small = np.arange(32).reshape(8, 4)
    sums = small.sum(axis=1)
    assert str(small.sum(axis=0).tolist()) == "[112, 120, 128, 136]"
    assert "[112, 120, 128, 136]" in prompt
    assert sums[[0, 1, 2, -1]].tolist() == [6, 22, 38, 118]
    assert "The sums 6, 22, 38, … 118" in prompt
    assert small[2:4].ravel().tolist() == list(range(8, 16))


def test_the_exercise_follows_its_own_arrays(oracle: ModuleType) -> None:
    lesson = oracle.cases(np.random.default_rng(0))["lesson"]
    sums = oracle.answer("column_sums", lesson["column_sums"])
    np.testing.assert_array_equal(sums, 12 * 44 + 12 * np.arange(8))
    rows = oracle.answer("row_sums", lesson["row_sums"])
    np.testing.assert_array_equal(rows, 28 + 64 * np.arange(12))
    moved = oracle.answer("to_columns", lesson["to_columns"])
    np.testing.assert_array_equal(moved, oracle.HOST)
    mean = oracle.answer("masked_mean", lesson["masked_mean"])
    np.testing.assert_array_equal(mean, oracle.TEN.mean(axis=0))


def test_the_plain_mean_of_the_padded_rows_is_ten_twelfths_of_the_mean(oracle: ModuleType) -> None:
    claims = oracle.claims({}, {})
    mean, plain = claims["mean10"]["value"], claims["plain_mean"]["value"]
    np.testing.assert_allclose(plain, mean * 10 / 12)
    assert np.abs(mean - plain).max() > 0.5
    np.testing.assert_array_equal(claims["real_rows"]["value"], [3, 3, 3, 1])
    assert claims["fits"]["value"].tolist() == [1, 0, 0, 0, 1, 0, 0, 0, 1]


def test_padding_never_enters_the_mean(
    oracle: ModuleType, draws: list[tuple[str, list[Array]]]
) -> None:
    for program, inputs in draws:
        if program != "masked_mean":
            continue
        rows, mask = inputs
        counts = mask.reshape(4, 3).sum(axis=1)
        assert set(mask) == {0, 1}
        assert counts.min() < counts.max()
        assert counts.sum() != 10
        assert np.all(rows[mask == 0] != 0)
        found = oracle.answer(program, inputs)
        np.testing.assert_allclose(found, rows[mask == 1].mean(axis=0, dtype=np.float64))
        other = np.where(mask[:, None] == 1, rows, 1e6)
        np.testing.assert_allclose(oracle.answer(program, [other, mask]), found, rtol=1e-12)


def test_every_draw_has_devices_without_a_real_row(oracle: ModuleType) -> None:
    for seed in range(DRAWS):
        cases = oracle.cases(np.random.default_rng(seed))
        empty = {
            name: int((one["masked_mean"][1].reshape(4, 3).sum(axis=1) == 0).sum())
            for name, one in cases.items()
        }
        assert [empty.pop(f"hidden_bare_{number}") for number in (1, 2)] == [1, 2]
        assert set(empty.values()) == {0}


def test_a_division_on_a_device_shows_only_where_a_device_is_empty(
    oracle: ModuleType, draws: list[tuple[str, list[Array]]]
) -> None:
    """Parts that are divided by their own count, and multiplied by it again, come out right."""
    for program, inputs in draws:
        if program != "masked_mean":
            continue
        rows, mask = (np.asarray(one, np.float64).reshape(4, 3, *one.shape[1:]) for one in inputs)
        counts = mask.sum(axis=1)
        with np.errstate(invalid="ignore"):
            parts = np.einsum("dr,drc->dc", mask, rows) / counts[:, None] * counts[:, None]
        found = parts.sum(axis=0) / counts.sum()
        right = oracle.answer(program, inputs)
        assert np.isnan(found).all() if counts.min() == 0 else np.allclose(found, right)


def by_shape(oracle: ModuleType, program: str, inputs: list[Array]) -> Iterator[list[Any]]:
    """Yield truth and predictions of one shape: their mistakes, and all of them on each device."""
    right = oracle.answer(program, inputs)
    found: dict[tuple[int, ...], list[Any]] = {right.shape: [["right"], [np.stack([right] * 4)]]}
    for name, value in oracle.mistakes(program, inputs).items():
        view = np.stack(value if isinstance(value, tuple) else [value] * 4)
        names, seen = found.setdefault(view.shape[1:], [[], []])
        names.append(name.partition("/")[0])
        seen.append(view)
    for names, seen in found.values():
        yield [np.array(names), np.stack(seen).reshape(len(names), -1)]


def test_every_mistake_is_told_from_the_truth_and_from_every_other_one(
    oracle: ModuleType, draws: list[tuple[str, list[Array]]]
) -> None:
    for program, inputs in draws:
        apart = 100 * TOLERANCE * np.abs(oracle.answer(program, inputs)).max()
        for names, seen in by_shape(oracle, program, inputs):
            gaps = np.abs(seen[:, None] - seen[None]).max(axis=-1)
            close = (gaps <= apart) & (names[:, None] != names)
            assert not close.any(), f"{program}: {names[np.argwhere(close)].tolist()}"


def test_float32_in_any_order_is_within_the_tolerance(
    oracle: ModuleType, draws: list[tuple[str, list[Array]]]
) -> None:
    order = np.random.default_rng(1)
    for program, inputs in draws:
        if program == "to_columns":
            continue
        right = oracle.answer(program, inputs)
        terms = inputs[0].T if program == "row_sums" else inputs[0]
        divisor = np.float32(1)
        if program == "masked_mean":
            terms, divisor = terms * inputs[1][:, None], inputs[1].sum()
        found = np.zeros(right.shape, np.float32)
        for term in order.permutation(terms):
            found = found + term
        gap = np.abs(found / divisor - right).max()
        assert gap <= TOLERANCE / 4 * np.abs(right).max()
        half = np.abs(right.astype(np.float16) - right).max()
        assert half > 4 * TOLERANCE * np.abs(right).max()


def test_a_written_answer_is_told_from_each_of_its_mistakes(oracle: ModuleType) -> None:
    for name, claim in oracle.claims({}, {}).items():
        for mistake, wrong in claim["mistakes"].items():
            assert wrong.shape == claim["value"].shape, (name, mistake)
            assert np.abs(wrong - claim["value"]).max() > 100 * claim["atol"], (name, mistake)


@pytest.mark.parametrize("given", [{}, {"padded": np.zeros((10, 8)), "mask": np.zeros(12)}])
def test_nothing_is_replayed_on_arrays_that_do_not_fit(
    oracle: ModuleType, given: dict[str, Array]
) -> None:
    assert oracle.replays(given) == {}


def test_the_mean_is_replayed_on_the_learners_own_padded_rows(oracle: ModuleType) -> None:
    found = oracle.replays({"padded": oracle.PADDED, "mask": oracle.MASK})
    assert list(found) == ["transfer"]
    assert [array.shape for array in found["transfer"]["masked_mean"]] == [(12, 8), (12,)]
