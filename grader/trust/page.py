"""The record inside the page: two blocks of data that no browser runs, at one place only.

A page without its envelope's block is what is signed; the block itself is one whole line, so that
`grep -v 'id="grade-envelope"' FILE | sha256sum` gives the digest that the statement names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from grader.errors import ContentProblem
from grader.trust.refused import Refused

_RECEIPT = b'<script type="application/vnd.grade.receipt+json" id="grade-receipt">'
_ENVELOPE = b'<script type="application/vnd.dsse.envelope.v1+json" id="grade-envelope">'
_CLOSE = b"</script>\n"
_BODY_END = re.compile(rb"</body\s*>", re.IGNORECASE)
_ESCAPE = re.compile(rb"\\(?:u003c|.)", re.DOTALL)


@dataclass(frozen=True)
class Parts:
    """A page taken apart: the JSON receipt in it, what is signed of it, and the envelope if any."""

    receipt: bytes
    signed: bytes
    envelope: bytes | None


def with_receipt(page: bytes, receipt: bytes) -> bytes:
    """Return a rendered page with its JSON receipt in it, before the end of its body.

    Raises: ContentProblem where the template has made such a block itself.
    """
    if b'id="grade-receipt"' in page or b'id="grade-envelope"' in page:
        raise ContentProblem(
            "the page holds a block of data that only the grader may add",
            where="receipt.html.j2",
            next_step='use other ids than "grade-receipt" and "grade-envelope" in the template',
        )
    at = _end(page)
    lead = b"" if page[:at].endswith(b"\n") or not at else b"\n"
    # The only sign that could end the block or begin a comment; JSON has it in strings alone.
    block = lead + _RECEIPT + receipt.replace(b"<", b"\\u003c") + _CLOSE
    return page[:at] + block + page[at:]


def with_envelope(signed: bytes, envelope: bytes) -> bytes:
    """Return a page with its envelope in it, right behind the receipt."""
    at = _behind_receipt(signed)
    return signed[:at] + _ENVELOPE + envelope.removesuffix(b"\n") + _CLOSE + signed[at:]


def split(page: bytes, where: str = "") -> Parts:
    """Return the parts of a page.

    Raises: Refused where a block is missing, doubled or somewhere else.
    """
    for block, name in ((_RECEIPT, "receipt"), (_ENVELOPE, "envelope")):
        if page.count(block) > 1:
            raise Refused("malformed", f"the page holds more than one {name}", where=where)
    if _RECEIPT not in page:
        raise Refused("unsigned", "the page holds no receipt: it was removed", where=where)
    begin = page.index(_RECEIPT) + len(_RECEIPT)
    behind = _behind_receipt(page, where)
    receipt = _ESCAPE.sub(
        lambda m: b"<" if m[0] == b"\\u003c" else m[0], page[begin : behind - len(_CLOSE)]
    )
    if _ENVELOPE not in page:
        return Parts(receipt, page, None)
    start = page.index(_ENVELOPE)
    stop = page.find(_CLOSE, start) + len(_CLOSE)
    if start != behind or stop < start or stop != _end(page):
        raise Refused("malformed", "the page's envelope is not where it is written", where=where)
    envelope = page[start + len(_ENVELOPE) : stop - len(_CLOSE)] + b"\n"
    return Parts(receipt, page[:start] + page[stop:], envelope)


def _behind_receipt(page: bytes, where: str = "") -> int:
    stop = page.find(_CLOSE, page.index(_RECEIPT))
    if stop < 0:
        raise Refused("malformed", "the receipt in the page has no end", where=where)
    return stop + len(_CLOSE)


def _end(page: bytes) -> int:
    """Return where the body ends: its last end tag, else the end of the page."""
    at = len(page)
    for found in _BODY_END.finditer(page):
        at = found.start()
    return at
