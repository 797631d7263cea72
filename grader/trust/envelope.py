"""A statement under a signature: the DSSE envelope, written in one form only.

Only one signature, no field beside the known ones, one spelling: so every changed byte is seen.

Source: DSSE v1.0.0, https://github.com/secure-systems-lab/dsse; the signing and checking is
`securesystemslib`'s.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from grader.trust import extra, strict
from grader.trust.refused import Refused
from grader.trust.statement import PREDICATE, TYPE

if TYPE_CHECKING:
    from securesystemslib.dsse import Envelope
    from securesystemslib.signer import CryptoSigner, SSlibKey

PAYLOAD_TYPE = "application/vnd.in-toto+json"
MOST_BYTES = 1024 * 1024
_FIELDS = {"payload": str, "payloadType": str, "signatures": list}
_SIGNATURE = {"keyid", "sig"}


def sign(statement: dict[str, Any], signer: CryptoSigner) -> str:
    """Return the envelope of a statement, one line of JSON with a line end.

    Raises: EnvironmentProblem where a library is missing.
    """
    extra.require()
    from securesystemslib.dsse import Envelope

    made = Envelope(strict.dumps(statement).encode(), PAYLOAD_TYPE, {})
    made.sign(signer)
    return _text(made)


def read(raw: bytes, keys: Sequence[SSlibKey], where: str = "") -> tuple[dict[str, Any], str]:
    """Return the statement in an envelope and the id of the key that signed it.

    `keys` are the verifier's own; nothing in the envelope adds to them.

    Raises:
        Refused: it is no such envelope, or signed by none of these keys.
        EnvironmentProblem: a library is missing.
    """
    extra.require()
    from securesystemslib.exceptions import UnverifiedSignatureError, VerificationError

    found = _parsed(raw, where)
    (keyid,) = found.signatures
    pinned = [key for key in keys if key.keyid == keyid]
    if not pinned:
        raise Refused(
            "other key",
            f"it is signed by the key {keyid[:64]}, which is not one of yours",
            where=where,
        )
    try:
        found.verify([*pinned], 1)
    except (VerificationError, UnverifiedSignatureError) as error:
        raise Refused(
            "wrong signature",
            "the signature is not this key's signature of this statement: one of them was changed",
            where=where,
        ) from error
    return _known(strict.loads(found.payload, where), where), keyid


def _parsed(raw: bytes, where: str) -> Envelope:
    from securesystemslib.dsse import Envelope

    value = strict.loads(raw, where)
    kinds = {name: type(one) for name, one in value.items()}
    if kinds != _FIELDS:
        raise Refused("malformed", "this is no DSSE envelope: its fields are others", where=where)
    if not value["signatures"]:
        raise Refused("unsigned", "the envelope has no signature: it was removed", where=where)
    if value["payloadType"] != PAYLOAD_TYPE:
        said = f"its payload type is {value['payloadType'][:80]!r}, not {PAYLOAD_TYPE!r}"
        raise Refused("unknown schema", said, where=where)
    if len(value["signatures"]) > 1:
        raise Refused("malformed", "it has several signatures, where one is made", where=where)
    (one,) = value["signatures"]
    if not isinstance(one, dict) or set(one) != _SIGNATURE:
        raise Refused("malformed", "its signature has other fields than keyid and sig", where=where)
    if not all(isinstance(part, str) for part in one.values()):
        raise Refused("malformed", "its signature holds something else than text", where=where)
    try:
        found = Envelope.from_dict(value)
        written = _text(found)
    except ValueError as error:
        raise Refused(
            "malformed", f"it is not base64 where it has to be: {error}", where=where
        ) from error
    if written.encode() != raw:
        raise Refused("malformed", "it is not written as it was signed", where=where)
    return found


def _text(envelope: Envelope) -> str:
    return strict.dumps(envelope.to_dict()) + "\n"


def _known(statement: dict[str, Any], where: str) -> dict[str, Any]:
    for key, known in (("_type", TYPE), ("predicateType", PREDICATE)):
        if statement.get(key) != known:
            said = f"what is signed has the {key} {str(statement.get(key))[:80]!r}, not {known!r}"
            raise Refused("unknown schema", said, where=where)
    subjects = statement.get("subject")
    ours = isinstance(subjects, list) and subjects and all(map(_is_subject, subjects))
    if not ours or not isinstance(statement.get("predicate"), dict):
        raise Refused("malformed", "what is signed is no statement about a receipt", where=where)
    return statement


def _is_subject(one: object) -> bool:
    return (
        isinstance(one, dict)
        and isinstance(one.get("name"), str)
        and isinstance(one.get("digest"), dict)
    )
