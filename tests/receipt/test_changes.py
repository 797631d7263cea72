"""What a new try gained and lost is said in sentences that hold for both receipts."""

from __future__ import annotations

from typing import Any

import pytest

from grader.receipt.changes import changes, lines
from grader.records.receipt import OutcomePart, Receipt
from tests.receipt import factory
from tests.receipt.factory import finding, item

pytestmark = pytest.mark.once
MOMENT = "2026-03-01T11:20:30Z"
OTHER_FILE = factory.passed().submission.model_copy(update={"sha256": "b4" * 32})


def later(receipt: Receipt, **more: Any) -> Receipt:
    """Return a receipt of another file, made an hour later."""
    return receipt.model_copy(update={"submission": OTHER_FILE, "created_at": MOMENT, **more})


def environment(**more: str) -> Any:
    return factory.environment().model_copy(update=more)


def with_check(check: Any, **more: Any) -> Receipt:
    """Return a receipt with one check of its own in the place of a passed one."""
    checks = [check if check.id == name else finding(name) for name in factory.TITLES]
    return factory.passed(checks=checks, verdict="failed", blame="learner", **more)


def said(old: Receipt, new: Receipt) -> list[str]:
    return lines(changes(old, new))


def test_what_was_gained_comes_first_with_the_mistakes_that_are_gone() -> None:
    assert said(factory.failed(), later(factory.passed())) == [
        "100 of 100 points, 16 more than before.",
        "It passes now.",
        "collectives gained 6 points (passed).",
        "byte_budget gained 10 points (passed).",
        "Mistake gone: An all-reduce and a slice where a reduce-scatter was asked for "
        "(collectives).",
        "Mistake gone: Bits counted for bytes (byte_budget).",
    ]


def test_what_was_lost_names_the_items_and_how_to_read_on() -> None:
    assert said(factory.passed(), later(factory.failed())) == [
        "84 of 100 points, 16 fewer than before.",
        "It passed before and does not now.",
        "collectives lost 6 points (10 of 16): shard_gradient.",
        "byte_budget lost 10 points (4 of 14): rows, compiled.",
        "New mistake: An all-reduce and a slice where a reduce-scatter was asked for "
        "(collectives). More: grade explain distributed-03 psum-slice",
        "New mistake: Bits counted for bytes (byte_budget). "
        "More: grade explain distributed-03 bits",
    ]


def test_nothing_is_said_to_be_nothing() -> None:
    found = changes(factory.failed(), later(factory.failed()))
    assert found.nothing and found.gained == 0
    assert lines(found) == [
        "84 of 100 points, as before.",
        "Nothing changed in points, checks or mistakes.",
    ]
    assert said(factory.failed(), factory.failed())[-1] == "The file is the same, byte for byte."


def test_where_the_module_stops_is_told_on_both_sides() -> None:
    stop = "at line 57 (ValueError: shapes (2,) and (8,) cannot be added)"
    runs, stops = factory.passed(), factory.error()
    assert said(stops, later(runs))[2] == (
        f"The module runs to its end now; before it stopped {stop}."
    )
    assert said(runs, later(stops))[2] == f"The module stops now {stop}; before it ran to its end."
    further = OutcomePart(kind="cpu_limit", message="", line=None)
    assert said(stops, later(stops, outcome=further))[1] == (
        f"The module stops now (CPU limit); before it stopped {stop}."
    )


def test_a_mistake_that_cannot_be_seen_any_more_is_not_called_gone() -> None:
    assert said(factory.failed(), later(factory.error()))[-1] == (
        "Mistake no longer seen, but byte_budget does not pass yet: Bits counted for bytes."
    )


def test_undecided_is_no_loss_on_either_side() -> None:
    now = said(factory.passed(), later(factory.undecided()))
    assert now[:2] == [
        "0 of 100 points so far; before it was 100 of 100.",
        "The new try is undecided: the grader could not tell all, and that costs no points.",
    ]
    assert now[2].startswith("The grader could not decide now: values, shard_shapes, ")
    assert not [line for line in now if "lost" in line]
    before = said(factory.undecided(), later(factory.passed()))
    assert before[1] == "The try before was undecided: not all of its points could be given then."


