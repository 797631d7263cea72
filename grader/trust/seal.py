"""Makes the forms of one receipt ready to be written: the page complete, all of them signed.

It takes text and gives text, and touches no file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.trust import envelope, page, statement, strict
from grader.trust.statement import MEDIA, sha256

if TYPE_CHECKING:
    from securesystemslib.signer import CryptoSigner

ENDING = "dsse.json"


def may_sign(receipt: str) -> bool:
    """Return whether a JSON receipt has a verdict that can be vouched for."""
    return strict.loads(_bytes(receipt)).get("verdict") in statement.RESULTS


def seal(forms: Mapping[str, str], signer: CryptoSigner | None = None) -> dict[str, str]:
    """Return the forms (ending -> text) of one receipt as they are to be written.

    `json` has to be among them, byte for byte what will be written. An `html` gets its data blocks.
    With a signer there is an envelope more, over every form that has a media type; what an
    instructor alone may see is passed through.

    Raises:
        ContentProblem: the page holds such blocks already.
        Undecided: there is a signer, and nothing to vouch for; see `may_sign`.
        EnvironmentProblem: a library is missing.
    """
    raw = {ending: _bytes(text) for ending, text in forms.items()}
    if "html" in raw:
        raw["html"] = page.with_receipt(raw["html"], raw["json"])
    if signer is not None:
        others = [ending for ending in raw if ending in MEDIA and ending != "json"]
        digests = {ending: sha256(raw[ending]) for ending in others}
        signed = envelope.sign(statement.of(raw["json"], digests), signer)
        if "html" in raw:
            raw["html"] = page.with_envelope(raw["html"], signed.encode())
        raw[ENDING] = signed.encode()
    return {ending: content.decode("utf-8") for ending, content in raw.items()}


def _bytes(text: str) -> bytes:
    # What no UTF-8 can hold is spelled out, as it is when a receipt is written.
    return text.encode(errors="backslashreplace")
