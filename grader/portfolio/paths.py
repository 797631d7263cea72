"""Which files a portfolio has and what they are called: one closed list, safe on any file system.

It never touches the disk.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass

from grader.receipt.naming import safe_stem

INDEX = "index.html"
MANIFEST = "manifest.json"
SIGNATURE = "manifest.dsse.json"
RECEIPTS, SUBMISSIONS, HISTORY = "receipts", "submissions", "history"
# The longer ending first: `x.dsse.json` is an envelope, no receipt called `x.dsse`.
ENDINGS = ("dsse.json", "json", "html", "md", "txt")
_EXERCISE = re.compile(r"[a-z]+-[0-9]{2}")
_KEY = re.compile(r"[0-9a-f]{12}")
_DEVICE = re.compile(r"(?i)(con|prn|aux|nul|com[0-9]|lpt[0-9])\s*(\.|$)")
_INSTRUCTOR = re.compile(r"(?i)\.instructor$")
# With the longest ending and a number, a name stays below the 255 bytes of a file system.
_MOST_STEM_BYTES = 220
_MOST_NAME_BYTES = 240


@dataclass(frozen=True)
class ReceiptPath:
    """Where one form of a receipt lies: the exercise, whether among the earlier ones, its name."""

    exercise: str
    earlier: bool
    stem: str
    ending: str

    @property
    def place(self) -> str:
        """Return the path below the folder of receipts, without an ending."""
        return place(self.exercise, self.earlier, self.stem)


def is_exercise(name: str) -> bool:
    """Return whether `name` can be an exercise's id; no other folder of a portfolio is so called.

    Source: the identifiers of `grader.catalog.models`.
    """
    return _EXERCISE.fullmatch(name) is not None


def place(exercise: str, earlier: bool, stem: str) -> str:
    """Return where a receipt lies below the folder of receipts, without an ending."""
    return "/".join([exercise, *([HISTORY] if earlier else []), stem])


def is_portable(name: str, most_bytes: int = _MOST_NAME_BYTES) -> bool:
    """Return whether `name` can be one part of a path on Linux, macOS and Windows alike."""
    return (
        0 < len(name.encode(errors="surrogatepass")) <= most_bytes
        and unicodedata.is_normalized("NFC", name)
        and name.isprintable()
        and not set('<>:"/\\|?*') & set(name)
        and name[0] not in ". "
        and name[-1] not in ". "
        and _DEVICE.match(name) is None
    )


def stem_of(name: str) -> str:
    """Return a receipt's stem as a portfolio has it; a name that is portable stays as it is."""
    stem = name if is_portable(name, _MOST_STEM_BYTES) else safe_stem(name)
    return _INSTRUCTOR.sub("-instructor", stem)


def told_apart(stem: str, sha256: str) -> str:
    """Return another stem for a receipt whose own is taken by a receipt of other content."""
    short = stem.encode()[: _MOST_STEM_BYTES - 9].decode(errors="ignore").rstrip(". ")
    return f"{short}-{sha256[:8]}"


def split(name: str) -> tuple[str, str]:
    """Return stem and ending of a file among receipts; the ending is empty for any other file.

    What is written for an instructor (`x.instructor.json`) is no file of a portfolio.
    """
    for ending in ENDINGS:
        stem = name[: -len(ending) - 1]
        if stem and name.endswith(f".{ending}") and not is_instructors(name):
            return stem, ending
    return name, ""


def is_instructors(name: str) -> bool:
    """Return whether a file's name says that it is an instructor's: it would tell the seed."""
    return ".instructor." in name.casefold()


def receipt_path(path: str) -> ReceiptPath | None:
    """Return what a member's path says where it is a receipt's, None for every other path."""
    *folders, name = path.split("/")
    stem, ending = split(name)
    if not ending or not is_portable(stem, _MOST_STEM_BYTES):
        return None
    if len(folders) not in (2, 3) or folders[0] != RECEIPTS or not is_exercise(folders[1]):
        return None
    if folders[2:] not in ([], [HISTORY]):
        return None
    return ReceiptPath(folders[1], len(folders) == 3, stem, ending)


def submission_key(path: str) -> tuple[str, str, str] | None:
    """Return exercise, key and file name where a member's path is a submission's, else None."""
    parts = path.split("/")
    if len(parts) != 4 or parts[0] != SUBMISSIONS:
        return None
    _, exercise, key, name = parts
    fits = is_exercise(exercise) and _KEY.fullmatch(key) and is_portable(name)
    return (exercise, key, name) if fits else None


def is_allowed(path: str) -> bool:
    """Return whether a portfolio may have a file of this path."""
    fixed = path in (INDEX, MANIFEST, SIGNATURE)
    return fixed or receipt_path(path) is not None or submission_key(path) is not None


def key_of(sha256: str, siblings: dict[str, str]) -> str:
    """Return the folder name of a submission: the same for equal bytes beside equal siblings."""
    if not siblings:
        return sha256[:12]
    text = "\n".join([sha256, *(f"{name}\0{siblings[name]}" for name in sorted(siblings))])
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:12]


def submission_name(name: str) -> str:
    """Return the name of a submission's file as a portfolio has it."""
    return name if is_portable(name) else safe_stem(name)
