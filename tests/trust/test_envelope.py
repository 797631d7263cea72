"""A signature can be checked by others' programs, and only the pinned key's counts."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import CryptoSigner, SSlibKey

from grader.trust import envelope, keys, strict
from grader.trust.refused import Refused
from tests.trust.openssl import accepts
from tests.trust.signed import forms, receipt, statement

pytestmark = pytest.mark.once
Pair = tuple[CryptoSigner, SSlibKey]
TYPE = "application/vnd.in-toto+json"


def signed(by: Pair) -> bytes:
    return forms(receipt(), by[0])["dsse.json"]


def pre_authentication(envelope: bytes) -> bytes:
    """Return what DSSE v1.0.0 has signed, written from its text and nothing of ours."""
    outer = json.loads(envelope)
    kind, body = outer["payloadType"].encode(), base64.b64decode(outer["payload"])
    length = lambda part: str(len(part)).encode("ascii")  # noqa: E731
    return b" ".join([b"DSSEv1", length(kind), kind, length(body), body])


def refused(raw: bytes, *keys: SSlibKey) -> tuple[str, str]:
    with pytest.raises(Refused) as error:
        envelope.read(raw, keys)
    return error.value.reason, error.value.what


def test_openssl_accepts_the_signature_and_no_other(tmp_path: Path) -> None:
    keys.generate(tmp_path / "key.pem")
    raw = forms(receipt(), keys.load_private(tmp_path / "key.pem"))["dsse.json"]
    said = pre_authentication(raw)
    sig = base64.b64decode(json.loads(raw)["signatures"][0]["sig"])

    def takes(message: bytes, signature: bytes) -> bool:
        (tmp_path / "message").write_bytes(message)
        (tmp_path / "signature").write_bytes(signature)
        return accepts(
            "pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", str(tmp_path / "key.pub"),
            "-in", str(tmp_path / "message"), "-sigfile", str(tmp_path / "signature"),
        )  # fmt: skip

    assert takes(said, sig)
    assert not takes(said.replace(b"FAILED", b"PASSED"), sig)
    assert not takes(said, sig[:-1] + bytes([sig[-1] ^ 1]))


def test_securesystemslib_accepts_it_on_its_own(ours: Pair, theirs: Pair) -> None:
    found = Envelope.from_dict(json.loads(signed(ours)))
    assert list(found.verify([ours[1]], 1)) == [ours[1].keyid]
    with pytest.raises(VerificationError):
        found.verify([theirs[1]], 1)


def test_the_bare_algorithm_accepts_it(ours: Pair) -> None:
    raw = signed(ours)
    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(ours[1].keyval["public"]))
    sig = base64.b64decode(json.loads(raw)["signatures"][0]["sig"])
    key.verify(sig, pre_authentication(raw))
    with pytest.raises(InvalidSignature):
        key.verify(sig, pre_authentication(raw) + b" ")


def test_an_envelope_has_the_fields_of_the_standard_and_one_line(ours: Pair) -> None:
    raw = signed(ours)
    assert raw.count(b"\n") == 1 and raw.endswith(b"}\n")
    outer = json.loads(raw)
    assert set(outer) == {"payload", "payloadType", "signatures"}
    assert outer["payloadType"] == TYPE
    assert [set(one) for one in outer["signatures"]] == [{"keyid", "sig"}]


def test_the_same_receipt_has_the_same_envelope(ours: Pair) -> None:
    assert signed(ours) == signed(ours)


def test_any_of_several_pinned_keys_will_do_and_the_one_is_told(ours: Pair, theirs: Pair) -> None:
    said, keyid = envelope.read(signed(ours), [theirs[1], ours[1]])
    assert (said, keyid) == (statement(signed(ours)), ours[1].keyid)


def test_a_key_that_is_not_pinned_is_refused(ours: Pair, theirs: Pair) -> None:
    reason, what = refused(signed(theirs), ours[1])
    assert reason == "other key"
    assert theirs[1].keyid in what
    assert refused(signed(ours))[0] == "other key"


def remade(raw: bytes, **changes: Any) -> bytes:
    return (strict.dumps({**json.loads(raw), **changes}) + "\n").encode()


def test_a_key_that_comes_with_the_envelope_counts_for_nothing(ours: Pair, theirs: Pair) -> None:
    (one,) = json.loads(signed(theirs))["signatures"]
    public = theirs[1].keyval["public"]
    for more in ({"key": public}, {"cert": public}):
        raw = remade(signed(theirs), signatures=[{**one, **more}])
        assert refused(raw, ours[1])[0] == "malformed"
    assert refused(remade(signed(theirs), publicKey=public), ours[1])[0] == "malformed"
    pretended = [{**one, "keyid": ours[1].keyid}]
    assert refused(remade(signed(theirs), signatures=pretended), ours[1])[0] == "wrong signature"


def test_a_key_id_that_is_not_the_keys_is_refused(ours: Pair) -> None:
    (one,) = json.loads(signed(ours))["signatures"]
    for keyid in ("", ours[1].keyid.upper(), ours[1].keyid[:-1]):
        raw = remade(signed(ours), signatures=[{**one, "keyid": keyid}])
        assert refused(raw, ours[1])[0] == "other key"


def test_a_signature_that_was_removed_is_said(ours: Pair) -> None:
    reason, what = refused(remade(signed(ours), signatures=[]), ours[1])
    assert (reason, what) == ("unsigned", "the envelope has no signature: it was removed")
    (one,) = json.loads(signed(ours))["signatures"]
    assert refused(remade(signed(ours), signatures=[{**one, "sig": ""}]), ours[1])[0] == (
        "wrong signature"
    )
    assert refused(remade(signed(ours), signatures=[one, one]), ours[1])[0] == "malformed"


def test_another_payload_type_is_refused_even_when_signed(ours: Pair) -> None:
    made = Envelope(json.dumps(statement(signed(ours))).encode(), "application/json", {})
    made.sign(ours[0])
    raw = (strict.dumps(made.to_dict()) + "\n").encode()
    assert refused(raw, ours[1])[0] == "unknown schema"
    assert refused(remade(signed(ours), payloadType="application/json"), ours[1])[0] == (
        "unknown schema"
    )


@pytest.mark.parametrize(
    ("key", "other"),
    [
        ("_type", "https://in-toto.io/Statement/v0.1"),
        ("predicateType", "https://slsa.dev/provenance/v1"),
        ("predicateType", None),
    ],
)
def test_another_statement_is_refused_even_when_signed(ours: Pair, key: str, other: Any) -> None:
    raw = envelope.sign({**statement(signed(ours)), key: other}, ours[0]).encode()
    reason, what = refused(raw, ours[1])
    assert reason == "unknown schema"
    assert key in what


@pytest.mark.parametrize(
    "changes",
    [
        {"subject": []},
        {"subject": None},
        {"subject": ["x"]},
        {"subject": [{"name": "receipt.json"}]},
        {"subject": [{"digest": {"sha256": "0"}}]},
        {"predicate": None},
    ],
)
def test_a_signed_statement_of_another_shape_is_refused(
    ours: Pair, changes: dict[str, Any]
) -> None:
    raw = envelope.sign({**statement(signed(ours)), **changes}, ours[0]).encode()
    assert refused(raw, ours[1])[0] == "malformed"


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"null\n",
        b"[]\n",
        b"{}\n",
        b'{"payload":"","payloadType":"","signatures":{}}\n',
        b'{"payload":1,"payloadType":"","signatures":[]}\n',
        b"\xff\xfe",
        b'{"a":' * 10**5,
        b'{"payload": NaN}',
    ],
)
def test_what_is_no_envelope_is_refused(ours: Pair, raw: bytes) -> None:
    assert refused(raw, ours[1])[0] == "malformed"


def test_a_key_that_occurs_twice_is_refused(ours: Pair) -> None:
    raw = signed(ours)
    twice = raw.replace(b'{"payload":', b'{"payload":"QQ==","payload":', 1)
    reason, what = refused(twice, ours[1])
    assert reason == "malformed"
    assert "the key 'payload' occurs twice" in what
    text = strict.dumps(statement(raw))
    doubled = text.replace('"result":"FAILED"', '"result":"PASSED","result":"FAILED"')
    made = Envelope(doubled.encode(), TYPE, {})
    made.sign(ours[0])
    again = (strict.dumps(made.to_dict()) + "\n").encode()
    assert "'result' occurs twice" in refused(again, ours[1])[1]


def test_no_other_spelling_of_an_envelope_is_taken(ours: Pair) -> None:
    raw = signed(ours)
    outer = json.loads(raw)
    payload = outer["payload"]
    loose = payload[:-1] + "\n" if payload.endswith("=") else payload + "\n"
    spellings = [
        raw.rstrip(b"\n"),
        raw + b"\n",
        json.dumps(outer, indent=1).encode(),
        remade(raw, payload=payload.replace("+", "-").replace("/", "_") + " "),
        remade(raw, payload=loose),
        raw.replace(b'"payload"', b'"p\\u0061yload"'),
    ]
    for spelled in spellings:
        assert refused(spelled, ours[1])[0] == "malformed"


def test_no_byte_of_an_envelope_can_be_changed(ours: Pair) -> None:
    raw = signed(ours)
    places = {*range(0, len(raw), 5), *range(len(raw) - 260, len(raw))}
    for at in places:
        for bit in (0x01, 0x20):
            made = raw[:at] + bytes([raw[at] ^ bit]) + raw[at + 1 :]
            refused(made, ours[1])
