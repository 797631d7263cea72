"""Plain words for errors of whatever saves and restores a state."""

from __future__ import annotations

import re

from grader.sandbox.meaning import Plain, Raised, Rule


def _there_already(_raised: Raised, _m: re.Match[str]) -> Plain:
    return Plain(
        "a checkpoint is to be written where something lies already",
        "write into the folder that is passed, once, and leave it to Orbax to make it",
    )


def _not_there(_raised: Raised, _m: re.Match[str]) -> Plain:
    return Plain(
        "no checkpoint lies at the place that is read",
        "read where you have saved, and wait until saving has ended: `with` a checkpointer, or"
        " wait_until_finished()",
    )


RULES: tuple[Rule, ...] = (
    (r"Destination .{1,400} already exists", _there_already),
    (r"^FileNotFoundError: Checkpoint (?:at )?.{1,400} not found", _not_there),
    (r"^FileNotFoundError: Checkpoint path .{1,400} does not exist", _not_there),
)
