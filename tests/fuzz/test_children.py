"""Whatever a child says, its seam ends in a record or in one of the declared problems."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.catalog.models import Argument, Exercise, Program
from grader.errors import EnvironmentProblem, Undecided
from grader.process import Child, Exit
from grader.records import evidence
from grader.records.submission import Submission
from grader.replay.client import Replayer
from grader.sandbox.client import Learner
from grader.sandbox.launching import Allowance
from tests.fuzz import canned, mutations
from tests.fuzz.test_frames import ARRAY, SHARDS

stable = settings(deadline=None, derandomize=True, max_examples=80)
EIGHT = (Argument(name="g", shape=(8,), dtype="float32", split=0),)
EXERCISE = Exercise(
    id="fuzzed-01",
    title="",
    summary="",
    lesson="",
    minutes=1,
    programs=(Program(name="double", arguments=EIGHT), Program(name="gather", arguments=EIGHT)),
    claims=("number", "text", "array", "placed", "table"),
)
SAID: list[dict[str, Any]] = [
    {"t": "layers", "layers": [{"name": "landlock", "on": True, "reason": ""}]},
    {"t": "ready", "devices": 4, "versions": {"jax": "0.10.2"}},
    {"t": "parsed", "lines": {"number": 3}, "starts": [1, 2, 3]},
    {"t": "ran", "i": 0},
    {"t": "stop", "kind": "raised", "type": "ValueError", "message": "no", "line": 2},
    {"t": "names", "names": ["number"], "hidden_in": ""},
    {"t": "claim", "name": "number", "kind": "number", "type": "float", "value": 1.5},
    {"t": "claim", "name": "text", "kind": "text", "type": "str", "value": "words"},
    {"t": "claim", "name": "array", "kind": "array", "type": "ndarray", "array": ARRAY},
    {
        **{"t": "claim", "name": "placed", "kind": "device_array", "type": "ArrayImpl"},
        **{"shape": [8], "dtype": "float32", "shards": SHARDS},
    },
    {"t": "claim", "name": "table", "kind": "list", "type": "list", "value": [[1, "a"], None]},
    {"t": "settings", "settings": ["jax_enable_x64 is switched on"]},
    {"t": "exporting", "name": "double"},
    {"t": "program", "name": "double", "status": "exported", "blob": "AAAA", "line": 3},
    {"t": "program", "name": "gather", "status": "refused", "reason": "no", "cause": "x"},
    {"t": "done", "cache_hits": 2},
]
ended = st.sampled_from([Exit(0, None), Exit(70, None), Exit(None, 9), Exit(None, 24), None])
printed = st.sampled_from([b"", b"\xff\0", b"rendezvous timeout", b"Fatal Python error: x"])


class Repeating:
    """A host whose children all say the same."""

    def __init__(self, said: bytes, out: bytes, end: Exit | None) -> None:
        self._said, self._out, self._end = said, out, end

    def start(self, entry: str, workdir: str, allowance: Allowance) -> Child:
        return canned.child(self._said, self._out, self._end)

    def close(self) -> None:
        """Nothing runs."""


def learned(said: bytes, out: bytes, end: Exit | None) -> None:
    submission = Submission("s.py", "s.py", b"x = 1\n")
    learner = Learner(Repeating(said, out, end), EXERCISE, submission, "/nowhere")
    handed: list[evidence.Program] = []
    with contextlib.suppress(Undecided, EnvironmentProblem):
        found = learner.evidence(handed.append)
        assert set(found.claims) <= {*EXERCISE.claims, "prediction", "checkpoint", "explanation"}
        assert set(found.programs) <= {"double", "gather"}
        assert {program.name for program in handed} <= set(found.programs)


@stable
@given(mutations.altered(SAID), printed, ended)
def test_forged_messages_of_a_learner_are_evidence_or_a_declared_problem(
    said: list[Any], out: bytes, end: Exit | None
) -> None:
    learned(canned.packed(said), out, end)


@stable
@given(mutations.spoilt(canned.packed(SAID)), printed, ended)
def test_spoilt_bytes_of_a_learner_are_evidence_or_a_declared_problem(
    said: bytes, out: bytes, end: Exit | None
) -> None:
    learned(said, out, end)


@stable
@given(st.permutations(SAID), ended)
def test_messages_in_any_order_are_evidence_or_a_declared_problem(
    said: list[Any], end: Exit | None
) -> None:
    learned(canned.packed(said), b"", end)


COLLECTIVE = {
    **{"op": "all-reduce", "operand": "f32[8]", "operand_bytes": 32, "group_size": 4},
    **{"trip_count": 1, "bytes_per_rank": 48.0, "by_compiler": False},
}
SEEN: list[dict[str, Any]] = [
    {"t": "ready"},
    {
        **{"t": "loaded", "name": "double", "shape": [8], "dtype": "float32", "devices": 4},
        **{"requested": [COLLECTIVE], "compiled": [COLLECTIVE], "unknown": ""},
        "element_types": ["f32"],
    },
    {"t": "case", "name": "double", "case": "hidden_0", "shards": SHARDS},
    {"t": "timed", "name": "double", "us": [1.5, 2.5]},
    {"t": "end_of_program", "name": "double"},
    {"t": "refused", "name": "gather", "reason": "it calls evil"},
]


def replayed(said: bytes, out: bytes, end: Exit | None) -> None:
    inputs = [np.zeros(8, "float32")]
    replayer = Replayer(lambda: canned.child(said, out, end), 5, EXERCISE, "hidden_0")
    replayer.start({"hidden_0": {"double": inputs, "gather": inputs}})
    for name in ("double", "gather"):
        replayer.hand(evidence.Program(name, "exported", b"\0"))
    replayer.collect()
    replayer.again({"late": {"double": inputs, "gather": inputs}})
    replayer.close()
    assert set(replayer.observations) == {"double", "gather"}
    for seen in replayer.observations.values():
        assert len(seen.reason) <= 600


@stable
@given(mutations.altered(SEEN), printed, ended)
def test_forged_messages_of_a_clean_room_are_observations(
    said: list[Any], out: bytes, end: Exit | None
) -> None:
    replayed(canned.packed(said), out, end)


@stable
@given(mutations.spoilt(canned.packed(SEEN)), printed, ended)
def test_spoilt_bytes_of_a_clean_room_are_observations(
    said: bytes, out: bytes, end: Exit | None
) -> None:
    replayed(said, out, end)
