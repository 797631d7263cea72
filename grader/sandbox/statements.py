"""Run a module one top-level statement at a time, so that what came before a stop still counts.

Runs inside the confined child. It must never let an exception of the learner's end the process.
"""

from __future__ import annotations
import __future__

import ast
import contextlib
import faulthandler
import functools
import operator
import os
import signal
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from grader.sandbox import stops
from grader.sandbox.endings import find as endings
from grader.sandbox.raised import MESSAGE_CHARS, brief, describe, learner_lines, type_name
from grader.sandbox.stops import CpuLimit, Stop, WallLimit

__all__ = [
    "CpuLimit",
    "Stop",
    "WallLimit",
    "bindings",
    "brief",
    "describe",
    "end",
    "endings",
    "learner_lines",
    "limits",
    "new_module",
    "parse",
    "parse_cells",
    "run",
    "type_name",
]

MODULE_NAME = "submission"
_FUTURE_FLAGS = {
    name: getattr(__future__, name).compiler_flag for name in __future__.all_feature_names
}


def parse(source: bytes | str, filename: str, flags: int = 0) -> ast.Module | Stop:
    """Return the module's syntax tree, or the stop that a syntax error is.

    `flags` are the compiler's, of what stands above it. In a text no line can name an encoding.

    Some errors (a `return` outside a function) only show when the whole is compiled, and Python
    would not run a line of such a module.
    """
    try:
        with warnings.catch_warnings():
            # Said once more, and in its place, when the statement runs.
            warnings.simplefilter("ignore")
            tree = ast.parse(source, filename=filename)
            compile(tree, filename, "exec", flags=flags, dont_inherit=True)
        return tree
    except SyntaxError as error:
        detail = {"text": (error.text or "")[:400], "offset": error.offset or 0}
        return Stop("syntax_error", str(error.msg)[:MESSAGE_CHARS], error.lineno, [], detail)
    except (ValueError, RecursionError, MemoryError) as error:
        return Stop("syntax_error", f"{type(error).__name__}: {error}"[:MESSAGE_CHARS], None)


def parse_cells(texts: Sequence[str], filename: str) -> tuple[ast.Module, Stop | None]:
    """Return a notebook's statements up to the first cell that is no Python, and that cell's stop.

    Each cell is parsed by itself, as in Jupyter: one may begin with `from __future__`. Lines are
    those of all cells as one text.
    """
    whole, flags, before = ast.Module([], type_ignores=[]), 0, 0
    for text in texts:
        tree = parse(text, filename, flags)
        if isinstance(tree, Stop):
            return whole, _in_cell(tree, text, before)
        if before:
            ast.increment_lineno(tree, before)
        for statement in tree.body:
            flags |= _future(statement)
        whole.body += tree.body
        before += text.count("\n") + 1
    return whole, None


def _in_cell(stop: Stop, text: str, before: int) -> Stop:
    """Return a cell's stop with the line of the one text, and with the text of that line.

    Python would look for the line in a file of this name, where the notebook's JSON is.
    """
    lines = text.split("\n")
    line = min(stop.line or 1, len(lines))
    detail = {**stop.detail, "text": lines[line - 1][:400]}
    return replace(stop, line=line + before, detail=detail)


def _future(statement: ast.stmt) -> int:
    """Return the compiler's flags for what a statement takes from `__future__`."""
    if not isinstance(statement, ast.ImportFrom) or statement.module != "__future__":
        return 0
    return functools.reduce(
        operator.or_, (_FUTURE_FLAGS.get(alias.name, 0) for alias in statement.names), 0
    )


def bindings(tree: ast.Module) -> dict[str, int]:
    """Return, for each name bound at module level, the line that binds it last."""
    lines: dict[str, int] = {}
    for node in _module_level(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            lines[node.name] = node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            lines[node.id] = node.lineno
        elif isinstance(node, ast.alias):
            lines[node.asname or node.name.partition(".")[0]] = node.lineno
    return lines


_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
# What can hold neither a binding nor another node that does.
_PLAIN = (ast.Constant, ast.expr_context, ast.operator, ast.cmpop, ast.unaryop, ast.boolop)


def _module_level(root: ast.AST) -> Iterator[ast.AST]:
    waiting = [*reversed(list(_parts(root)))]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _SCOPES):
            waiting += reversed(list(_parts(node)))


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        loop = isinstance(node, ast.comprehension) and child is node.target
        if not loop and not isinstance(child, _PLAIN):
            yield child


def new_module(path: str) -> types.ModuleType:
    """Return an empty module, registered under its name so that dataclasses can find it."""
    module = types.ModuleType(MODULE_NAME)
    module.__file__ = path
    sys.modules[MODULE_NAME] = module
    return module


def run(
    tree: ast.Module,
    module: types.ModuleType,
    filename: str,
    stop_before: int | None,
    finished: Callable[[int], None],
) -> Stop | None:
    """Execute the statements of `tree` in order; returns why they stopped, None at the end.

    Args:
        tree: the parsed module.
        module: where its names go.
        filename: the name tracebacks show.
        stop_before: index of the first statement not to run, None for all.
        finished: told the index of each statement that ran to its end.
    """
    flags = 0
    module.__doc__ = ast.get_docstring(tree)
    for index, statement in enumerate(tree.body):
        if stop_before is not None and index >= stop_before:
            break
        flags |= _future(statement)
        # Alone in its compilation a bare string would become the module's docstring.
        bare = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        stop = None if bare else _run_one(statement, tree, module, filename, flags)
        if stop is not None:
            return stop
        finished(index)
    return None


def _run_one(
    statement: ast.stmt, tree: ast.Module, module: types.ModuleType, filename: str, flags: int
) -> Stop | None:
    try:
        one = ast.Module([statement], type_ignores=[])
        code = compile(one, filename, "exec", flags=flags, dont_inherit=True)
        with stops.GUARD:
            exec(code, module.__dict__)
    except BaseException as error:  # noqa: BLE001 - whatever a stranger raises is data
        return stops.why(error, filename, statement, tree)
    return None


@contextlib.contextmanager
def limits() -> Iterator[None]:
    """Turn SIGXCPU and SIGALRM into exceptions while the learner's statements run.

    The kernel sends the first when the CPU seconds are used up, the coordinator sends the second
    when the wall clock is; either may come again and is raised again.

    Effects: sets signal handlers, and has each signal print where the thread is; the
    coordinator's own deadline still holds when learner code undoes them. Does nothing where the
    signals do not exist.
    """
    if not hasattr(signal, "SIGXCPU"):
        yield
        return
    known = {signal.SIGXCPU: CpuLimit, signal.SIGALRM: WallLimit}

    def reached(number: int, _frame: object) -> None:
        stops.GUARD.reached(known[signal.Signals(number)])

    stops.GUARD.clear()
    for one in known:
        signal.signal(one, reached)
        # Inside compiled code no Python handler runs: the dump alone then tells the line.
        # Only of this thread: to walk the others while one of them ends can crash the process.
        faulthandler.register(one, all_threads=False, chain=True)
    try:
        yield
    finally:
        for one in known:
            faulthandler.unregister(one)
            signal.signal(one, signal.SIG_IGN)


def end(code: int = 0) -> None:
    """Leave at once: no atexit handler, no thread and no finalizer of the learner's runs."""
    with contextlib.suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)
