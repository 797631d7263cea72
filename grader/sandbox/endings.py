"""Find the calls of a module that would end its process, before any of it runs.

Runs inside the confined child. After such a call there is nobody left to tell where it stood.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from grader.sandbox import raised

EACH = 8
# What ends a process at once, and what reaches into memory.
CALLS = frozenset(
    {"_exit", "abort", "kill", "killpg", "raise_signal", "pthread_kill", "_sigsegv"}
    | {"string_at", "wstring_at", "memmove", "memset"}
)
_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
Ending = tuple[int, str]


_WORDS = re.compile("|".join(sorted(CALLS)).encode())


def find(tree: ast.Module, source: bytes) -> list[list[Ending]]:
    """Return, for each top-level statement, line and text of such calls that running it may reach.

    A function of the module is followed by its name, which is enough for a sentence and no proof.
    """
    if not _WORDS.search(source):  # as for nearly everybody, and the tree is large
        return [[] for _ in tree.body]
    bodies: dict[str, ast.AST] = {}
    for node in ast.walk(tree):
        if isinstance(node, _FUNCTIONS):
            bodies[node.name] = node
    return [_reached(statement, bodies) for statement in tree.body]


def _reached(statement: ast.stmt, bodies: dict[str, ast.AST]) -> list[Ending]:
    found: dict[Ending, None] = {}
    seen: set[str] = set()
    waiting: list[Iterator[ast.AST]] = [_run_by(statement)]
    while waiting and len(found) < EACH:
        for node in waiting.pop():
            name = _name(node)
            if isinstance(node, ast.Call) and _name(node.func) in CALLS:
                found[(node.lineno, raised.text_of(node))] = None
            elif name in bodies and name not in seen:
                seen.add(name)
                waiting.append(_within(bodies[name]))
    return list(found)[:EACH]


def _run_by(statement: ast.AST) -> Iterator[ast.AST]:
    """Yield what running a statement evaluates: of a definition all but the body."""
    if isinstance(statement, _FUNCTIONS):
        for part in (*statement.decorator_list, statement.args):
            yield from ast.walk(part)
        return
    yield statement
    for child in ast.iter_child_nodes(statement):
        yield from _run_by(child)


def _within(function: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(function):
        yield from _run_by(child)


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
