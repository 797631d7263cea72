"""Make plain Python of a notebook's cell: what IPython reads as a command does nothing here.

Runs in the throw-away process that opens a notebook. IPython's own transformer finds the commands
(`IPython.core.inputtransformer2`, one step at a time); what it puts in their place is read, and
never run. Lines keep their numbers.
"""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
import os
import re
import sys
import types
import warnings
from collections.abc import Sequence
from typing import Any

# Magics about code, which stays code; others would reach out of the module or do nothing for it.
ABOUT_CODE = frozenset({"time", "timeit", "capture", "prun"})
MOST_STEPS = 500
# Each step reads the whole cell again.
MOST_LINES_READ = 200_000
# What `%timeit` and `%prun` take before the code, as IPython's own help lists it.
_OPTIONS = re.compile(
    r"(?:-(?:[nrp]\s*\d+|[tcqov]+|[DlsT]\s*\S+)\s+|--no-raise-error\s+)*(?:--\s+)?"
)
_CALL = "get_ipython()."
Told = tuple[int, str, str]


class TooManyCommands(Exception):
    """A cell has more commands than anybody writes."""


def transformer() -> Any:
    """Return IPython's transformer of cells. Raises: ImportError where IPython is not installed."""
    return _module().TransformerManager()


@functools.cache
def _module() -> Any:
    """Import the module of the transformer without IPython's front end, which takes half a second.

    The packages around it stand in empty meanwhile, so that only what it needs itself is loaded.
    """
    whole = "IPython.core.inputtransformer2"
    if "IPython" in sys.modules:
        return importlib.import_module(whole)
    found = importlib.util.find_spec("IPython")
    if found is None or not found.submodule_search_locations:
        raise ImportError("IPython is not installed")
    root = found.submodule_search_locations[0]
    try:
        for name, inner in (("IPython", ""), ("IPython.core", "core"), ("IPython.utils", "utils")):
            package = types.ModuleType(name)
            package.__path__ = [os.path.join(root, inner) if inner else root]
            sys.modules[name] = package
        return importlib.import_module(whole)
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "IPython"]:
            del sys.modules[name]


def is_python(text: str) -> bool:
    """Return whether a cell is Python as it stands, or something that no transformer mends."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError:
        return False
    except (ValueError, RecursionError, MemoryError):
        return True
    return True


def python(text: str, manager: Any) -> tuple[str, list[Told]]:
    """Return a cell as Python, and its commands as `(line, command, what is made of it)`.

    Args:
        text: the cell; lines end with a line feed.
        manager: IPython's `TransformerManager`, or what stands for it.

    Raises: TooManyCommands.
    """
    lines = [f"{line}\n" for line in text.split("\n")]
    above = next((at for at, line in enumerate(lines) if line.strip()), len(lines))
    for clean in manager.cleanup_transforms:
        lines = clean(lines)
    told: list[Told] = []
    whole = _cell_magic(lines, manager)
    if whole is None:
        lines = _by_steps(lines, manager, told)
    else:
        name, argument, body = whole
        runs = name in ABOUT_CODE
        told.append((1, lines[0].strip(), "runs" if runs else "skipped"))
        inner: list[str] = []
        if runs:
            within, more = python(body.removesuffix("\n"), manager)
            inner = [f"{line}\n" for line in within.split("\n")]
            told += [(line + 1, command, what) for line, command, what in more]
        setup = _OPTIONS.sub("", f"{argument} ", count=1).strip() if name == "timeit" else ""
        lines = [f"{setup}\n", *inner, *("\n" for _ in lines[1 + len(inner) :])]
    made = "\n" * above + "".join(lines)
    return _as_long(made, text), [(line + above, command, what) for line, command, what in told]


def _as_long(made: str, text: str) -> str:
    """Return what was made with as many lines as there were; only blank ones come and go."""
    kept = made.rstrip("\n")
    return kept + "\n" * (text.count("\n") - kept.count("\n"))


def _cell_magic(lines: Sequence[str], manager: Any) -> tuple[str, str, str] | None:
    """Return name, argument and body of a cell that is one command, None for any other cell."""
    made = list(lines)
    for transform in manager.line_transforms:
        made = transform(made)
    if made == list(lines) or len(made) != 1:
        return None
    method, arguments = _called(made[0], 0)
    if method != "run_cell_magic" or len(arguments) != 3:
        return None
    name, argument, body = arguments
    return name, argument, body


def _by_steps(lines: list[str], manager: Any, told: list[Told]) -> list[str]:
    """Return the lines with one command after another taken out."""
    for _ in range(min(MOST_STEPS, MOST_LINES_READ // len(lines) + 1)):
        changed, made = manager.do_one_token_transform(lines)
        at = next((i for i, (a, b) in enumerate(zip(lines, made, strict=False)) if a != b), None)
        if not changed or at is None:
            return lines
        missing = len(lines) - len(made)
        written = " ".join(line.strip() for line in lines[at : at + missing + 1])
        made[at], what = _instead(made[at])
        if what:
            told.append((at + 1, written, what))
        # What was several lines is one now; those below keep their numbers.
        made[at + 1 : at + 1] = ["\n"] * missing
        lines = made
    raise TooManyCommands


def _instead(line: str) -> tuple[str, str]:
    """Return Python for a line that the transformer has made, and what that is."""
    start = line.find(_CALL)
    if start < 0:
        return (line, "") if line.strip() else (f"{line.rstrip()}pass\n", "nothing")
    before = line[:start]
    method, arguments = _called(line, start)
    if method == "run_line_magic" and len(arguments) == 2 and arguments[0] in ABOUT_CODE:
        name, argument = arguments
        code = _OPTIONS.sub("", argument, count=1).strip()
        # Assigned, only `%time` gives the value; the others give a record of their own.
        if code and (name == "time" or not before.strip()):
            return f"{before}{code}\n", "runs"
    if before.strip():
        return f"{before}{'[]' if method == 'getoutput' else 'None'}\n", "nothing"
    return f"{before}pass\n", "nothing"


def _called(line: str, start: int) -> tuple[str, list[str]]:
    """Return the method of IPython's shell that a line calls last, and its arguments, all texts."""
    try:
        last = ast.parse(line[start:].strip()).body[-1]
    except (SyntaxError, ValueError, RecursionError, MemoryError, IndexError):
        return "", []
    value = last.value if isinstance(last, ast.Expr) else None
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return "", []
    constants = [one.value for one in value.args if isinstance(one, ast.Constant)]
    return value.func.attr, [one for one in constants if isinstance(one, str)]
