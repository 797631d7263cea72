"""Where a learner stands with each exercise, by what lies in a folder, and the one next step.

It prints nothing, changes nothing, and judges nothing: points are what receipts say.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from grader import answers, hints, intake
from grader.catalog.carried import carried
from grader.catalog.load import Entry
from grader.errors import UsageProblem
from grader.portfolio.tries import Open, Try

_ENDINGS = (".py", ".ipynb")
_MOST_FOLDERS = 100


@dataclass(frozen=True)
class Mine:
    """A file to work in: its path as a command takes it, and whether it is the starter still."""

    path: str
    sha256: str
    changed_at: float
    untouched: bool


@dataclass(frozen=True)
class Standing:
    """One exercise: the files, the one at hand first, and the tries that count, oldest first.

    `has_hints` are the checks with their numbers of hints, `hints` how many of each were shown.
    `asks` and `has_quiz` say whether there is anything to predict and to answer. `strays` are the
    tries that do not count: of a file that carries another exercise's id, and none of them passed.
    """

    id: str
    title: str
    max_points: int
    files: tuple[Mine, ...]
    tries: tuple[Try, ...]
    has_hints: Mapping[str, int]
    hints: Mapping[str, int]
    asks: bool
    predicted: bool
    has_quiz: bool
    answered: bool
    siblings_changed: bool = False
    strays: tuple[Try, ...] = ()

    @property
    def file(self) -> Mine | None:
        """Return the file at hand."""
        return self.files[0] if self.files else None

    @property
    def begun(self) -> bool:
        """Return whether there is a file or a try."""
        return bool(self.files or self.tries)

    @property
    def passed(self) -> bool:
        """Return whether any try passed."""
        return any(one.verdict == "passed" for one in self.tries)

    @property
    def finished(self) -> bool:
        """Return whether nothing is left to do."""
        return self.passed and (self.answered or not self.has_quiz)

    @property
    def best(self) -> Try | None:
        """Return a passed try, else the decided one with the most points for its rubric.

        Of equal ones it is the latest.
        """
        decided = [one for one in self.tries if one.verdict != "undecided"]
        return max(reversed(decided), key=_worth, default=None)

    @cached_property
    def last(self) -> Try | None:
        """Return the last try of the file at hand, else the last of all."""
        name = os.path.basename(self.file.path) if self.file else ""
        own = tuple(one for one in self.tries if one.name == name)
        return next(reversed(own or self.tries), None)

    @property
    def graded(self) -> bool:
        """Return whether the file at hand was graded under its name."""
        name = os.path.basename(self.file.path) if self.file else ""
        return self.last is not None and self.last.name == name

    @property
    def changed(self) -> bool:
        """Return whether the file at hand, or one beside it, is not what was graded last."""
        if self.file is None or self.last is None:
            return False
        return self.siblings_changed or self.file.sha256 != self.last.sha256

    @property
    def fresh(self) -> bool:
        """Return whether the file at hand is the starter, and what is known is of other bytes."""
        return self.file is not None and self.file.untouched and self.changed


def _worth(one: Try) -> tuple[bool, float]:
    return one.verdict == "passed", one.points / max(one.max_points, 1)


@dataclass(frozen=True)
class Step:
    """One thing to do now: why, as a sentence, and the command."""

    why: str
    command: str


def standing(
    entry: Entry, tries: Iterable[Try], folder: Path, memory: Path | None = None
) -> Standing:
    """Return where a learner stands with one exercise.

    `memory` is the folder of hints and answers, None for this user's own.
    """
    exercise, ids = entry.exercise.id, entry.course.ids()
    graded = tuple(one for one in tries if one.exercise == exercise)
    strays = tuple(one for one in graded if _is_stray(one, ids))
    own = tuple(one for one in graded if one not in strays)
    files = _files(entry, {one.name for one in own}, folder)
    found = Standing(
        id=exercise,
        title=entry.exercise.title,
        max_points=entry.rubric.max_points,
        files=files,
        tries=own,
        has_hints={check.id: len(check.hints) for check in entry.rubric.checks},
        hints=hints.hints_used(exercise, memory),
        asks=bool(entry.questions.predictions),
        predicted=answers.predicted(exercise, memory) is not None
        or any(one.predicted for one in own),
        has_quiz=entry.questions.checkpoint is not None,
        answered=answers.checkpoint(exercise, memory) is not None
        or any(one.checkpoint is not None for one in own),
        strays=strays,
    )
    if found.file is None or found.last is None:
        return found
    beside = _siblings(entry.exercise.siblings, folder / found.file.path)
    return replace(found, siblings_changed=beside != dict(found.last.siblings))


def _is_stray(one: Try, ids: Iterable[str]) -> bool:
    """Return whether a try is of another exercise's file; one that passed is what it is."""
    return one.verdict != "passed" and carried(one.name, ids) not in (None, one.exercise)


def _siblings(names: Iterable[str], file: Path) -> dict[str, str]:
    found = {}
    for name in names:
        path = file.parent / name
        try:
            if name != file.name and path.is_file() and not path.is_symlink():
                with path.open("rb") as opened:
                    found[name] = hashlib.sha256(opened.read(intake.MOST_SIBLING_BYTES)).hexdigest()
        except OSError:
            continue  # `grade` itself says so, in more words
    return found


