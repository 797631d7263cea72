"""Decides whether a receipt is what somebody with a pinned key signed, and says why not.

The key, the program and the bytes at hand are all it goes by: no key is taken from a receipt, no
name of a file means anything, and whatever is not as it was written is refused.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grader.errors import Undecided
from grader.trust import envelope, page, statement, strict
from grader.trust.refused import Refused
from grader.trust.seal import ENDING
from grader.trust.statement import MEDIA, sha256

if TYPE_CHECKING:
    from securesystemslib.signer import SSlibKey

    from grader.records.receipt import Receipt


@dataclass(frozen=True)
class Verified:
    """A receipt that is what was signed.

    `raw` is its JSON form, `keyid` the key, `checked` the forms (endings) that were compared;
    `unsigned` are forms at hand that no signature covers.
    """

    receipt: Receipt
    raw: bytes
    statement: dict[str, Any]
    keyid: str
    checked: tuple[str, ...]
    unsigned: tuple[str, ...]


@dataclass(frozen=True)
class Expected:
    """What else has to hold: whose receipt it is, of which file (hex SHA-256 of its bytes)."""

    learner: str = ""
    submission_sha256: str = ""


def forms(
    given: Mapping[str, bytes],
    keys: Sequence[SSlibKey],
    expected: Expected = Expected(),
    *,
    names: Mapping[str, str] | None = None,
) -> Verified:
    """Return what the forms of one receipt (ending -> bytes) hold, all of them compared.

    A page alone is enough; of the other forms, `json` and `dsse.json` are needed. `names` says what
    each form is called in messages.

    Raises:
        Refused: it is not what one of `keys` signed, or not what is expected.
        EnvironmentProblem: a library is missing.
    """
    called = {ending: f"receipt.{ending}" for ending in (*MEDIA, ENDING)} | dict(names or {})
    parts = page.split(given["html"], called["html"]) if "html" in given else None
    raw_envelope, where = _envelope(given, parts, called)
    said, keyid = envelope.read(raw_envelope, keys, where)
    if parts is not None and parts.envelope != raw_envelope:
        raise Refused("other receipt", "the page carries another envelope", where=called["html"])
    receipt = given.get("json", parts.receipt if parts else None)
    if receipt is None:
        step = f"{called['json']} is missing, and nothing can be checked without it"
        raise Refused("unreadable", step, where=where)
    signed = {ending: raw for ending, raw in given.items() if ending in MEDIA}
    if parts is not None:
        signed["html"] = parts.signed
        _same(said, "json", parts.receipt, called["html"])
    checked, unsigned = _compare(said, {"json": receipt, **signed}, called)
    record = _record(receipt, called["json"])
    _agree(said, receipt, called["json"])
    _expect(record, expected, called["json"])
    checked = [ending for ending in checked if ending in given]
    return Verified(record, receipt, said, keyid, tuple(checked), tuple(unsigned))


def _envelope(
    given: Mapping[str, bytes], parts: page.Parts | None, called: Mapping[str, str]
) -> tuple[bytes, str]:
    """Return the envelope and where it is; a page whose own was removed is not made up for."""
    if parts is not None and parts.envelope is None:
        raise Refused("unsigned", "the page carries no signature", where=called["html"])
    if ENDING in given:
        return given[ENDING], called[ENDING]
    if parts is not None and parts.envelope is not None:
        return parts.envelope, called["html"]
    raise Refused("unsigned", f"there is no signature: {called[ENDING]} is missing")


def _digests(said: dict[str, Any]) -> dict[str, Any]:
    """Return the digests of the forms that a statement is about, by ending."""
    return {
        one["name"].removeprefix("receipt."): one["digest"].get("sha256")
        for one in said["subject"]
        if one["name"].startswith("receipt.")
    }


def _same(said: dict[str, Any], ending: str, raw: bytes, where: str) -> None:
    if _digests(said).get(ending) == sha256(raw):
        return
    if ending == "json":
        _tell_other(said, raw, where)
    raise Refused("changed", "this file was changed after it was signed", where=where)


def _tell_other(said: dict[str, Any], receipt: bytes, where: str) -> None:
    """Refuse a receipt that belongs to another submission or learner than the signed one, so."""
    try:
        made = statement.of(receipt, {})
    except (Refused, Undecided):
        return  # not even a receipt any more: changed
    ours, theirs = made["subject"][0]["digest"], said["subject"][0]["digest"]
    learners = [_short(one).get("learner") for one in (made, said)]
    if ours != theirs:
        what = "the signature is of another submission's receipt"
    elif learners[0] != learners[1]:
        what = "the signature is of another learner's receipt"
    else:
        return
    raise Refused("other receipt", what, where=where)


def _short(said: dict[str, Any]) -> dict[str, Any]:
    found = [one for one in said["subject"] if one["name"] == "receipt.json"]
    short = found[0].get("annotations") if found else None
    return short if isinstance(short, dict) else {}


def _compare(
    said: dict[str, Any], at_hand: Mapping[str, bytes], called: Mapping[str, str]
) -> tuple[list[str], list[str]]:
    """Return the endings that are as signed, and those that the statement does not speak of."""
    known = _digests(said)
    covered = [ending for ending in MEDIA if ending in at_hand and ending in {"json", *known}]
    for ending in covered:
        _same(said, ending, at_hand[ending], called[ending])
    return covered, [ending for ending in at_hand if ending not in covered]


def _record(receipt: bytes, where: str) -> Receipt:
    from pydantic import ValidationError

    from grader.records.receipt import Receipt

    version = strict.loads(receipt, where).get("schema_version")
    if version != statement.RECEIPT_SCHEMA:
        raise Refused(
            "unknown schema", f"the receipt's schema is {repr(version)[:80]}", where=where
        )
    try:
        return Receipt.model_validate_json(receipt)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        said = f"this is no receipt of schema {version}: {place}: {first['msg']}"
        raise Refused("unknown schema", said, where=where) from error


def _agree(said: dict[str, Any], receipt: bytes, where: str) -> None:
    """Refuse a statement that is not the one this receipt gives."""
    others = {ending: digest for ending, digest in _digests(said).items() if ending != "json"}
    try:
        if set(others) <= set(MEDIA):
            made = statement.of(receipt, others)
        else:
            raise Refused("unknown schema", "it is about a form that is not known", where=where)
    except Undecided as error:
        raise Refused("disagrees", "an undecided receipt is never signed", where=where) from error
    if made == said:
        return
    for name in ("result", "passedTests", "warnedTests", "failedTests", "configuration"):
        if made["predicate"][name] != said["predicate"].get(name):
            what = f"the signed statement has another {name} than the receipt"
            raise Refused("disagrees", what, where=where)
    raise Refused("disagrees", "the signed statement is about something else", where=where)


def _expect(record: Receipt, expected: Expected, where: str) -> None:
    if expected.learner:
        known = record.learner
        names = (known.name, known.id, known.email) if known else ()
        if _folded(expected.learner) not in {_folded(name) for name in names if name}:
            whose = f"{known.name or known.id or known.email}'s" if known else "nobody's by name"
            said = f"the receipt is {whose}, not {expected.learner}'s"
            raise Refused("other learner", said, where=where)
    wanted = expected.submission_sha256
    if wanted and wanted != record.submission.sha256:
        said = f"the file at hand is not the one that was graded, {record.submission.name}"
        raise Refused("other submission", said, where=where)


def _folded(name: str) -> str:
    """Return a name as it is compared: composed (NFC), single spaces, no case, `First Last`."""
    last, comma, first = name.partition(",")
    # As Canvas and rosters write it.
    name = f"{first} {last}" if comma and first.strip() else name
    text = unicodedata.normalize("NFC", " ".join(name.split())).casefold()
    return unicodedata.normalize("NFC", text)
