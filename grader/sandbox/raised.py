"""Look at an exception of a stranger: its words, the learner's own lines, the call it came from.

Runs inside the confined child. It never asks the exception's own class anything but its text, and
nothing that it gives names a file of ours or an address in memory.
"""

from __future__ import annotations

import ast
import contextlib
import itertools
import os
import re
import sys
import types
from collections import deque
from collections.abc import Iterator
from typing import Any

from grader.sandbox import near

MESSAGE_CHARS = 1500
BRIEF_CHARS = 600
CALL_CHARS = 100
FRAMES = 2000
# As the interpreter keeps them: a stranger's class may have its own idea of them.
_TRACEBACK: Any = BaseException.__dict__["__traceback__"]
_CAUSE: Any = BaseException.__dict__["__cause__"]
_CONTEXT: Any = BaseException.__dict__["__context__"]
_SUPPRESSED: Any = BaseException.__dict__["__suppress_context__"]
_GROUPED: Any = BaseExceptionGroup.__dict__["exceptions"]
_NAME: Any = type.__dict__["__name__"]
_ADDRESS = re.compile(r" (?:object )?at 0x[0-9a-fA-F]+|\b0x[0-9a-fA-F]{9,16}\b")
_ELSEWHERE = ("The error occurred", "This concrete", "See http", "--------------------")
# Found before a stranger's code can change where they are looked for: libraries, and the grader.
_LIBRARIES = frozenset(
    [
        os.path.dirname(os.__file__),
        os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
        *(path for path in sys.path if path.endswith("-packages")),
    ]
)
# JAX goes on with a list of frames, ours among them, and with settings of its own.
_FURTHER = re.compile(r"When the value was created, the final \d+ stack frames|To catch the leak")


def type_name(value: object) -> str:
    """Return the name of a value's class, which a metaclass cannot change."""
    return str.__str__(_NAME.__get__(type(value)))[:80]


def describe(error: BaseException) -> str:
    """Return `Type: message`, whatever the exception's own methods do."""
    try:
        text = str.__str__(str(error))
    except BaseException:  # noqa: BLE001 - a lying __str__ must not end the child
        text = "(its message cannot be shown)"
    name = type_name(error)
    whole = f"{name}: {text}"[:MESSAGE_CHARS] if text else name
    with contextlib.suppress(BaseException):
        whole += near.meant(error, text)
    if issubclass(type(error), BaseExceptionGroup):
        inner = _GROUPED.__get__(error)[0]
        nested = issubclass(type(inner), BaseExceptionGroup)
        inside = type_name(inner) if nested else describe(inner)
        whole = f"{whole[:BRIEF_CHARS]}; the first of them: {inside}"
    return stable(whole)[:MESSAGE_CHARS]


def brief(text: str) -> str:
    """Return a message on one line, without the lines in which JAX points elsewhere."""
    kept = [line.strip() for line in _FURTHER.split(text)[0].splitlines()]
    return " ".join(line for line in kept if line and not line.startswith(_ELSEWHERE))[:BRIEF_CHARS]


def stable(text: str) -> str:
    """Return a text without addresses in memory and without where this machine keeps its files."""
    text = _ADDRESS.sub(lambda found: "" if found[0][0] == " " else "0x…", text)
    for folder in _folders():
        text = text.replace(folder, "")
    return text


def _folders() -> list[str]:
    # The longest first: one of them may hold another.
    known = {*_LIBRARIES, os.getcwd()} - {os.sep}
    return [f"{folder}{os.sep}" for folder in sorted(known, key=len, reverse=True)]


def steps(error: BaseException) -> Iterator[types.TracebackType]:
    """Yield the traceback's entries, the innermost last."""
    step = _TRACEBACK.__get__(error)
    while step is not None:
        yield step
        step = step.tb_next


def is_learners(step: types.TracebackType, filename: str) -> bool:
    """Return whether an entry lies in the learner's file."""
    # A code object may hold a text of a class that has its own idea of equality.
    return str.__eq__(step.tb_frame.f_code.co_filename, filename) is True


