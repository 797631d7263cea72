"""One learner's file as bytes; nothing here reads or judges the source."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

Format = Literal["py", "ipynb", "other"]


@dataclass(frozen=True)
class Submission:
    """The raw bytes of one file under the name the learner gave it.

    `name` is the last path component; `path` is what was typed, for messages only.
    """

    name: str
    path: str
    raw: bytes

    @cached_property
    def sha256(self) -> str:
        """Return the hex SHA-256 of the raw bytes."""
        return hashlib.sha256(self.raw).hexdigest()

    @property
    def format(self) -> Format:
        """Return what the file's ending says it is."""
        lowered = self.name.lower()
        return (
            "py" if lowered.endswith(".py") else "ipynb" if lowered.endswith(".ipynb") else "other"
        )

    @property
    def stem(self) -> str:
        """Return the name without its last ending, for naming receipts."""
        return self.name.rsplit(".", 1)[0] or self.name
