"""Frames and arrays as bytes between processes: length-prefixed strict JSON, nothing pickled.

It must never build an object from a name or a type that the other side chose: only JSON values,
and arrays whose dtype is on a short list.
"""

from __future__ import annotations

import base64
import json
import math
import struct
from typing import TYPE_CHECKING, Any

from grader.errors import WireProblem
from grader.records.evidence import Shard

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

HEADER = struct.Struct(">I")
FRAME_BYTES = 16 * 1024 * 1024

# The dtypes that may cross; anything else is widened by the sender or refused.
DTYPES = frozenset(
    ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
    + ["float16", "float32", "float64", "complex64", "complex128"]
)
ARRAY_BYTES = 4 * 1024 * 1024


def pack(message: dict[str, Any]) -> bytes:
    """Return one frame: four bytes of big-endian length, then UTF-8 JSON.

    Raises:
        WireProblem: the message is larger than one frame may be.
    """
    body = json.dumps(message, allow_nan=False, separators=(",", ":")).encode()
    if len(body) > FRAME_BYTES:
        raise WireProblem(f"a message of {len(body)} bytes is larger than a frame may be")
    return HEADER.pack(len(body)) + body


def _refuse_constant(text: str) -> float:
    raise WireProblem(f"{text} is not JSON")


def unpack(body: bytes) -> dict[str, Any]:
    """Return the message of one frame's body.

    Raises:
        WireProblem: the body is not UTF-8 JSON of an object, or holds NaN or infinity.
    """
    try:
        message = json.loads(body.decode("utf-8"), parse_constant=_refuse_constant)
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise WireProblem(f"a frame is not JSON: {type(error).__name__}") from error
    if not isinstance(message, dict):
        raise WireProblem("a frame is not a JSON object")
    return message


def array_to_json(array: Array) -> dict[str, Any]:
    """Return an array as JSON: dtype name, shape, and base64 of its C-ordered little-endian bytes.

    A dtype outside `DTYPES` (bfloat16, float8) is widened to float32; `stored` keeps its name.

    Raises:
        WireProblem: the array is larger than `ARRAY_BYTES` or not numeric.
    """
    import numpy as np

    stored = str(array.dtype)
    if array.nbytes > ARRAY_BYTES:
        raise WireProblem(f"an array of {array.nbytes} bytes is larger than may be sent")
    if stored not in DTYPES:
        if not stored.startswith(("bfloat", "float", "int", "uint")):
            raise WireProblem(f"dtype {stored} cannot be sent")
        array = array.astype("float32")
    plain = np.ascontiguousarray(array)
    data = plain.astype(plain.dtype.newbyteorder("<"), copy=False).tobytes()
    return {
        "dtype": str(array.dtype),
        "stored": stored,
        "shape": list(array.shape),
        "data": base64.b64encode(data).decode("ascii"),
    }


def array_from_json(message: Any) -> tuple[Array, str]:
    """Return the array and the name of the dtype it was stored in.

    Raises:
        WireProblem: unknown dtype, negative or too large shape, or a wrong number of bytes.
    """
    import numpy as np

    try:
        dtype, stored, shape, text = (message[key] for key in ("dtype", "stored", "shape", "data"))
    except (TypeError, KeyError) as error:
        raise WireProblem("an array lacks a field") from error
    if dtype not in DTYPES or not isinstance(stored, str) or len(stored) > 32:
        raise WireProblem("an array has a dtype that may not be sent")
    if not isinstance(shape, list) or len(shape) > 16:
        raise WireProblem("an array has no proper shape")
    if not all(type(n) is int and 0 <= n <= ARRAY_BYTES for n in shape):
        raise WireProblem("an array has no proper shape")
    plain = np.dtype(dtype).newbyteorder("<")
    try:
        data = base64.b64decode(text, validate=True)
    except (ValueError, TypeError) as error:
        raise WireProblem("an array's bytes are not base64") from error
    if math.prod(shape) * plain.itemsize != len(data):
        raise WireProblem("an array's bytes do not fill its shape")
    array = np.frombuffer(data, dtype=plain).reshape(shape).astype(dtype)
    return array, stored


def text(value: Any, most: int = 20_000) -> str:
    """Return a string field of a frame, cut to `most` characters.

    Raises:
        WireProblem: it is something else.
    """
    if not isinstance(value, str):
        raise WireProblem("a frame holds something else where text belongs")
    return value[:most]


def integer(value: Any) -> int:
    """Return an integer field of a frame.

    Raises:
        WireProblem: it is something else, a bool included, or larger than any count can be.
    """
    if type(value) is not int or abs(value) > 1 << 40:
        raise WireProblem("a frame holds something else where a number belongs")
    return value


def shards_to_json(array: Any) -> list[dict[str, Any]]:
    """Return each device's piece of a JAX array: device id, index and per-device data."""
    import numpy as np

    shards = []
    for shard in array.addressable_shards:
        index = [
            list(part.indices(extent)[:2])
            for part, extent in zip(shard.index, array.shape, strict=True)
        ]
        data = array_to_json(np.asarray(shard.data))
        shards.append({"device": int(shard.device.id), "index": index, "data": data})
    return shards


def shards_from_json(message: Any, shape: tuple[int, ...]) -> tuple[Shard, ...]:
    """Return the shards of an array of global shape `shape`, at most 64, one for each device.

    Raises:
        WireProblem: an index does not lie in `shape`, data does not fill its index, or two shards
            lie on one device.
    """
    if not isinstance(message, list) or len(message) > 64:
        raise WireProblem("an array has no proper list of shards")
    shards = tuple(_shard_from_json(one, shape) for one in message)
    if len({shard.device for shard in shards}) != len(shards):
        raise WireProblem("two shards of one array lie on the same device")
    return shards


def _shard_from_json(message: Any, shape: tuple[int, ...]) -> Shard:
    try:
        index = tuple((integer(start), integer(stop)) for start, stop in message["index"])
        data, _stored = array_from_json(message["data"])
        device = integer(message["device"])
    except (KeyError, TypeError, ValueError) as error:
        raise WireProblem("a shard lacks a field") from error
    inside = len(index) == len(shape) and all(
        0 <= start <= stop <= extent for (start, stop), extent in zip(index, shape, strict=True)
    )
    if not inside or data.shape != tuple(stop - start for start, stop in index):
        raise WireProblem("a shard does not lie in its array")
    return Shard(device, index, data)
