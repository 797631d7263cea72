"""Where the seed of an earlier grade comes from: an instructor's record, or the course secret."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable

from grader import engine, secret
from grader.errors import UsageProblem
from grader.receipt import read
from grader.receipt.escape import visible_line
from grader.records.instructor import InstructorRecord
from grader.records.receipt import Receipt

_ENDING = ".instructor.json"


def record(receipt: Receipt, file: str, given: str | None) -> InstructorRecord | None:
    """Return the instructor's record of a receipt: the one given, else the one beside `file`.

    None where none was given and none lies there.

    Raises: UsageProblem, when it cannot be read or belongs to another grade.
    """
    path = given or os.path.splitext(file)[0] + _ENDING
    if not given and not os.path.lexists(path):
        return None
    found = read.instructor_record(path)
    _seed(found, path)
    for what, ours, theirs in (
        ("exercise", receipt.exercise, found.exercise),
        ("submission", receipt.submission.sha256, found.submission.sha256),
        ("files beside it", receipt.submission.siblings, found.submission.siblings),
        ("rubric", receipt.environment.rubric_sha256, found.rubric_sha256),
        ("seed", receipt.environment.seed_sha256, _digest(bytes.fromhex(found.seed))),
        ("evidence digest", receipt.evidence_digest, found.evidence_digest),
    ):
        if ours != theirs:
            raise UsageProblem(
                f"{visible_line(path)} belongs to another grade: its {what} is not the receipt's",
                next_step="name the record that was written with this receipt",
            )
    return found


def _seed(found: InstructorRecord, path: str) -> None:
    try:
        if bytes.fromhex(found.seed):
            return
    except ValueError:
        pass
    raise UsageProblem(
        f"the seed in {visible_line(path)} is not hexadecimal",
        next_step="copy the record again from where it was made",
    )


def from_secret(receipt: Receipt, siblings: Iterable[tuple[str, bytes]] = ()) -> bytes:
    """Return the seed that the course secret of this machine gives, if the receipt's is that one.

    Raises:
        UsageProblem: there is no course secret, or the grade was made under another one.
        EnvironmentProblem: the course secret cannot be read.
    """
    key = secret.read()
    step = f"name the record that `grade … --instructor` wrote (*{_ENDING})"
    if key is None:
        raise UsageProblem(
            "the seed of this grade is not known: there is no record of it beside the receipt, "
            "and no course secret",
            next_step=step,
        )
    at = receipt.environment
    found = engine.seed_from(key, receipt.submission.sha256, at.rubric_sha256, siblings)
    if _digest(found) != at.seed_sha256:
        raise UsageProblem(
            "the seed of this grade is not known: it does not follow from the course secret of "
            "this machine",
            next_step=step,
        )
    return found


def _digest(seed: bytes) -> str:
    return hashlib.sha256(seed).hexdigest()
