"""Sign a portfolio's manifest and check such a signature: a DSSE envelope around its very bytes.

The payload type is its own, so that no signature of a receipt passes for one of a portfolio.
Source: DSSE v1.0.0, https://github.com/secure-systems-lab/dsse; `securesystemslib` does the work.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from grader.portfolio.pack import Sign
from grader.portfolio.paths import SIGNATURE
from grader.portfolio.refused import Refused
from grader.portfolio.verify import Check
from grader.trust import extra, keys, strict
from grader.trust.refused import Refused as Malformed

if TYPE_CHECKING:
    from securesystemslib.dsse import Envelope

PAYLOAD_TYPE = "application/vnd.grade.portfolio.manifest+json"
_MALFORMED = (ValueError, TypeError, KeyError, AttributeError)


def signing(private: Path) -> Sign:
    """Return what makes the signature's file from a manifest's bytes, with this private key.

    Raises: as `grader.trust.keys.load_private`.
    """
    signer = keys.load_private(private)

    def sign(manifest: bytes) -> bytes:
        from securesystemslib.dsse import Envelope

        made = Envelope(manifest, PAYLOAD_TYPE, {})
        made.sign(signer)
        return _text(made)

    return sign


def checking(public: Path, where: str) -> Check:
    """Return what raises Refused unless a signature is this key's over this manifest.

    `where` is the portfolio's zip, for messages.

    Raises: as `grader.trust.keys.load_public`.
    """
    extra.require()
    key = keys.load_public(public)

    def check(manifest: bytes, signature: bytes) -> None:
        from securesystemslib.exceptions import VerificationError

        found = _envelope(signature, where)
        if list(found.signatures) != [key.keyid]:
            raise _refused(
                where, "is signed by another key", "check which key its maker signs with"
            )
        try:
            found.verify([key], 1)
        except VerificationError as error:
            what = f"has a {SIGNATURE} that does not fit this key: one of them was changed"
            raise _refused(where, what) from error
        if found.payload != manifest:
            raise _refused(where, f"has another manifest than the one that {SIGNATURE} signs")

    return check


def _envelope(raw: bytes, where: str) -> Envelope:
    """Return the envelope in a signature's file, which has one spelling only."""
    from securesystemslib.dsse import Envelope

    try:
        found = Envelope.from_dict(strict.loads(raw))
        same = _text(found) == raw
    except (Malformed, *_MALFORMED) as error:
        raise _refused(where, f"has a {SIGNATURE} that is no DSSE envelope") from error
    if not same or found.payload_type != PAYLOAD_TYPE:
        raise _refused(where, f"has a {SIGNATURE} that is no signature of a portfolio")
    if not found.signatures:
        raise _refused(where, f"has a {SIGNATURE} without a signature: it was removed")
    return found


def _text(envelope: Envelope) -> bytes:
    return strict.dumps(envelope.to_dict()).encode() + b"\n"


def _refused(where: str, what: str, step: str = "") -> Refused:
    return Refused(
        f"{where} {what}",
        next_step=f"nothing was restored; {step or 'ask for the zip again, from whoever made it'}",
    )
