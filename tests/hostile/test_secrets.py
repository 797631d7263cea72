"""What a learner may not see is seen by none, and what later grades rely on is changed by none."""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from grader.catalog import course
from grader.catalog.load import entry
from grader.records.receipt import Receipt
from tests.command import EXERCISE, ROOT, STARTER_FILLED
from tests.hostile.attack import every
from tests.hostile.stage import Stage

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux can confine an attack"),
]
SEED = "0123456789abcdef0123456789abcdef"
# Seven digits and more: enough to tell a float32 from any other that happens to be printed.
_NUMBER = re.compile(r"\d+\.\d+(?:e[+-]?\d+)?")
_SHOWS = """
import jax
from jax._src import debugging


def shown(function):
    def shows(*arguments):
        print("called with", arguments, [repr(one) for one in arguments], flush=True)
        jax.debug.print("really {}", arguments[0])
        jax.debug.callback(lambda *values: print(values), *arguments)
        return function(*arguments)

    return shows


all_gradient, shard_gradient, gather = map(shown, (all_gradient, shard_gradient, gather))
np.set_printoptions(precision=9, threshold=10**6, floatmode="maxprec")
updated = gather(new_w)
"""


def hidden_values() -> set[float]:
    """Return every number of the hidden inputs and of their right answers."""
    found = entry(course.Course(ROOT), EXERCISE)
    cases = found.oracle.cases(bytes.fromhex(SEED))
    values: list[np.ndarray] = []
    for case, programs in cases.items():
        if case.startswith("hidden_"):
            for program, inputs in programs.items():
                values += [*inputs, found.oracle.answer(program, inputs).value]
    return {abs(float(number)) for array in values for number in np.ravel(array)} - {0.0, 1.0}


def test_hidden_inputs_and_answers_are_shown_to_nobody(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "stage")
    stage.set()
    stage.put("shows.py", STARTER_FILLED.read_text(encoding="utf-8") + _SHOWS)
    options = ["--no-cache", "--seed", SEED, "--out", str(stage.out)]
    ended = stage.run(EXERCISE, *options, "--", "shows.py")
    forms = stage.receipts("shows")
    receipt = Receipt.model_validate_json(forms["json"])
    assert receipt.environment.seed_sha256 == hashlib.sha256(bytes.fromhex(SEED)).hexdigest()
    assert receipt.outcome.kind == "finished"
    assert "called with" in receipt.output.text
    texts = [ended.stdout, ended.stderr, *(raw.decode("utf-8") for raw in forms.values())]
    told = {number for text in texts for number in _NUMBER.findall(text)}
    exact = np.array([float(t) for t in told if sum(c.isdigit() for c in t.strip("0.")) >= 7])
    hidden = np.array(sorted(hidden_values()))
    assert hidden.size > 100
    near = np.isclose(exact[:, None], hidden[None, :], rtol=2e-7, atol=0)
    assert exact[near.any(axis=1)].tolist() == []


def test_no_submission_changes_the_cache_that_later_ones_read(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "stage")
    stage.set()
    stage.put("right.py", STARTER_FILLED.read_text(encoding="utf-8"))
    first = stage.run(EXERCISE, "--out", stage.out, "--", "right.py")
    assert (first.code, first.left) == (0, []), first.stderr
    cache = stage.home / "cache"
    before = {path: path.read_bytes() for path in cache.rglob("*") if path.is_file()}
    places = [str(path) for path in (cache, *cache.rglob("*")) if path.is_dir()]
    assert before, "the first grade fills the cache"
    source = every()["cache_of_programs"].source({"folders": places})
    stage.put("poison.py", source)
    poison = stage.run(EXERCISE, "--out", stage.out, "--", "poison.py")
    assert (poison.code, poison.left) == (1, []), poison.stderr
    assert {path: path.read_bytes() for path in cache.rglob("*") if path.is_file()} == before
    last = stage.run(EXERCISE, "--out", stage.out, "--", "right.py")
    assert (last.code, last.left) == (0, []), last.stderr
