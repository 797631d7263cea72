"""What every form tells alike: units, what could be compared, and each mistake of a check."""

from __future__ import annotations

import re

import pytest

from grader.catalog.course import Course, shipped
from grader.catalog.load import entry
from grader.receipt import exhibits, view
from grader.receipt.build import _told
from grader.receipt.changes import changes, lines
from grader.receipt.render import Form, render, to_json
from grader.records.finding import Finding, Item
from grader.records.receipt import Answered, Predicted, Prediction, Receipt, Separate
from tests.golden.renew import TEMPLATES
from tests.receipt import factory

pytestmark = pytest.mark.once

TEXTS: tuple[Form, ...] = ("md", "txt")
OTHER = "each device divides by its own four rows, and the four means are averaged"


def flat(text: str) -> str:
    return " ".join(text.replace("\\", "").split())


# ------------------------------------------------------------------------------------------- units


@pytest.mark.parametrize("form", TEXTS)
def test_numbers_are_never_shown_without_their_unit(form: Form) -> None:
    text = render(factory.passed(), form, TEMPLATES)
    stored = text[text.index("What each device stores") :]
    head = next(line for line in stored.splitlines() if "Program" in line and "Device" in line)
    assert head.replace("|", " ").split()[-2:] == ["Unit", "Values"]
    row = next(line for line in stored.splitlines() if "2.93, 2.20, 1.46" in line)
    assert re.search(r"\b1e-3[ |]+2\.93, 2\.20, 1\.46", row)


def test_where_numbers_are_as_they_are_no_unit_is_named() -> None:
    row = factory.passed().compiled_bytes.rows[0]
    plain = [one.model_copy(update={"devices": [
        device.model_copy(update={"values": [3.5] * len(device.values)}) for device in one.devices
    ]}) for one in row.stored_values]  # fmt: skip
    rows = [row.model_copy(update={"stored_values": plain})]
    receipt = factory.passed(compiled_bytes=factory.compiled(*rows))
    for form in TEXTS:
        assert "Unit" not in render(receipt, form, TEMPLATES)


# ------------------------------------------------------------------------------------- predictions


def predicted(*pairs: tuple[int | None, int | None]) -> list[Prediction]:
    return [
        Prediction(
            program=f"p{number}",
            predicted=said,
            observed=seen,
            agrees=None if None in (said, seen) else said == seen,
        )
        for number, (said, seen) in enumerate(pairs)
    ]


@pytest.mark.parametrize(
    ("pairs", "summary", "agreement"),
    [
        (
            [(8, 8)] * 4 + [(2, None)],
            "prediction 4 of 4 as observed, 1 not observed yet",
            "It agreed with what was observed for 4 of 4 programs; 1 not observed yet.",
        ),
        (
            [(8, 8), (2, 2), (3, 8), (None, 8)],
            "prediction 2 of 3 as observed, 1 no whole number",
            "It agreed with what was observed for 2 of 3 programs; 1 no whole number.",
        ),
        (
            [(8, 2), (None, 8), (4, None), (None, None)],
            "prediction 0 of 1 as observed, 2 no whole number, 1 not observed yet",
            "It agreed with what was observed for 0 of 1 program; 2 no whole number; 1 not"
            " observed yet.",
        ),
        (
            [(8, None)] * 5,
            "prediction made, nothing observed yet",
            "Nothing of it could be compared with what was observed.",
        ),
        ([(None, 8)] * 5, "no prediction yet", "It holds no whole number yet."),
        ([(8, 8), (2, 2)], "prediction 2 of 2 as observed", "It agreed with what was observed."),
    ],
)
def test_what_is_unknown_counts_as_neither_right_nor_wrong(
    pairs: list[tuple[int | None, int | None]], summary: str, agreement: str
) -> None:
    separate = Separate(prediction=predicted(*pairs), checkpoint=None, explanation=None)
    receipt = factory.passed(separate=separate)
    assert view.separate_summary(receipt)[0] == summary
    assert view.agreement(separate) == agreement


def test_an_answer_that_nothing_is_compared_with_is_not_counted() -> None:
    answers = [
        Answered(question="q", answer="yes", observed="yes", agrees=True),
        Answered(question="q", answer="no", observed=None, agrees=None),
        Answered(question="q", answer="my own words", observed=None, agrees=None),
    ]
    given = Predicted(when="before", counts=[], answers=answers)
    separate = Separate(prediction=None, checkpoint=None, explanation=None, predicted=given)
    told = view.separate_summary(factory.passed(separate=separate))
    assert told[0] == "prediction 1 of 1 as observed, 1 not observed yet"
    words = given.model_copy(update={"answers": answers[2:]})
    separate = separate.model_copy(update={"predicted": words})
    assert view.separate_summary(factory.passed(separate=separate))[0] == "prediction made"


@pytest.mark.parametrize("form", ["html", "md", "txt"])
def test_the_table_says_why_a_prediction_was_not_compared(form: Form) -> None:
    pairs = predicted((None, 8), (3, None))
    separate = Separate(prediction=pairs, checkpoint=None, explanation=None)
    text = flat(re.sub("<[^>]*>", " ", render(factory.passed(separate=separate), form, TEMPLATES)))
    bare = " ".join(text.replace("|", " ").split())
    assert "p0 no whole number 8 not compared" in bare.replace("`", "")
    assert "p1 3 not yet not compared" in bare.replace("`", "")


