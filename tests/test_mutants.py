"""Mutants: one change each, of what a learner wrote; and what a rubric makes of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grader.errors import ContentProblem
from grader.mutants import mutants
from tests import command

pytestmark = pytest.mark.once


def after(source: str, given: str = "", apart: tuple[str, ...] = ()) -> list[str]:
    return [mutant.after for mutant in mutants(source, given, apart)]


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ("a = b + c", ["a = b - c"]),
        ("a = b - c", ["a = b + c"]),
        ("a = b * c", ["a = b + c", "a = b / c"]),
        ("a = -b", ["a = b"]),
        ("a += b", ["a -= b"]),
        ("a = 4", ["a = 3", "a = 5", "a = 8"]),
        ("a = 0", ["a = 1"]),
        ("a = 0.5", ["a = 0.0", "a = 1.0"]),
        ("a = b.T", ["a = b"]),
        ("a = b[::c]", ["a = b"]),
        ("a = f('data')", ["a = f('data_')"]),
        ("a = 'a sentence of several words'", []),
        ("a = f'{b}'", []),
        ("a = lax.psum(b, c)", ["a = b", "a = lax.pmax(b, c)", "a = lax.pmean(b, c)"]),
        ("a = psum_scatter(b, c, tiled=True)",
         ["a = b", "a = psum(b, c)", "a = psum_scatter(b, c, tiled=False)"]),
        ("a = lax.all_gather(b, c)", ["a = b"]),
        ("a = jnp.mean(b)", ["a = jnp.sum(b)"]),
        ("a = P()", ['a = P("data")']),
        ("a = P(b, None)", ["a = P()", "a = P(None, b)"]),
        ("a = f(b, c)", ["a = f(c, b)"]),
    ],
)  # fmt: skip
def test_each_change_of_the_field_is_made(line: str, changed: list[str]) -> None:
    assert sorted(after(line)) == sorted(changed)


@pytest.mark.parametrize(
    "source",
    [
        "import numpy as np",
        "from jax.sharding import PartitionSpec as P",
        '"""word"""',
        "assert a + b == 2",
        "np.testing.assert_allclose(a, b + 1)",
        "print(a + 1)",
    ],
)
def test_what_decides_nothing_is_left_alone(source: str) -> None:
    assert after(source) == []


def test_what_the_starter_brings_is_left_alone() -> None:
    source = "N = 16\nshare = a / N\n"
    assert after(source, given="N = 16\n") == ["share = a * N"]


def test_what_is_worth_no_points_is_left_alone() -> None:
    assert after("prediction = {'a': 8}\n", apart=("prediction",)) == []


def test_a_mutant_says_where_it_is_and_is_a_whole_program() -> None:
    source = "def f(a):\n    return a + 1\n\n\nb = f(2)\n"
    found = mutants(source)
    first = found[0]
    assert (first.line, first.before, first.after) == (2, "return a + 1", "return a + 0")
    assert first.source == source.replace("a + 1", "a + 0")
    assert len({mutant.source for mutant in found}) == len(found)
    for mutant in found:
        compile(mutant.source, "mutant", "exec")


def test_a_change_over_several_lines_shows_the_line_that_differs() -> None:
    source = "a = f(\n    b,\n    c=True,\n)\n"
    assert [(m.before, m.after) for m in mutants(source)] == [("c=True,", "c=False,")]


def test_what_is_no_python_is_told() -> None:
    with pytest.raises(ContentProblem) as raised:
        mutants("a = (\n")
    assert raised.value.sentence().startswith("the solution is no Python: ")


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = tmp_path_factory.mktemp("author")
    assert command.run("new", "sharding-01", "--course", "mine", cwd=here).code == 0
    return here / "mine"


@pytest.mark.slow
def test_the_command_says_which_are_killed_and_shows_the_others(course: Path) -> None:
    # A truth with a hole: any count up to thirteen is taken.
    oracle = course / "rubrics" / "sharding-01" / "oracle.py"
    loose = oracle.read_text(encoding="utf-8").replace(
        '"value": LOCAL, "atol": 0.0', '"value": LOCAL, "atol": 9'
    )
    oracle.write_text(loose, encoding="utf-8")
    done = command.run("mutate", "sharding-01", "--least", "90", "--json=found.json", cwd=course)
    assert done.code == 3, done.said
    found = json.loads((course / "found.json").read_text(encoding="utf-8"))
    lines = {(one["after"], one["fate"]) for one in found["mutants"]}
    assert ("values_per_device = 5", "survived") in lines
    assert any(fate == "killed" and "centre" not in line for line, fate in lines)
    assert f"{found['counts']['killed']} killed of " in done.stdout
    assert "  - values_per_device = 4\n  + values_per_device = 5\n" in done.stdout
    assert "fewer than 90 % were killed" in done.stdout


def test_a_solution_that_does_not_pass_is_told(course: Path) -> None:
    wrong = course / "solutions" / "sharding-01" / "rejected" / "values--local-mean.py"
    done = command.run("mutate", "sharding-01", "--solution", str(wrong), cwd=course)
    assert done.code == 3
    assert "values--local-mean.py itself gets " in done.stderr
    assert "  Next: give a solution that passes\n" in done.stderr


def test_a_file_that_is_not_there_is_told(course: Path) -> None:
    done = command.run("mutate", "sharding-01", "--solution", "none.py", cwd=course)
    assert done.code == 2
    assert done.stderr.startswith("grade: none.py is no .py file here or in accepted/\n")
