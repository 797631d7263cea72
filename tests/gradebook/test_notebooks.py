"""Of a notebook its code cells are compared, and nothing that a run or a reader put beside them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.gradebook import notebooks
from grader.gradebook.lookalikes import Group, lookalikes
from grader.sandbox.host import SpawnHost
from tests.command import EXERCISE, ROOT, run
from tests.gradebook.test_lookalikes import program, renamed


def notebook(*cells: str, output: str = "", markdown: str = "") -> bytes:
    """Return a notebook of these code cells."""
    made: list[dict[str, Any]] = [
        {
            "cell_type": "code",
            "execution_count": 1,
            "metadata": {},
            "outputs": [{"output_type": "stream", "name": "stdout", "text": [output]}],
            "source": text.splitlines(keepends=True),
        }
        for text in cells
    ]
    made.append({"cell_type": "markdown", "metadata": {}, "source": markdown})
    whole = {"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole).encode()


def said(*cells: str) -> str:
    found = notebooks.code(notebook(*cells))
    assert isinstance(found, bytes)
    return found.decode()


@pytest.fixture(scope="module")
def host() -> Iterator[SpawnHost]:
    made = SpawnHost(None, forbidden=[str(ROOT)])
    yield made
    made.close()


# -------------------------------------------------------------------------------- what is its code


def test_code_cells_stand_one_below_the_other() -> None:
    assert said("x = 1\n", "y = 2") == "x = 1\n\ny = 2"


@pytest.mark.parametrize(
    ("cell", "code"),
    [
        ("%matplotlib inline\nx = 1", "pass\nx = 1"),
        ("!pip install jax\nx = 1", "pass\nx = 1"),
        ("if x:\n    %time f()\ny = 1", "if x:\n    pass\ny = 1"),
        ("jnp.sum?", "pass"),
        ("?jnp.sum", "pass"),
        ("%%time\nx = f()", "pass\nx = f()"),
        ("%%bash\nls -l", ""),
        ("%%html\n<b>x</b>", ""),
        ("text = ('%s'\n % y)", "text = ('%s'\n % y)"),
        ("x = 'why?'", "x = 'why?'"),
        ("# why?", "# why?"),
    ],
)
def test_what_is_no_python_is_left_out(cell: str, code: str) -> None:
    assert said(cell) == code


def test_a_notebook_of_an_old_version_has_its_cells_in_sheets() -> None:
    old = {"nbformat": 3, "worksheets": [{"cells": [{"cell_type": "code", "input": ["x = 1"]}]}]}
    assert notebooks.code(json.dumps(old).encode()) == b"x = 1"


@pytest.mark.parametrize(
    "raw",
    [b"", b"x = 1\n", b"{}", b"cells = {'cells': 1}", b'# {"cells"', b"{'a': 1}\n"],
    ids=repr,
)
def test_other_files_are_no_notebooks(raw: bytes) -> None:
    assert notebooks.code(raw) is None


@pytest.mark.parametrize(
    "raw",
    [b'{"cells"', b'{"cells": [' + b"[" * 200_000, b'{"cells": ' + b"1" * 9000 + b"}",
     b'{"cells": []} {}'],
    ids=["cut", "deep", "long-number", "two"],
)  # fmt: skip
def test_one_that_cannot_be_read_is_told(raw: bytes) -> None:
    found = notebooks.code(raw)
    assert found in ("a notebook that cannot be read", b"")


def test_what_should_be_a_cell_and_is_none_is_left_out() -> None:
    cells: list[Any] = [
        1,
        None,
        [],
        {"cell_type": "code"},
        {"cell_type": "code", "source": [1, "x = 1"]},
    ]
    assert notebooks.code(json.dumps({"cells": cells}).encode()) == b"x = 1"


# ------------------------------------------------------------------------------ who looks like whom


def test_a_run_and_a_text_between_change_nothing(host: SpawnHost) -> None:
    texts = {
        "amy": notebook(program(1), output="1", markdown="# Mine"),
        "bob": notebook(renamed(program(1)), output="2\n" * 9000),
        "carl": notebook(program(2)),
    }
    found = lookalikes(texts.items(), b"", host)
    assert found.groups == (Group(("amy", "bob"), "equal but for names, texts and layout"),)
    assert (found.pairs, found.unread) == ((), ())


def test_a_notebook_and_a_module_of_the_same_code_are_alike(host: SpawnHost) -> None:
    halves = program(1, 2), program(3, 3)
    texts = {"amy": notebook(*halves), "bob": "".join(halves).encode()}
    found = lookalikes(texts.items(), b"", host)
    assert found.groups == (Group(("amy", "bob"), "equal but for names, texts and layout"),)


def test_large_outputs_do_not_make_a_notebook_too_large(host: SpawnHost) -> None:
    huge = notebook(program(1), output="x" * 500_000)
    found = lookalikes({"amy": huge, "bob": program(1).encode()}.items(), b"", host)
    assert len(found.groups) == 1
    assert found.unread == ()


def test_the_command_compares_notebooks(tmp_path: Path) -> None:
    (tmp_path / "amy.ipynb").write_bytes(notebook(program(1), output="1"))
    (tmp_path / "bob.ipynb").write_bytes(notebook(renamed(program(1)), output="2"))
    (tmp_path / "carl.ipynb").write_bytes(b'{"cells": [')
    ran = run("lookalikes", EXERCISE, ".", cwd=tmp_path)
    assert ran.code == 0, ran.said
    assert "equal but for names, texts and layout: amy, bob" in ran.stdout
    assert "only the bytes compared: carl: a notebook that cannot be read" in ran.stderr
