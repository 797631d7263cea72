"""What lies in a folder of receipts, nothing in it passed over in silence.

Whatever ends as a receipt does is one, and so is checked, unless it is a file of a class or of a
portfolio in that file's own place.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from grader.errors import EnvironmentProblem
from grader.trust import strict
from grader.trust.refused import Refused
from grader.trust.seal import ENDING
from grader.trust.statement import MEDIA

# The longer ending first: `a.dsse.json` is no JSON receipt of a submission `a.dsse`.
ENDINGS = (ENDING, *MEDIA)
# A class has an exercise, a folder of receipts and one for each learner.
_DEEPEST = 64
_RECEIPTS, _PSEUDONYMS = "receipts", "anonymous"
_OF_CLASS = ("ledger.sqlite", "gradebook.csv")
_CLASS = frozenset({"report.html", "summary.json"})
_PORTFOLIO = frozenset({"index.html", "manifest.json", "manifest.dsse.json"})
_PAGE = "portfolio.html"
# Written beside receipts by whoever grades, and of no interest to whoever reads.
INDEX = ".index.json"
_RECORD = ".instructor.json"
# However the page's block is spelled, and whatever its quotes.
_BLOCK = b"grade-receipt"


@dataclass(frozen=True)
class Seen:
    """One folder: its own files, and whether those are a class's copies under pseudonyms."""

    here: Path
    names: list[str]
    copies: bool = False


@dataclass
class Walk:
    """The folders beneath one, and those that were not looked into, with the reason."""

    folders: list[Seen] = field(default_factory=list)
    unseen: list[tuple[Path, str]] = field(default_factory=list)


def ending(name: str) -> str:
    """Return the ending of a receipt's form, in lower case; empty where a name has none."""
    folded = name.lower()
    return next((one for one in ENDINGS if folded.endswith(f".{one}")), "")


def walk(folder: Path) -> Walk:
    """Return all folders from `folder` down, in order of path.

    Raises: EnvironmentProblem where one cannot be read: what is in it would go unchecked.
    """
    found = Walk()
    waiting = [(folder, 0, _is_copies(folder))]
    while waiting:
        here, depth, copies = waiting.pop()
        inner, names = [], []
        for name, kind in _entries(here):
            if kind == "link":
                found.unseen.append((here / name, "a link to a folder, which is not followed"))
            elif kind == "folder" and depth == _DEEPEST:
                told = f"more than {_DEEPEST} folders deep"
                found.unseen.append((here / name, told))
            elif kind == "folder":
                inner.append(here / name)
            else:
                names.append(name)
        found.folders.append(Seen(here, names, copies))
        waiting += [(one, depth + 1, copies or _is_copies(one)) for one in reversed(inner)]
    return found


def _entries(here: Path) -> Iterator[tuple[str, str]]:
    try:
        with os.scandir(here) as found:
            entries = sorted(found, key=lambda entry: entry.name)
            for entry in entries:
                if not entry.is_dir():
                    yield entry.name, "file"
                else:
                    yield entry.name, "link" if entry.is_symlink() else "folder"
    except OSError as error:
        raise EnvironmentProblem(
            f"a folder cannot be read: {error.strerror}",
            where=shown(here),
            next_step="mend its permissions, or name the receipts one by one",
        ) from error


def _is_class(folder: Path) -> bool:
    return (folder / _RECEIPTS).is_dir() and any((folder / one).is_file() for one in _OF_CLASS)


def _is_copies(folder: Path) -> bool:
    real = Path(os.path.realpath(folder))
    return real.name == _PSEUDONYMS and _is_class(real.parent)


def is_known(seen: Seen, name: str) -> bool:
    """Return whether a file that ends as a receipt does is something else, in its own place."""
    here = seen.here
    if name.endswith(_RECORD):
        return True
    if name == INDEX:
        return not _holds_receipt(here / name)
    if name in _CLASS:
        return (_is_class(here) or _is_copies(here)) and not _holds_receipt(here / name)
    beside = (here / _RECEIPTS).is_dir()
    if name == _PAGE:
        return beside and not _holds_receipt(here / name)
    whole = beside and (here / "manifest.json").is_file()
    return name in _PORTFOLIO and whole and not _holds_receipt(here / name)


def _holds_receipt(path: Path) -> bool:
    """Return whether a file is a receipt under a borrowed name, or may be one that was spoilt."""
    try:
        raw = strict.read(path)
        if path.suffix == ".html":
            return _BLOCK in raw.lower()
        return "evidence_digest" in strict.loads(raw)
    except Refused:
        return True


def shown(path: Path | str) -> str:
    """Return a path for a message: a line end or an escape sequence in a name is spelled out."""
    text = str(path)
    return text if text.isprintable() else repr(text)
