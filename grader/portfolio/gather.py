"""Find the receipts in a learner's folder: each attempt once, and every file left out is told.

No link is followed, nothing is changed, and no instructor's record is ever read.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from grader.errors import UsageProblem
from grader.portfolio import paths
from grader.portfolio.files import read_capped, shown
from grader.portfolio.limits import MOST_FILE_BYTES, MOST_FILES, MOST_TOTAL_BYTES
from grader.receipt import read
from grader.records.receipt import Receipt
from grader.trust import page, strict
from grader.trust.refused import Refused

_MOST_DEPTH = 16
# What `grade` keeps beside receipts for itself, and what file browsers put there.
_SILENT = re.compile(
    r"\.index\.json|\.lock.*|\.[0-9a-f]{16}\.tmp|\.DS_Store|\._.*|Thumbs\.db|desktop\.ini", re.I
)
_INSTRUCTORS = "an instructor's record: it tells the seed, so no portfolio takes it"
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Told:
    """Something that was left out or left alone, and why."""

    who: str
    why: str


@dataclass(frozen=True)
class Attempt:
    """One receipt: `place` is its path below `receipts/` without ending, `forms` are by ending.

    `sources` says where each form lies on the disk; it is empty for one out of a zip.
    """

    receipt: Receipt
    place: str
    forms: Mapping[str, bytes]
    sources: Mapping[str, Path] = field(default_factory=dict)

    @property
    def sha256(self) -> str:
        """Return the digest of the receipt's JSON, by which an attempt is known."""
        return hashlib.sha256(self.forms["json"]).hexdigest()

    @property
    def when(self) -> datetime:
        """Return when it was graded."""
        return datetime.fromisoformat(self.receipt.created_at)


@dataclass(frozen=True)
class Gathered:
    """The attempts, oldest first, and what was left out."""

    attempts: list[Attempt]
    told: list[Told]


class NotAReceipt(ValueError):
    """These bytes are no receipt of a grade; the text says why."""


