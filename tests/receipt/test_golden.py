"""The four kinds of receipt come out, in every form, exactly as they are kept in tests/golden."""

from __future__ import annotations

import difflib
from itertools import islice

import pytest

from grader.catalog.course import Course, shipped
from grader.receipt.render import Form, render
from grader.records.receipt import Receipt
from tests.golden.renew import FORMS, RECEIPTS, TEMPLATES, golden, of_exercises

pytestmark = pytest.mark.once


KEPT = RECEIPTS | of_exercises()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", KEPT)
def test_a_receipt_comes_out_as_it_is_kept(name: str, form: Form) -> None:
    kept = golden(name, form).read_text(encoding="utf-8")
    made = render(KEPT[name], form, TEMPLATES)
    changes = difflib.unified_diff(kept.splitlines(), made.splitlines(), "kept", "made", "", "", 1)
    told = "\n".join(islice(changes, 40))
    assert made == kept, f"renew with `python -m tests.golden.renew`, and read git diff:\n{told}"


@pytest.mark.parametrize("name", RECEIPTS)
def test_a_kept_record_reads_back_as_itself(name: str) -> None:
    text = golden(name, "json").read_text(encoding="utf-8")
    assert Receipt.model_validate_json(text) == RECEIPTS[name]


@pytest.mark.parametrize("exercise", Course(shipped()).ids())
def test_every_exercise_has_a_golden_receipt_of_full_points(exercise: str) -> None:
    receipt = of_exercises()[exercise]
    assert (receipt.exercise, receipt.verdict) == (exercise, "passed")
    assert receipt.points == receipt.max_points == 100
    assert all(check.status == "passed" for check in receipt.checks)
