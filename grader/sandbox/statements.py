"""Run a module one top-level statement at a time, so that what came before a stop still counts.

Runs inside the confined child. It must never let an exception of the learner's end the process.
"""

from __future__ import annotations
import __future__

import ast
import contextlib
import faulthandler
import itertools
import os
import signal
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

MODULE_NAME = "submission"
MESSAGE_CHARS = 1500
BRIEF_CHARS = 600
_FUTURE_FLAGS = {
    name: getattr(__future__, name).compiler_flag for name in __future__.all_feature_names
}
# As the interpreter keeps them: a stranger's class may have its own idea of them.
_TRACEBACK: Any = BaseException.__dict__["__traceback__"]
_NAME: Any = type.__dict__["__name__"]


class CpuLimit(BaseException):
    """The CPU seconds of this module are used up."""


class WallLimit(BaseException):
    """The wall-clock seconds of this module are used up."""


_KINDS = (
    (CpuLimit, "cpu_limit"),
    (WallLimit, "wall_limit"),
    (SystemExit, "exited"),
    (MemoryError, "out_of_memory"),
)


@dataclass(frozen=True, slots=True)
class Stop:
    """Why a module stopped before its end; `line` and `frames` are the learner's own."""

    kind: str
    message: str
    line: int | None
    frames: list[str] = field(default_factory=list)
    detail: dict[str, Any] = field(default_factory=dict)


def parse(source: bytes, filename: str) -> ast.Module | Stop:
    """Return the module's syntax tree, or the stop that a syntax error is.

    Some errors (a `return` outside a function) only show when the whole is compiled, and Python
    would not run a line of such a module.
    """
    try:
        tree = ast.parse(source, filename=filename)
        with warnings.catch_warnings():
            # Said once more, and in its place, when the statement runs.
            warnings.simplefilter("ignore")
            compile(tree, filename, "exec", dont_inherit=True)
        return tree
    except SyntaxError as error:
        detail = {"text": (error.text or "")[:400], "offset": error.offset or 0}
        return Stop("syntax_error", str(error.msg)[:MESSAGE_CHARS], error.lineno, [], detail)
    except (ValueError, RecursionError, MemoryError) as error:
        return Stop("syntax_error", f"{type(error).__name__}: {error}"[:MESSAGE_CHARS], None)


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


