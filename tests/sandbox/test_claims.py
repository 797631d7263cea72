from __future__ import annotations

import collections
import enum
import json
import math
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

from grader import wire
from grader.sandbox import claims


class FakeDevice:
    def __init__(self, number: int) -> None:
        self.id = number


class FakeShard:
    def __init__(self, device: int, index: tuple[slice, ...], data: np.ndarray[Any, Any]) -> None:
        self.device, self.index, self.data = FakeDevice(device), index, data


class FakeSharding:
    def __init__(self, devices: int) -> None:
        self.device_set = set(range(devices))


class FakeArray:
    """What `read` uses of a JAX array: the part of the class that its caller passes in."""

    def __init__(self, whole: np.ndarray[Any, Any], devices: int = 4) -> None:
        self.whole = whole
        self.shape, self.dtype, self.nbytes = whole.shape, whole.dtype, whole.nbytes
        self.sharding = FakeSharding(devices)
        every = tuple(slice(None) for _ in whole.shape)
        self.addressable_shards = [FakeShard(d, every, whole) for d in range(devices)]

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        return self.whole


def read(value: Any, array_type: type = FakeArray) -> dict[str, Any]:
    """Return the claim as it arrives on the other side."""
    claim = claims.read("a", {"a": value}, array_type)
    packed = wire.pack({"t": "claim", **claim})
    return wire.unpack(packed[wire.HEADER.size :])


def value_of(value: Any) -> Any:
    return read(value)["value"]


# ----------------------------------------------------------------------------- each kind of answer


def test_a_name_that_is_not_there_is_missing() -> None:
    assert claims.read("a", {"b": 1}, FakeArray) == {"name": "a", "kind": "missing"}


def test_none_is_none() -> None:
    assert read(None) == {"t": "claim", "name": "a", "type": "NoneType", "kind": "none"}


@pytest.mark.parametrize("dtype", ["float32", "int32", "bool", ml_dtypes.bfloat16])
def test_an_array_on_the_devices_is_read_shard_by_shard(dtype: Any) -> None:
    whole = np.arange(4).astype(dtype)
    found = read(FakeArray(whole))
    assert (found["kind"], found["shape"]) == ("device_array", [4])
    assert found["dtype"] == np.dtype(dtype).name
    shards = wire.shards_from_json(found["shards"], (4,))
    assert [shard.device for shard in shards] == [0, 1, 2, 3]
    np.testing.assert_array_equal(shards[3].data, whole.astype(shards[3].data.dtype))


@pytest.mark.parametrize("shape", [(), (0,), (2, 3)], ids=str)
def test_a_host_array_is_read(shape: tuple[int, ...]) -> None:
    whole = np.ones(shape, np.float32)
    found, stored = wire.array_from_json(read(whole)["array"])
    np.testing.assert_array_equal(found, whole)
    assert stored == "float32"


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (48, 48),
        (48.5, 48.5),
        (True, True),
        (np.float32(1.5), 1.5),
        (np.int64(-3), -3),
        (np.bool_(True), True),
        (ml_dtypes.bfloat16(1.5), 1.5),
        (enum.IntEnum("E", {"A": 7}).A, 7),
        (2**255, 2**255),
        (-(10**60), -(10**60)),
    ],
    ids=repr,
)
def test_a_number_is_read_as_a_plain_one(value: Any, plain: Any) -> None:
    found = read(value)
    assert (found["kind"], found["value"]) == ("number", plain)
    assert type(found["value"]) is type(plain)


def test_a_number_on_the_devices_is_an_array_of_no_dimension() -> None:
    found = read(FakeArray(np.float32(3).reshape(())))
    assert (found["kind"], found["shape"]) == ("device_array", [])


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, np.float32("nan"), 2**257])
def test_a_number_that_is_none_is_told(value: Any) -> None:
    found = read(value)
    assert (found["kind"], found["reason"]) == (
        "other",
        "it is not a finite number of reasonable size",
    )


def test_text_is_read_and_cut() -> None:
    assert read("why")["kind"] == "text"
    assert value_of("why \u2200 \udc80") == "why \u2200 \udc80"
    assert value_of(np.str_("c")) == "c"
    assert len(value_of("x" * 10**6)) == claims.TEXT_CHARS