def read_receipt(raw: bytes) -> Receipt:
    """Return the receipt in these bytes.

    Raises: NotAReceipt.
    """
    try:
        strict.loads(raw)
        receipt = Receipt.model_validate_json(raw)
    except Refused as error:
        raise NotAReceipt(f"it is no receipt: {error.what}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "as a whole"
        raise NotAReceipt(
            f"it is no receipt that this version reads: {where}: {first['msg']}"
        ) from error
    if not paths.is_exercise(receipt.exercise):
        raise NotAReceipt("it names no exercise")
    if not 0 <= receipt.points <= receipt.max_points:
        raise NotAReceipt(f"its points are {receipt.points} of {receipt.max_points}")
    digests = [receipt.submission.sha256, *receipt.submission.siblings.values()]
    if not all(map(_DIGEST.fullmatch, digests)):
        raise NotAReceipt("it does not say which file was graded")
    try:
        moment = datetime.fromisoformat(receipt.created_at)
    except ValueError as error:
        raise NotAReceipt("it has no date") from error
    if moment.tzinfo is None:
        raise NotAReceipt("its date has no time zone")
    return receipt


def gather(folder: Path) -> Gathered:
    """Return every receipt below `folder`, one for equal bytes wherever they lie.

    Raises: UsageProblem where there is no such folder or it holds more than a portfolio may.
    """
    search = _Search(folder)
    search.walk(folder, 0)
    search.read()
    return Gathered(
        sorted(search.attempts(), key=lambda one: (one.when, one.place)),
        sorted(search.told, key=lambda one: one.who),
    )


@dataclass
class _Found:
    """The copies of one receipt, the one to take first."""

    receipt: Receipt
    forms: dict[str, bytes]
    copies: list[Path]
    sources: dict[str, Path]


class _Search:
    """One look through a folder; what is neither taken nor told at its end is a mistake here."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._files: list[Path] = []
        self._bytes = 0
        self._found: dict[str, _Found] = {}
        self.told: list[Told] = []

    def walk(self, folder: Path, depth: int) -> None:
        """Collect the ordinary files below `folder`."""
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            if folder == self._root:
                raise _no_folder(folder, error) from error
            return self._tell(folder, f"it cannot be read: {error.strerror}")
        for entry in entries:
            path = Path(entry.path)
            if entry.is_symlink():
                self._tell(path, "a link, which is not followed")
            elif entry.is_dir(follow_symlinks=False):
                if depth == 0 and entry.name == paths.SUBMISSIONS:
                    continue  # what an import put there: it is looked through for submissions
                if depth >= _MOST_DEPTH:
                    self._tell(path, "it lies too deep")
                else:
                    self.walk(path, depth + 1)
            elif not stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode):
                self._tell(path, "no ordinary file")
            elif not _SILENT.fullmatch(entry.name):
                self._files.append(path)
        if len(self._files) > MOST_FILES:
            raise _too_much(self._root, f"more than {MOST_FILES} files")

    def read(self) -> None:
        """Read the receipts with their forms, and tell of every file that belongs to none."""
        rest = dict.fromkeys(sorted(self._files, key=self._order))
        for path in list(rest):
            if paths.split(path.name)[1] == "json":
                del rest[path]
                self._take(path)
        self._recover(rest)
        for found in self._found.values():
            for copy in found.copies:
                self._take_forms(found, copy, rest)
        for path in rest:
            self._tell(path, _why_left_out(path))

    def _order(self, path: Path) -> tuple[bool, int, str]:
        return path.parent.name == paths.HISTORY, len(path.parts), str(path)

    def _take(self, path: Path) -> None:
        raw = self._content(path)
        if raw is None:
            return
        try:
            self._add(path, raw, read_receipt(raw), {"json": path})
        except NotAReceipt as error:
            self._tell(path, str(error))

    def _recover(self, rest: Iterable[Path]) -> None:
        """Take the receipts out of the pages whose own .json is not there, as pages hold them."""
        whole = {copy for found in self._found.values() for copy in found.copies}
        for path in rest:
            stem, ending = paths.split(path.name)
            if ending != "html" or path.with_name(f"{stem}.json") in whole:
                continue
            try:
                shown_page = read_capped(path, MOST_FILE_BYTES)
                if not read.is_instructors(shown_page):
                    raw = page.split(shown_page).receipt
                    self._add(path, raw, read_receipt(raw), {})
            except (OSError, Refused, NotAReceipt):
                continue  # it is told with the other forms whose receipt is not there

    def _add(self, path: Path, raw: bytes, receipt: Receipt, sources: dict[str, Path]) -> None:
        sha256 = hashlib.sha256(raw).hexdigest()
        found = self._found.setdefault(sha256, _Found(receipt, {"json": raw}, [], sources))
        found.copies.append(path)

    def _take_forms(self, found: _Found, copy: Path, rest: dict[Path, None]) -> None:
        stem, _ = paths.split(copy.name)
        for ending in paths.ENDINGS:
            path = copy.with_name(f"{stem}.{ending}")
            if ending == "json" or path not in rest:
                continue
            del rest[path]
            raw = self._content(path)
            if raw is None:
                continue
            if read.is_instructors(raw):
                self._tell(path, _INSTRUCTORS)
                continue
            if found.forms.setdefault(ending, raw) is raw:
                found.sources[ending] = path
            elif found.forms[ending] != raw:
                taken = shown(found.sources[ending])
                self._tell(path, f"another text of the same receipt; {taken} was taken")

    def _content(self, path: Path) -> bytes | None:
        try:
            raw = read_capped(path, MOST_FILE_BYTES)
        except OSError as error:
            self._tell(path, f"it cannot be read: {error.strerror}")
            return None
        self._bytes += len(raw)
        if self._bytes > MOST_TOTAL_BYTES:
            raise _too_much(self._root, f"more than {MOST_TOTAL_BYTES >> 20} MiB")
        return raw

    def _tell(self, path: Path, why: str) -> None:
        self.told.append(Told(shown(path), why))

    def attempts(self) -> Iterable[Attempt]:
        """Return what was found, each in a place of its own."""
        taken: set[str] = set()
        for sha256, found in self._found.items():
            first = found.copies[0]
            exercise, earlier = found.receipt.exercise, first.parent.name == paths.HISTORY
            stem = paths.stem_of(paths.split(first.name)[0])
            if paths.place(exercise, earlier, stem).casefold() in taken:
                stem = paths.told_apart(stem, sha256)
            place = paths.place(exercise, earlier, stem)
            taken.add(place.casefold())
            yield Attempt(found.receipt, place, found.forms, found.sources)


def _why_left_out(path: Path) -> str:
    if paths.is_instructors(path.name):
        return _INSTRUCTORS
    if paths.split(path.name)[1]:
        return "its receipt, the .json of the same name, is not there or was left out"
    return "no part of a receipt"


def _no_folder(folder: Path, error: OSError) -> UsageProblem:
    if isinstance(error, NotADirectoryError):
        return UsageProblem(
            f"{shown(folder)} is a file, and a folder of receipts is wanted",
            next_step="name the folder that `grade EXERCISE FILE` wrote, such as receipts; "
            "to restore a portfolio: grade portfolio --import ZIP",
        )
    if isinstance(error, FileNotFoundError):
        return UsageProblem(
            f"there is no folder {shown(folder)}",
            next_step="name the folder that `grade EXERCISE FILE` wrote, such as receipts",
        )
    return UsageProblem(
        f"{shown(folder)} cannot be read: {error.strerror}", next_step="check its permissions"
    )


def _too_much(folder: Path, what: str) -> UsageProblem:
    return UsageProblem(
        f"{shown(folder)} holds {what}, more than a portfolio can",
        next_step="name a folder of one learner's receipts, or move what is no receipt away",
    )
