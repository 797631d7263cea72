"""Receipts as files: which belong together, and whether each set of them verifies.

Files of one stem in one folder are one receipt; whatever lies there is compared, so that a page
beside a good record is never taken on trust.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from grader.errors import UsageProblem
from grader.trust import below as folders
from grader.trust import envelope, strict, verify
from grader.trust.below import ENDINGS, shown
from grader.trust.refused import Refused
from grader.trust.seal import ENDING

if TYPE_CHECKING:
    from securesystemslib.signer import SSlibKey

# What only an instructor may see is never signed; no stem of a receipt ends so.
_INSTRUCTOR = re.compile(r"\.instructor\.\w+$", re.IGNORECASE)
_NEXT = "name a receipt, or a folder of receipts"


@dataclass(frozen=True)
class Place:
    """One receipt on disk; `named` is the ending that was asked for, none for a whole set.

    `spelled` are the forms (ending, name) whose names are not the stem and the ending as they are
    written; with `alone` they are all of it.
    """

    folder: Path
    stem: str
    named: str = ""
    spelled: tuple[tuple[str, str], ...] = ()
    alone: bool = False

    def file(self, ending: str) -> Path:
        """Return where a form is."""
        return self.folder / dict(self.spelled).get(ending, f"{self.stem}.{ending}")

    def endings(self) -> list[str]:
        """Return the forms that are there."""
        among = [ending for ending, _ in self.spelled] if self.alone else ENDINGS
        return [ending for ending in among if os.path.lexists(self.file(ending))]

    def shown(self) -> Path:
        """Return the file that stands for it: the one that was asked for, else its record."""
        there = self.endings()
        first = self.named or next((one for one in ("json", "html", *ENDINGS) if one in there), "")
        return self.file(first) if first else self.folder / self.stem


@dataclass(frozen=True)
class Found:
    """What lies below a folder.

    `others` are no receipts by their names, `copies` a class's receipts under pseudonyms, and
    `unseen` the folders that were not looked into, with the reason.
    """

    receipts: list[Place]
    others: list[Path]
    copies: list[Path] = field(default_factory=list)
    unseen: list[tuple[Path, str]] = field(default_factory=list)


def is_folder(path: Path) -> bool:
    """Return whether a folder is there, or a link to one."""
    return stat.S_ISDIR(_mode(path))


def place(path: Path) -> Place:
    """Return the receipt that a file belongs to.

    Raises: UsageProblem where there is no such file, or where its name is no receipt's.
    """
    if not stat.S_ISREG(_mode(path)):
        raise UsageProblem(f"{shown(path)} is no ordinary file", next_step=_NEXT)
    ending = folders.ending(path.name)
    if not ending or _INSTRUCTOR.search(path.name) or path.name[0] == ".":
        raise UsageProblem(
            f"{shown(path.name)} is no receipt: those end in .html, .json, .md, .txt or .dsse.json",
            next_step=_NEXT,
        )
    stem = path.name[: -len(ending) - 1]
    odd = path.name != f"{stem}.{ending}"
    return Place(path.parent, stem, ending, ((ending, path.name),) if odd else ())


def _mode(path: Path) -> int:
    try:
        return os.stat(path).st_mode
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        missing = isinstance(error, FileNotFoundError)
        raise UsageProblem(
            f"there is no file {shown(path)}"
            if missing
            else f"{shown(path)} cannot be read: {reason}",
            next_step=_NEXT,
        ) from error


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

    Every file that ends as a receipt does is one, its stripped and its forged kinds as well.

    Raises: EnvironmentProblem where a folder cannot be read: what is in it would go unchecked.
    """
    walked = folders.walk(folder)
    found = Found([], [], [], sorted(walked.unseen))
    for seen in walked.folders:
        known = [name for name in seen.names if folders.ending(name)]
        known = [name for name in known if not folders.is_known(seen, name)]
        others = (name for name in seen.names if name not in known and name != folders.INDEX)
        found.others.extend(seen.here / name for name in others)
        for one in _places(seen.here, known):
            if seen.copies and ENDING not in one.endings():
                found.copies.append(one.shown())
            else:
                found.receipts.append(one)
    return found


def _places(here: Path, names: Sequence[str]) -> list[Place]:
    """Return the receipts that some files are: one for each stem.

    A file whose form is there already, in another spelling of its ending, is one by itself.
    """
    sets: dict[str, dict[str, str]] = {}
    doubled: list[Place] = []
    # Those that are spelled as they are written come first.
    for name in sorted(names, key=lambda name: (not name.endswith(folders.ending(name)), name)):
        ending = folders.ending(name)
        stem = name[: -len(ending) - 1]
        if ending in sets.setdefault(stem, {}):
            doubled.append(Place(here, stem, "", ((ending, name),), alone=True))
        else:
            sets[stem][ending] = name
    made = [Place(here, stem, "", _odd(stem, forms)) for stem, forms in sorted(sets.items())]
    return sorted(made + doubled, key=lambda one: one.stem)


def _odd(stem: str, forms: dict[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple((end, name) for end, name in forms.items() if name != f"{stem}.{end}")
