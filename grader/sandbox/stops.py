"""Say why a statement of the learner's did not finish: from its exception, one Stop.

Runs inside the confined child. Whatever the exception is, a Stop comes out.
"""

from __future__ import annotations

import ast
import errno
import itertools
from dataclasses import dataclass, field
from typing import Any

from grader.sandbox import denials, raised


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
# As the interpreter keeps it.
_CODE: Any = SystemExit.__dict__["code"]
_EXHAUSTED = ("JaxRuntimeError: RESOURCE_EXHAUSTED", "XlaRuntimeError: RESOURCE_EXHAUSTED")


@dataclass(frozen=True, slots=True)
class Stop:
    """Why a module stopped before its end; `line` and `frames` are the learner's own."""

    kind: str
    message: str
    line: int | None
    frames: list[str] = field(default_factory=list)
    detail: dict[str, Any] = field(default_factory=dict)


class Guard:
    """Lets a limit be raised only where it is caught: inside, and at the next entry otherwise."""

    def __init__(self) -> None:
        self._inside = False
        self._due: type[BaseException] | None = None

    def reached(self, limit: type[BaseException]) -> None:
        """Raise the limit now, or at the next entry."""
        if self._inside:
            raise limit
        self._due = limit

    def clear(self) -> None:
        """Forget a limit that was not raised."""
        self._inside, self._due = False, None

    def __enter__(self) -> None:
        due, self._due = self._due, None
        if due is not None:
            raise due
        self._inside = True

    def __exit__(self, *_error: object) -> None:
        self._inside = False


GUARD = Guard()


def why(error: BaseException, filename: str, statement: ast.stmt, tree: ast.Module) -> Stop:
    """Return why a statement did not finish, even where looking at the exception raises again."""
    try:
        with GUARD:
            return _stop(error, filename, statement, tree)
    except BaseException as second:  # noqa: BLE001 - an exception's own methods are a stranger's
        told = f"{raised.type_name(error)} cannot be shown"
        first = _kind(error, "")
        return Stop(first if first != "raised" else _kind(second, ""), told, statement.lineno)


def _stop(error: BaseException, filename: str, statement: ast.stmt, tree: ast.Module) -> Stop:
    message = _message(error)
    kind = _kind(error, message)
    lines = raised.learner_lines(error, filename)
    detail: dict[str, Any] = {"type": raised.type_name(error)}
    if kind == "raised":
        refused = denials.refused(error, filename, tree)
        if refused is not None:
            lines = refused.lines or lines
            detail["refused"] = refused.facts
    if kind in ("raised", "exited") and "refused" not in detail:
        detail["call"] = raised.text_of(raised.call(error, filename, tree))
        detail["own"] = raised.by_hand(error, filename)
    line = lines[-1][0] if lines else statement.lineno
    return Stop(kind, message, line, _shown(lines), detail)


def _kind(error: BaseException, message: str) -> str:
    known = next((kind for cls, kind in _KINDS if issubclass(type(error), cls)), "raised")
    if known != "raised":
        return known
    full = issubclass(type(error), OSError) and denials.number(error) == errno.ENOMEM
    return "out_of_memory" if full or message.startswith(_EXHAUSTED) else "raised"


def _message(error: BaseException) -> str:
    # By exact class: `isinstance` would ask the exception itself.
    known = type(error)
    if issubclass(known, CpuLimit | WallLimit):
        return ""
    if issubclass(known, SystemExit):
        return _exit_text(error)
    return raised.brief(raised.describe(error))


def _exit_text(error: BaseException) -> str:
    code = _CODE.__get__(error)
    if type(code) in (int, bool):
        return f"exit code {int(code)}"
    return "exit with a message" if type(code) is str and code else ""


def _shown(lines: list[tuple[int, str]]) -> list[str]:
    """Return the frames as text, the innermost last; a recursion is one line with its count."""
    shown: list[str] = []
    for (line, name), same in itertools.groupby(lines):
        times = sum(1 for _ in same)
        again = f" ({times} times)" if times > 1 else ""
        shown.append(f"line {line}, in {name}{again}")
    return shown[-12:]
