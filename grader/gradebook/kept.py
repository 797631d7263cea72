"""What a ledger keeps, as records: attempts, the class, and what is known of written files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from grader.records.gradebook import Person
from grader.records.receipt import Receipt

DECIDED = ("passed", "failed", "error")


@dataclass(frozen=True)
class Key:
    """What has to be equal for an attempt to count again: the bytes, the rubric, the versions."""

    submission: str
    rubric: str
    environment: str

    def text(self) -> str:
        """Return the key as one string."""
        return f"{self.submission}:{self.rubric}:{self.environment}"


@dataclass(frozen=True)
class Attempt:
    """One graded attempt; `receipt` is the receipt's JSON, `seed` what its inputs came from.

    `number` is the ledger's own, 0 before it is kept.
    """

    key: Key
    verdict: str
    points: int
    receipt: bytes
    seed: bytes
    at: str
    number: int = field(default=0, compare=False)

    def read(self) -> Receipt:
        """Return the receipt as a record."""
        return Receipt.model_validate_json(self.receipt)


@dataclass(frozen=True)
class Member:
    """One learner of the class as the last run knew them; `key` is empty without a hand-in."""

    person: Person
    key: str = ""
    facts: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Stand:
    """One learner and the attempt that counts for them, told without reading its receipt.

    `number` and `verdict` are the attempt's, 0 and empty where there is none.
    """

    member: Member
    number: int = 0
    verdict: str = ""

    @property
    def decided(self) -> bool:
        """Return whether there is a verdict."""
        return self.verdict in DECIDED


@dataclass(frozen=True)
class Written:
    """Files that were written: a digest of what they were made from, and one of their bytes."""

    made_from: str
    holds: str
