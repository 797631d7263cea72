"""Find the name that was meant where one is missing, as the interpreter does when it prints.

Runs inside the confined child. It reads dictionaries of frames, modules and classes as the
interpreter keeps them, and never asks a value of a stranger's.
"""

from __future__ import annotations

import re
import sys
import types
from collections import deque
from collections.abc import Iterable
from typing import Any

MOST_NAMES = 4000
NAME_CHARS = 60
# As the interpreter keeps them: a stranger's class may have its own idea of them.
_NAME: Any = NameError.__dict__["name"]
_ATTRIBUTE: Any = AttributeError.__dict__["name"]
_OBJECT: Any = AttributeError.__dict__["obj"]
_TRACEBACK: Any = BaseException.__dict__["__traceback__"]
_MRO: Any = type.__dict__["__mro__"]
_OF_CLASS: Any = type.__dict__["__dict__"]
_OF_MODULE: Any = vars(types.ModuleType)["__dict__"]
# Where the names of this field live.
HOMES = ("jax.lax", "jax.numpy", "jax", "jax.sharding", "numpy", "jax.random", "jax.tree_util")
_FROM = re.compile(r"cannot import name '(\w{1,60})' from '([\w.]{1,80})'")


def meant(error: BaseException, text: str) -> str:
    """Return `. Did you mean: 'NAME'?` for an error about a missing name, or nothing.

    `text` is what the error says.
    """
    if "Did you mean" in text:
        return ""
    kind = type(error)
    found = ""
    if issubclass(kind, NameError):
        found = _near(_NAME.__get__(error), _visible(error))
    elif issubclass(kind, AttributeError):
        found = _attribute(_ATTRIBUTE.__get__(error), _OBJECT.__get__(error))
    elif issubclass(kind, ImportError):
        said = _FROM.search(text)
        module = sys.modules.get(said[2]) if said else None
        found = _attribute(said[1], module) if said and module is not None else ""
    return f". Did you mean: '{found}'?" if found else ""


def _attribute(name: object, owner: object) -> str:
    if type(name) is not str:
        return ""
    if type(owner) is not types.ModuleType:
        classes = _MRO.__get__(type(owner))
        return _near(name, (key for one in classes for key in _OF_CLASS.__get__(one)))
    names = _OF_MODULE.__get__(owner)
    own = names.get("__name__")
    top = own.partition(".")[0] if type(own) is str else ""
    if top in ("jax", "numpy"):
        for home in HOMES:
            module = sys.modules.get(home)
            if type(module) is types.ModuleType and name in _OF_MODULE.__get__(module):
                return f"{home}.{name}"
    return _near(name, names)


def _visible(error: BaseException) -> Iterable[object]:
    last = deque(_steps(error), maxlen=1)
    if not last:
        return ()
    frame = last[0].tb_frame
    known = frame.f_builtins if type(frame.f_builtins) is dict else {}
    return [*frame.f_locals, *frame.f_globals, *known]


def _steps(error: BaseException) -> Iterable[types.TracebackType]:
    step = _TRACEBACK.__get__(error)
    while step is not None:
        yield step
        step = step.tb_next


def _near(name: object, names: Iterable[object]) -> str:
    import difflib

    if type(name) is not str or not name.isidentifier() or len(name) > NAME_CHARS:
        return ""
    known = [k for k in names if type(k) is str and (k[:1] != "_" or name[:1] == "_")]
    alike = [k for k in known[:MOST_NAMES] if k.isidentifier() and len(k) <= NAME_CHARS]
    plain = {bare(key): key for key in alike if key != name}
    if bare(name) in plain:
        return plain[bare(name)]
    return next(iter(difflib.get_close_matches(name, alike, n=1, cutoff=0.75)), "")


def bare(name: str) -> str:
    """Return a name without what is most easily got wrong: case, underscores, a plural's s."""
    return name.replace("_", "").casefold().removesuffix("s")
