"""Plain words for errors about names, imports and the number of arguments."""

from __future__ import annotations

import difflib
import re

from grader.sandbox.meaning import Plain, Raised, Rule, counted

_IMPORTS = {
    "np": "import numpy as np",
    "numpy": "import numpy",
    "jnp": "import jax.numpy as jnp",
    "jax": "import jax",
    "lax": "from jax import lax",
    "P": "from jax.sharding import PartitionSpec as P",
    "PS": "from jax.sharding import PartitionSpec as PS",
    "PartitionSpec": "from jax.sharding import PartitionSpec",
    "Mesh": "from jax.sharding import Mesh",
    "NamedSharding": "from jax.sharding import NamedSharding",
    "AxisType": "from jax.sharding import AxisType",
    "shard_map": "from jax import shard_map",
    "partial": "from functools import partial",
    "functools": "import functools",
    "math": "import math",
    "os": "import os",
    "time": "import time",
    "sys": "import sys",
}
# Called otherwise elsewhere, or not near enough to be found.
_KEYWORDS = {"check_rep": "check_vma", "in_axes": "in_specs", "out_axes": "out_specs"}
_KNOWN = (
    *("mesh", "in_specs", "out_specs", "check_vma", "axis_names", "axis_name", "tiled", "axis"),
    *("scatter_dimension", "donate_argnums", "donate_argnames", "static_argnums"),
    *("static_argnames", "in_shardings", "out_shardings", "dtype", "split_axis", "concat_axis"),
)
_MEANT = re.compile(r"Did you mean:? '([A-Za-z_][\w.]{0,100})'")


def _meant(raised: Raised) -> str:
    found = _MEANT.search(raised.text)
    return found[1] if found else ""


def _name(raised: Raised, m: re.Match[str]) -> Plain | None:
    near = _meant(raised)
    if m[1] in _IMPORTS:
        what = f"`{m[1]}` is used, and nothing has imported it"
        return Plain(what, f"write `{_IMPORTS[m[1]]}` at the top")
    if not near:
        return None
    return Plain(
        f"`{m[1]}` is not defined; there is a `{near}`",
        f"write `{near}` there, or define `{m[1]}` above that line",
    )


def _attribute(raised: Raised, m: re.Match[str]) -> Plain | None:
    near = _meant(raised)
    if not near:
        return None
    there = near if "." in near else f"{m[1]}.{near}"
    return Plain(f"`{m[1]}` has no `{m[2]}`; there is `{there}`", f"write `{there}`")


def _member(raised: Raised, m: re.Match[str]) -> Plain | None:
    near = _meant(raised)
    if not near:
        return None
    return Plain(f"a {m[1]} has no `.{m[2]}`; it has `.{near}`", f"write `.{near}`")


def _import(raised: Raised, m: re.Match[str]) -> Plain:
    near = _meant(raised)
    if not near:
        return Plain(f"`{m[2]}` has no `{m[1]}` to import", "look that name up, or leave it out")
    home, _, name = near.rpartition(".")
    step = f"write `from {home or m[2]} import {name}`"
    return Plain(f"`{m[2]}` has no `{m[1]}` to import; there is `{near}`", step)


def _too_many(_raised: Raised, m: re.Match[str]) -> Plain:
    return Plain(
        f"`{_last(m[1])}` takes {counted(m[2], 'argument')}, and is given {m[3]}",
        "let it have one parameter for each argument that it is called with, in that order",
    )


def _too_few(_raised: Raised, m: re.Match[str]) -> Plain:
    names = re.findall(r"'(\w{1,60})'", m[2])[:6]
    lacking = " and ".join(f"`{name}`" for name in names)
    return Plain(
        f"`{_last(m[1])}` is called without {lacking}",
        "pass it, or take that parameter out: a program gets the arguments that the prompt names",
    )


def _keyword(raised: Raised, m: re.Match[str]) -> Plain:
    name = m[2]
    near = _KEYWORDS.get(name) or _meant(raised)
    near = near or next(iter(difflib.get_close_matches(name, _KNOWN, n=1, cutoff=0.75)), "")
    what = f"`{_last(m[1])}` has no argument called `{name}`"
    return Plain(what, f"write `{near}=`" if near and near != name else "leave that argument out")


def _last(qualified: str) -> str:
    return qualified.rpartition(".")[2]


_FUNCTION = r"\b([A-Za-z_][\w.<>]{0,120})\(\)"
RULES: tuple[Rule, ...] = (
    (r"^NameError: (?:free variable |name )'(\w{1,60})'", _name),
    (r"^AttributeError: module '([\w.]{1,60})' has no attribute '(\w{1,60})'", _attribute),
    (r"^AttributeError: '([\w.]{1,60})' object has no attribute '(\w{1,60})'", _member),
    (r"^ImportError: cannot import name '(\w{1,60})' from '([\w.]{1,80})'", _import),
    (
        r"^TypeError: " + _FUNCTION + r" takes (\d{1,4}) positional arguments? but (\d{1,4}) w",
        _too_many,
    ),
    (
        r"^TypeError: "
        + _FUNCTION
        + r" missing \d{1,4} required [\w\-]{1,20} arguments?: (.{1,200})",
        _too_few,
    ),
    (
        r"^TypeError: " + _FUNCTION + r" got an unexpected keyword argument '(\w{1,60})'",
        _keyword,
    ),
)
