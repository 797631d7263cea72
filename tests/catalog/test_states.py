"""The states of a round trip as the oracle draws them, and what is said of wrong ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from grader.catalog.models import Exercise, RoundTrip
from grader.catalog.oracle import Oracle
from grader.errors import ContentProblem

pytestmark = pytest.mark.once
TRIP = RoundTrip.model_validate(
    {
        "name": "kept",
        "leaves": [
            {"name": "v", "shape": [2], "dtype": "float32"},
            {"name": "key", "shape": [2], "dtype": "uint32"},
        ],
    }
)
OTHERS = "".join(
    f"def {name}(*_args): return {{}}\n"
    for name in ("cases", "answer", "mistakes", "claims", "replays", "figures", "rows")
)
STATES = """
def state(rng): return {"v": rng.random(2), "key": [1, 2**32 - 1]}
def states(rng): return {"kept": [state(rng), state(rng)]}
def lost(name, saved, other): return {"other": other, "zeros": {"v": 0 * saved["v"]}}
"""


def oracle(folder: Path, text: str) -> Oracle:
    place = folder / "oracle.py"
    place.write_text(OTHERS + text, encoding="utf-8")
    return Oracle.load(place)


def test_each_state_has_its_dtypes_and_knows_the_other(tmp_path: Path) -> None:
    first, second = oracle(tmp_path, STATES).states(b"seed", [TRIP])["kept"]
    assert {name: value.dtype.name for name, value in first.leaves.items()} == {
        "v": "float32",
        "key": "uint32",
    }
    np.testing.assert_array_equal(first.mistakes["other"]["v"], second.leaves["v"])
    np.testing.assert_array_equal(second.mistakes["other"]["v"], first.leaves["v"])
    assert list(first.mistakes["zeros"]) == ["v"]


def test_states_follow_from_the_seed_and_not_with_the_hidden_numbers(tmp_path: Path) -> None:
    text = STATES.replace("def states", "def cases(rng): return state(rng)\ndef states")
    made = oracle(tmp_path, text)
    first, again = (made.states(b"seed", [TRIP])["kept"][0].leaves["v"] for _ in range(2))
    np.testing.assert_array_equal(first, again)
    hidden = np.asarray(made.cases(b"seed")["v"], np.float32)
    assert not np.any(hidden == first)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "oracle.py does not define states and lost, which round_trips need"),
        (
            STATES.replace("[state(rng), state(rng)]", "[state(rng)]"),
            "oracle.py: states() gives too few states of 'kept' (1, not two or more)",
        ),
        (
            STATES.replace('"key"', '"keys"'),
            "oracle.py: states() gives a state of 'kept' with the leaves v, keys",
        ),
        (
            STATES.replace("random(2)", "random(3)"),
            "oracle.py: states() gives kept.v of shape (3,)",
        ),
    ],
)
def test_wrong_states_are_the_authors_to_mend(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ContentProblem) as found:
        oracle(tmp_path, text).states(b"seed", [TRIP])
    assert found.value.what == told


def test_an_oracle_without_round_trips_needs_no_states(tmp_path: Path) -> None:
    assert oracle(tmp_path, "").states(b"seed", []) == {}


def test_a_round_trip_and_a_program_have_different_names() -> None:
    program = {"name": "kept", "arguments": []}
    facts = {"id": "a-01", "title": "", "summary": "", "lesson": "", "minutes": 1, "claims": []}
    with pytest.raises(ValueError, match="two programs or round trips are called kept"):
        Exercise.model_validate(
            {**facts, "programs": [program], "round_trips": [TRIP.model_dump()]}
        )
