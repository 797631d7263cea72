"""Reduce modules to fingerprints of their syntax trees: what stays when names and texts change.

Runs in a throw-away process: source made to crash the parser ends this process and nothing else. It
executes nothing of what it reads.

The fingerprints are winnowed k-grams of node types (Schleimer, Wilkerson, Aiken, "Winnowing: local
algorithms for document fingerprinting", SIGMOD 2003): any run of `K + WINDOW - 1` equal nodes in
two modules gives at least one fingerprint that both have.
"""

from __future__ import annotations

import ast
import base64
import functools
import hashlib
import warnings
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

from grader import wire

K = 16
WINDOW = 8
_BITS = 40
_MASK = (1 << _BITS) - 1
_BASE = 1_000_003
# What says nothing of how a program works, or what everybody has: imports, annotations, contexts.
_DROPPED = (ast.Import, ast.ImportFrom, ast.Pass)
_FIELDS = frozenset({"annotation", "returns", "type_comment", "type_params", "ctx"})


def main(jobs: BinaryIO, frames: BinaryIO) -> None:
    """Answer each job, base64 of a module's bytes, with its outline; null where it is no Python."""
    warnings.simplefilter("ignore")
    while (job := wire.read(jobs)) is not None:
        found = outline(base64.b64decode(job["source"]))
        frames.write(wire.pack({"t": "outline", "outline": found}))
        frames.flush()


def outline(source: bytes) -> dict[str, Any] | None:
    """Return a digest of the whole tree and its fingerprints, None for what cannot be parsed."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    kinds = list(_kinds(tree))
    digest = hashlib.sha256(b"".join(kind.to_bytes(4, "big") for kind in kinds))
    return {"digest": digest.hexdigest(), "prints": sorted(set(_winnowed(_grams(kinds))))}


def _kinds(tree: ast.AST) -> Iterator[int]:
    """Yield a number for each node that counts, from the outside in."""
    # No recursion: a tree may be deeper than the stack allows.
    stack = [tree]
    while stack:
        node = stack.pop()
        if not _is_idle(node):
            kind, fields = _facts(type(node).__name__, type(node)._fields)
            yield kind
            for name in fields:
                value = getattr(node, name, None)
                if isinstance(value, list):
                    inner = sorted(value, key=_word) if name == "keywords" else value
                    stack += [one for one in reversed(inner) if isinstance(one, ast.AST)]
                elif isinstance(value, ast.AST):
                    stack.append(value)


@functools.cache
def _facts(kind: str, fields: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
    """Return the number of a kind of node, and its fields that count, the last one first."""
    # An annotation does not make it another statement.
    name = "Assign" if kind == "AnnAssign" else kind
    return zlib.crc32(name.encode()), tuple(f for f in fields[::-1] if f not in _FIELDS)


def _word(keyword: ast.keyword) -> str:
    return keyword.arg or ""


def _is_idle(node: ast.AST) -> bool:
    """Return whether it does nothing; a docstring or another constant that stands alone is that."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    return isinstance(node, _DROPPED)


def _grams(kinds: list[int]) -> list[int]:
    """Return the rolling hash of every run of K nodes, in order."""
    leaving = pow(_BASE, K, 1 << 64)
    value, found = 0, []
    for index, kind in enumerate(kinds):
        value = value * _BASE + kind
        if index >= K:
            value -= kinds[index - K] * leaving
        value &= (1 << 64) - 1
        if index >= K - 1:
            # The lowest bits of such a sum depend on few of its terms.
            found.append((value ^ value >> 29) * 0x9E3779B97F4A7C15 >> 20 & _MASK)
    return found


def _winnowed(grams: list[int]) -> Iterator[int]:
    """Yield the least hash of every window; a short module has one window."""
    for start in range(max(len(grams) - WINDOW + 1, min(len(grams), 1))):
        yield min(grams[start : start + WINDOW])
