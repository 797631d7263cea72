from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.catalog.oracle import Oracle
from grader.errors import ContentProblem
from tests.catalog.course import ID, ORACLE, make, spoil

FILE = f"rubrics/{ID}/oracle.py"


def oracle(root: Path, old: str = "", new: str = "") -> Oracle:
    make(root)
    if old:
        spoil(root, FILE, old, new)
    return Oracle.load(root / FILE)


def test_a_good_oracle_gives_inputs_answers_and_mistakes(tmp_path: Path) -> None:
    found = oracle(tmp_path)
    cases = found.cases(b"seed")
    assert set(cases) == {"hidden_0", "lesson"}
    answer = found.answer("double", cases["lesson"]["double"])
    np.testing.assert_array_equal(answer.value, np.full(4, 2.0))
    np.testing.assert_array_equal(answer.mistakes["halved"], np.full(4, 0.5))
    assert found.claims({}, {})["answer"].atol == 1e-6
    assert found.replays({}) == {}
    assert found.figures() == {"bytes": {"right": 48.0}}
    assert found.rows() == {"right": {2: {"a": 1.0}}}


@pytest.mark.parametrize("seed", [b"\0", b"abc", b"\xff" * 32, bytes(range(33))])
def test_the_same_seed_draws_the_same_inputs(tmp_path: Path, seed: bytes) -> None:
    found = oracle(tmp_path)
    first, again = (found.cases(seed)["hidden_0"]["double"][0] for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, found.cases(seed + b"x")["hidden_0"]["double"][0])


def test_a_missing_oracle_is_a_content_problem(tmp_path: Path) -> None:
    make(tmp_path)
    (tmp_path / FILE).unlink()
    with pytest.raises(ContentProblem, match=r"oracle\.py does not load: FileNotFoundError"):
        Oracle.load(tmp_path / FILE)


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("def", "SyntaxError"),
        ("import no_such_module", "ModuleNotFoundError"),
        ("raise SystemExit(0)", "SystemExit"),
    ],
)
def test_an_oracle_that_does_not_import_is_a_content_problem(
    tmp_path: Path, line: str, error: str
) -> None:
    with pytest.raises(ContentProblem, match=rf"oracle\.py does not load: {error}") as caught:
        oracle(tmp_path, "import numpy as np\n", f"import numpy as np\n{line}\n")
    assert caught.value.where == str(tmp_path / FILE)
    assert caught.value.next_step


def test_missing_functions_are_all_named(tmp_path: Path) -> None:
    make(tmp_path)
    spoil(tmp_path, FILE, "def rows", "def no_rows")
    spoil(tmp_path, FILE, "def claims", "def no_claims")
    with pytest.raises(ContentProblem, match=r"oracle\.py does not define claims, rows"):
        Oracle.load(tmp_path / FILE)


def test_a_name_that_is_no_function_counts_as_missing(tmp_path: Path) -> None:
    with pytest.raises(ContentProblem, match="does not define rows"):
        oracle(tmp_path, "def rows():\n    return", "rows =")


CALLS: dict[str, Callable[[Oracle], Any]] = {
    "cases": lambda o: o.cases(b"s"),
    "answer": lambda o: o.answer("double", [np.ones(4)]),
    "mistakes": lambda o: o.answer("double", [np.ones(4)]),
    "claims": lambda o: o.claims({}, {}),
    "replays": lambda o: o.replays({}),
    "figures": lambda o: o.figures(),
    "rows": lambda o: o.rows(),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_function_that_raises_is_named(tmp_path: Path, name: str) -> None:
    head = next(line for line in ORACLE.splitlines() if line.startswith(f"def {name}("))
    found = oracle(tmp_path, head, f"{head}\n    raise KeyError('w')")
    with pytest.raises(ContentProblem) as caught:
        CALLS[name](found)
    assert caught.value.what == f"oracle.py: {name}() raised KeyError: 'w'"
    assert caught.value.where == str(tmp_path / FILE)
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize(("name"), [n for n in CALLS if n not in ("answer",)])
def test_a_function_that_gives_something_else_is_named(tmp_path: Path, name: str) -> None:
    head = next(line for line in ORACLE.splitlines() if line.startswith(f"def {name}("))
    found = oracle(tmp_path, head, f"{head}\n    return None")
    with pytest.raises(ContentProblem, match=rf"oracle\.py: {name}\(\) raised"):
        CALLS[name](found)


def test_a_claim_with_an_unknown_field_is_a_content_problem(tmp_path: Path) -> None:
    found = oracle(tmp_path, '"atol": 1e-6', '"tolerance": 1e-6')
    with pytest.raises(ContentProblem, match=r"claims\(\) raised TypeError.*tolerance"):
        found.claims({}, {})