class Row(NamedTuple):
    ranks: int
    size: float


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ([1, 2.5, "a", None, True], [1, 2.5, "a", None, True]),
        ((1, (2, [3])), [1, [2, [3]]]),
        (range(3), [0, 1, 2]),
        (collections.deque([1, 2]), [1, 2]),
        (collections.UserList([1, [2]]), [1, [2]]),
        (Row(2, 1.5), [2, 1.5]),
        ([np.float32(1.5), np.arange(3), FakeArray(np.ones((1, 2)))], [1.5, [0, 1, 2], [[1, 1]]]),
        ([np.float64(2).reshape(())], [2.0]),
        ([math.nan, 2**300], [None, None]),
        ([{1}, b"a", object], [{"?": "set"}, {"?": "bytes"}, {"?": "type"}]),
        ([{"ranks": 2}, {"ranks": 4}], [{"ranks": 2}, {"ranks": 4}]),
        ([], []),
    ],
    ids=lambda v: str(v)[:30],
)
def test_a_sequence_is_read_as_a_list(value: Any, plain: Any) -> None:
    found = read(value)
    assert (found["kind"], found["value"]) == ("list", plain)


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ({"a": 1, "b": {"c": [2]}}, {"a": 1, "b": {"c": [2]}}),
        (collections.OrderedDict(a=1), {"a": 1}),
        (collections.Counter("aab"), {"a": 2, "b": 1}),
        (collections.defaultdict(list, a=[1]), {"a": [1]}),
        (collections.UserDict(a=1), {"a": 1}),
        (types.MappingProxyType({"a": 1}), {"a": 1}),
        ({2: 1, 1.5: 2, None: 3, True: 4}, {"2": 1, "1.5": 2, "(NoneType)": 3, "True": 4}),
        ({"x" * 500: 1}, {"x" * 200: 1}),
        ({}, {}),
    ],
    ids=lambda v: str(v)[:30],
)
def test_a_mapping_is_read_with_keys_of_text(value: Any, plain: Any) -> None:
    found = read(value)
    assert (found["kind"], found["value"]) == ("mapping", plain)


@pytest.mark.parametrize(
    "value",
    [
        object(),
        {1},
        b"bytes",
        bytearray(3),
        (n for n in ()),
        print,
        FakeArray,
        ...,
        slice(3),
        iter([]),
    ],
    ids=lambda v: type(v).__name__,
)
def test_anything_else_is_told_by_its_type_alone(value: Any) -> None:
    found = read(value)
    assert (found["kind"], found["type"]) == ("other", type(value).__name__)


# --------------------------------------------------------------------------------- hostile answers


def refused(value: Any) -> str:
    found = read(value)
    assert found["kind"] == "other"
    return str(found.get("reason", ""))


def endless() -> Iterator[int]:
    while True:
        yield 1


def nested(depth: int) -> list[Any]:
    return [nested(depth - 1)] if depth else []


SELF: list[Any] = []
SELF.append(SELF)
LOOP: dict[str, Any] = {}
LOOP["again"] = [LOOP]


@pytest.mark.parametrize(
    "value",
    [
        range(10**9),
        [0] * (claims.NODES + 1),
        [[0] * 100] * 1000,
        {n: n for n in range(claims.NODES + 1)},
        [np.zeros(claims.NODES + 1)],
        [np.broadcast_to(np.float32(1), (10**9,))],
        nested(claims.DEPTH + 1),
        SELF,
        LOOP,
    ],
    ids=lambda v: f"{type(v).__name__}",
)
def test_more_than_an_answer_needs_is_refused(value: Any) -> None:
    assert refused(value) == "it could not be read: more values than a written answer needs"


def test_a_huge_array_is_refused_by_its_size() -> None:
    reason = "it could not be read: an array of 4000000000 bytes is larger than may be sent"
    assert refused(np.broadcast_to(np.float32(1), (10**9,))) == reason
    many = FakeArray(np.zeros(2))
    many.nbytes = 10**12
    assert "more than may be sent" in refused(many)
    assert "more than may be sent" in refused(FakeArray(np.zeros(2), devices=65))


@pytest.mark.parametrize(
    "array",
    [
        np.array([object()]),
        np.array(["text"]),
        np.array([b"text"]),
        np.array([1], "M8[s]"),
        np.zeros(2, [("a", "f4")]),
    ],
    ids=lambda a: a.dtype.name,
)
def test_an_array_of_no_numbers_is_refused(array: np.ndarray[Any, Any]) -> None:
    assert "cannot be sent" in refused(array)


