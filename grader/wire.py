"""Frames and arrays as bytes between processes: length-prefixed strict JSON, nothing pickled.

It must never build an object from a name or a type that the other side chose: only JSON values,
and arrays whose dtype is on a short list.
"""

from __future__ import annotations

import base64
import json
import math
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

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
# More than any honest frame has; each costs the reader far more memory than it takes in a frame.
VALUES = 500_000
DIGITS = 100
DEPTH = 32
MOST = 1e100
_SURROGATE = b"\\ud"
# What reading a frame of the wrong form may raise; the seams turn all of it into one outcome.
MALFORMED = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)


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


def _finite(text: str) -> float:
    # JSON has no infinity, but 1e999 becomes one.
    number = float(text)
    if not math.isfinite(number):
        raise WireProblem("a number in a frame is not finite")
    return number


def _short(text: str) -> int:
    # A longer one could not even become a float.
    if len(text) > DIGITS:
        raise WireProblem(f"a number in a frame has more than {DIGITS} digits")
    return int(text)


def unpack(body: bytes) -> dict[str, Any]:
    """Return the message of one frame's body.

    Raises:
        WireProblem: the body is not UTF-8 JSON of an object, holds NaN, infinity or a number of
            more than `DIGITS` digits, or more than `VALUES` values.
    """
    if body.count(b",") + body.count(b"[") > VALUES:
        raise WireProblem(f"a frame holds more than {VALUES} values")
    try:
        message = json.loads(
            body.decode("utf-8"),
            parse_constant=_refuse_constant,
            parse_float=_finite,
            parse_int=_short,
        )
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise WireProblem(f"a frame is not JSON: {type(error).__name__}") from error
    if not isinstance(message, dict):
        raise WireProblem("a frame is not a JSON object")
    _refuse_depth(message)
    return message


def unpack_claim(body: bytes) -> dict[str, Any]:
    """Return the message of a child's frame; half a surrogate pair in a text is spelled out.

    No receipt could hold it. Raises: WireProblem, as `unpack` does.
    """
    message: dict[str, Any] = unpack(body)
    # Only an escape can bring one, and most frames have none.
    return _encodable(message) if _SURROGATE in body.lower() else message


def _encodable(value: Any) -> Any:
    """Return a value whose texts can all be written as UTF-8."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, list):
        return [_encodable(one) for one in value]
    if isinstance(value, dict):
        return {_encodable(name): _encodable(one) for name, one in value.items()}
    return value


def _refuse_depth(message: dict[str, Any]) -> None:
    # What can be read can still be too deep to be shown.
    level: list[Any] = [message]
    for _ in range(DEPTH):
        inner = (v.values() if isinstance(v, dict) else v for v in level)
        level = [x for values in inner for x in values if isinstance(x, dict | list)]
        if not level:
            return
    raise WireProblem(f"a frame is nested deeper than {DEPTH} levels")


def read(stream: BinaryIO) -> dict[str, Any] | None:
    """Return the next message of a trusted stream, None at its end.

    Raises:
        WireProblem: see `unpack`. A hostile stream is read by `Child`, under caps.
    """
    header = stream.read(HEADER.size)
    return unpack(stream.read(HEADER.unpack(header)[0])) if len(header) == HEADER.size else None


def array_to_json(array: Array) -> dict[str, Any]:
    """Return an array as JSON: dtype name, shape, and base64 of its C-ordered little-endian bytes.

    A dtype outside `DTYPES` (bfloat16, float8) is widened to float32; `stored` keeps its name.

    Raises:
        WireProblem: the array is larger than `ARRAY_BYTES` or not numeric.
    """
    import numpy as np

    stored = array.dtype.name
    if array.nbytes > ARRAY_BYTES:
        raise WireProblem(f"an array of {array.nbytes} bytes is larger than may be sent")
    if stored not in DTYPES:
        if not stored.startswith(("bfloat", "float", "int", "uint")):
            raise WireProblem(f"dtype {stored} cannot be sent")
        array = array.astype("float32")
    plain = np.ascontiguousarray(array)
    data = plain.astype(plain.dtype.newbyteorder("<"), copy=False).tobytes()
    return {
        "dtype": array.dtype.name,
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
    names = isinstance(dtype, str) and isinstance(stored, str) and len(stored) <= 32
    if not names or dtype not in DTYPES:
        raise WireProblem("an array has a dtype that may not be sent")
    if not isinstance(shape, list) or not _fits(shape, ARRAY_BYTES):
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


def _fits(shape: Sequence[Any], most: int) -> bool:
    """Return whether these are extents of an array that NumPy can make and that is not too big.

    An empty dimension hides the others from the product, and NumPy refuses them all the same.
    """
    if len(shape) > 16 or not all(type(n) is int and n >= 0 for n in shape):
        return False
    return bool(math.prod(max(n, 1) for n in shape) <= most)


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


def number(value: Any) -> float:
    """Return a numeric field of a frame as a finite float.

    Raises:
        WireProblem: it is something else; text that spells a number is.
    """
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    if not plain or not abs(value) <= MOST:
        raise WireProblem("a frame holds something else where a number belongs")
    return float(value)


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
        WireProblem: `shape` is larger than shards could fill, an index does not lie in it, data
            does not fill its index, or two shards lie on one device.
    """
    if not isinstance(message, list) or len(message) > 64:
        raise WireProblem("an array has no proper list of shards")
    if not _fits(shape, FRAME_BYTES):
        raise WireProblem("an array has no proper shape")
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
