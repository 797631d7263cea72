"""The evidence digest: each ingredient changes it, and nothing that differs between machines."""

from __future__ import annotations

from typing import Any

import pytest

from grader.receipt.digest import evidence_digest
from grader.records.finding import Finding, Verdict
from tests.receipt import factory

ITEMS = [
    factory.item("collectives", 0, line=3, message="said"),
    factory.item("collectives", 1, "failed", mistake="psum-then-slice"),
]


def collectives(**more: Any) -> Finding:
    items = [ITEMS[0].model_copy(update=more.pop("item", {})), ITEMS[1]]
    given: dict[str, Any] = {"status": "failed", "mistake": "psum-then-slice", **more}
    return factory.finding("collectives", items, [], **given)


def shapes(**more: Any) -> Finding:
    row = {**factory.stored("gather", [8], "replicated"), "name": "g", "seen": 1.5, **more}
    return factory.finding("shard_shapes", evidence=[row])


def compiled(part: dict[str, Any] | None = None, **more: Any) -> Any:
    one = factory.ALL_REDUCE.model_copy(update=part or {})
    row = factory.row("all_gradient", one, shape=[8])
    return factory.compiled(row.model_copy(update=more))


def verdict(**more: Any) -> Verdict:
    given: dict[str, Any] = {
        "verdict": "failed", "points": 5, "max_points": 10, "blame": "learner", **more,
    }  # fmt: skip
    return Verdict(**given)


def digest(**more: Any) -> str:
    given: dict[str, Any] = {
        "exercise": "distributed-03",
        "submission_sha256": "a" * 64,
        "siblings": {"helpers.py": "b" * 64},
        "rubric_sha256": "c" * 64,
        "seed_sha256": "d" * 64,
        "outcome": "finished",
        "verdict": verdict(),
        "findings": [collectives(), shapes()],
        "compiled": compiled(),
        **more,
    }
    return evidence_digest(**given)


INSIDE: dict[str, dict[str, Any]] = {
    "exercise": {"exercise": "distributed-04"},
    "submission": {"submission_sha256": "e" * 64},
    "sibling's bytes": {"siblings": {"helpers.py": "e" * 64}},
    "sibling's name": {"siblings": {"other.py": "b" * 64}},
    "no sibling": {"siblings": {}},
    "rubric": {"rubric_sha256": "e" * 64},
    "seed": {"seed_sha256": "e" * 64},
    "outcome": {"outcome": "raised"},
    "verdict": {"verdict": verdict(verdict="error")},
    "points": {"verdict": verdict(points=6)},
    "max points": {"verdict": verdict(max_points=11)},
    "a check left out": {"findings": [collectives()]},
    "order of checks": {"findings": [shapes(), collectives()]},
    "item's status": {"findings": [collectives(item={"status": "undecided"}), shapes()]},
    "item's points": {"findings": [collectives(item={"points": 1}), shapes()]},
    "item's id": {"findings": [collectives(item={"id": "other"}), shapes()]},
    "item's mistake": {"findings": [collectives(item={"mistake": "other"}), shapes()]},
    "mistake": {"findings": [collectives(mistake="other"), shapes()]},
    **{
        f"evidence's {key}": {"findings": [collectives(), shapes(**{key: value})]}
        for key, value in {
            "what": "else", "program": "else", "name": "else", "global_shape": [9],
            "layout": "split", "shapes": [[9]], "device_ids": [1],
        }.items()
    },
    "program": {"compiled": compiled(program="gather")},
    "bytes per rank": {"compiled": compiled(bytes_per_rank=24.0)},
    "stored devices": {"compiled": compiled(stored_devices=[3, 2, 1, 0])},
    "stored shapes": {"compiled": compiled(stored_shapes=[[2]] * 4)},
    "operation": {"compiled": compiled({"op": "all-gather"})},
    "operand": {"compiled": compiled({"operand": "f32[2]"})},
    "group": {"compiled": compiled({"group_size": 2})},
    "trip count": {"compiled": compiled({"trip_count": None})},
}  # fmt: skip
OUTSIDE: dict[str, dict[str, Any]] = {
    "blame": {"verdict": verdict(blame=None)},
    "item's words": {"findings": [collectives(item={"message": "else", "hint": "h"}), shapes()]},
    "item's line": {"findings": [collectives(item={"line": 9}), shapes()]},
    "check's words": {"findings": [collectives(message="m", hint="h"), shapes()]},
    "measured shares": {"findings": [collectives(), shapes(seen=1.4999)]},
    "values drawn": {"compiled": compiled(stored_values=factory.drawn("all_gradient", 2))},
    "requested": {"compiled": compiled(requested=[])},
    "note": {"compiled": compiled(note="n")},
    "label": {"compiled": compiled().model_copy(update={"label": "l"})},
}


@pytest.mark.parametrize("what", INSIDE)
def test_an_ingredient_changes_the_digest(what: str) -> None:
    assert digest(**INSIDE[what]) != digest()


def test_no_two_changes_give_the_same_digest() -> None:
    assert len({digest(**change) for change in INSIDE.values()}) == len(INSIDE)


@pytest.mark.parametrize("what", OUTSIDE)
def test_words_and_drawings_leave_the_digest_as_it_was(what: str) -> None:
    assert digest(**OUTSIDE[what]) == digest()


def test_the_digest_is_that_of_the_first_day() -> None:
    assert digest() == ("a996312810777a1568a73a82e0d63d72b49f2562e1b358dedde228987a91b551")