def test_an_array_that_is_gone_is_refused() -> None:
    gone = FakeArray(np.zeros(2))
    del gone.addressable_shards
    assert refused(gone) == "it could not be read (AttributeError)"


def never(*_args: Any, **_kwargs: Any) -> Any:
    raise AssertionError("a stranger's method was called")


METHODS = [
    *("__iter__", "__len__", "__getitem__", "__contains__", "__eq__", "__hash__", "__bool__"),
    *("__str__", "__repr__", "__format__", "__int__", "__float__", "__index__", "__array__"),
    *("__reduce__", "__getattribute__", "items", "keys", "values", "get", "item", "tolist"),
]


def lying(base: type, *args: Any) -> Any:
    """Return a value of a class that derives from `base` and overrides every method we know of."""
    names: dict[str, Any] = dict.fromkeys(METHODS, never)
    return type("Lying", (base,), {**names, "__class__": property(never)})(*args)


@pytest.mark.parametrize(
    ("base", "argument", "kind", "plain"),
    [
        (list, [1, 2], "list", [1, 2]),
        (tuple, (1, 2), "list", [1, 2]),
        (collections.deque, [1, 2], "list", [1, 2]),
        (dict, {"a": 1}, "mapping", {"a": 1}),
        (int, 48, "number", 48),
        (float, 48.5, "number", 48.5),
        (str, "c", "text", "c"),
        (np.float64, 1.5, "number", 1.5),
    ],
)
def test_a_lying_class_is_read_for_what_it_derives_from(
    base: type, argument: Any, kind: str, plain: Any
) -> None:
    found = read(lying(base, argument))
    assert (found["kind"], found["value"], found["type"]) == (kind, plain, "Lying")
    assert value_of([lying(base, argument)]) == [plain]


def test_a_lying_key_is_read_for_what_it_derives_from() -> None:
    class Key(str):
        __slots__ = ()
        __getitem__ = never
        __str__ = never

    assert value_of({Key("ranks"): 1}) == {"ranks": 1}


def test_a_lying_array_is_read_as_the_memory_it_holds() -> None:
    class Lying(np.ndarray):  # type: ignore[type-arg]
        nbytes = size = shape = property(never)  # type: ignore[assignment]
        __array_ufunc__ = __array_function__ = tolist = astype = view = item = never

    array = np.ndarray.view(np.arange(3.0), Lying)
    found, _stored = wire.array_from_json(read(array)["array"])
    np.testing.assert_array_equal(found, np.arange(3.0))


def test_a_masked_array_shows_what_is_behind_the_mask() -> None:
    found, _ = wire.array_from_json(read(np.ma.masked_array([1.0, 2.0], mask=[0, 1]))["array"])
    np.testing.assert_array_equal(found, [1.0, 2.0])


@pytest.mark.parametrize("base", [object, Sequence, Mapping])
def test_nothing_of_an_unknown_class_is_asked(base: Any) -> None:
    assert refused(lying(base)) == ""
    assert value_of([lying(base)]) == [{"?": "Lying"}]


@pytest.mark.parametrize("pretended", [list, dict, int, str, FakeArray, np.ndarray, type(None)])
def test_a_class_that_pretends_to_be_another_is_not_believed(pretended: type) -> None:
    class Pretender:
        __class__ = pretended  # type: ignore[assignment]

    assert refused(Pretender()) == ""


def test_a_proxy_of_an_unknown_mapping_is_not_asked() -> None:
    class Endless(Mapping):  # type: ignore[type-arg]
        __getitem__ = __len__ = __iter__ = never

    assert refused(types.MappingProxyType(Endless())) == ""


def test_a_metaclass_cannot_hide_a_type() -> None:
    class Meta(type):
        __name__ = property(never)  # type: ignore[assignment]
        __instancecheck__ = __subclasscheck__ = never

    class Value(metaclass=Meta):
        pass

    assert read(Value())["type"] == "Value"


def test_an_endless_generator_is_not_started() -> None:
    assert refused(endless()) == ""
    assert value_of([endless()]) == [{"?": "generator"}]


def test_every_claim_is_strict_json_of_bounded_size() -> None:
    for value in ([[0] * 50] * 50, {str(n): "x" * 100 for n in range(1000)}, "x" * 10**7):
        text = json.dumps(claims.read("a", {"a": value}, FakeArray), allow_nan=False)
        assert len(text) < wire.FRAME_BYTES
