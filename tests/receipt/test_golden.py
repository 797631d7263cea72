"""The four kinds of receipt come out, in every form, exactly as they are kept in tests/golden."""

from __future__ import annotations

import difflib
from itertools import islice

import pytest

from grader.receipt.render import Form, render
from grader.records.receipt import Receipt
from tests.golden.renew import FORMS, RECEIPTS, TEMPLATES, golden

pytestmark = pytest.mark.once


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", RECEIPTS)
def test_a_receipt_comes_out_as_it_is_kept(name: str, form: Form) -> None:
    kept = golden(name, form).read_text(encoding="utf-8")
    made = render(RECEIPTS[name], form, TEMPLATES)
    changes = difflib.unified_diff(kept.splitlines(), made.splitlines(), "kept", "made", "", "", 1)
    told = "\n".join(islice(changes, 40))
    assert made == kept, f"renew with `python -m tests.golden.renew`, and read git diff:\n{told}"


@pytest.mark.parametrize("name", RECEIPTS)
def test_a_kept_record_reads_back_as_itself(name: str) -> None:
    text = golden(name, "json").read_text(encoding="utf-8")
    assert Receipt.model_validate_json(text) == RECEIPTS[name]
