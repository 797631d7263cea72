"""Find the files that were graded, by their SHA-256 alone: never another file of the same name."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.portfolio import paths
from grader.portfolio.files import read_capped, shown
from grader.portfolio.gather import Attempt, Told
from grader.portfolio.limits import MOST_FILE_BYTES, MOST_FILES

_MOST_DEPTH = 16


@dataclass(frozen=True)
class Place:
    """A folder to look in; `deep` also looks below it."""

    folder: Path
    deep: bool


@dataclass(frozen=True)
class Submissions:
    """The files found, path in the zip -> content, and what is not all there."""

    files: dict[str, bytes]
    told: list[Told]


def submissions(
    attempts: Sequence[Attempt], places: Sequence[Place], earlier: Mapping[str, bytes]
) -> Submissions:
    """Return the graded files that lie in `places`, with the files that were graded beside them.

    `earlier` are those of an earlier portfolio, and a receipt may quote its file as a whole: a
    learner goes on writing in the same file, so that what was graded may be nowhere else.
    """
    found = _found(attempts, places)
    kept = {hashlib.sha256(raw).hexdigest(): raw for raw in earlier.values()}
    files: dict[str, bytes] = {}
    missing: dict[str, set[str]] = {}
    told: dict[str, Told] = {}
    for one in attempts:
        part = one.receipt.submission
        raw, folders = found.get(part.sha256, (kept.get(part.sha256) or _quoted(one), []))
        if raw is None:
            missing.setdefault(part.name, set()).add(part.sha256)
            continue
        files[path_of(one)] = raw
        beside_it = _siblings(one)
        for name in set(part.siblings) - {path.rpartition("/")[2] for path in beside_it}:
            told[f"{path_of(one)}\0{name}"] = Told(
                shown(name), "no name of a file that can be kept"
            )
        for path, sha256 in beside_it.items():
            name = path.rpartition("/")[2]
            beside = _beside(folders, name, sha256)
            beside = kept.get(sha256) if beside is None else beside
            if beside is None:
                why = f"it was graded beside {part.name}, and was not found as it was"
                told[path] = Told(shown(name), why)
            else:
                files[path] = beside
    return Submissions(_apart(files), [*map(_missing, missing.items()), *told.values()])


def _missing(one: tuple[str, set[str]]) -> Told:
    name, digests = one
    if len(digests) == 1:
        digest = next(iter(digests))[:12]
        why = f"it was not found as it was graded ({digest}), so the portfolio goes without it"
    else:
        why = f"{len(digests)} of its graded versions were not found, so it goes without them"
    return Told(shown(name), why)


def _quoted(attempt: Attempt) -> bytes | None:
    """Return the graded file out of the text in its receipt, if that gives the very bytes."""
    if attempt.receipt.source_cut is not False:
        return None
    lines = "\n".join(line.text for line in attempt.receipt.source_lines)
    for text in (lines, f"{lines}\n"):
        for end in ("\n", "\r\n"):
            raw = text.replace("\n", end).encode(errors="replace")
            if hashlib.sha256(raw).hexdigest() == attempt.receipt.submission.sha256:
                return raw
    return None


def _apart(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files without those whose name is another's but for its case.

    Files of one folder are equal then: its name follows from their bytes.
    """
    first = {path.casefold(): path for path in sorted(files, reverse=True)}
    return {path: files[path] for path in sorted(first.values())}


def _found(
    attempts: Sequence[Attempt], places: Sequence[Place]
) -> dict[str, tuple[bytes, list[Path]]]:
    """Return the graded files by SHA-256, each with the folders that it lies in."""
    sizes = {one.receipt.submission.size_bytes for one in attempts}
    wanted = {one.receipt.submission.sha256 for one in attempts}
    found: dict[str, tuple[bytes, list[Path]]] = {}
    for path in _candidates(places, sizes):
        raw = _content(path)
        sha256 = hashlib.sha256(raw).hexdigest() if raw is not None else ""
        if raw is not None and sha256 in wanted:
            found.setdefault(sha256, (raw, []))[1].append(path.parent)
    return found


def folder_of(attempt: Attempt) -> tuple[str, str, str]:
    """Return the parts of the folder in which an attempt's submission lies in the zip."""
    part = attempt.receipt.submission
    key = paths.key_of(part.sha256, part.siblings)
    return paths.SUBMISSIONS, attempt.receipt.exercise, key


def path_of(attempt: Attempt) -> str:
    """Return where an attempt's submission lies in the zip, if it is there."""
    return "/".join([*folder_of(attempt), paths.submission_name(attempt.receipt.submission.name)])


def allowed(attempts: Sequence[Attempt]) -> dict[str, str]:
    """Return every path that a submission of these receipts may have, and its SHA-256."""
    found: dict[str, str] = {}
    for one in attempts:
        found |= {**_siblings(one), path_of(one): one.receipt.submission.sha256}
    return found


def _siblings(attempt: Attempt) -> dict[str, str]:
    """Return the path and SHA-256 of each file that was graded beside a submission.

    Anybody may have written the receipt: a name that is no plain one, or another's but for its
    case, is left out.
    """
    own = path_of(attempt)
    base, taken, found = own.rpartition("/")[0], {own.casefold()}, {}
    for name, sha256 in sorted(attempt.receipt.submission.siblings.items()):
        path = f"{base}/{name}"
        if paths.is_portable(name) and path.casefold() not in taken:
            taken.add(path.casefold())
            found[path] = sha256
    return found


def _beside(folders: Sequence[Path], name: str, sha256: str) -> bytes | None:
    for folder in folders:
        raw = _content(folder / name)
        if raw is not None and hashlib.sha256(raw).hexdigest() == sha256:
            return raw
    return None


def _content(path: Path) -> bytes | None:
    try:
        return read_capped(path, MOST_FILE_BYTES)
    except OSError:
        return None


def _candidates(places: Sequence[Place], sizes: set[int]) -> Iterator[Path]:
    """Yield the ordinary files of a size that is looked for; nothing else is even opened."""
    for place in places:
        seen = 0
        for path in _files(place.folder, _MOST_DEPTH if place.deep else 0):
            seen += 1
            if seen > MOST_FILES:
                break
            try:
                if path.lstat().st_size in sizes:
                    yield path
            except OSError:
                continue


def _files(folder: Path, depth: int) -> Iterator[Path]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.is_file(follow_symlinks=False):
            yield Path(entry.path)
        elif depth and entry.is_dir(follow_symlinks=False):
            yield from _files(Path(entry.path), depth - 1)
