"""What the clean room measured itself by replaying a program: trusted, and apart from claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from grader.records.evidence import Shard


@dataclass(frozen=True, slots=True)
class Collective:
    """One collective operation of a program.

    `operand_bytes` is per rank and per execution; `group_size` counts the participants;
    `trip_count` is how often the enclosing loops run it, None where that is not static;
    `bytes_per_rank` follows the idealised ring model, None where it cannot be told.
    """

    op: str
    operand: str
    operand_bytes: int
    group_size: int | None
    trip_count: int | None
    bytes_per_rank: float | None
    by_compiler: bool = False

    @property
    def scalar(self) -> bool:
        """Return whether each participant contributes single numbers only.

        XLA joins the reductions of a vector and a scalar into one with two operands.
        """
        return all(part.endswith("[]") for part in self.operand.split(", "))


Fate = Literal["replayed", "refused", "crashed", "deadlock", "cpu_limit", "wall_limit", "undecided"]


@dataclass(frozen=True, slots=True)
class Replay:
    """One program's results on one set of inputs: the shards of every device, or an error."""

    shards: tuple[Shard, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """A further array that a program gives: global shape, dtype, and its replays by case."""

    shape: tuple[int, ...]
    dtype: str
    replays: Mapping[str, Replay] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Observation:
    """One exported program, replayed.

    `shape`, `dtype` and `replays` are those of the global result, of the first one where there are
    several; `others` are the rest. `requested` comes from StableHLO,
    `compiled` from the partitioned module; `cpu_us` are completed CPU calls in microseconds.
    """

    name: str
    fate: Fate
    reason: str = ""
    shape: tuple[int, ...] = ()
    dtype: str = ""
    devices: int = 0
    replays: Mapping[str, Replay] = field(default_factory=dict)
    requested: tuple[Collective, ...] = ()
    compiled: tuple[Collective, ...] = ()
    compiled_unknown: str = ""
    cpu_us: tuple[float, ...] = ()
    element_types: tuple[str, ...] = ()
    others: tuple[Result, ...] = ()

    def with_replays(self, case: str, replays: Sequence[Replay]) -> Observation:
        """Return this with what one case gave, a replay for each result; raises ValueError."""
        first, *rest = replays
        others = tuple(
            replace(other, replays={**other.replays, case: one})
            for other, one in zip(self.others, rest, strict=True)
        )
        return replace(self, replays={**self.replays, case: first}, others=others)

    def apart(self, names: Sequence[str]) -> dict[str, Observation]:
        """Return one observation for each of several results, under these names; else nothing.

        A program that was not replayed has no results: each then shares its fate.
        """
        if len(names) < 2:
            return {}
        alone = replace(self, others=())
        lacking = [Result((), "")] * (len(names) - 1 - len(self.others))
        found = {names[0]: replace(alone, name=names[0])}
        for name, other in zip(names[1:], [*self.others, *lacking], strict=True):
            found[name] = replace(
                alone, name=name, shape=other.shape, dtype=other.dtype, replays=other.replays
            )
        return found

    @property
    def replayed(self) -> bool:
        """Return whether the program ran in the clean room at all."""
        return self.fate == "replayed"

    @property
    def replicated(self) -> bool:
        """Return whether every device holds the whole result."""
        whole = tuple((0, extent) for extent in self.shape)
        shards = self.any_shards()
        return len(shards) > 1 and all(shard.index == whole for shard in shards)

    def any_shards(self) -> tuple[Shard, ...]:
        """Return the shards of the first case that gave any; all cases are stored alike."""
        return next((r.shards for r in self.replays.values() if r.shards), ())

    def bytes_per_rank(self) -> float | None:
        """Return the sum over all compiled collectives, None when any of them is unknown."""
        total = 0.0
        for item in self.compiled:
            if item.bytes_per_rank is None:
                return None
            total += item.bytes_per_rank
        return None if self.compiled_unknown else total
