"""A check's answer and the verdict made from all answers."""

from __future__ import annotations

from typing import Literal

from pydantic import JsonValue

from grader.records.base import Record

Status = Literal["passed", "failed", "blocked", "undecided"]
Source = Literal["replayed", "claimed"]
Blame = Literal["learner", "content", "environment", "grader"]
VerdictKind = Literal["passed", "failed", "error", "undecided"]


class Item(Record):
    """One part of a check with its own points; `source` says who measured it."""

    id: str
    status: Status
    points: int
    max_points: int
    source: Source
    message: str = ""
    mistake: str | None = None
    hint: str = ""
    line: int | None = None


class Finding(Record):
    """What a check found: its items, the first mistake named, and the evidence behind it."""

    id: str
    kind: str
    title: str
    status: Status
    points: int
    max_points: int
    message: str
    mistake: str | None
    mistake_title: str | None = None
    hint: str
    line: int | None
    items: list[Item]
    evidence: list[dict[str, JsonValue]]


class Verdict(Record):
    """The whole grade: verdict, integer points and whose fault a missing one is."""

    verdict: VerdictKind
    points: int
    max_points: int
    blame: Blame | None