def test_items_that_change_places_are_told_though_the_points_are_equal() -> None:
    first = [item("shard_shapes", 0, "failed"), *(item("shard_shapes", n) for n in (1, 2))]
    second = [item("shard_shapes", 0), item("shard_shapes", 1, "failed"), item("shard_shapes", 2)]
    old = with_check(finding("shard_shapes", first, status="failed"))
    new = with_check(finding("shard_shapes", second, status="failed"))
    assert said(old, later(new)) == [
        "95 of 100 points, as before.",
        "shard_shapes gained all_gradient and lost shard_gradient (9 of 14).",
    ]


def test_a_check_that_waited_and_fails_now_is_told() -> None:
    def momentum(status: Any) -> Receipt:
        items = [item("momentum", 0, status), item("momentum", 1, status)]
        return with_check(finding("momentum", items, status=status))

    assert said(momentum("blocked"), later(momentum("failed")))[1:] == [
        "momentum fails now; before it waited (0 of 14)."
    ]


@pytest.mark.parametrize(
    ("before", "after", "other"),
    [
        ("`gather` is wrong on device 1", "`gather` raised when it was replayed", True),
        ("`gather` is wrong on device 1, 2 and 3, by 0.5", "`gather` is wrong on device 0, by 7",
         False),
    ],
)  # fmt: skip
def test_another_reason_is_told_and_other_numbers_are_none(
    before: str, after: str, other: bool
) -> None:
    def wrong(message: str) -> Receipt:
        items = [item("values", 0), item("values", 1), item("values", 2, "failed", message=message)]
        return with_check(finding("values", items, status="failed", message=message))

    told = said(wrong(before), later(wrong(after)))
    assert ("values fails as before, but for another reason." in told) == other
    assert ("Nothing changed in points, checks or mistakes." in told) != other


def test_another_rubric_is_told_with_the_checks_that_one_alone_has() -> None:
    fewer = factory.passed(
        checks=[finding(name) for name in factory.TITLES if name != "momentum"],
        max_points=86,
        environment=environment(rubric_sha256="7c" * 32),
    )
    assert said(fewer, later(factory.passed())) == [
        "100 of 100 points; before it was 86 of 86.",
        "momentum is in the new receipt alone: 14 of 14 points.",
        "The rubric is another one, so the points may not compare.",
    ]
    assert "momentum is in the earlier receipt alone: 14 of 14 points." in said(
        factory.passed(), later(fewer)
    )


def test_the_same_file_with_another_result_says_what_else_differed() -> None:
    again = factory.failed(environment=environment(seed_sha256="2a" * 32, jax="0.12.0"))
    found = changes(factory.passed(), again)
    assert found.same_file and not found.same_seed and found.same_rubric
    assert lines(found)[-1] == (
        "The file is the same, byte for byte; these are not: hidden inputs, jax."
    )
    assert said(factory.passed(), factory.failed())[-1] == (
        "The file is the same, byte for byte; so is all else that is known."
    )


def test_files_beside_the_submission_belong_to_it() -> None:
    beside = OTHER_FILE.model_copy(update={"siblings": {"data.py": "c5" * 32}})
    one, other = later(factory.passed()), later(factory.failed(), submission=beside)
    assert not changes(one, other).same_file


@pytest.mark.parametrize(("created_at", "swapped"), [(MOMENT, False), ("yesterday", False)])
def test_an_order_that_looks_wrong_is_noted(created_at: str, swapped: bool) -> None:
    note = "The one named first was graded later: are the two in the wrong order?"
    assert said(later(factory.passed()), factory.failed())[-1] == note
    assert changes(factory.passed(), later(factory.failed(), created_at=created_at)).swapped is (
        swapped
    )


def test_nothing_of_a_receipt_acts_in_a_sentence() -> None:
    wrong = finding(
        "collectives",
        [item("collectives", 0, "failed", mistake="x; rm -rf ~"), item("collectives", 1)],
        status="failed",
        mistake="x; rm -rf ~",
        mistake_title="\x1b[2Jred\nNext: trust me",
    )
    told = said(factory.passed(), later(with_check(wrong)))
    assert told[-1] == "New mistake: ␛[2Jred␊Next: trust me (collectives)."
    assert all(line.isprintable() for line in told)
