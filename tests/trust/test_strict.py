"""JSON from strangers is read in one way, in a time that grows with its size, or refused."""

from __future__ import annotations

import json

import pytest
from securesystemslib.signer import CryptoSigner, SSlibKey

from grader.trust import statement, strict, verify
from grader.trust.refused import Refused
from tests.trust.signed import forms, receipt

pytestmark = pytest.mark.once


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"a": 1e999}', "1e999 is larger than a number can be"),
        ('{"a": [-1e999]}', "-1e999 is larger than a number can be"),
        ('{"a": NaN}', "NaN is no number of JSON"),
        ('{"a": "\\ud800"}', "half of a surrogate pair is no character"),
        ('{"\\udfff": 1}', "half of a surrogate pair is no character"),
        ('{"a": 1, "b": 2, "a": 3}', "the key 'a' occurs twice"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "it is nested too deeply"),
    ],
)
def test_what_could_be_read_in_two_ways_or_not_written_again_is_refused(
    text: str, told: str
) -> None:
    with pytest.raises(Refused) as error:
        strict.loads(text.encode(), "a.json")
    assert error.value.reason == "malformed"
    assert f"this is not strict JSON: {told}" in str(error.value)
    assert "(a.json)" in str(error.value)


def test_a_whole_pair_and_ordinary_escapes_are_text() -> None:
    assert strict.loads(b'{"a": "\\ud83d\\ude00 \\u00e9", "b": 1.5}') == {"a": "😀 é", "b": 1.5}


class _Counted(str):
    """A key that counts how often it is compared."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        _Counted.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_a_doubled_key_is_found_without_comparing_all_with_all() -> None:
    many = 2000
    pairs: list[tuple[str, object]] = [(_Counted(f"k{one}"), one) for one in range(many)]
    with pytest.raises(ValueError, match="the key 'k1999' occurs twice"):
        strict.once([*pairs, (_Counted("k1999"), 0)])
    assert _Counted.compared < 10 * many


@pytest.mark.parametrize("verdict", [[], {}, None, 1, True])
def test_a_verdict_of_another_kind_is_malformed(verdict: object) -> None:
    facts = json.loads(forms(receipt(), None)["json"])
    with pytest.raises(Refused) as error:
        statement.of(json.dumps({**facts, "verdict": verdict}).encode(), {})
    assert error.value.reason == "malformed"


@pytest.mark.parametrize("value", [[], {}, None, 1e300, True, "", -(10**400), [[]], {"a": {}}])
def test_no_value_of_any_field_ends_a_check_otherwise_than_by_a_refusal(
    ours: tuple[CryptoSigner, SSlibKey], value: object
) -> None:
    made = forms(receipt(), ours[0])
    facts = json.loads(made["json"])
    for key in facts:
        changed = json.dumps({**facts, key: value}).encode()
        with pytest.raises(Refused):
            verify.forms({**made, "json": changed}, [ours[1]])
        page = made["html"].replace(made["json"].replace(b"<", b"\\u003c"), changed)
        with pytest.raises(Refused):
            verify.forms({"html": page}, [ours[1]])
    outer = json.loads(made["dsse.json"])
    for key in outer:
        spoilt = json.dumps({**outer, key: value}).encode()
        with pytest.raises(Refused):
            verify.forms({"json": made["json"], "dsse.json": spoilt}, [ours[1]])
        entry = {**outer["signatures"][0], "keyid": value}
        spoilt = json.dumps({**outer, "signatures": [entry]}).encode()
        with pytest.raises(Refused):
            verify.forms({"json": made["json"], "dsse.json": spoilt}, [ours[1]])
