"""Read module variables into JSON, whatever a stranger put there.

Runs inside the confined child. It must never call a method of an unknown object: only exact,
known types are read, and everything is bounded in size.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from grader import wire
from grader.errors import WireProblem

TEXT_CHARS = 20_000
NODES = 4_000
DEPTH = 5
INT_BITS = 256


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
    claim: dict[str, Any] = {"name": name, "type": type(value).__name__[:80]}
    try:
        claim.update(_content(value, array_type))
    except BaseException as error:  # noqa: BLE001 - a hostile value is a claim nobody can read
        claim.update(kind="other", reason=f"it could not be read ({type(error).__name__})")
    return claim


def _content(value: Any, array_type: type) -> dict[str, Any]:
    if value is None:
        return {"kind": "none"}
    if isinstance(value, array_type):
        return _device_array(value)
    if isinstance(value, np.ndarray):
        plain = np.ndarray.view(value, np.ndarray)
        return {"kind": "array", "array": wire.array_to_json(plain)}
    if isinstance(value, bool | int | float | np.generic):
        return _number(value)
    if isinstance(value, str):
        return {"kind": "text", "value": str.__str__(value)[:TEXT_CHARS]}
    if isinstance(value, Mapping | Sequence):
        budget = itertools.count()
        tree = _tree(value, array_type, budget, 0)
        return {"kind": "mapping" if isinstance(value, Mapping) else "list", "value": tree}
    return {"kind": "other"}


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
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, bool):
        return {"kind": "number", "value": bool(plain)}
    if isinstance(plain, int) and int.bit_length(plain) <= INT_BITS:
        return {"kind": "number", "value": int(plain)}
    if isinstance(plain, float) and math.isfinite(plain):
        return {"kind": "number", "value": float(plain)}
    return {"kind": "other", "reason": "it is not a finite number of reasonable size"}


def _tree(value: Any, array_type: type, budget: itertools.count[int], depth: int) -> Any:
    """Return lists, string-keyed objects, numbers and text; anything else becomes `{"?": type}`."""
    if next(budget) > NODES or depth > DEPTH:
        raise WireProblem("more values than a written answer needs")
    if isinstance(value, str):
        return str.__str__(value)[:TEXT_CHARS]
    if isinstance(value, array_type | np.ndarray):
        flat = np.asarray(value)
        if flat.size > NODES:
            raise WireProblem("more values than a written answer needs")
        return _tree(flat.tolist(), array_type, budget, depth + 1)
    if value is None or isinstance(value, bool | int | float | np.generic):
        number = {} if value is None else _number(value)
        return number.get("value")
    if isinstance(value, Mapping):
        pairs = itertools.islice(value.items(), NODES)
        return {
            str.__str__(key)[:200] if isinstance(key, str) else repr(key)[:200]: _tree(
                item, array_type, budget, depth + 1
            )
            for key, item in pairs
        }
    if isinstance(value, Sequence):
        items = itertools.islice(iter(value), NODES + 1)
        return [_tree(item, array_type, budget, depth + 1) for item in items]
    return {"?": type(value).__name__[:80]}
