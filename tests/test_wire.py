from __future__ import annotations

import contextlib
import json
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from grader import wire
from grader.errors import WireProblem
from grader.records.evidence import Shard

# One slow example on a busy machine is no failure.
relaxed = settings(deadline=None, max_examples=200)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**90), 10**90)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def frame(text: str) -> dict[str, Any]:
    return wire.unpack(text.encode())


# ------------------------------------------------------------------------------------------ frames


@relaxed
@given(st.dictionaries(st.text(), json_values, max_size=5))
def test_a_message_arrives_as_it_was_sent(message: dict[str, Any]) -> None:
    packed = wire.pack(message)
    (size,) = wire.HEADER.unpack(packed[: wire.HEADER.size])
    assert size == len(packed) - wire.HEADER.size
    assert wire.unpack(packed[wire.HEADER.size :]) == message


@relaxed
@given(st.binary(max_size=300))
def test_garbage_bytes_are_never_anything_but_a_wire_problem(body: bytes) -> None:
    with contextlib.suppress(WireProblem):
        assert isinstance(wire.unpack(body), dict)


@relaxed
@given(st.text(alphabet='{}[]",:0123456789eE+-.NaInfity \\u', max_size=80))
def test_nearly_json_is_never_anything_but_a_wire_problem(text: str) -> None:
    with contextlib.suppress(WireProblem):
        assert isinstance(frame(text), dict)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_a_number_that_is_not_finite_is_refused(number: str) -> None:
    with pytest.raises(WireProblem):
        frame(f'{{"a": {number}}}')


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_number_that_is_not_finite_is_never_sent(number: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        wire.pack({"a": number})


def test_an_integer_too_long_for_a_float_is_refused() -> None:
    assert frame('{"a": ' + "9" * 100 + "}")["a"] == int("9" * 100)
    for digits in (101, 5000):
        with pytest.raises(WireProblem, match="digits"):
            frame('{"a": ' + "9" * digits + "}")


@pytest.mark.parametrize("depth", [500, 100_000])
def test_nesting_of_any_depth_is_read_or_refused(depth: int) -> None:
    with contextlib.suppress(WireProblem):
        assert isinstance(frame('{"a":' + "[" * depth + "]" * depth + "}"), dict)


def test_a_frame_of_very_many_tiny_values_is_refused() -> None:
    with pytest.raises(WireProblem, match="values"):
        wire.unpack(b'{"a":[' + b"[]," * wire.VALUES + b"0]}")


@pytest.mark.parametrize("body", [b"", b"[]", b"1", b'"a"', b"null", b"\xff", b'{"a":1}{}', b"\0"])
def test_what_is_no_object_is_refused(body: bytes) -> None:
    with pytest.raises(WireProblem):
        wire.unpack(body)


def test_a_message_larger_than_a_frame_is_not_sent() -> None:
    with pytest.raises(WireProblem, match="larger"):
        wire.pack({"a": "x" * wire.FRAME_BYTES})


def test_a_lone_surrogate_survives_the_way() -> None:
    packed = wire.pack({"name": "\udc80.py"})
    assert wire.unpack(packed[wire.HEADER.size :]) == {"name": "\udc80.py"}


# ------------------------------------------------------------------------------------------ arrays

DTYPES = sorted(wire.DTYPES)
SHAPES: list[tuple[int, ...]] = [(), (0,), (1,), (3,), (2, 0, 3), (2, 3), (1, 2, 3, 4)]


def sample(dtype: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    size = int(np.prod(shape, dtype=int))
    whole = np.arange(size) % 2 if dtype == "bool" else np.arange(size)
    return whole.astype(dtype).reshape(shape)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_an_array_of_every_dtype_arrives_bit_for_bit(dtype: str, shape: tuple[int, ...]) -> None:
    array = sample(dtype, shape)
    found, stored = wire.array_from_json(json.loads(json.dumps(wire.array_to_json(array))))
    assert (found.dtype, found.shape, stored) == (array.dtype, shape, dtype)
    assert found.tobytes() == array.tobytes()


@relaxed
@given(npst.arrays(st.sampled_from(DTYPES), npst.array_shapes(min_dims=0, max_dims=4, min_side=0)))
def test_any_bits_arrive_unchanged(array: np.ndarray[Any, Any]) -> None:
    found, _stored = wire.array_from_json(wire.array_to_json(array))
    assert found.shape == array.shape
    assert found.tobytes() == np.ascontiguousarray(array).tobytes()


@pytest.mark.parametrize(
    "dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.int4], ids=lambda d: d.__name__
)
def test_a_dtype_of_few_bits_arrives_widened_and_named(dtype: type) -> None:
    array = np.array([1, -2, 3.5], dtype=dtype)
    found, stored = wire.array_from_json(wire.array_to_json(array))
    assert (found.dtype, stored) == (np.dtype("float32"), np.dtype(dtype).name)
    np.testing.assert_array_equal(found, array.astype("float32"))


@pytest.mark.parametrize("shape", [(), (0,), (2, 3)], ids=str)
def test_bfloat16_keeps_its_shape(shape: tuple[int, ...]) -> None:
    found, _ = wire.array_from_json(wire.array_to_json(np.ones(shape, ml_dtypes.bfloat16)))
    assert found.shape == shape


def test_byte_order_and_strides_do_not_matter() -> None:
    array = np.arange(12.0).reshape(3, 4)
    for same in (array.astype(">f8"), np.asfortranarray(array), array[::-1][::-1]):
        found, stored = wire.array_from_json(wire.array_to_json(same))
        assert stored == "float64"
        np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize(
    "array",
    [
        np.array(["a"]),
        np.array([b"a"]),
        np.array([object()]),
        np.array([1], "M8[s]"),
        np.zeros(1, [("a", "f4")]),
    ],
    ids=lambda a: str(a.dtype),
)
def test_what_is_not_numeric_is_not_sent(array: np.ndarray[Any, Any]) -> None:
    with pytest.raises(WireProblem, match="cannot be sent"):
        wire.array_to_json(array)


def test_a_huge_view_of_one_value_is_not_sent() -> None:
    with pytest.raises(WireProblem, match="larger"):
        wire.array_to_json(np.broadcast_to(np.float32(1), (10**9,)))


GOOD = {"dtype": "float32", "stored": "float32", "shape": [2], "data": "AAAAAAAAAAA="}


@pytest.mark.parametrize(
    "change",
    [
        {"dtype": "object"},
        {"dtype": "O"},
        {"dtype": "float128"},
        {"dtype": []},
        {"dtype": None},
        {"stored": 3},
        {"stored": "x" * 33},
        {"shape": [3]},
        {"shape": [-2]},
        {"shape": [True, 2]},
        {"shape": [2.0]},
        {"shape": "2"},
        {"shape": None},
        {"shape": [1 << 50]},
        {"shape": [0, 1 << 22, 1 << 22, 1 << 22], "data": ""},
        {"shape": [1] * 17},
        {"data": "AAA"},
        {"data": "é"},
        {"data": 5},
        {"data": None},
        {"data": ["A"]},
    ],
    ids=str,
)
def test_an_array_that_is_not_what_it_says_is_refused(change: dict[str, Any]) -> None:
    wire.array_from_json(GOOD)
    with pytest.raises(WireProblem):
        wire.array_from_json({**GOOD, **change})


@pytest.mark.parametrize("message", [None, [], "x", 5, {}, {"dtype": "float32"}])
def test_what_is_no_array_is_refused(message: Any) -> None:
    with pytest.raises(WireProblem):
        wire.array_from_json(message)


odd = json_values | st.sampled_from([[2], "float32", "AAAAAAAAAAA=", [0], 0, -1])


@relaxed
@given(st.dictionaries(st.sampled_from(["dtype", "stored", "shape", "data"]), odd))
def test_a_forged_array_is_never_anything_but_a_wire_problem(message: dict[str, Any]) -> None:
    with contextlib.suppress(WireProblem):
        wire.array_from_json({**GOOD, **message})


# ------------------------------------------------------------------------------------------ fields


def test_fields_are_read_strictly() -> None:
    assert wire.text("abc", 2) == "ab"
    assert wire.integer(-3) == -3
    assert wire.number(2) == 2.0 and isinstance(wire.number(2), float)


@pytest.mark.parametrize("value", [None, 1, b"a", ["a"], {}])
def test_text_is_nothing_but_text(value: Any) -> None:
    with pytest.raises(WireProblem):
        wire.text(value)


@pytest.mark.parametrize("value", [None, True, 1.0, "1", 1 << 41, -(1 << 41)])
def test_an_integer_is_nothing_but_a_count(value: Any) -> None:
    with pytest.raises(WireProblem):
        wire.integer(value)


@pytest.mark.parametrize("value", [None, True, "1", "nan", float("nan"), float("inf"), 10**400])
def test_a_number_is_nothing_but_a_finite_number(value: Any) -> None:
    with pytest.raises(WireProblem):
        wire.number(value)


# ------------------------------------------------------------------------------------------ shards


def shard(device: int, start: int, stop: int, **change: Any) -> dict[str, Any]:
    data = wire.array_to_json(np.arange(start, stop, dtype="float32"))
    return {"device": device, "index": [[start, stop]], "data": data, **change}


class FakeDevice:
    def __init__(self, number: int) -> None:
        self.id = number


class FakeShard:
    """What a JAX shard offers: a device, an index of slices, data."""

    def __init__(self, device: int, index: tuple[slice, ...], data: np.ndarray[Any, Any]) -> None:
        self.device, self.index, self.data = FakeDevice(device), index, data


class FakeArray:
    """What a JAX array offers: a global shape and one shard for each device."""

    def __init__(self, whole: np.ndarray[Any, Any], indices: list[tuple[slice, ...]]) -> None:
        self.shape = whole.shape
        self.addressable_shards = [FakeShard(d, i, whole[i]) for d, i in enumerate(indices)]


@pytest.mark.parametrize(
    ("whole", "indices"),
    [
        (np.arange(8.0), [(slice(2 * d, 2 * d + 2),) for d in range(4)]),
        (np.arange(8.0), [(slice(None),)] * 4),
        (np.arange(8.0).reshape(4, 2), [(slice(d, d + 1), slice(None)) for d in range(4)]),
        (np.float64(3.0).reshape(()), [()] * 4),
        (np.zeros((0, 2)), [(slice(None), slice(None))] * 4),
    ],
    ids=["split", "replicated", "rows", "scalar", "empty"],
)
def test_every_device_keeps_its_own_piece(
    whole: np.ndarray[Any, Any], indices: list[tuple[slice, ...]]
) -> None:
    found = wire.shards_from_json(wire.shards_to_json(FakeArray(whole, indices)), whole.shape)
    assert [one.device for one in found] == [0, 1, 2, 3]
    for one, index in zip(found, indices, strict=True):
        assert one.index == tuple(
            part.indices(extent)[:2] for part, extent in zip(index, whole.shape, strict=True)
        )
        np.testing.assert_array_equal(one.data, whole[index])


def test_good_shards_are_read() -> None:
    found = wire.shards_from_json([shard(0, 0, 2), shard(1, 2, 4)], (4,))
    assert all(isinstance(one, Shard) for one in found)


@pytest.mark.parametrize(
    "message",
    [
        None,
        {},
        "shards",
        [None],
        [[]],
        [shard(0, 0, 2), shard(0, 2, 4)],
        [shard(0, 2, 6)],
        [shard(0, 0, 2, index=[[-1, 1]])],
        [shard(0, 0, 2, index=[[2, 0]])],
        [shard(0, 0, 2, index=[[0, 3]])],
        [shard(0, 0, 2, index=[])],
        [shard(0, 0, 2, index=[[0, 2], [0, 1]])],
        [shard(0, 0, 2, index=[[0]])],
        [shard(0, 0, 2, index=5)],
        [{**shard(0, 0, 2), "device": "0"}],
        [{**shard(0, 0, 2), "device": 1 << 60}],
        [shard(0, 0, 2, data=None)],
        [{"device": 0}],
        [shard(d, 0, 1) for d in range(65)],
    ],
    ids=lambda m: str(m)[:40],
)
def test_a_shard_that_does_not_lie_in_its_array_is_refused(message: Any) -> None:
    with pytest.raises(WireProblem):
        wire.shards_from_json(message, (4,))


@pytest.mark.parametrize("shape", [(1 << 40,), (-1,), (0, 1 << 60), (1,) * 100, (1 << 13,) * 2])
def test_a_global_shape_that_no_shards_could_fill_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(WireProblem):
        wire.shards_from_json([], shape)


@relaxed
@given(
    st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "device": odd,
                "index": odd | st.lists(st.lists(st.integers(-2, 9), max_size=3), max_size=3),
                "data": odd | st.just(GOOD),
            },
        ),
        max_size=3,
    )
)
def test_forged_shards_are_never_anything_but_a_wire_problem(message: list[Any]) -> None:
    with contextlib.suppress(WireProblem):
        wire.shards_from_json(message, (8,))


def test_half_a_surrogate_pair_is_spelled_out_wherever_it_stands() -> None:
    message = {"a\ud800": ["\udfff", {"b": "\ud83d\ude00 \ud800"}], "n": 1}
    assert wire.unpack_claim(wire.pack(message)[4:]) == {
        "a\\ud800": ["\\udfff", {"b": "😀 \\ud800"}],
        "n": 1,
    }
