"""What one learner child has sent so far, checked and kept until it has ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from grader.records.evidence import Claim, Layer, Program, RoundTrip


@dataclass
class Run:
    """What one child has sent so far."""

    layers: tuple[Layer, ...] = ()
    versions: dict[str, str] = field(default_factory=dict)
    devices: int = 0
    lines: dict[str, int] = field(default_factory=dict)
    ran: int = 0
    stop: dict[str, Any] | None = None
    names: tuple[str, ...] = ()
    hidden_in: str = ""
    inside: dict[str, str] = field(default_factory=dict)
    claims: dict[str, Claim] = field(default_factory=dict)
    settings: tuple[str, ...] = ()
    exporting: str = ""
    programs: dict[str, Program] = field(default_factory=dict)
    travelling: str = ""
    trips: dict[str, RoundTrip] = field(default_factory=dict)
    ready: bool = False
    parsed: bool = False
    named: bool = False
    done: bool = False
    timed_out: bool = False
    garbled: str = ""
    cache_hits: int = 0
    starts: tuple[int, ...] = ()
    endings: tuple[tuple[tuple[int, str], ...], ...] = ()

    def progress(self) -> tuple[bool, int, str, int, str, int]:
        """Return how far it came; two children that came equally far will not get further."""
        exported, travelled = len(self.programs), len(self.trips)
        return self.named, self.ran, self.exporting, exported, self.travelling, travelled

    def unfinished(self) -> int | None:
        """Return the line of the first statement that did not end, None where all did."""
        return self.starts[self.ran] if not self.named and self.ran < len(self.starts) else None

    def without_stuck(self) -> Run:
        """Return what is known before the next child: what did not come to an end is left out."""
        programs, trips = dict(self.programs), dict(self.trips)
        if self.exporting and self.exporting not in programs:
            programs[self.exporting] = Program(self.exporting, "refused", cause="stuck")
        if self.travelling and self.travelling not in trips:
            trips[self.travelling] = RoundTrip(self.travelling, "refused", cause="stuck")
        return Run(programs=programs, trips=trips)
