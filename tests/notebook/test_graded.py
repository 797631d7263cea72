"""Notebooks are graded as they are, by the real command, and every line is told by its cell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command import EXERCISE, SOLUTIONS, STARTER_FILLED, Ran, grade, run
from tests.notebook.forms import code, notebook, text

FILLED = STARTER_FILLED.read_text(encoding="utf-8")


def graded(folder: Path, raw: bytes, name: str = "n.ipynb") -> Ran:
    (folder / name).write_bytes(raw)
    return grade(name, cwd=folder)


def test_an_error_names_cell_and_line(tmp_path: Path) -> None:
    ran = graded(
        tmp_path, notebook(text("# Hi"), "x = 1", FILLED, "def f():\n    return 1 / 0", "\nf()")
    )
    assert ran.code == 1
    assert "Raised at cell 3, line 2" in ran.stdout
    outcome = ran.graded["outcome"]
    assert outcome["traceback"] == ["cell 4, line 2, in <module>", "cell 3, line 2, in f"]
    assert ran.graded["points"] == 100
    starts = ran.graded["submission"]["cells"]
    assert outcome["line"] == starts[2] + 1
    lines = {one["line"]: one["text"] for one in ran.graded["source_lines"]}
    assert lines[outcome["line"]] == "    return 1 / 0"
    page = (tmp_path / "receipts" / EXERCISE / "n.md").read_text(encoding="utf-8")
    assert "Raised at cell 3, line 2" in page
    assert "> 3:2      return 1 / 0" in page


def test_a_cell_that_is_no_python_costs_what_comes_after_it(tmp_path: Path) -> None:
    ran = graded(tmp_path, notebook(FILLED, "x = 1\ny = (", "z = 3"))
    assert ran.graded["points"] == 100
    outcome = ran.graded["outcome"]
    assert outcome["kind"] == "syntax_error"
    assert outcome["message"].startswith("n.ipynb is not Python at cell 2, line 2: '(' was never")
    assert ran.graded["verdict"] == "error"


def test_await_in_a_cell_is_refused_in_plain_words(tmp_path: Path) -> None:
    outcome = graded(tmp_path, notebook("x = 1", "await x")).graded["outcome"]
    assert outcome["message"].startswith("n.ipynb is not Python at cell 2, line 1: 'await' outside")
    assert outcome["next_step"] == (
        "leave await out, or put it into an async function: Jupyter takes it in a cell, Python"
        " does not"
    )


def test_what_a_notebook_finds_of_ipython_does_nothing_and_says_so(tmp_path: Path) -> None:
    ran = graded(
        tmp_path,
        notebook(
            "import warnings\nwarnings.warn('careful')",
            "%time x = 2\n!touch made\nif x == 2:\n    %time display(x)",
            "get_ipython().system('touch made')\nprint('google.colab' in str(get_ipython()))",
            "import os\nprint(os.listdir())\nprint(__file__.endswith('n.ipynb'))",
        ),
    )
    printed = ran.graded["output"]["text"].splitlines()
    assert printed[:5] == [
        "2",
        "get_ipython().system('touch made') does nothing while a notebook is graded",
        "False",
        "[]" if "[]" in printed else "['n.ipynb']",
        "True",
    ]
    assert "n.ipynb, cell 1, line 2: UserWarning: careful" in printed
    assert "  warnings.warn('careful')" in printed
    notes = ran.graded["notes"]
    assert any("`!touch made` (cell 2, line 2)" in note for note in notes)
    assert not any("x" in name for name in notes if "get_ipython" in name)


def test_a_notebook_of_thirty_megabytes_is_graded(tmp_path: Path) -> None:
    image = {"data": {"image/png": "A" * 10_000_000}, "metadata": {}, "output_type": "display_data"}
    ran = graded(tmp_path, notebook(code(FILLED, outputs=[image] * 3)))
    assert (ran.code, ran.graded["points"]) == (0, 100)
    assert ran.graded["submission"]["size_bytes"] > 30_000_000


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (notebook("x = 1", "y = '\0'"), "n.ipynb holds U+0000 in cell 2, line 1: that is no"),
        (notebook("x = '\ud800'"), "n.ipynb holds U+D800 in cell 1, line 1: that is no character"),
        (b'{"nbformat": 4, "cells": ' + b"[" * 200_000, "n.ipynb is nested deeper than any"),
        (b'{"nbformat": 4, "cells": [], "cells": []}', "says `cells` twice in one place"),
    ],
)
def test_what_is_no_notebook_is_graded_with_the_reason(
    tmp_path: Path, raw: bytes, message: str
) -> None:
    ran = graded(tmp_path, raw)
    assert ran.code == 1
    assert message in ran.graded["outcome"]["message"]
    assert (ran.graded["outcome"]["kind"], ran.graded["points"]) == ("syntax_error", 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "file", sorted((SOLUTIONS / "accepted").glob("*.ipynb")), ids=lambda file: file.stem
)
def test_every_form_earns_what_its_code_earns(tmp_path: Path, file: Path) -> None:
    ran = graded(tmp_path, file.read_bytes())
    assert (ran.code, ran.graded["points"]) == (0, 100)


@pytest.mark.slow
def test_a_class_may_hand_in_notebooks_and_modules(tmp_path: Path) -> None:
    for name, raw in (
        ("amy.ipynb", notebook("%time x = 1", FILLED)),
        ("bob.py", FILLED.encode()),
        ("carl.ipynb", b"{"),
    ):
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / name).write_bytes(raw)
    ran = run(EXERCISE, "in", "--out", "out", "--require-confinement", "auto", cwd=tmp_path)
    assert ran.code == 0, ran.stderr
    found = [json.loads(place.read_bytes()) for place in (tmp_path / "out").rglob("*.json")]
    receipts = [one for one in found if "checks" in one and "submission" in one]
    points = sorted((one["submission"]["format"], one["points"]) for one in receipts)
    assert points == [("ipynb", 0), ("ipynb", 100), ("py", 100)]
