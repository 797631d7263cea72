"""Read module variables into JSON, whatever a stranger put there.

Runs inside the confined child. It must never call a method that a stranger wrote: values are told
by their real type, containers are read by the methods of the known class they derive from, and
everything is bounded in size.
"""

from __future__ import annotations

import collections
import gc
import itertools
import math
import types
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from grader import wire
from grader.errors import WireProblem
from grader.sandbox.statements import type_name

TEXT_CHARS = 20_000
NODES = 4_000
DEPTH = 5
INT_BITS = 256
# Each with the method that walks it, which a derived class may have overridden for itself.
_SEQUENCES: tuple[type[Iterable[Any]], ...] = (list, tuple, range, collections.deque)


def read(name: str, namespace: Mapping[str, Any], array_type: type) -> dict[str, Any]:
    """Return one claim as a JSON object: its kind and content.

    Args:
        name: the module variable.
        namespace: the module's own dictionary (a module-level `__getattr__` is not asked).
        array_type: JAX's concrete array type.
    """
    if name not in namespace:
        return {"name": name, "kind": "missing"}
    value = namespace[name]
    claim: dict[str, Any] = {"name": name, "type": type_name(value)}
    try:
        claim.update(_content(value, array_type))
    except WireProblem as problem:
        claim.update(kind="other", reason=f"it could not be read: {problem.what}")
    except BaseException as error:  # noqa: BLE001 - a hostile value is a claim nobody can read
        claim.update(kind="other", reason=f"it could not be read ({type_name(error)})")
    return claim


def _is(value: Any, *known: type) -> bool:
    """Return whether a value is of a known type; `isinstance` would believe its `__class__`."""
    return issubclass(type(value), known)


def _content(value: Any, array_type: type) -> dict[str, Any]:
    if value is None:
        return {"kind": "none"}
    if _is(value, array_type):
        return _device_array(value)
    if _is(value, np.ndarray):
        plain = np.ndarray.view(value, np.ndarray)
        return {"kind": "array", "array": wire.array_to_json(plain)}
    if _is(value, str):
        return {"kind": "text", "value": str.__str__(value)[:TEXT_CHARS]}
    if _is(value, bool, int, float, np.generic):
        return _number(value)
    tree = _tree(value, array_type, itertools.count(), 0)
    if isinstance(tree, dict) and tree.get("?") == type_name(value):
        return {"kind": "other"}
    return {"kind": "mapping" if isinstance(tree, dict) else "list", "value": tree}


def _device_array(value: Any) -> dict[str, Any]:
    if value.nbytes > wire.ARRAY_BYTES or len(value.sharding.device_set) > 64:
        return {"kind": "other", "reason": f"its {value.nbytes} bytes are more than may be sent"}
    return {
        "kind": "device_array",
        "shape": list(value.shape),
        "dtype": str(value.dtype),
        "shards": wire.shards_to_json(value),
    }


def _number(value: Any) -> dict[str, Any]:
    plain = np.generic.item(value) if _is(value, np.generic) else value
    if _is(plain, bool):
        return {"kind": "number", "value": plain}
    if _is(plain, int) and int.bit_length(plain) <= INT_BITS:
        return {"kind": "number", "value": int.__int__(plain)}
    if _is(plain, float) and math.isfinite(float.__float__(plain)):
        return {"kind": "number", "value": float.__float__(plain)}
    return {"kind": "other", "reason": "it is not a finite number of reasonable size"}


def _tree(value: Any, array_type: type, budget: itertools.count[int], depth: int) -> Any:
    """Return lists, string-keyed objects, numbers and text; anything else becomes `{"?": type}`."""
    if next(budget) > NODES or depth > DEPTH:
        raise WireProblem("more values than a written answer needs")
    if value is None:
        return None
    if _is(value, str):
        return str.__str__(value)[:TEXT_CHARS]
    if _is(value, bool, int, float, np.generic):
        return _number(value).get("value")
    if _is(value, array_type, np.ndarray):
        flat = np.asarray(value)
        if flat.size > NODES:
            raise WireProblem("more values than a written answer needs")
        return _tree(flat.tolist(), array_type, budget, depth)
    pairs = _pairs(value)
    if pairs is not None:
        return {_key(key): _tree(item, array_type, budget, depth + 1) for key, item in pairs}
    items = _items(value)
    if items is not None:
        return [_tree(item, array_type, budget, depth + 1) for item in items]
    return {"?": type_name(value)}


def _pairs(value: Any) -> Iterable[tuple[Any, Any]] | None:
    """Return keys and values of a known mapping, None for anything else."""
    if _is(value, dict):
        return dict.items(value)
    if type(value) is collections.UserDict:
        return _pairs(value.data)
    if type(value) is types.MappingProxyType:
        # Its own methods would call those of whatever stands behind it.
        return next(filter(None, map(_pairs, gc.get_referents(value))), None)
    return None


def _items(value: Any) -> Iterable[Any] | None:
    if type(value) is collections.UserList:
        return _items(value.data)
    walk = next((known for known in _SEQUENCES if _is(value, known)), None)
    return None if walk is None else walk.__iter__(value)


def _key(key: Any) -> str:
    if _is(key, str):
        return str.__str__(key)[:200]
    number = _number(key).get("value") if _is(key, bool, int, float, np.generic) else None
    return f"({type_name(key)})" if number is None else repr(number)
