"""A receipt is taken only as it was signed: every field, every form, for the learner it names."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from securesystemslib.signer import CryptoSigner, SSlibKey

from grader.receipt.render import to_json
from grader.records.receipt import LearnerPart
from grader.trust import envelope, page, statement, strict, verify
from grader.trust.refused import Refused
from tests.receipt import factory
from tests.trust import signed
from tests.trust.signed import Bytes, changed, forms, leaves, receipt

pytestmark = pytest.mark.once
Pair = tuple[CryptoSigner, SSlibKey]
KINDS = ("passed", "failed", "error")


def refused(given: Bytes, key: SSlibKey, **expected: str) -> Refused:
    with pytest.raises(Refused) as error:
        verify.forms(given, [key], verify.Expected(**expected))
    return error.value


def resealed(of: Bytes, made: Bytes) -> Bytes:
    """Return the page of forms whose JSON was changed, with the receipt in it changed as well."""
    parts = page.split(of["html"])
    assert parts.envelope is not None
    inner = page.with_receipt(_bare(parts.signed), made["json"])
    return {**of, **made, "html": page.with_envelope(inner, parts.envelope)}


def _bare(signed_page: bytes) -> bytes:
    start = signed_page.index(b"<script type=")
    return signed_page[:start] + signed_page[signed_page.index(b"</script>\n", start) + 10 :]


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_signed_is_verified_and_told(kind: str, ours: Pair) -> None:
    of = receipt(kind)
    made = forms(of, ours[0])
    found = verify.forms(made, [ours[1]])
    assert (found.receipt, found.raw, found.keyid) == (of, made["json"], ours[1].keyid)
    assert found.checked == ("json", "md", "html")
    assert found.unsigned == ()
    assert found.statement["predicate"]["result"] == ("PASSED" if kind == "passed" else "FAILED")


def test_a_page_alone_is_enough_and_so_are_record_and_envelope(ours: Pair) -> None:
    made = forms(receipt(), ours[0])
    for endings in (["html"], ["json", "dsse.json"], ["md", "json", "dsse.json"]):
        found = verify.forms({ending: made[ending] for ending in endings}, [ours[1]])
        assert found.receipt == receipt()
        assert set(found.checked) == set(endings) - {"dsse.json"}


def test_every_field_of_the_record_is_under_the_signature(ours: Pair) -> None:
    made = forms(receipt("error"), ours[0])
    value = json.loads(made["json"])
    paths = list(leaves(value))
    top = {path[0] for path in paths}
    assert {"learner", "environment", "created_at", "wall_s", "output", "notes"} <= top
    for path in paths:
        raw = json.dumps(changed(value, path)).encode()
        for given in (
            {"json": raw, "dsse.json": made["dsse.json"]},
            {"html": resealed(made, {"json": raw})["html"]},
        ):
            error = refused(given, ours[1])
            assert error.reason in ("changed", "other receipt"), path


def test_every_field_of_the_statement_is_under_the_signature(ours: Pair) -> None:
    made = forms(receipt(), ours[0])
    said = signed.statement(made["dsse.json"])
    outer = json.loads(made["dsse.json"])
    for path in leaves(said):
        forged = json.loads(envelope.sign(changed(said, path), ours[0]))
        forged["signatures"] = outer["signatures"]
        raw = (strict.dumps(forged) + "\n").encode()
        assert refused({**made, "dsse.json": raw}, ours[1]).reason == "wrong signature", path


def test_a_signed_statement_that_says_something_else_than_the_receipt_is_refused(
    ours: Pair,
) -> None:
    made = forms(receipt(), ours[0])
    bare = page.split(made["html"]).signed
    said = signed.statement(made["dsse.json"])
    for path in leaves(said):
        raw = envelope.sign(changed(said, path), ours[0]).encode()
        given = {**made, "dsse.json": raw, "html": page.with_envelope(bare, raw)}
        assert refused(given, ours[1]).reason not in ("wrong signature", "other key"), path


@pytest.mark.parametrize(
    ("path", "other"),
    [
        (("predicate", "result"), "PASSED"),
        (("predicate", "passedTests"), []),
        (("predicate", "warnedTests"), ["values"]),
        (("predicate", "failedTests"), []),
        (("predicate", "configuration"), []),
    ],
)
def test_which_part_of_the_statement_disagrees_is_said(
    ours: Pair, path: tuple[str, str], other: Any
) -> None:
    made = forms(receipt(), ours[0])
    said = copy.deepcopy(signed.statement(made["dsse.json"]))
    said[path[0]][path[1]] = other
    raw = envelope.sign(said, ours[0]).encode()
    error = refused({"json": made["json"], "dsse.json": raw}, ours[1])
    assert error.reason == "disagrees"
    assert error.what == f"the signed statement has another {path[1]} than the receipt"


def test_no_byte_of_any_form_can_be_changed(ours: Pair) -> None:
    made = forms(receipt(), ours[0])
    for ending in ("json", "md", "html"):
        raw = made[ending]
        for at in range(0, len(raw), max(1, len(raw) // 150)):
            for other in (
                raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :],
                raw[:at] + raw[at + 1 :],
            ):
                refused({**made, ending: other}, ours[1])
        for other in (raw + b"\n", b"\xef\xbb\xbf" + raw, raw.replace(b"\n", b"\r\n"), b""):
            refused({**made, ending: other}, ours[1])


@pytest.mark.parametrize("ending", ["md", "html"])
def test_what_a_person_reads_is_signed_and_not_the_record_alone(ours: Pair, ending: str) -> None:
    made = forms(receipt(), ours[0])
    shown = made[ending].replace(b"failed", b"passed")
    assert shown != made[ending]
    error = refused({**made, ending: shown}, ours[1])
    assert (error.reason, error.where) == ("changed", f"receipt.{ending}")


def test_another_submissions_receipt_under_this_signature_is_said(ours: Pair) -> None:
    part = factory.passed().submission.model_copy(update={"sha256": "b4" * 32})
    mine = forms(receipt("failed"), ours[0])
    yours = forms(receipt("passed", submission=part), ours[0])
    error = refused({"json": yours["json"], "dsse.json": mine["dsse.json"]}, ours[1])
    assert error.reason == "other receipt"
    assert error.what == "the signature is of another submission's receipt"
    for ending in ("html", "md", "json", "dsse.json"):
        refused({**mine, ending: yours[ending]}, ours[1])


def test_another_learners_receipt_for_equal_work_is_said(ours: Pair) -> None:
    mine = forms(receipt(learner="Ada Lovelace"), ours[0])
    yours = forms(receipt(learner="Grace Hopper"), ours[0])
    error = refused({"json": yours["json"], "dsse.json": mine["dsse.json"]}, ours[1])
    assert error.what == "the signature is of another learner's receipt"
    error = refused({**mine, "html": yours["html"]}, ours[1])
    assert error.reason == "other receipt"
    assert error.what == "the page carries another envelope"


def test_whose_receipt_it_has_to_be_can_be_asked_for(ours: Pair) -> None:
    made = forms(receipt(), ours[0])
    for known in ("Ada Lovelace", "ada lovelace", "s-17", "ADA@example.org"):
        assert verify.forms(made, [ours[1]], verify.Expected(learner=known))
    error = refused(made, ours[1], learner="Grace Hopper")
    assert error.reason == "other learner"
    assert error.what == "the receipt is Ada Lovelace's, not Grace Hopper's"
    nobody = forms(receipt().model_copy(update={"learner": None}), ours[0])
    assert "nobody's by name" in refused(nobody, ours[1], learner="Ada Lovelace").what
    unnamed = forms(receipt().model_copy(update={"learner": LearnerPart(id="7")}), ours[0])
    assert refused(unnamed, ours[1], learner="Ada").what == "the receipt is 7's, not Ada's"


def test_the_file_at_hand_has_to_be_the_one_that_was_graded(ours: Pair) -> None:
    made = forms(receipt(), ours[0])
    assert verify.forms(made, [ours[1]], verify.Expected(submission_sha256="a3" * 32))
    error = refused(made, ours[1], submission_sha256="a4" * 32)
    assert error.reason == "other submission"
    assert error.what == "the file at hand is not the one that was graded, my_solution.py"


def test_a_copy_signed_again_with_a_key_that_comes_along_is_refused(
    ours: Pair, theirs: Pair
) -> None:
    better = receipt().model_copy(update={"points": 100, "verdict": "passed"})
    error = refused(forms(better, theirs[0]), ours[1])
    assert error.reason == "other key"
    assert theirs[1].keyid in error.what


@pytest.mark.parametrize("keep", [("html",), ("json",), ("json", "md"), ("json", "md", "html")])
def test_a_receipt_without_a_signature_is_refused(ours: Pair, keep: tuple[str, ...]) -> None:
    never = forms(receipt(), None)
    assert "dsse.json" not in never
    error = refused({ending: never[ending] for ending in keep}, ours[1])
    assert error.reason == "unsigned"


def test_a_signature_stripped_from_the_page_is_not_made_up_for_by_the_one_beside(
    ours: Pair,
) -> None:
    made = forms(receipt(), ours[0])
    stripped = page.split(made["html"]).signed
    error = refused({**made, "html": stripped}, ours[1])
    assert (error.reason, error.what) == ("unsigned", "the page carries no signature")


def test_a_form_that_nobody_signed_is_told_apart(ours: Pair) -> None:
    made = {**forms(receipt(), ours[0]), "txt": b"anything"}
    assert verify.forms(made, [ours[1]]).unsigned == ("txt",)


def test_an_envelope_alone_is_refused(ours: Pair) -> None:
    made = forms(receipt(), ours[0])
    error = refused({"md": made["md"], "dsse.json": made["dsse.json"]}, ours[1])
    assert error.reason == "unreadable"
    assert "receipt.json is missing" in error.what


def signed_anyway(of: str, by: Pair) -> Bytes:
    """Return a record that no grade makes, under a good signature of the statement that fits."""
    raw = of.encode()
    fits = raw.replace(b'"schema_version": 2', b'"schema_version": 1')
    fits = fits.replace(b'"verdict": "undecided"', b'"verdict": "failed"')
    said = statement.of(fits, {})
    record = next(one for one in said["subject"] if one["name"] == "receipt.json")
    record["digest"]["sha256"] = statement.sha256(raw)
    return {"json": raw, "dsse.json": envelope.sign(said, by[0]).encode()}


def test_an_unknown_schema_is_refused_even_when_signed(ours: Pair) -> None:
    text = to_json(receipt())
    newer = text.replace('"schema_version": 1', '"schema_version": 2')
    error = refused(signed_anyway(newer, ours), ours[1])
    assert (error.reason, error.what) == ("unknown schema", "the receipt's schema is 2")
    extended = text.replace('"schema_version": 1,', '"schema_version": 1, "bonus": 3,')
    error = refused(signed_anyway(extended, ours), ours[1])
    assert error.reason == "unknown schema"
    assert "bonus" in error.what


def test_a_key_that_occurs_twice_in_the_record_is_refused_even_when_signed(ours: Pair) -> None:
    raw = to_json(receipt()).replace('"points": 84', '"points": 100, "points": 84', 1).encode()
    said = statement.of(to_json(receipt()).encode(), {})
    record = next(one for one in said["subject"] if one["name"] == "receipt.json")
    record["digest"]["sha256"] = statement.sha256(raw)
    error = refused({"json": raw, "dsse.json": envelope.sign(said, ours[0]).encode()}, ours[1])
    assert error.reason == "malformed"
    assert "occurs twice" in error.what


def test_an_undecided_receipt_is_refused_even_when_signed(ours: Pair) -> None:
    error = refused(signed_anyway(to_json(receipt("undecided")), ours), ours[1])
    assert error.reason == "disagrees"
    assert error.what == "an undecided receipt is never signed"


@pytest.mark.parametrize("asked", ["zoe\u0308 Ölmez", "Zoë  ölmez ", "ZOË\tÖLMEZ"])
def test_a_name_is_the_same_however_it_is_composed_or_spaced(ours: Pair, asked: str) -> None:
    made = forms(receipt(learner="Zoë Ölmez"), ours[0])
    assert verify.forms(made, [ours[1]], verify.Expected(learner=asked))
    with pytest.raises(Refused) as error:
        verify.forms(made, [ours[1]], verify.Expected(learner="Zoe Ölmez"))
    assert error.value.reason == "other learner"


def test_a_name_with_the_last_one_first_is_the_same_name(ours: Pair) -> None:
    made = forms(receipt(learner="Lovelace, Ada"), ours[0])
    for asked in ("Ada Lovelace", "lovelace,  ada", "Lovelace, Ada"):
        assert verify.forms(made, [ours[1]], verify.Expected(learner=asked))
    assert refused(made, ours[1], learner="Lovelace").reason == "other learner"
