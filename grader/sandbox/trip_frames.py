"""The round trips of a module as frames: what a child is asked for, and what it sent.

What a child sent is a stranger's; what is not as it has to be is a WireProblem, or one of
`wire.MALFORMED`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from grader import wire
from grader.catalog.models import RoundTrip as Asked
from grader.errors import EnvironmentProblem, WireProblem
from grader.records.evidence import Layer, RoundTrip
from grader.records.truth import Sent
from grader.sandbox import refusals
from grader.sandbox.frames import read_claim

MOST_STATES = 16
_STATUSES = ("done", "missing", "not_callable", "refused", "no_folder")
_CAUSES = ("result", "limit", "refused_by_sandbox", "unfilled", "own", "raised")
_ELSEWHERE = "write into the folder that is passed, and nowhere else"


def asked(trips: Sequence[Asked], states: Mapping[str, Sequence[Sent]]) -> list[dict[str, Any]]:
    """Return the round trips of an exercise for a child's job, with the states to be saved."""
    return [
        {
            **trip.model_dump(mode="json"),
            "states": [
                {leaf: wire.array_to_json(value) for leaf, value in one.leaves.items()}
                for one in states[trip.name]
            ],
        }
        for trip in trips
    ]


def read(frame: Mapping[str, Any], layers: Sequence[Layer], scratch_mib: int) -> RoundTrip:
    """Return what came of a round trip as a frame tells it. Raises: WireProblem.

    `layers` are those of the child, told before a stranger's code ran.
    """
    status, cause = frame["status"], frame.get("cause", "")
    if status not in _STATUSES or cause not in ("", *_CAUSES):
        raise WireProblem("a round trip has an unknown status")
    if status == "no_folder" and any(one.name == "scratch" and one.on for one in layers):
        # There was room for it: whatever is in its way, the module has put there.
        status, cause = "refused", "raised"
    line = frame.get("line")
    line = None if line is None else wire.integer(line)
    reason, step = wire.text(frame.get("reason", ""))[:600], ""
    if cause == "refused_by_sandbox":
        outcome = refusals.told(_facts(frame["facts"]), None, (), scratch_mib)
        reason, step = outcome.message, _ELSEWHERE
    return RoundTrip(
        name=wire.text(frame["name"]),
        status=status,
        function=wire.text(frame.get("function", ""), 100),
        cause=cause,
        reason=reason,
        step=step,
        line=line,
        at_once=_counts(frame.get("at_once", [])),
        in_the_end=_counts(frame.get("in_the_end", [])),
        states=tuple(
            {found.name: found for found in map(read_claim, one)}
            for one in frame.get("states", [])[:MOST_STATES]
        ),
    )


def insist_on_room(exercise: str, trips: Mapping[str, RoundTrip]) -> None:
    """Return where states could be saved.

    Raises:
        EnvironmentProblem: this machine gives a module no folder to write in.
    """
    why = next((trip.reason for trip in trips.values() if trip.status == "no_folder"), None)
    if why is not None:
        raise EnvironmentProblem(
            f"{exercise} saves and restores files, and this machine gives a module no folder to"
            f" write in ({why}); nothing was judged",
            next_step="grade where user namespaces are allowed; `grade doctor` shows the layer"
            " `scratch`",
        )


def _facts(found: Any) -> dict[str, str]:
    return {wire.text(key, 20): wire.text(value, 300) for key, value in found.items()}


def _counts(found: Sequence[Any]) -> tuple[int, ...]:
    return tuple(max(wire.integer(one), 0) for one in found[:MOST_STATES])
