"""Receipts as files: which belong together, and whether each set of them verifies.

Files of one stem in one folder are one receipt; whatever lies there is compared, so that a page
beside a good record is never taken on trust.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from grader.errors import EnvironmentProblem, UsageProblem
from grader.trust import envelope, strict, verify
from grader.trust.refused import Refused
from grader.trust.seal import ENDING
from grader.trust.statement import MEDIA

if TYPE_CHECKING:
    from securesystemslib.signer import SSlibKey

# The longer ending first: `a.dsse.json` is no JSON receipt of a submission `a.dsse`.
ENDINGS = (ENDING, *MEDIA)
# What only an instructor may see is never signed; no stem of a receipt ends so.
_INSTRUCTOR = re.compile(r"\.instructor\.\w+$", re.IGNORECASE)


@dataclass(frozen=True)
class Place:
    """One receipt on disk; `named` is the ending that was asked for, none for a whole set."""

    folder: Path
    stem: str
    named: str = ""

    def file(self, ending: str) -> Path:
        """Return where a form is."""
        return self.folder / f"{self.stem}.{ending}"

    def endings(self) -> list[str]:
        """Return the forms that are there."""
        return [ending for ending in ENDINGS if os.path.lexists(self.file(ending))]

    def shown(self) -> Path:
        """Return the file that stands for it: the one that was asked for, else its record."""
        there = self.endings()
        first = self.named or next((one for one in ("json", "html", *ENDINGS) if one in there), "")
        return self.file(first) if first else self.folder / self.stem


@dataclass(frozen=True)
class Found:
    """The receipts below a folder, and the files there that are none."""

    receipts: list[Place]
    others: list[Path]


def place(path: Path) -> Place:
    """Return the receipt that a file belongs to.

    Raises: UsageProblem where there is no such file, or where its name is no receipt's.
    """
    if not path.is_file():
        raise UsageProblem(
            f"there is no file {path}", next_step="name a receipt, or a folder of receipts"
        )
    ending = _ending(path.name)
    if not ending or _INSTRUCTOR.search(path.name):
        raise UsageProblem(
            f"{path.name} is no receipt: those end in .html, .json, .md, .txt or .dsse.json",
            next_step="name a receipt, or a folder of receipts",
        )
    return Place(path.parent, path.name[: -len(ending) - 1], ending)


def _ending(name: str) -> str:
    return next((one for one in ENDINGS if name.endswith(f".{one}") and name[0] != "."), "")


def check(
    one: Place, keys: Sequence[SSlibKey], expected: verify.Expected | None = None
) -> verify.Verified:
    """Return what a receipt on disk holds, every form of it compared.

    Raises:
        Refused: it is not what one of `keys` signed, or not what is expected.
        EnvironmentProblem: a library is missing.
    """
    names = {ending: one.file(ending).name for ending in ENDINGS}
    sizes = {ENDING: envelope.MOST_BYTES}
    raw = {
        ending: strict.read(one.file(ending), sizes.get(ending, strict.MOST_BYTES))
        for ending in one.endings()
    }
    found = verify.forms(raw, keys, expected or verify.Expected(), names=names)
    if one.named in found.unsigned:
        said = "this form is not among those that were signed"
        raise Refused("unsigned", said, where=names[one.named])
    return found


def below(folder: Path) -> Found:
    """Return all receipts in a folder and beneath, in order of path, those in `history` too.

    Raises: EnvironmentProblem where a folder cannot be read: what is in it would go unchecked.
    """
    receipts: list[Place] = []
    others: list[Path] = []
    for here, names in _folders(folder):
        known = {name: ending for name in names if (ending := _ending(name))}
        stems = {name[: -len(ending) - 1] for name, ending in known.items()}
        for stem in sorted(stems):
            one = Place(here, stem)
            if _is_receipt(one):
                receipts.append(one)
            else:
                others += [one.file(ending) for ending in one.endings()]
        others += [here / name for name in names if name not in known]
    return Found(receipts, sorted(others))


def _folders(folder: Path) -> Iterator[tuple[Path, list[str]]]:
    def stop(error: OSError) -> None:
        raise EnvironmentProblem(
            f"a folder cannot be read: {error.strerror}",
            where=str(error.filename),
            next_step="mend its permissions, or name the receipts one by one",
        ) from error

    for here, inner, names in os.walk(folder, onerror=stop):
        inner.sort()
        kept = [name for name in names if name[0] != "." and not _INSTRUCTOR.search(name)]
        yield Path(here), sorted(kept)


def _is_receipt(one: Place) -> bool:
    """Return whether the files of a stem are a receipt, or may be one that was spoilt."""
    there = one.endings()
    try:
        if ENDING in there:
            return True
        if "json" in there and "evidence_digest" in strict.loads(strict.read(one.file("json"))):
            return True
        return "html" in there and b'id="grade-receipt"' in strict.read(one.file("html"))
    except Refused:
        return True