def _files(entry: Entry, graded: set[str], folder: Path) -> tuple[Mine, ...]:
    """Return the files at hand: named as `grade start` names them, or as a file that was graded."""
    names = {f"{entry.exercise.id}{ending}" for ending in _ENDINGS}
    names |= {name for name in graded if name.endswith(_ENDINGS) and os.path.basename(name) == name}
    starters = {_digest(entry.folder / f"starter{ending}") for ending in _ENDINGS}
    paths = [Path(place, name) for place in _folders(folder) for name in names]
    found = [mine for path in paths for mine in _mine(path, folder, starters)]
    return _at_hand_first(entry.exercise.id, graded, found)


def _at_hand_first(exercise: str, graded: set[str], found: Iterable[Mine]) -> tuple[Mine, ...]:
    """Return the files, those first that carry the exercise's id, then the last changed ones.

    What was left behind does not come first for its name: a starter that nobody filled in, and a
    file that was never graded where a later one was.
    """
    files = sorted(found, key=lambda one: (-one.changed_at, one.path))

    def is_left(position: int, mine: Mine) -> bool:
        later = [one for one in files[:position] if os.path.basename(one.path) in graded]
        return mine.untouched or os.path.basename(mine.path) not in graded if later else False

    named = [
        mine
        for position, mine in enumerate(files)
        if carried(os.path.basename(mine.path), [exercise]) and not is_left(position, mine)
    ]
    return (*named, *(mine for mine in files if mine not in named))


def _mine(path: Path, folder: Path, starters: set[str]) -> Iterator[Mine]:
    digest = _digest(path)
    if digest:
        with contextlib.suppress(OSError):  # it went away meanwhile
            at = path.stat().st_mtime
            yield Mine(os.path.relpath(path, folder), digest, at, digest in starters)


def _folders(folder: Path) -> Iterator[str]:
    """Yield the folder and those right below it, where `grade start ID DIR` may have written."""
    yield str(folder)
    try:
        with os.scandir(folder) as found:
            names = [
                entry.name for entry in found if not entry.name.startswith(".") and entry.is_dir()
            ]
    except OSError:
        return
    for name in sorted(names)[:_MOST_FOLDERS]:
        yield os.path.join(folder, name)


def _digest(path: Path) -> str:
    """Return the hex SHA-256 of a file; empty for what is none or cannot be read."""
    try:
        return intake.read(str(path)).sha256 if path.is_file() else ""
    except (OSError, UsageProblem):
        return ""


# -------------------------------------------------------------------------------------------- next


def next_step(found: Sequence[Standing]) -> Step:
    """Return the one thing to do now, from all exercises of the course in their order."""
    under_way = [one for one in found if one.begun and not one.finished]
    if under_way:
        return _of(max(under_way, key=_active))
    fresh = [one for one in found if not one.begun]
    if fresh:
        why = "The next exercise waits." if len(fresh) < len(found) else ""
        return Step(why, f"grade start {fresh[0].id}")
    if not found:
        return Step("The course holds no exercise yet.", "grade list")
    return Step("All is done. Gather it into one page:", "grade portfolio")


def _active(one: Standing) -> float:
    """Return when an exercise was last worked on, as seconds since 1970."""
    times = [mine.changed_at for mine in one.files] + [a.when.timestamp() for a in one.tries]
    return max(times)


def _of(one: Standing) -> Step:
    if one.passed:
        return Step("Passed. One question about the idea is left.", f"grade quiz {one.id}")
    mine, last = one.file, one.last
    if mine is None:
        why = "The file that was graded is not here. Go to its folder, or begin again here:"
        return Step(why, f"grade start {one.id}")
    grade = f"grade {one.id} {_quoted(mine.path)}"
    if last is None and one.asks and not one.predicted:
        why = "Say what you expect before you run anything; a wrong guess costs nothing."
        return Step(why, f"grade predict {one.id}")
    if mine.untouched:
        return Step("Fill in one part of the file, then see what it gives.", grade)
    if last is None or not one.graded:
        return Step("See how far the file is.", grade)
    if one.changed:
        return Step("The file has changed since the last try.", grade)
    if last.verdict == "undecided":
        return Step("The last try was undecided, which is not your fault. Try again.", grade)
    if last.stopped:
        return Step("Mend what stopped it, then try again.", grade)
    return _stuck(one, last)


def _stuck(one: Standing, last: Try) -> Step:
    """Return what helps with the first check that fails."""
    failed = [check for check in last.open if check.status == "failed"] or list(last.open)
    if not failed:
        return Step("Read again what is asked.", f"grade show {one.id}")
    check: Open = failed[0]
    left = one.has_hints.get(check.id, 0) - one.hints.get(check.id, 0)
    if left > 0:
        return Step(f"{check.id} does not pass yet.", f"grade hint {one.id} {check.id}")
    if check.mistake:
        why = f"No hint is left for {check.id}; read the idea behind the mistake."
        return Step(why, f"grade explain {one.id} {_quoted(check.mistake)}")
    return Step(
        f"No hint is left for {check.id}; read again what is asked.", f"grade show {one.id}"
    )


def _quoted(path: str) -> str:
    return shlex.quote(f"./{path}" if path.startswith("-") else path)
