"""Whatever a child writes, the coordinator reads messages or one declared problem."""

from __future__ import annotations

import contextlib
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from grader import wire
from grader.errors import WireProblem
from grader.process import Deadline
from tests.fuzz import canned, mutations

stable = settings(deadline=None, derandomize=True, max_examples=100)
messages = st.lists(
    st.dictionaries(st.text(max_size=8), mutations.json_values(5), max_size=3), max_size=3
)
sizes = st.lists(st.integers(1, 9), min_size=1, max_size=4)


def received(stream: bytes, pieces: list[int]) -> list[dict[str, Any]]:
    """Return all that arrives of a stream; a declared problem ends it."""
    child = canned.child(stream, sizes=pieces)
    found = []
    with contextlib.suppress(WireProblem):
        while (message := child.receive(Deadline(60))) is not None:
            found.append(message)
    child.finish()
    return found


@stable
@given(messages, sizes)
def test_messages_arrive_whole_however_the_bytes_arrive(
    sent: list[dict[str, Any]], pieces: list[int]
) -> None:
    finite = [m for m in sent if _plain(m)]
    assert received(b"".join(wire.pack(m) for m in finite), pieces) == finite


def _plain(message: dict[str, Any]) -> bool:
    # What the reader refuses, such as a number of more than a hundred digits.
    try:
        wire.unpack(wire.pack(message)[wire.HEADER.size :])
    except (WireProblem, ValueError):
        return False
    return True


@stable
@given(st.binary(max_size=400), sizes)
def test_any_bytes_are_messages_or_a_declared_problem(stream: bytes, pieces: list[int]) -> None:
    assert all(isinstance(message, dict) for message in received(stream, pieces))


WHOLE = canned.packed(
    [
        {"t": "claim", "name": "new_v", "kind": "number", "value": 1.5},
        {"t": "program", "name": "gather", "status": "exported", "blob": "AAAA"},
        {"a": [[], {"b": None}], "c": "\udc80"},
    ]
)


@stable
@given(mutations.spoilt(WHOLE), sizes)
def test_spoilt_frames_are_messages_or_a_declared_problem(stream: bytes, pieces: list[int]) -> None:
    assert all(isinstance(message, dict) for message in received(stream, pieces))


@stable
@given(st.lists(mutations.json_values(), max_size=4), sizes)
def test_what_follows_a_frame_that_is_no_message_is_not_believed(
    values: list[Any], pieces: list[int]
) -> None:
    found = received(canned.packed([{"first": 1}, []]) + canned.packed(values), pieces)
    assert found == [{"first": 1}]


@stable
@given(mutations.spoilt(WHOLE[wire.HEADER.size :]))
def test_the_body_of_a_frame_is_an_object_or_a_declared_problem(body: bytes) -> None:
    with contextlib.suppress(WireProblem):
        assert isinstance(wire.unpack(body), dict)


ARRAY = {"dtype": "float32", "stored": "float32", "shape": [2], "data": "AAAAAAAAAAA="}
SHARDS = [{"device": n, "index": [[2 * n, 2 * n + 2]], "data": ARRAY} for n in range(4)]


@stable
@given(mutations.altered(ARRAY))
def test_a_forged_array_is_an_array_or_a_declared_problem(message: Any) -> None:
    with contextlib.suppress(WireProblem):
        array, _stored = wire.array_from_json(message)
        assert array.nbytes <= wire.ARRAY_BYTES


@stable
@given(mutations.altered(SHARDS))
def test_forged_shards_lie_in_their_array_or_are_a_declared_problem(message: Any) -> None:
    with contextlib.suppress(WireProblem):
        for shard in wire.shards_from_json(message, (8,)):
            ((start, stop),) = shard.index
            assert 0 <= start <= stop <= 8
            assert shard.data.shape == (stop - start,)
