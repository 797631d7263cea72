"""What is written is what was signed, and nothing is added to what was not asked for."""

from __future__ import annotations

import pytest
from securesystemslib.signer import CryptoSigner, SSlibKey

from grader.errors import Undecided
from grader.trust import verify
from grader.trust.seal import may_sign, seal
from tests.trust.signed import receipt, unsigned

pytestmark = pytest.mark.once


def test_without_a_key_only_the_page_gets_its_record() -> None:
    rendered = unsigned(receipt())
    made = seal(rendered)
    assert set(made) == set(rendered)
    assert {ending for ending in made if made[ending] != rendered[ending]} == {"html"}
    assert "grade-envelope" not in made["html"]


def test_forms_that_are_no_form_of_the_learners_are_passed_through_and_not_signed(
    ours: tuple[CryptoSigner, SSlibKey],
) -> None:
    made = seal({**unsigned(receipt()), "instructor.json": "{}"}, ours[0])
    assert made["instructor.json"] == "{}"
    subjects = verify.forms(
        {ending: text.encode() for ending, text in made.items() if ending != "instructor.json"},
        [ours[1]],
    ).statement["subject"]
    assert [one["name"] for one in subjects] == [
        "submission/my_solution.py", "receipt.json", "receipt.html", "receipt.md",
    ]  # fmt: skip


def test_what_no_utf8_can_hold_is_signed_as_it_is_written(
    ours: tuple[CryptoSigner, SSlibKey],
) -> None:
    rendered = {**unsigned(receipt()), "md": "half a pair: \ud800\n"}
    made = seal(rendered, ours[0])
    assert made["md"] == "half a pair: \\ud800\n"
    verify.forms({ending: text.encode() for ending, text in made.items()}, [ours[1]])


def test_an_undecided_receipt_is_never_signed(ours: tuple[CryptoSigner, SSlibKey]) -> None:
    rendered = unsigned(receipt("undecided"))
    assert not may_sign(rendered["json"])
    assert all(may_sign(unsigned(receipt(kind))["json"]) for kind in ("passed", "failed", "error"))
    with pytest.raises(Undecided):
        seal(rendered, ours[0])
    assert "dsse.json" not in seal(rendered)
