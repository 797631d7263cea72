"""Why a receipt is not taken for what it claims to be."""

from __future__ import annotations

from typing import Literal

from grader.errors import GradeError

Reason = Literal[
    "unsigned",  # no envelope, no signature, or the page's block is gone
    "malformed",  # not written the way a receipt or an envelope is written
    "unknown schema",  # a schema, predicate or payload type that this program does not know
    "other key",  # signed, but by no key that the verifier named
    "wrong signature",  # names a pinned key, and the signature is not that key's
    "changed",  # a form is not, byte for byte, what was signed
    "other receipt",  # the envelope belongs to another receipt
    "disagrees",  # the signed statement and the receipt say different things
    "other submission",  # the file at hand is not the one that was graded
    "other learner",  # the receipt is not of the learner who was asked for
    "unreadable",  # a file that cannot be read, or is too large
]


class Refused(GradeError):
    """One receipt is refused: `reason` in a word or two, `what` in a sentence, `where` the file."""

    exit_code = 1

    def __init__(self, reason: Reason, what: str, *, where: str = "") -> None:
        self.reason: Reason = reason
        super().__init__(what, where=where)
