"""Programs that no JAX would export, through the real clean room: each is one more observation."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Iterator

import numpy as np
import pytest

from grader.catalog.models import Argument, Exercise, Program
from grader.records import evidence
from grader.records.observation import Observation
from grader.replay.client import Replayer
from grader.sandbox.host import Host, open_host
from grader.sandbox.launching import Allowance
from tests.replay import jax_process

INPUT = np.arange(8, dtype="float32")
CPU_S, SOON_S = 6, 3
EIGHT = (Argument(name="g", shape=(8,), dtype="float32", split=0),)
EXERCISE = Exercise(
    id="crafted-01",
    title="",
    summary="",
    lesson="",
    minutes=1,
    programs=tuple(Program(name=name, arguments=EIGHT) for name in ("crafted", "honest")),
    claims=(),
)
REFUSED = {
    "callback": "calls xla_ffi_python_cpu_callback",
    "infeed": "is no array|uses stablehlo.create_token|its host",
    "small_cholesky": "calls lapack_spotrf_ffi with shapes",
    "overflowing": "no machine can hold",
    "nested": "nested deeper",
    "many_operations": "more than 100000 operations",
    "lying_shape": "",
    "hidden_results": "",
    "eight_devices": "built for 8 devices",
    "other_arguments": "it takes",
    "other_platform": "",
    "empty": "cannot be read",
    "text": "cannot be read",
}
LOST = ("crashed", "cpu_limit", "wall_limit", "deadlock", "refused")
ENDED = {"endless": ("cpu_limit",), "recursive": LOST}
DAMAGED = [*(f"cut_{part}" for part in (8, 100, "last")), *(f"flipped_{n}" for n in range(6))]


@pytest.fixture(scope="module")
def blobs() -> dict[str, bytes]:
    script = "from tests.replay import crafting\ncrafting.main()"
    return {name: base64.b64decode(blob) for name, blob in jax_process.run(script).items()}


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    opened = open_host([], None)
    yield opened
    opened.close()


class Room:
    """A clean room for one submission: a crafted program first, an honest one behind it."""

    def __init__(self, host: Host, blobs: dict[str, bytes]) -> None:
        self._host, self._blobs = host, blobs

    def replay(self, *programs: tuple[str, str], cpu_s: int = CPU_S) -> dict[str, Observation]:
        allowance = Allowance(cpu_s, 3 << 30, 4 << 20)
        with tempfile.TemporaryDirectory() as empty:
            replayer = Replayer(
                lambda: self._host.start("replay", empty, allowance), cpu_s, EXERCISE, ""
            )
            try:
                replayer.start({"case": {name: [INPUT] for name, _ in programs}})
                for name, blob in programs:
                    replayer.hand(evidence.Program(name, "exported", self._blobs[blob]))
                replayer.collect()
            finally:
                replayer.close()
        return replayer.observations

    def crafted(self, blob: str, cpu_s: int = CPU_S) -> Observation:
        """Return what was seen of one program; the honest one behind it has to be unharmed."""
        seen = self.replay(("crafted", blob), ("honest", "honest"), cpu_s=cpu_s)
        shards = seen["honest"].replays["case"].shards
        assert seen["honest"].fate == "replayed"
        assert np.array_equal(np.concatenate([s.data for s in shards]), 2 * INPUT)
        return seen["crafted"]


@pytest.fixture(scope="module")
def room(host: Host, blobs: dict[str, bytes]) -> Room:
    return Room(host, blobs)


@pytest.mark.parametrize("blob", REFUSED)
def test_what_the_clean_room_does_not_run_is_refused_with_a_sentence(room: Room, blob: str) -> None:
    seen = room.crafted(blob)
    assert seen.fate == "refused"
    assert any(words in seen.reason for words in REFUSED[blob].split("|"))
    assert len(seen.reason.splitlines()) == 1


@pytest.mark.parametrize("blob", ENDED)
def test_a_program_that_does_not_end_costs_only_itself(room: Room, blob: str) -> None:
    assert room.crafted(blob, SOON_S).fate in ENDED[blob]


def test_an_array_larger_than_the_memory_is_no_result(room: Room) -> None:
    seen = room.crafted("giant")
    assert seen.fate in LOST or (seen.replayed and not seen.any_shards())


@pytest.mark.parametrize("blob", DAMAGED)
def test_damaged_bytes_are_refused_or_lost_or_the_same_program(room: Room, blob: str) -> None:
    seen = room.crafted(blob)
    assert seen.fate in (*LOST, "replayed")


def test_a_large_constant_is_a_program_like_any_other(room: Room) -> None:
    assert room.crafted("constant").any_shards()


@pytest.mark.parametrize("blob", ["lying_type", "future_version"])
def test_what_an_export_says_of_itself_changes_no_measured_value(room: Room, blob: str) -> None:
    seen = room.crafted(blob)
    # JAX converts what comes out to what the export promised; shards are told as they are.
    assert seen.fate == "refused" or all(s.data.dtype == seen.dtype for s in seen.any_shards())


def test_a_program_for_one_device_is_no_program_for_four(room: Room) -> None:
    seen = room.crafted("one_device")
    assert seen.fate == "refused" or seen.devices == 1


def test_a_program_that_ends_its_child_leaves_the_ones_before_it(room: Room) -> None:
    seen = room.replay(("honest", "honest"), ("crafted", "endless"), cpu_s=SOON_S)
    assert seen["honest"].any_shards()
    assert seen["crafted"].fate == "cpu_limit"
