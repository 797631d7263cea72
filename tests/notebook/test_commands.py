"""IPython's own transformer finds the commands; none is run, Python and line numbers stay."""

from __future__ import annotations

import subprocess
import sys

import pytest

from grader.sandbox import commands

# The cell, the Python made of it, and its commands.
CELLS: dict[str, tuple[str, str, list[commands.Told]]] = {
    "a magic": ("%matplotlib inline\nx = 1", "pass\nx = 1", [(1, "%matplotlib inline", "nothing")]),
    "a command of the shell": ("!ls\nx = 1", "pass\nx = 1", [(1, "!ls", "nothing")]),
    "help": ("x = 1\nx?\nx??", "x = 1\npass\npass", [(2, "x?", "nothing"), (3, "x??", "nothing")]),
    "help of a name that begins as IPython's own": ("gather?", "pass", [(1, "gather?", "nothing")]),
    "a timed assignment": ("%time x = f(1)", "x = f(1)", [(1, "%time x = f(1)", "runs")]),
    "the value of a timed expression": (
        "x = %time f(1)",
        "x = f(1)",
        [(1, "x = %time f(1)", "runs")],
    ),
    "options of timeit": (
        "%timeit -n 10 -r3 f(x)",
        "f(x)",
        [(1, "%timeit -n 10 -r3 f(x)", "runs")],
    ),
    "a minus that is no option": ("%timeit -x", "-x", [(1, "%timeit -x", "runs")]),
    "the record of timeit": (
        "t = %timeit -o f()",
        "t = None",
        [(1, "t = %timeit -o f()", "nothing")],
    ),
    "the output of the shell": ("files = !ls", "files = []", [(1, "files = !ls", "nothing")]),
    "in a block": (
        "if x:\n    !ls\n    y = 1",
        "if x:\n    pass\n    y = 1",
        [(2, "!ls", "nothing")],
    ),
    "over several lines": (
        "!pip install a \\\n    b\nx = 1",
        "pass\n\nx = 1",
        [(1, "!pip install a \\ b", "nothing")],
    ),
    "a timed cell": (
        "%%time\nx = 1\n!ls",
        "\nx = 1\npass",
        [(1, "%%time", "runs"), (3, "!ls", "nothing")],
    ),
    "a timed cell below blank lines": ("\n\n%%time\nx = 1", "\n\n\nx = 1", [(3, "%%time", "runs")]),
    "a captured cell": ("%%capture out\nx = 1", "\nx = 1", [(1, "%%capture out", "runs")]),
    "a setup of timeit": (
        "%%timeit -n 3 y = 1\nx = y",
        "y = 1\nx = y",
        [(1, "%%timeit -n 3 y = 1", "runs")],
    ),
    "a cell of another language": ("%%bash\nls\nrm -r .", "\n\n", [(1, "%%bash", "skipped")]),
    "a cell that is a file": (
        "%%writefile a.py\nx = 1",
        "\n",
        [(1, "%%writefile a.py", "skipped")],
    ),
    "a cell that is its command": ("%%time", "", [(1, "%%time", "runs")]),
    "prompts": (">>> x = 1\n>>> y = 2", "x = 1\ny = 2", []),
    "a whole cell set in": ("  x = 1\n  y = 2", "x = 1\ny = 2", []),
    "no command but a text": (
        "'''\n!ls\n%time\n'''\n!ls",
        "'''\n!ls\n%time\n'''\npass",
        [(5, "!ls", "nothing")],
    ),
    "a remainder": (
        "%time z = 7\nx = 7 \\\n  % 2",
        "z = 7\nx = 7 \\\n  % 2",
        [(1, "%time z = 7", "runs")],
    ),
}


@pytest.mark.parametrize(("cell", "python", "told"), CELLS.values(), ids=CELLS)
def test_a_command_becomes_what_does_nothing(
    cell: str, python: str, told: list[commands.Told]
) -> None:
    assert not commands.is_python(cell)
    made = commands.python(cell, commands.transformer())
    assert made == (python, told)
    assert commands.is_python(python)
    assert python.count("\n") == cell.count("\n")


@pytest.mark.parametrize(
    "cell",
    [
        "x = 7 % 2",
        "print('!ls')",
        "await x",
        "get_ipython().system('ls')",
        "",
        "# only this",
    ],
)
def test_what_python_takes_is_left_as_it_is(cell: str) -> None:
    assert commands.is_python(cell)


def test_more_commands_than_anybody_writes_are_not_taken_out() -> None:
    cell = "\n".join(["!ls"] * (commands.MOST_STEPS + 1))
    with pytest.raises(commands.TooManyCommands):
        commands.python(cell, commands.transformer())


def test_the_transformer_comes_without_ipythons_front_end() -> None:
    program = (
        "import sys; from grader.sandbox import commands; commands.transformer();"
        "sys.exit(any(n.partition('.')[0] in ('IPython', 'traitlets') for n in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
