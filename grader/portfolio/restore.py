"""Put a verified portfolio's files into a folder of receipts: all or none, and over nothing.

What is there already stays as it is; a receipt of other content goes beside it into `history/`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from grader.errors import EnvironmentProblem
from grader.portfolio import paths
from grader.portfolio.files import add_all, read_capped, shown, staged
from grader.portfolio.gather import Attempt, Told
from grader.portfolio.limits import MOST_FILE_BYTES
from grader.portfolio.verify import Verified
from grader.receipt.files import made
from grader.receipt.lock import LockTimeout, Patience, folder_lock
from grader.receipt.naming import moment


@dataclass
class Restored:
    """What became of a portfolio: counts of receipts and submissions, and what to know of."""

    added: int = 0
    there: int = 0
    aside: list[Told] = field(default_factory=list)
    conflicts: list[Told] = field(default_factory=list)
    submissions: int = 0
    submissions_there: int = 0


def restore(found: Verified, folder: Path, patience: Patience | None = None) -> Restored:
    """Return what became of the portfolio's receipts and submissions in `folder`.

    Raises: EnvironmentProblem when the folder cannot be written; nothing has changed then.
    Effects: makes folders and files; changes and removes none.
    """
    exercises = sorted({one.receipt.exercise for one in found.attempts})
    try:
        with ExitStack() as stack:
            stack.enter_context(made(folder, *(folder / name for name in exercises)))
            for name in exercises:
                # Whoever grades meanwhile waits, so that what is planned is still true.
                stack.enter_context(folder_lock(folder / name, patience or Patience()))
            plan = _Plan(folder)
            for one in found.attempts:
                plan.attempt(one)
            for path, raw in sorted(found.submissions.items()):
                plan.submission(path, raw)
            targets = {target.parent for target in plan.files}
            stack.enter_context(made(*sorted(targets)))
            add_all(stack.enter_context(staged(folder, plan.files)))
            return plan.done
    except LockTimeout as error:
        raise _problem(folder, f"a grade is still writing there ({error})") from error
    except OSError as error:
        raise _problem(folder, error.strerror or str(error)) from error


class _Plan:
    """Which files are to be made, and what to say; it reads the folder and changes nothing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, set[str]] = {}
        self.files: dict[Path, bytes] = {}
        self.done = Restored()

    def attempt(self, one: Attempt) -> None:
        """Plan one receipt with its forms."""
        target = self._folder / one.place
        if self._content(target, "json") == one.forms["json"]:
            self._complete(target, one)
        elif one.sha256 in self._receipts(one.receipt.exercise):
            self.done.there += 1
        elif self._is_free(target):
            self._add(target, one.forms)
            self.done.added += 1
        else:
            aside = self._beside(one)
            self._add(aside, one.forms)
            self.done.added += 1
            why = f"another receipt is there already; this one is {_below(self._folder, aside)}"
            self.done.aside.append(Told(f"{one.place}.json", why))

    def submission(self, path: str, raw: bytes) -> None:
        """Plan one graded file."""
        target = self._folder / path
        if not _is_there(target):
            self.files[target] = raw
            self.done.submissions += 1
        elif _read(target) == raw:
            self.done.submissions_there += 1
        else:
            why = "another file is there already and stays; the portfolio's was not restored"
            self.done.conflicts.append(Told(shown(path), why))

    def _complete(self, target: Path, one: Attempt) -> None:
        """Plan the forms that a receipt which is there lacks; a different one stays."""
        self.done.there += 1
        for ending, raw in one.forms.items():
            path = _with(target, ending)
            if not _is_there(path):
                self.files[path] = raw
            elif _read(path) != raw:
                why = "another text of the same receipt is there already and stays"
                self.done.conflicts.append(Told(f"{one.place}.{ending}", why))

    def _add(self, target: Path, forms: Mapping[str, bytes]) -> None:
        self.files |= {_with(target, ending): raw for ending, raw in forms.items()}

    def _is_free(self, target: Path) -> bool:
        return not any(
            _with(target, ending) in self.files or _is_there(_with(target, ending))
            for ending in paths.ENDINGS
        )

    def _beside(self, one: Attempt) -> Path:
        """Return a free place among the earlier receipts, named as `grade` names them."""
        history = self._folder / one.receipt.exercise / paths.HISTORY
        # Room for the date and the longest ending in the 255 bytes of a name.
        stem = one.place.rpartition("/")[2].encode()[:150].decode(errors="ignore")
        dated = moment(one.receipt.created_at)
        name = stem if stem.endswith(f".{dated}") else f"{stem}.{dated}"
        place, number = history / name, 1
        while not self._is_free(place):
            number += 1
            place = history / f"{name}-{number}"
        return place

    def _receipts(self, exercise: str) -> set[str]:
        """Return the digests of the receipts of an exercise that are there, earlier ones too."""
        if exercise not in self._known:
            self._known[exercise] = set(self._digests(self._folder / exercise))
        return self._known[exercise]

    def _digests(self, folder: Path) -> Iterator[str]:
        for place in (folder, folder / paths.HISTORY):
            for path in sorted(place.glob("*.json")) if place.is_dir() else ():
                raw = None if paths.is_instructors(path.name) else _read(path)
                if raw is not None:
                    yield hashlib.sha256(raw).hexdigest()

    def _content(self, target: Path, ending: str) -> bytes | None:
        return _read(_with(target, ending))


def _with(place: Path, ending: str) -> Path:
    return place.with_name(f"{place.name}.{ending}")


def _is_there(path: Path) -> bool:
    # A link to nowhere is there too.
    return path.is_symlink() or path.exists()


def _read(path: Path) -> bytes | None:
    try:
        return read_capped(path, MOST_FILE_BYTES)
    except OSError:
        return None


def _below(folder: Path, place: Path) -> str:
    return shown("/".join(_with(place, "json").relative_to(folder).parts))


def _problem(folder: Path, reason: str) -> EnvironmentProblem:
    return EnvironmentProblem(
        f"The portfolio could not be restored: {reason}",
        where=shown(folder),
        next_step="nothing was changed; name another folder: grade portfolio --import ZIP DIR",
    )
