"""A check's answer and the verdict made from all answers."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import JsonValue, SerializerFunctionWrapHandler, model_serializer

from grader.records.base import Record

Status = Literal["passed", "failed", "blocked", "undecided"]
Source = Literal["replayed", "claimed"]
Blame = Literal["learner", "content", "environment", "grader"]
VerdictKind = Literal["passed", "failed", "error", "undecided"]


class Item(Record):
    """One part of a check with its own points; `source` says who measured it.

    `mistake_title` is given where the mistake is another than the one its check names.
    """

    id: str
    status: Status
    points: int
    max_points: int
    source: Source
    message: str = ""
    mistake: str | None = None
    hint: str = ""
    line: int | None = None
    mistake_title: str | None = None

    @model_serializer(mode="wrap")
    def _as_it_was(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # A receipt from before this field has to come out again as it is.
        facts: dict[str, Any] = write(self)
        return {key: one for key, one in facts.items() if key != "mistake_title" or one}


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
