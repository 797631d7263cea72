"""A starter's notebook has its statements, every word of its comments, no trace of a run."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

from grader.catalog import starter
from grader.errors import ContentProblem
from tests.command import ROOT

STARTERS = sorted((ROOT / "exercises").glob("*/starter.py"))
SMALL = '''"""one-01: a title.

Some words.

    python one-01.py         # a try
    grade one-01 one-01.py   # the verdict
"""

# %% Given (nothing to do)
# What is here.
x = 1

# Kept with the code.
y = "# %% no part"


# %% Part 1: do it
# TODO 1a  First line
#          second line.
#          Use: `this`
@staticmethod
def f():
    # TODO inside
    raise NotImplementedError


# TODO 1b  And these:
#              "a"  one
#              "b"  two
#
# z = ...
#
# TODO 1c  Try it.


# %% The end
print(x)
'''


def cells(raw: bytes) -> list[tuple[str, str]]:
    return [(c["cell_type"], "".join(c["source"])) for c in json.loads(raw)["cells"]]


def test_parts_become_headings_and_todos_text() -> None:
    assert cells(starter.notebook(SMALL, "one-01")) == [
        (
            "markdown",
            "# one-01: a title\n\nSome words.\n\n    grade one-01 one-01.ipynb   # the verdict\n\n"
            "## Given (nothing to do)\n\nWhat is here.",
        ),
        ("code", 'x = 1\n\n# Kept with the code.\ny = "# %% no part"'),
        (
            "markdown",
            "## Part 1: do it\n\n**TODO 1a**  First line\nsecond line.\n\nUse: `this`",
        ),
        ("code", "@staticmethod\ndef f():\n    # TODO inside\n    raise NotImplementedError"),
        ("markdown", '**TODO 1b**  And these:\n\n    "a"  one\n    "b"  two'),
        ("code", "# z = ..."),
        ("markdown", "**TODO 1c**  Try it."),
        ("code", ""),
        ("markdown", "## The end"),
        ("code", "print(x)"),
    ]


def statements(text: str) -> str:
    tree = ast.parse(text)
    if ast.get_docstring(tree) is not None:
        tree.body = tree.body[1:]
    return ast.dump(tree)


@pytest.mark.parametrize("place", STARTERS, ids=lambda place: place.parent.name)
def test_the_notebook_has_the_statements_of_the_starter(place: Path) -> None:
    source = place.read_text(encoding="utf-8")
    raw = place.with_suffix(".ipynb").read_bytes()
    assert statements(starter.code(raw)) == statements(source)


@pytest.mark.parametrize("place", STARTERS, ids=lambda place: place.parent.name)
def test_the_notebook_is_the_one_that_the_starter_gives(place: Path) -> None:
    made = starter.of(place.parent, place.parent.name)
    assert place.with_suffix(".ipynb").read_bytes() == made, (
        "`grade audit EXERCISE --renew-notebook` writes it"
    )


@pytest.mark.parametrize("place", STARTERS, ids=lambda place: place.parent.name)
def test_no_word_of_a_comment_is_lost(place: Path) -> None:
    source = place.read_text(encoding="utf-8").partition('"""\n\n')[2]
    raw = place.with_suffix(".ipynb").read_bytes()
    told = " ".join(text for _, text in cells(raw))
    assert not set(re.findall(r"\w+", source)) - set(re.findall(r"\w+", told))


@pytest.mark.parametrize("place", STARTERS, ids=lambda place: place.parent.name)
def test_the_notebook_is_of_version_4_5_without_a_trace_of_a_run(place: Path) -> None:
    found: dict[str, Any] = json.loads(place.with_suffix(".ipynb").read_bytes())
    assert (found["nbformat"], found["nbformat_minor"]) == (4, 5)
    assert found["metadata"]["kernelspec"]["name"] == "python3"
    ids = [cell["id"] for cell in found["cells"]]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", one) for one in ids)
    for cell in found["cells"]:
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)


def test_a_starter_that_is_no_python_is_told(tmp_path: Path) -> None:
    (tmp_path / "starter.py").write_text("def f(:\n")
    with pytest.raises(ContentProblem, match="no notebook can be made of the starter of a-01: inv"):
        starter.of(tmp_path, "a-01")
    (tmp_path / "starter.py").unlink()
    with pytest.raises(ContentProblem, match="the starter of a-01: No such file") as caught:
        starter.of(tmp_path, "a-01")
    assert caught.value.next_step == "mend starter.py"
