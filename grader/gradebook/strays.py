"""What lies in the results and belongs to nobody: receipts of people who left, marks without a row.

Nothing of a learner's is ever deleted. What a newer file of theirs took the place of moves to
`history/` beside it; of everything else it is said that it is there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from grader.gradebook import results
from grader.gradebook.ledger import Stand
from grader.gradebook.receipts import FORMS
from grader.gradebook.rounding import shown
from grader.receipt.naming import stem_of
from grader.records.gradebook import Mark, Note
from grader.trust.seal import ENDING

RECEIPTS, HISTORY = "receipts", "history"
PSEUDONYM = re.compile(r"learner-[0-9]{3,}")


def notes(root: Path, class_: Sequence[Stand], given: Mapping[str, tuple[Mark, ...]]) -> list[Note]:
    """Return what has to be said of the results of a class, and of the marks that it is given."""
    people = {one.member.person.key: one.decided for one in class_}
    gave_nothing = [one.member.person.key for one in class_ if not one.member.key]
    return [*_folders(root, people), *_earlier(root, gave_nothing), *unused(class_, given)]


def unused(class_: Sequence[Stand], given: Mapping[str, tuple[Mark, ...]]) -> list[Note]:
    """Return a note for each key whose marks do not count: of nobody here, or without a grade."""
    people = {one.member.person.key: one.decided for one in class_}
    return list(_marks(people, given))


def _folders(root: Path, people: Mapping[str, bool]) -> list[Note]:
    """Return a note for each folder of receipts without a learner."""
    place = root / RECEIPTS
    known = {key.casefold(): key for key in people}
    found: list[str] = []
    with suppress(OSError), os.scandir(place) as inside:
        found = sorted(one.name for one in inside if one.is_dir(follow_symlinks=False))
    text = f"{RECEIPTS}/{{}} is left of somebody who is not in this class now: it stays as it is"
    return [Note("unmatched", name, text.format(name)) for name in found
            if not _is_of(place, name, known.get(name.casefold()))]  # fmt: skip


def _earlier(root: Path, keys: Iterable[str]) -> list[Note]:
    """Return a note for each learner who has receipts and nothing that they could be of."""
    text = f"{RECEIPTS}/{{}} is of an earlier hand-in, and none that counts is there now: it stays"
    return [Note("missing", key, text.format(key)) for key in keys
            if (root / RECEIPTS / key).is_dir()]  # fmt: skip


def _is_of(place: Path, name: str, key: str | None) -> bool:
    # Where names that differ in case are one folder, it is that learner's.
    if key is None or name == key:
        return key is not None
    with suppress(OSError):
        return (place / name).samefile(place / key)
    return False


def _marks(people: Mapping[str, bool], given: Mapping[str, tuple[Mark, ...]]) -> Iterable[Note]:
    for key, each in sorted(given.items()):
        said = ", ".join(f"{one.item} {shown(one.points)}" for one in each)
        if key not in people:
            text = f"{results.MARKS} has marks for this key ({said}), which nobody here has"
            yield Note("unmatched", key, f"{text}: correct the key; they count for nobody")
        elif not people[key]:
            text = f"{results.MARKS} has marks for them ({said}), who have no grade"
            yield Note("ignored", key, f"{text}: they count as soon as there is one")


def set_aside(root: Path, class_: Sequence[Stand]) -> list[str]:
    """Move receipts under another name than that of the file that counts; returns the new places.

    Only whole receipts move, each of their forms;
    anything else that somebody put there stays.

    Raises: EnvironmentProblem where it cannot be done.
    """
    moved: list[str] = []
    for one in class_:
        name = str((one.member.facts or {}).get("name", ""))
        if not one.decided or not name:
            continue
        folder = root / RECEIPTS / one.member.person.key
        for stem in _others(folder, stem_of(name)):
            try:
                moved.append(str(_move(folder, stem).relative_to(root)))
            except OSError as error:
                raise results.unwritable(folder, error) from error
    return moved


def clear_pseudonyms(root: Path, graded: Collection[str]) -> None:
    """Remove receipts in the folder without names whose pseudonym has none now.

    A pseudonym may be another learner's than before, and nobody is to be taken for another.
    Each is a copy: the learner's own receipt, and the attempt, stay.

    Raises: EnvironmentProblem where it cannot be done.
    """
    place = root / results.ANONYMOUS
    found: list[str] = []
    with suppress(OSError), os.scandir(place) as inside:
        found = [one.name for one in inside if one.is_dir(follow_symlinks=False)]
    for name in found:
        if name in graded or not PSEUDONYM.fullmatch(name):
            continue
        try:
            for form in FORMS:
                (place / name / f"{name}.{form}").unlink(missing_ok=True)
        except OSError as error:
            raise results.unwritable(place / name, error) from error
        with suppress(OSError):
            (place / name).rmdir()


def _others(folder: Path, current: str) -> Sequence[str]:
    """Return the stems of whole receipts but the current one's; none while that is not there."""
    found: set[str] = set()
    with suppress(OSError), os.scandir(folder) as inside:
        found = {one.name for one in inside if one.is_file(follow_symlinks=False)}
    named = {name for name in found if not name.endswith(f".{ENDING}")}
    stems = {name.removesuffix(".json") for name in named if name.endswith(".json")}
    whole = {stem for stem in stems if all(f"{stem}.{form}" in found for form in FORMS)}
    # Names that differ in case alone may be one file.
    alike = {stem for stem in whole if stem.casefold() == current.casefold()}
    return sorted(whole - alike) if current in whole else []


def _move(folder: Path, stem: str) -> Path:
    history = folder / HISTORY
    history.mkdir(exist_ok=True)
    place, number = history / stem, 1
    while any(os.path.lexists(_with(place, form)) for form in (*FORMS, ENDING)):
        number += 1
        place = history / f"{stem}-{number}"
    for form in FORMS:
        os.replace(_with(folder / stem, form), _with(place, form))
    with suppress(FileNotFoundError):
        os.replace(_with(folder / stem, ENDING), _with(place, ENDING))
    return _with(place, "html")


def _with(place: Path, form: str) -> Path:
    # Not with_suffix, which would cut a stem that holds a dot.
    return place.with_name(f"{place.name}.{form}")
