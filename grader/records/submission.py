"""One learner's file as bytes; nothing here reads or judges the source."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from grader.records.cells import Cells

Format = Literal["py", "ipynb", "other"]


@dataclass(frozen=True)
class Submission:
    """The raw bytes of one file under the name the learner gave it.

    `name` is the last path component; `path` is what was typed, for messages only. Of a file too
    large to grade `raw` holds the beginning alone, and `whole` its size and hex SHA-256.
    `siblings` are the files beside it that the exercise allows, by name; `cells` are the code of a
    notebook once it was opened.
    """

    name: str
    path: str
    raw: bytes
    whole: tuple[int, str] | None = None
    siblings: tuple[tuple[str, bytes], ...] = ()
    cells: Cells | None = None

    @cached_property
    def sha256(self) -> str:
        """Return the hex SHA-256 of the file's bytes."""
        return self.whole[1] if self.whole else hashlib.sha256(self.raw).hexdigest()

    @property
    def source(self) -> bytes:
        """Return the code as it was written: all lines that a number of ours counts."""
        return self.raw if self.cells is None else self.cells.code

    @property
    def size_bytes(self) -> int:
        """Return the size of the file."""
        return self.whole[0] if self.whole else len(self.raw)

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
