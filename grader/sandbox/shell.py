"""What a notebook's code finds of IPython: names that are there, do nothing, and say so.

Runs inside the confined child, before any of the learner's code.
"""

from __future__ import annotations

import builtins
import linecache
from collections.abc import Callable, Sequence
from typing import Any


class Shell:
    """Stands for IPython's shell: each method may be called, and says that it does nothing."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("__"):
            raise AttributeError(name)

        def nothing(*arguments: object, **_named: object) -> None:
            shown = ", ".join(f"'{one}'" for one in arguments if isinstance(one, str))
            print(f"get_ipython().{name}({shown}) does nothing while a notebook is graded")

        return nothing

    def __repr__(self) -> str:
        return "<no IPython: this notebook is being graded>"


def display(*objects: object, **_named: Any) -> None:
    """Print each object; IPython would choose a richer form."""
    for one in objects:
        print(one if isinstance(one, str) else repr(one))


def stand_in(filename: str, texts: Sequence[str]) -> bytes:
    """Return the code of all cells as one text.

    Effects: `get_ipython` and `display` are there without an import, as in Jupyter; a warning or a
    traceback quotes the cell's line and not that of the notebook's JSON.
    """
    shell = Shell()
    builtins.get_ipython = lambda: shell  # type: ignore[attr-defined]
    builtins.display = display  # type: ignore[attr-defined]
    code = "\n".join(texts)
    lines = [f"{line}\n" for line in code.split("\n")]
    # Without a time it is never compared with the file.
    linecache.cache[filename] = (len(code), None, lines, filename)
    return code.encode("utf-8", "replace")
