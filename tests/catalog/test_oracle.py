from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.catalog import expected
from grader.catalog.load import entry
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
    lines = (tmp_path / FILE).read_text(encoding="utf-8").splitlines()
    line = 1 + lines.index("    raise KeyError('w')")
    of = ", for double" if name in ("answer", "mistakes") else ""
    assert caught.value.what == f"oracle.py: {name}() raised KeyError: 'w' at line {line}{of}"
    assert caught.value.where == str(tmp_path / FILE)
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize(("name"), [n for n in CALLS if n not in ("answer",)])
def test_a_function_that_gives_something_else_is_named(tmp_path: Path, name: str) -> None:
    head = next(line for line in ORACLE.splitlines() if line.startswith(f"def {name}("))
    found = oracle(tmp_path, head, f"{head}\n    return None")
    with pytest.raises(ContentProblem, match=rf"oracle\.py: {name}\(\) gives nothing, which"):
        CALLS[name](found)


def test_a_claim_that_lacks_a_field_or_has_another_is_told(tmp_path: Path) -> None:
    found = oracle(tmp_path, '"atol": 1e-6', '"tolerance": 1e-6')
    with pytest.raises(ContentProblem) as caught:
        found.claims({}, {})
    assert caught.value.what == (
        "oracle.py: claims(): answer lacks atol and has 'tolerance', which nothing reads"
    )


def test_an_answer_that_is_no_array_is_told_with_its_case(tmp_path: Path) -> None:
    found = oracle(tmp_path, "return 2.0 * inputs[0]", "pass")
    with pytest.raises(ContentProblem) as caught:
        found.answer("double", [np.ones(4)], "hidden_0")
    assert caught.value.what == (
        "oracle.py: answer() gives no array of numbers for double in hidden_0"
    )


def test_a_line_that_is_no_python_is_named(tmp_path: Path) -> None:
    with pytest.raises(ContentProblem) as caught:
        oracle(tmp_path, "import numpy as np\n", "import numpy as np\ndef\n")
    assert caught.value.what == "oracle.py does not load: SyntaxError: invalid syntax at line 2"


DRAWN = {
    "a program there is not": (
        '"hidden_0": {"double"',
        '"hidden_0": {"duoble"',
        "cases() gives inputs of 'duoble' in 'hidden_0', and exercise.toml has no such program",
    ),
    "another shape": (
        "standard_normal(4)",
        "standard_normal(8)",
        "cases() gives the argument x of double in 'hidden_0' as float32 (8,), and exercise.toml"
        " says float32 (4,)",
    ),
    "another dtype": (
        "standard_normal(4).astype(np.float32)",
        "standard_normal(4)",
        "cases() gives the argument x of double in 'hidden_0' as float64 (4,), and exercise.toml"
        " says float32 (4,)",
    ),
    "an argument too many": (
        '"double": [x]',
        '"double": [x, x]',
        "cases() gives 2 inputs of double in 'hidden_0', and exercise.toml says 1",
    ),
    "several shapes of one answer": (
        "return 2.0 * inputs[0]",
        "return 2.0 * inputs[0][: 3 if inputs[0][0] == 1 else 4]",
        "answer() gives double the shape (4,) in 'hidden_0' and (3,) in 'lesson'",
    ),
}


@pytest.mark.parametrize(("old", "new", "what"), DRAWN.values(), ids=DRAWN)
def test_what_does_not_fit_the_exercise_is_told(
    tmp_path: Path, old: str, new: str, what: str
) -> None:
    course = make(tmp_path)
    spoil(tmp_path, FILE, old, new)
    found = entry(course, ID)

    def answers() -> object:
        drawn = expected.cases(found.oracle, found.exercise, b"seed")
        return expected.answers(found.oracle, found.exercise, drawn)

    with pytest.raises(ContentProblem) as caught:
        answers()
    assert caught.value.what == f"oracle.py: {what}"
    assert caught.value.next_step


@pytest.mark.parametrize(
    ("new", "sentence"),
    [
        (
            "2.0 * inputs[0]",
            "oracle.py: mistakes() gives for halved of double the right answer in every case, so"
            " nothing tells it",
        ),
        (
            "(inputs[0], inputs[0])",
            "oracle.py: mistakes() gives halved of double in 'hidden_0' as 2 views, not one for"
            " each of four devices",
        ),
        ("0.5 * inputs[0]", ""),
    ],
)
def test_a_prediction_that_nothing_can_show_is_told(
    tmp_path: Path, new: str, sentence: str
) -> None:
    course = make(tmp_path)
    spoil(tmp_path, FILE, "0.5 * inputs[0]", new)
    found = entry(course, ID)
    drawn = expected.cases(found.oracle, found.exercise, b"seed")
    said = list(expected.never_told(expected.answers(found.oracle, found.exercise, drawn)))
    assert said[:1] == ([sentence] if sentence else [])