def _module_level(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(node, ast.comprehension) and child is node.target:
            continue
        yield child
        if not isinstance(
            child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
        ):
            yield from _module_level(child)


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
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            for alias in statement.names:
                flags |= _FUTURE_FLAGS.get(alias.name, 0)
        # Alone in its compilation a bare string would become the module's docstring.
        bare = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        stop = None if bare else _run_one(statement, module, filename, flags)
        if stop is not None:
            return stop
        finished(index)
    return None


def _run_one(
    statement: ast.stmt, module: types.ModuleType, filename: str, flags: int
) -> Stop | None:
    try:
        one = ast.Module([statement], type_ignores=[])
        code = compile(one, filename, "exec", flags=flags, dont_inherit=True)
        exec(code, module.__dict__)
    except BaseException as error:  # noqa: BLE001 - whatever a stranger raises is data
        return _stopped(error, filename, statement)
    return None


def _stopped(error: BaseException, filename: str, statement: ast.stmt) -> Stop:
    """Return why a statement did not finish, even where looking at the exception raises again."""
    try:
        return _stop(_kind(error), _message(error), error, filename, statement)
    except BaseException as second:  # noqa: BLE001 - an exception's own methods are a stranger's
        return Stop(_kind(second), f"{type_name(error)} cannot be shown", statement.lineno)


def _kind(error: BaseException) -> str:
    return next((kind for known, kind in _KINDS if issubclass(type(error), known)), "raised")


def _message(error: BaseException) -> str:
    if isinstance(error, CpuLimit | WallLimit):
        return ""
    return _exit_text(error) if isinstance(error, SystemExit) else brief(describe(error))


def _exit_text(error: SystemExit) -> str:
    code = error.code
    return f"exit code {code}" if isinstance(code, int) else "exit with a message" if code else ""


def _stop(
    kind: str, message: str, error: BaseException, filename: str, statement: ast.stmt
) -> Stop:
    lines = learner_lines(error, filename)
    frames = _shown(lines)
    detail = {"type": type_name(error), "denied": _denied(error)}
    return Stop(kind, message, lines[-1][0] if lines else statement.lineno, frames, detail)


def _shown(lines: list[tuple[int, str]]) -> list[str]:
    """Return the frames as text, the innermost last; a recursion is one line with its count."""
    shown: list[str] = []
    for (line, name), same in itertools.groupby(lines):
        times = sum(1 for _ in same)
        again = f" ({times} times)" if times > 1 else ""
        shown.append(f"line {line}, in {name}{again}")
    return shown[-12:]


def _denied(error: BaseException) -> bool:
    """Return whether the sandbox refused something on the way to this exception."""
    seen = 0
    cause: BaseException | None = error
    while cause is not None and seen < 8:
        if isinstance(cause, PermissionError):
            return True
        cause, seen = cause.__cause__ or cause.__context__, seen + 1
    return False


def learner_lines(error: BaseException, filename: str) -> list[tuple[int, str]]:
    """Return line and function of each traceback frame that lies in the learner's file."""
    found: list[tuple[int, str]] = []
    step = _TRACEBACK.__get__(error)
    while step is not None and len(found) < 1000:
        if step.tb_frame.f_code.co_filename == filename:
            found.append((step.tb_lineno, step.tb_frame.f_code.co_name))
        step = step.tb_next
    return found


def describe(error: BaseException) -> str:
    """Return `Type: message`, whatever the exception's own methods do."""
    try:
        text = str.__str__(str(error))
    except BaseException:  # noqa: BLE001 - a lying __str__ must not end the child
        text = "(its message cannot be shown)"
    name = type_name(error)
    return f"{name}: {text}"[:MESSAGE_CHARS] if text else name


_ELSEWHERE = ("The error occurred", "This concrete", "See http", "--------------------")


def brief(text: str) -> str:
    """Return a message on one line, without the lines in which JAX points elsewhere."""
    kept = [line.strip() for line in text.splitlines()]
    return " ".join(line for line in kept if line and not line.startswith(_ELSEWHERE))[:BRIEF_CHARS]


def type_name(value: object) -> str:
    """Return the name of a value's class, which a metaclass cannot change."""
    return str.__str__(_NAME.__get__(type(value)))[:80]


@contextlib.contextmanager
def limits(wall_s: float) -> Iterator[None]:
    """Turn SIGXCPU and the wall clock into exceptions while the learner's statements run.

    Effects: sets signal handlers and an interval timer; the coordinator's own deadline still
    holds when learner code undoes them. Does nothing where the signals do not exist.
    """
    if not hasattr(signal, "SIGXCPU"):
        yield
        return

    def on_cpu(_number: int, _frame: object) -> None:
        raise CpuLimit

    def on_wall(_number: int, _frame: object) -> None:
        raise WallLimit

    signal.signal(signal.SIGXCPU, on_cpu)
    signal.signal(signal.SIGALRM, on_wall)
    # Inside compiled code no Python handler runs: the dump alone then tells the learner's line.
    faulthandler.register(signal.SIGXCPU, chain=True)
    signal.setitimer(signal.ITIMER_REAL, wall_s, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.unregister(signal.SIGXCPU)
        signal.signal(signal.SIGXCPU, signal.SIG_IGN)
        signal.signal(signal.SIGALRM, signal.SIG_IGN)


def end(code: int = 0) -> None:
    """Leave at once: no atexit handler, no thread and no finalizer of the learner's runs."""
    with contextlib.suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)
