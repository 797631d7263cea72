"""What only an instructor may see of a grade, stored apart from the receipt, schema 1.

Nothing of this may ever be part of a receipt: it tells hidden inputs and expected values.
"""

from __future__ import annotations

from typing import Literal

from grader.records.base import Record
from grader.records.receipt import Receipt, SubmissionPart

SeedSource = Literal["course secret", "drawn for this grade", "given with --seed"]


class Values(Record):
    """An array, flat in row-major order; of a large one the first values alone.

    What JSON has no number for is text: `nan`, `inf`, `-inf`, and complex numbers.
    """

    shape: list[int]
    dtype: str
    values: list[float | str]


class Held(Record):
    """What one device held: its piece of the global array, start and stop per dimension."""

    device: int
    index: list[list[int]]
    data: Values


class HiddenResult(Record):
    """What a program gave on one hidden case: the shards of every device, or an error."""

    case: str
    program: str
    error: str = ""
    held: list[Held] = []


class WrittenAnswer(Record):
    """A module variable beside what it should hold.

    `expected` is None where the answer it follows from, `needs`, is missing; `atol` is absolute;
    `found` is an array or a number, `held` an array on devices, `text` anything else.
    """

    name: str
    expected: Values | None
    atol: float | str
    needs: str = ""
    found: Values | None = None
    held: list[Held] = []
    text: str = ""


class InstructorRecord(Record):
    """What only an instructor may see of a grade: with the seed, in hex, it can be made again.

    Hidden inputs and the expected results of programs follow from the seed; `observed` and
    `written` do not.
    """

    schema_version: Literal[1] = 1
    exercise: str
    submission: SubmissionPart
    rubric_sha256: str
    seed: str
    seed_source: SeedSource
    evidence_digest: str
    created_at: str
    observed: list[HiddenResult] = []
    written: list[WrittenAnswer] = []


class HiddenInput(Record):
    """One argument of a program in a hidden case."""

    name: str
    data: Values


class HiddenProgram(Record):
    """One program on one hidden case.

    `expected` is None where the rubric is another by now, `seen` where what it gave was not kept.
    """

    program: str
    inputs: list[HiddenInput]
    expected: Values | None
    seen: HiddenResult | None


class HiddenCase(Record):
    """The programs on inputs that no learner has seen."""

    case: str
    programs: list[HiddenProgram]


class InstructorView(Record):
    """What the instructor's view adds to a receipt; `note` says what it could not tell.

    `figures` and `tables` are the numbers that written answers are compared with, in bytes.
    """

    seed: str
    seed_source: SeedSource
    note: str
    cases: list[HiddenCase]
    written: list[WrittenAnswer]
    figures: dict[str, float]
    tables: list[dict[str, float]]


class InstructorReceipt(Record):
    """A receipt with the instructor's additions beside it."""

    schema_version: Literal[1] = 1
    receipt: Receipt
    instructor: InstructorView
