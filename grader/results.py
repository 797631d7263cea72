"""Which array of what a program returns is which of its named results.

A tree is JAX's own, looked at without importing JAX: the learner's child and the clean room must
agree, and neither may trust what the other says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def order(tree: Any, names: Sequence[str]) -> list[int] | None:
    """Return for each result the position of its leaf; None where the structure is another one.

    Args:
        tree: a `PyTreeDef`: without names one array alone, else a tuple or list of as many arrays
            in this order, or a dict with exactly these keys.
        names: what the results are called, none for a single array.
    """
    node = tree.node_data()
    if not names:
        return [0] if tree.num_leaves == 1 and node is None else None
    if node is None or any(child.node_data() is not None for child in tree.children()):
        return None
    if tree.num_leaves != len(names):
        return None
    kind, keys = node
    if kind in (tuple, list):
        return list(range(len(names)))
    if kind is dict and sorted(names) == list(keys):
        return [list(keys).index(name) for name in names]
    return None


def names_of(program: str, results: Sequence[str]) -> tuple[str, ...]:
    """Return the name under which each result of a program is judged: its own for a single one."""
    return tuple(f"{program}.{result}" for result in results) or (program,)


def program_of(name: str) -> str:
    """Return the program that a name of `names_of` belongs to."""
    return name.partition(".")[0]
