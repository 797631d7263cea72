"""Read the tries in a learner's `receipts/` quickly, and tell what there is no receipt.

Of each receipt only what says how the learner stands is kept. No link is followed.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from grader.portfolio import paths
from grader.portfolio.files import read_capped, shown
from grader.portfolio.gather import NotAReceipt, Told, read_receipt
from grader.portfolio.limits import MOST_FILE_BYTES
from grader.receipt import exhibits, view
from grader.records.finding import Status, VerdictKind
from grader.records.receipt import Receipt

# A look takes no longer than this many receipts; the earlier ones are told, not read.
MOST_RECEIPTS = 500
MOST_BYTES = 128 << 20
_MOST_ENTRIES = 20_000
# What Python itself said, after our own words; the receipt has it.
_IN_BRACKETS = re.compile(r" \([A-Z]\w*(Error|Exception|Exit|Interrupt)\b.*$")


@dataclass(frozen=True)
class Open:
    """A check that does not pass yet."""

    id: str
    status: Status
    points: int
    max_points: int
    mistake: str | None


@dataclass(frozen=True)
class Try:
    """One graded try. `stopped` says where and why the module stopped, empty for its own end.

    `name`, `sha256` and `siblings` (name to digest) are those of the file that was graded.
    """

    exercise: str
    title: str
    when: datetime
    verdict: VerdictKind
    points: int
    max_points: int
    open: tuple[Open, ...]
    stopped: str
    name: str
    sha256: str
    siblings: Mapping[str, str]
    predicted: bool
    checkpoint: bool | None


@dataclass(frozen=True)
class Tries:
    """The tries, oldest first, and what was left out with the reason."""

    tries: list[Try]
    told: list[Told]


def read(folder: Path) -> Tries:
    """Return the tries below a folder of receipts; there need not be one."""
    told: list[Told] = []
    files = sorted(_receipts(folder, told), reverse=True)
    found: dict[str, Try] = {}
    room = MOST_BYTES
    for number, (_, name) in enumerate(files):
        if number >= MOST_RECEIPTS or room < 0:
            told.append(Told(shown(folder), f"{len(files) - number} older receipts are not read"))
            break
        try:
            raw = read_capped(Path(name), MOST_FILE_BYTES)
            room -= len(raw)
            # Equal bytes are one try, wherever they lie.
            found[hashlib.sha256(raw).hexdigest()] = _try(read_receipt(raw))
        except OSError as error:
            told.append(Told(shown(name), f"it cannot be read: {error.strerror}"))
        except NotAReceipt as error:
            told.append(Told(shown(name), str(error)))
    # Of two in one second the file that was written later is the later one.
    oldest_first = [*reversed(found.values())]
    return Tries(sorted(oldest_first, key=lambda one: one.when), told)


def _receipts(folder: Path, told: list[Told]) -> Iterator[tuple[float, str]]:
    """Yield time of change and path of what has a receipt's name, where `grade` writes them."""
    exercises = [entry for entry in _entries(folder, told) if _is_folder(entry, told)]
    for exercise in exercises:
        for entry in _entries(Path(exercise.path), told):
            if entry.name == paths.HISTORY and _is_folder(entry, told):
                for earlier in _entries(Path(entry.path), told):
                    yield from _named(earlier, told)
            else:
                yield from _named(entry, told)


def _entries(folder: Path, told: list[Told]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            entries = [entry for entry, _ in zip(found, range(_MOST_ENTRIES), strict=False)]
    except FileNotFoundError:
        return []
    except OSError as error:
        told.append(Told(shown(folder), f"it cannot be read: {error.strerror}"))
        return []
    if len(entries) == _MOST_ENTRIES:
        told.append(Told(shown(folder), f"only {_MOST_ENTRIES} of its files are looked at"))
    return sorted(entries, key=lambda entry: entry.name)


def _is_folder(entry: os.DirEntry[str], told: list[Told]) -> bool:
    if entry.is_symlink():
        told.append(Told(shown(entry.path), "a link, which is not followed"))
        return False
    return entry.is_dir(follow_symlinks=False)


def _named(entry: os.DirEntry[str], told: list[Told]) -> Iterator[tuple[float, str]]:
    if entry.name.startswith(".") or paths.split(entry.name)[1] != "json":
        return
    try:
        state = entry.stat(follow_symlinks=False)
    except OSError:
        return  # it went away meanwhile
    if stat.S_ISREG(state.st_mode):
        yield state.st_mtime, entry.path
    else:
        why = "a link, which is not followed" if entry.is_symlink() else "no ordinary file"
        told.append(Told(shown(entry.path), why))


def _try(receipt: Receipt) -> Try:
    answer = receipt.separate.checkpoint
    return Try(
        exercise=receipt.exercise,
        title=receipt.exercise_title,
        when=datetime.fromisoformat(receipt.created_at),
        verdict=receipt.verdict,
        points=receipt.points,
        max_points=receipt.max_points,
        open=tuple(
            Open(one.id, one.status, one.points, one.max_points, one.mistake)
            for one in receipt.checks
            if one.status != "passed"
        ),
        stopped=_stopped(receipt),
        name=receipt.submission.name,
        sha256=receipt.submission.sha256,
        siblings=receipt.submission.siblings,
        predicted=bool(receipt.separate.prediction),
        checkpoint=answer.correct if answer else None,
    )


def _stopped(receipt: Receipt) -> str:
    outcome = receipt.outcome
    if not view.stopped(outcome):
        return ""
    where = f"at {exhibits.place(receipt, outcome.line)}: " if outcome.line else ""
    said = _IN_BRACKETS.sub("", outcome.message.strip().split("\n")[0])
    return where + (said or view.sentence(outcome.kind))
