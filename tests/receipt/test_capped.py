"""Whatever a learner's process wrote stays small in a receipt, and gives no expected value away."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from grader.receipt import capped
from tests.receipt import factory


def test_a_text_is_cut_and_says_by_how_much() -> None:
    assert capped.text("short") == "short"
    cut = capped.text("x" * 5_000_000)
    assert len(cut) < capped.MOST_TEXT + 60
    assert cut.endswith("[4996000 more characters left out]")


def test_a_mapping_of_answers_is_cut_in_length_in_names_and_in_number() -> None:
    given = {f"{n}" + "k" * 10_000: "v" * 10_000 for n in range(500)}
    kept = capped.answers(given)
    assert sum(map(len, [*kept, *kept.values()])) < 16 * 4400
    assert kept["…"] == "[484 more answers left out]"
    assert capped.answers({"a": "b"}) == {"a": "b"}


def test_a_traceback_keeps_its_innermost_frames() -> None:
    kept = capped.frames(tuple(map(str, range(1000))))
    assert kept[0] == "[980 outer frames left out]"
    assert kept[1:] == [str(n) for n in range(980, 1000)]
    assert capped.frames(("a",)) == ["a"]


def test_sentences_of_a_check_are_cut_wherever_they_stand() -> None:
    long = "x" * 10_000
    found = factory.finding(
        "values",
        [factory.item("values", 0, "failed", message=long)],
        [{"what": "written answer", "type": long}],
        message=long,
    )
    cut = capped.finding(found)
    assert len(cut.model_dump_json()) < 3 * (capped.MOST_TEXT + 400)
    assert cut.message.endswith("[6000 more characters left out]")


@pytest.mark.parametrize(
    ("share", "told"),
    [
        (2.13e29, "more than 10"), (11.0, "more than 10"), (3.7512, 4.0), (1.0, 1.0),
        (0.96421, 0.96), (5.81234e-07, 5.8e-07), (0.0, 0.0),
    ],
)  # fmt: skip
def test_a_difference_is_too_coarse_to_tell_the_right_value(
    share: float, told: float | str
) -> None:
    found = factory.finding("values", evidence=[{"what": "d", "share": share, "allowed": 4e-06}])
    assert capped.finding(found).evidence == [{"what": "d", "share": told, "allowed": 4e-06}]


def test_other_numbers_of_evidence_stay_as_they_are() -> None:
    row: dict[str, JsonValue] = {"what": "bytes", "bytes_per_rank": 48.125}
    assert capped.finding(factory.finding("values", evidence=[row])).evidence == [row]
