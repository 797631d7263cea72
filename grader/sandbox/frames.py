"""Read the larger frames of a learner's child: programs and written answers.

Everything in them is a stranger's; what is not as it has to be is a WireProblem, or one of
`wire.MALFORMED`.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from grader import wire
from grader.errors import WireProblem
from grader.records.evidence import Claim, Layer, Program

DEBUG_LEFT_OUT = "debug prints inside the program were left out of the export"


def read_layers(frame: Mapping[str, Any]) -> tuple[Layer, ...]:
    """Return the layers of confinement that a child's first frame tells. Raises: WireProblem."""
    return tuple(
        Layer(wire.text(one["name"]), one["on"] is True, wire.text(one["reason"]))
        for one in frame["layers"]
    )


def read_program(frame: Mapping[str, Any]) -> Program:
    """Return the program that a frame holds, or why there is none. Raises: WireProblem."""
    status = frame["status"]
    if status not in ("exported", "missing", "not_callable", "refused"):
        raise WireProblem("a program has an unknown status")
    line = frame.get("line")
    return Program(
        name=wire.text(frame["name"]),
        status=status,
        blob=base64.b64decode(wire.text(frame["blob"], 8 << 20)) if status == "exported" else b"",
        reason=wire.text(frame.get("reason", ""))[:600],
        cause=wire.text(frame.get("cause", ""))[:40],
        line=None if line is None else wire.integer(line),
        notes=(DEBUG_LEFT_OUT,) if DEBUG_LEFT_OUT in frame.get("notes", []) else (),
    )


_KINDS = ("missing", "device_array", "array", "number", "text", "list", "mapping", "none", "other")


def read_claim(frame: Mapping[str, Any]) -> Claim:
    """Return the written answer that a frame holds. Raises: WireProblem."""
    kind = frame["kind"]
    if kind not in _KINDS:
        raise WireProblem("a written answer has an unknown kind")
    name, type_name = wire.text(frame["name"]), wire.text(frame.get("type", ""))
    reason = wire.text(frame.get("reason", ""))[:300]
    if kind == "device_array":
        return _device_array(frame, name, type_name)
    if kind == "array":
        value, stored = wire.array_from_json(frame["array"])
        return Claim(name, kind, type_name, value.shape, stored, value=value)
    if kind == "text":
        return Claim(name, kind, type_name, value=wire.text(frame["value"]))
    if kind == "number":
        value = frame["value"]
        plain = value if isinstance(value, bool) else wire.number(value)
        return Claim(name, kind, type_name, value=plain)
    if kind in ("list", "mapping"):
        wanted = list if kind == "list" else dict
        if not isinstance(frame["value"], wanted):
            raise WireProblem(f"a {kind} is none")
        return Claim(name, kind, type_name, value=frame["value"], reason=reason)
    return Claim(name, kind, type_name, reason=reason)


def _device_array(frame: Mapping[str, Any], name: str, type_name: str) -> Claim:
    shape = tuple(wire.integer(n) for n in frame["shape"])
    shards = wire.shards_from_json(frame["shards"], shape)
    return Claim(name, "device_array", type_name, shape, wire.text(frame["dtype"]), shards)