# ------------------------------------------------------------------------------ each mistake, once


def of_two_mistakes() -> Receipt:
    given = factory.failed()
    told = given.checks[0]
    items = [
        factory.item("values", 0, "failed", message="`all_gradient` is wrong on every device",
                     mistake="not-reduced", line=3),
        factory.item("values", 1, "failed", message="`shard_gradient` is wrong on every device",
                     mistake="not-reduced", line=3),
        factory.item("values", 2, "failed", message="`gather` is wrong on device 1",
                     mistake="local-mean", mistake_title=OTHER, hint="Divide by all rows.", line=4),
    ]  # fmt: skip
    check = told.model_copy(update={
        "status": "failed", "items": items, "message": items[0].message, "mistake": "not-reduced",
        "mistake_title": "nothing is summed", "hint": "Sum over the devices.", "line": 3,
    })  # fmt: skip
    return given.model_copy(update={"checks": [check, *given.checks[1:]]})


@pytest.mark.parametrize("form", TEXTS)
def test_each_mistake_of_a_check_is_told_once_in_order(form: Form) -> None:
    text = flat(render(of_two_mistakes(), form, TEMPLATES)).replace("**", "").replace("`", "")
    assert (
        "Mistake it matches: nothing is summed What to try: Sum over the devices. More: grade"
        " explain distributed-03 not-reduced (line 3) Mistake it matches: " + OTHER + " What to"
        " try: Divide by all rows. More: grade explain distributed-03 local-mean (line 4)"
    ) in text


def test_a_page_tells_each_mistake_and_what_every_item_showed() -> None:
    page = flat(re.sub("<[^>]*>", "", render(of_two_mistakes(), "html", TEMPLATES)))
    assert page.count("Mistake it matches: nothing is summed") == 1
    assert page.count(f"Mistake it matches: {OTHER}") == 1
    said = "all_gradient and shard_gradient are wrong on every device; gather is wrong on device 1"
    assert said in page


def test_an_item_has_words_for_a_mistake_that_is_not_its_checks_own() -> None:
    rubric = entry(Course(shipped()), "distributed-03").rubric
    names = [one.id for one in rubric.mistakes[:2]]
    items = [
        Item(id=name, status="failed", points=0, max_points=1, source="replayed", mistake=name)
        for name in names
    ]
    found = factory.finding("values", items, status="failed", mistake=names[0])
    told = _told(rubric, found)
    assert [one.mistake_title for one in told.items] == [None, rubric.mistakes[1].title]
    assert [one.hint for one in told.items] == ["", rubric.mistakes[1].hint]
    assert [one.mistake for one in exhibits.advice(told)] == names
    # A record from before has no such words, and comes out again as it was.
    assert '"mistake_title"' not in items[0].model_dump_json()


def test_a_receipt_from_before_names_the_other_mistake_by_its_id() -> None:
    receipt = of_two_mistakes()
    old = to_json(receipt).replace(f',\n          "mistake_title": "{OTHER}"', "")
    read = Receipt.model_validate_json(old)
    assert to_json(read) == old
    assert [one.title for one in exhibits.advice(read.checks[0])] == [
        "nothing is summed",
        "local mean",
    ]


def test_a_comparison_calls_both_by_their_titles() -> None:
    told = lines(changes(of_two_mistakes(), factory.passed()))
    assert "Mistake gone: nothing is summed (values)." in told
    assert f"Mistake gone: {OTHER} (values)." in told


# ------------------------------------------------------------------------------- of several names


@pytest.mark.parametrize(
    ("one", "both"),
    [
        (
            "has the right values but is stored as (8,) on each of 4 devices, not as (2,) on each"
            " of four",
            "have the right values but are stored as (8,) on each of 4 devices, not as (2,) on each"
            " of four",
        ),
        ("is not a function (it is an ArrayImpl)", "are not a function (each is an ArrayImpl)"),
        ("is an int, not a number", "are each an int, not a number"),
        ("is a list on the host, not an array on the devices",
         "are each a list on the host, not an array on the devices"),
        ("comes back as it was saved", "come back as they were saved"),
        ("left its result on 1 of 4 devices", "left their results on 1 of 4 devices"),
        ("raised when it was replayed: x", "raised when they were replayed: x"),
        ("gives the same result whatever its input", "give the same result whatever their input"),
        ("holds; the programs are held against it once `values` passes",
         "hold; the programs are held against them once `values` passes"),
        ("sends 48 bytes per rank, more than its part", "send 48 bytes per rank, more than their"
         " part"),
    ],
)  # fmt: skip
def test_what_is_said_of_one_is_said_of_two(one: str, both: str) -> None:
    assert view.grouped([f"`a` {one}", f"`b` {one}"]) == [f"`a` and `b` {both}"]
    assert view.grouped([f"`a` {one}"]) == [f"`a` {one}"]


def test_a_check_that_passed_says_its_own_sentence_alone() -> None:
    check: Finding = factory.passed().checks[0]
    assert view.observed(check) == [check.message]