def learner_lines(error: BaseException, filename: str) -> list[tuple[int, str]]:
    """Return line and function of each traceback frame that lies in the learner's file."""
    found: deque[tuple[int, str]] = deque(maxlen=FRAMES)
    for step in steps(error):
        if is_learners(step, filename):
            found.append((step.tb_lineno, str.__str__(step.tb_frame.f_code.co_name)[:80]))
    return list(found)


def by_hand(error: BaseException, filename: str) -> bool:
    """Return whether it was a `raise` in the learner's file that made the exception."""
    last = deque(steps(error), maxlen=1)
    if not last or not is_learners(last[0], filename):
        return False
    import opcode

    code = last[0].tb_frame.f_code.co_code
    return code[last[0].tb_lasti] == opcode.opmap["RAISE_VARARGS"]


_COLLECTIVES = frozenset({"psum", "pmean", "pmax", "pmin", "ppermute"})


def over_an_axis(error: BaseException, filename: str) -> str:
    """Return `: in psum('axis')` for the assertion without a word by which JAX refuses an axis.

    From the names and texts of the learner's innermost function; nothing where they leave a doubt.
    """
    last = deque((step for step in steps(error) if is_learners(step, filename)), maxlen=1)
    if not last or by_hand(error, filename):
        return ""
    code = last[0].tb_frame.f_code
    called = _COLLECTIVES.intersection(code.co_names)
    axes = [one for one in code.co_consts if type(one) is str and one.isidentifier()][:8]
    if len(called) != 1:
        return ""
    named = repr(axes[0][:40]) if len(axes) == 1 else ""
    return f": in {next(iter(called))}({named})"


def chain(error: BaseException, filename: str) -> list[BaseException]:
    """Return the exception and those that it passes on, the outermost first.

    A library that fails and a `raise` while another error is handled pass that error on. A slip
    of the learner's in an `except` block does not: it is an error of its own.
    """
    found = [error]
    while len(found) < 8:
        last = found[-1]
        behind = _CAUSE.__get__(last)
        if behind is None and not _SUPPRESSED.__get__(last):
            inner = deque(steps(last), maxlen=1)
            slipped = bool(inner) and is_learners(inner[0], filename)
            if not slipped or by_hand(last, filename):
                behind = _CONTEXT.__get__(last)
        if behind is None or any(behind is known for known in found):
            break
        found.append(behind)
    return found


def call(error: BaseException, filename: str, tree: ast.Module) -> ast.AST | None:
    """Return the expression or `raise` of the learner's file in which the exception came up."""
    last = deque((step for step in steps(error) if is_learners(step, filename)), maxlen=1)
    if not last:
        return None
    code, index = last[0].tb_frame.f_code, last[0].tb_lasti // 2
    place = next(itertools.islice(code.co_positions(), index, None), (None,) * 4)
    line, end_line, column, end_column = place
    if column is None:
        return _statement(tree, last[0].tb_lineno)
    wanted = (line, end_line, column, end_column)
    found = [node for node in ast.walk(tree) if _position(node) == wanted]
    # A call may be all of a statement: the innermost is the call.
    return found[-1] if found else None


def _position(node: ast.AST) -> tuple[int | None, ...]:
    names = ("lineno", "end_lineno", "col_offset", "end_col_offset")
    return tuple(getattr(node, name, None) for name in names)


def _statement(tree: ast.Module, line: int) -> ast.AST | None:
    """Return the only simple statement of a line, where the interpreter keeps no columns."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and node.lineno == line]
    return found[0] if len(found) == 1 and not hasattr(found[0], "body") else None


def text_of(node: ast.AST | None) -> str:
    """Return a piece of the learner's source on one short line, nothing where it is a long one."""
    if node is None or (getattr(node, "end_lineno", 0) or 0) - getattr(node, "lineno", 0) > 40:
        return ""
    try:
        first, _, more = ast.unparse(node).partition("\n")
    except (RecursionError, ValueError):
        return ""
    cut = len(first) > CALL_CHARS or bool(more)
    return first[:CALL_CHARS] + (" …" if cut else "")
