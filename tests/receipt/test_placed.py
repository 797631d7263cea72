"""Each device is drawn as it stores the result; older receipts are drawn without numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.receipt import placed
from grader.receipt.placed import Drawing, Group, groups
from grader.receipt.render import Form, render
from grader.records.receipt import DeviceValues, Receipt, StoredValues
from tests.receipt import factory

TEMPLATES = [Path(__file__).parents[2] / "templates"]
FORMS: tuple[Form, ...] = ("html", "md", "txt")


def drawing(receipt: Receipt, program: str, group: int = 0) -> Drawing:
    return next(one for one in groups(receipt)[group].drawings if one.program == program)


def one_row(*values: list[float | str], shape: list[int] | None = None) -> Receipt:
    devices = [
        DeviceValues(
            device=id_, shape=shape or [len(held)],
            index=[[0, extent] for extent in shape or [len(held)]], values=list(held),
        )
        for id_, held in enumerate(values)
    ]  # fmt: skip
    stored = [StoredValues(case="lesson", inputs="lesson", devices=devices)]
    row = factory.row("step", shape=shape or [len(values[0])], stored_values=stored)
    return factory.passed(compiled_bytes=factory.compiled(row))


def test_slices_stand_at_their_place_in_the_whole() -> None:
    found = drawing(factory.passed(), "shard_gradient")
    assert found.columns == list("01234567")
    assert found.devices[1].cells == [None, None, "1.46", "0.73", None, None, None, None]
    assert (found.devices[1].part, found.devices[1].shape) == ("2:4", "(2,)")
    assert found.unit == "1e-3"


def test_replicas_of_the_reversed_case_are_drawn_after_the_lessons() -> None:
    found = groups(factory.passed())
    assert [one.title for one in found] == [
        "On the lesson’s own inputs", "On the learner’s own arrays: reversed",
    ]  # fmt: skip
    replicas = drawing(factory.passed(), "gather", 1).devices
    assert len(replicas) == 4
    assert {tuple(one.cells) for one in replicas} == {tuple(replicas[0].cells)}


def wrong(**row: object) -> Receipt:
    checks = [factory.finding("values", evidence=[{"what": "d", "program": "gather", **row}])]  # type: ignore[dict-item]
    return factory.passed(checks=checks)


def test_a_wrong_device_is_marked_in_the_case_it_is_wrong_in() -> None:
    receipt = wrong(wrong_devices=[2])
    assert [one.wrong for one in drawing(receipt, "gather").devices] == ["", "", "wrong values", ""]
    assert {one.wrong for one in drawing(receipt, "gather", 1).devices} == {""}
    receipt = wrong(what="replayed on the learner's own arrays (reversed)", wrong_devices=[3])
    assert {one.wrong for one in drawing(receipt, "gather").devices} == {""}
    assert drawing(receipt, "gather", 1).devices[3].wrong == "wrong values"


def test_right_for_the_lesson_and_wrong_on_hidden_inputs_is_said_so() -> None:
    told = {"on the lesson's own": 1e-07, "allowed": 4e-06, "wrong_devices": [0]}
    found = drawing(wrong(**told), "gather").devices[0]
    assert found.wrong == "right here, wrong on hidden inputs"


def old(receipt: Receipt) -> Receipt:
    """Return the receipt as it was written before values and source were kept."""
    rows = [row.model_copy(update={"stored_values": []}) for row in receipt.compiled_bytes.rows]
    compiled = receipt.compiled_bytes.model_copy(update={"rows": rows})
    lines = [line for line in receipt.source_lines if line.line == 41]
    changed = {"compiled_bytes": compiled, "source_lines": lines, "source_cut": None}
    return receipt.model_copy(update=changed)


@pytest.mark.parametrize("form", FORMS)
def test_an_older_receipt_still_renders(form: Form) -> None:
    receipt = old(factory.failed())
    shown = render(receipt, form, TEMPLATES)
    assert "8 values" in shown
    assert "psum" in shown
    assert "The submission" not in shown


def test_an_older_receipt_shows_shapes_and_a_dot_for_each_value() -> None:
    found = groups(old(factory.passed()))
    assert [one.title for one in found] == ["After the replay"]
    held = drawing(old(factory.passed()), "shard_gradient").devices[0]
    assert (held.shape, held.part, held.cells) == ("(2,)", "", ["•", "•"])


def test_values_that_may_not_be_shown_are_explained() -> None:
    group: Group = groups(factory.failed())[0]
    assert group.note.startswith("`gather` is given another program’s right result here")
    assert drawing(factory.failed(), "gather").devices[0].cells == ["•"] * 8


@pytest.mark.parametrize(
    ("values", "cells", "unit"),
    [
        ([0.4015, -0.017, 0.0], ["0.402", "-0.017", "0.000"], ""),
        ([123.456, -7.0], ["123", "-7"], ""),
        ([0.0029312, -4.7e-9], ["2.93", "0.00"], "1e-3"),
        ([2.5e9, 1.0], ["2.50", "0.00"], "1e9"),
        ([0.0, 0.0], ["0", "0"], ""),
        (["nan", 0.5], ["nan", "0.500"], ""),
    ],
)
def test_numbers_are_shortened_for_the_eye_with_one_unit(
    values: list[float | str], cells: list[str], unit: str
) -> None:
    found = drawing(one_row(values, values), "step")
    assert found.devices[0].cells == cells
    assert found.unit == unit


def test_devices_that_lie_far_apart_keep_their_own_exponents() -> None:
    found = drawing(one_row([1.5e30, 2.0], [0.00123, 0.5]), "step")
    assert [one.cells for one in found.devices] == [["1.5e30", "2"], ["0.00123", "0.5"]]
    assert found.unit == ""


def test_a_matrix_is_drawn_in_a_row_and_says_what_is_left_out() -> None:
    held: list[float | str] = [0.5] * 64
    found = drawing(one_row(held, held, shape=[10, 10]), "step")
    assert found.columns == []
    assert (found.devices[0].left_out, found.devices[0].part) == (36, "0:10, 0:10")
    assert "36 more values" in render(one_row(held, held, shape=[10, 10]), "html", TEMPLATES)


def test_a_receipt_without_programs_draws_nothing() -> None:
    assert placed.groups(factory.undecided()) == []


def test_numbers_on_the_learners_own_arrays_are_not_judged_while_the_program_is_wrong() -> None:
    rows = [
        StoredValues(case=case, inputs=inputs, devices=[])
        for case, inputs in (("lesson", "lesson"), ("reversed", "learner"))
    ]
    receipt = factory.failed()
    first = receipt.compiled_bytes.rows[0]
    row = first.model_copy(update={"stored_values": rows})
    bytes_ = receipt.compiled_bytes.model_copy(update={"rows": [row]})
    evidence = [{"what": "values", "program": row.program, "wrong_devices": [0, 1, 2, 3]}]
    wrong = receipt.checks[0].model_copy(update={"evidence": evidence})
    right = receipt.checks[0].model_copy(update={"evidence": []})
    for check, note in (
        (wrong, f"Not judged yet: `{row.program}` is wrong on the inputs above."),
        (right, ""),
    ):
        told = receipt.model_copy(update={"compiled_bytes": bytes_, "checks": [check]})
        assert [group.note for group in placed.groups(told)][1:] == [note]
