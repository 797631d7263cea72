"""What came out of the sandbox: claims that nobody has checked yet.

These are plain frozen dataclasses because the fork server's children build them too and must not
pay for importing pydantic; the seams that fill them validate by hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np

OutcomeKind = Literal[
    "finished",
    "raised",
    "exited",
    "syntax_error",
    "cpu_limit",
    "wall_limit",
    "deadlock",
    "out_of_memory",
    "killed",
    "output_flood",
    "blocked",
    "no_result",
]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the learner's module ended: a kind, a sentence, and the learner's own line.

    `place` names that line where a number does not: a notebook's cell and the line in it.
    """

    kind: OutcomeKind
    message: str = ""
    line: int | None = None
    frames: tuple[str, ...] = ()
    next_step: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class Shard:
    """One device's piece of an array.

    `device` is the device id; `index` gives start and stop per dimension of the global array;
    `data` is the per-device array, its dtype as stored (bfloat16 arrives widened to float32).
    """

    device: int
    index: tuple[tuple[int, int], ...]
    data: np.ndarray[Any, Any]


ClaimKind = Literal[
    "missing", "device_array", "array", "number", "text", "list", "mapping", "none", "other"
]


@dataclass(frozen=True, slots=True)
class Claim:
    """A module variable as the learner's process reported it.

    `shape` and `dtype` describe the global array; `shards` is filled for device arrays only;
    `value` holds a host array, a number, text, or a JSON-like tree of lists and mappings.
    """

    name: str
    kind: ClaimKind
    type_name: str = ""
    shape: tuple[int, ...] = ()
    dtype: str = ""
    shards: tuple[Shard, ...] = ()
    value: Any = None
    line: int | None = None
    reason: str = ""


ProgramStatus = Literal["exported", "missing", "not_callable", "refused"]


@dataclass(frozen=True, slots=True)
class Program:
    """A program as exported by the learner's process (serialized StableHLO), or why not."""

    name: str
    status: ProgramStatus
    blob: bytes = b""
    reason: str = ""
    cause: str = ""
    line: int | None = None
    notes: tuple[str, ...] = ()


TripStatus = Literal["done", "missing", "not_callable", "refused", "no_folder"]


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """What came back of the states that a module's own functions saved and restored.

    `function` is the one of the two that is missing or failed, `reason` why, `step` what to try
    where that is known; `at_once` and `in_the_end` count the files of each state's folder when
    saving it had returned and when all was over; `states` holds what was restored of each, by leaf.
    """

    name: str
    status: TripStatus
    function: str = ""
    cause: str = ""
    reason: str = ""
    step: str = ""
    line: int | None = None
    at_once: tuple[int, ...] = ()
    in_the_end: tuple[int, ...] = ()
    states: tuple[Mapping[str, Claim], ...] = ()


@dataclass(frozen=True, slots=True)
class Output:
    """What the module printed: head and tail, and how many bytes there were in all."""

    head: str = ""
    tail: str = ""
    total_bytes: int = 0

    @property
    def text(self) -> str:
        """Return head and tail with the cut said between them."""
        if not self.tail:
            return self.head
        cut = self.total_bytes - len(self.head.encode()) - len(self.tail.encode())
        return f"{self.head}\n… {max(cut, 0)} bytes left out …\n{self.tail}"


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer of confinement: its name, whether it is on, and why not."""

    name: str
    on: bool
    reason: str = ""


Level = Literal["full", "partial", "none"]
# Namespaces are refused by many containers, and stop nothing that the others leave open.
REQUIRED_LAYERS = frozenset(
    {"descriptors", "rlimits", "capabilities", "no_new_privs", "landlock", "seccomp"}
)


def confinement_level(layers_on: Iterable[str]) -> Level:
    """Return `full` when every required layer is among the names, `none` when none of them is."""
    on = REQUIRED_LAYERS.intersection(layers_on)
    return "full" if on == REQUIRED_LAYERS else "partial" if on else "none"


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that the learner's process left behind.

    `hidden_in` is the function that holds all names asked for, where the module itself has none;
    `inside` gives, for single names that it lacks, the function that has a variable of that name.
    """

    outcome: Outcome
    programs: Mapping[str, Program] = field(default_factory=dict)
    claims: Mapping[str, Claim] = field(default_factory=dict)
    round_trips: Mapping[str, RoundTrip] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    hidden_in: str = ""
    inside: Mapping[str, str] = field(default_factory=dict)
    output: Output = Output()
    layers: tuple[Layer, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    devices: int = 0
    settings: tuple[str, ...] = ()
    cache_hits: int = 0
