"""What each device stores, as numbers for a record: of inputs that the learner knows, no others.

It must never take a hidden case's numbers, nor hand a learner a result that is not theirs yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from grader.catalog.models import CheckSpec
from grader.records.evidence import Shard
from grader.records.finding import Finding, Item
from grader.records.observation import Observation
from grader.records.receipt import DeviceValues, StoredValues

MOST_VALUES = 64
Plain = bool | int | float | str


def stored_values(
    checks: Sequence[CheckSpec], findings: Sequence[Finding], seen: Observation
) -> list[StoredValues]:
    """Return what a program's result holds, device by device, on each case that may be shown.

    A case is shown when the rubric says that a learner knows it: a check's `open_case`, and an
    item's `replayed` case once the written answer itself is right. A program that only moves values
    (`whole`) is given another program's right result, so it is shown once those are right.
    """
    found = {finding.id: finding for finding in findings}
    cases: dict[str, Literal["lesson", "learner"]] = {}
    for spec in checks:
        finding = found.get(spec.id)
        if finding is not None:
            cases |= dict.fromkeys(_open(spec, finding, seen.name), "lesson")
            cases |= dict.fromkeys(_built(spec, finding, seen.name), "learner")
    rows = []
    for case, inputs in cases.items():
        replay = seen.replays.get(case)
        if replay is not None and replay.shards:
            rows.append(StoredValues(case=case, inputs=inputs, devices=_devices(replay.shards)))
    return rows


def _open(spec: CheckSpec, finding: Finding, program: str) -> Iterator[str]:
    case = spec.params.get("open_case")
    wanted = [part for part in spec.items if part.get("program") == program]
    if not isinstance(case, str) or not wanted:
        return
    by_id = _by_id(finding)
    makers = [by_id.get(part.get("id")) for part in spec.items if not part.get("whole")]
    moves = any(part.get("whole") for part in wanted)
    right = bool(makers) and all(item and item.status == "passed" for item in makers)
    if right or not moves:
        yield case


def _built(spec: CheckSpec, finding: Finding, program: str) -> Iterator[str]:
    by_id = _by_id(finding)
    for part in spec.items:
        replayed, item = part.get("replayed"), by_id.get(part.get("id"))
        if not isinstance(replayed, Mapping) or program not in replayed.get("programs", ()):
            continue
        # A failed item that was measured by replaying had the right answer written down.
        if item is not None and (item.status == "passed" or item.source == "replayed"):
            yield str(replayed["case"])


def _by_id(finding: Finding) -> dict[Any, Item]:
    return {item.id: item for item in finding.items}


def _devices(shards: Sequence[Shard]) -> list[DeviceValues]:
    return [
        DeviceValues(
            device=shard.device,
            shape=list(shard.data.shape),
            index=[list(part) for part in shard.index],
            values=[_plain(one) for one in shard.data.reshape(-1)[:MOST_VALUES]],
        )
        for shard in sorted(shards, key=lambda shard: shard.device)
    ]


def _plain(value: np.generic) -> Plain:
    """Return one element as JSON has it: the shortest decimal that reads back as the same value."""
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, np.floating) and np.isfinite(value):
        return float(str(value))
    return str(value)
