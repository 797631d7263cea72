"""Keeps receipts on disk: each written whole or not at all, and no earlier one ever lost.

It renders nothing and judges nothing; what to write comes in, where it went comes out.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from grader.errors import EnvironmentProblem
from grader.receipt.files import made, move_all, read_ordinary, staged
from grader.receipt.lock import LockTimeout, Patience, folder_lock
from grader.receipt.naming import candidates, moment, owner_of, safe_stem, stem_of
from grader.records.receipt import Receipt

_ENDINGS = ("json", "md", "html", "txt", "dsse.json", "instructor.json")
_DECIDED = ("passed", "failed", "error")
# A leading dot, which no stem can have, keeps it apart from the receipt of a file `index.py`.
_INDEX = ".index.json"


@dataclass(frozen=True)
class Written:
    """Where a receipt's forms are; `message` says what became of an earlier one, if anything."""

    json: Path | None
    md: Path | None
    html: Path | None
    message: str
    instructor: Path | None = None
    envelope: Path | None = None


def write(
    receipt: Receipt,
    out_dir: Path,
    forms: Mapping[str, str],
    origin: str = "",
    *,
    patience: Patience | None = None,
) -> Written:
    """Return where `forms` (ending -> content) now are under `out_dir/<exercise>/`.

    `origin` is the submission's resolved path; only a digest of it is kept, to tell files of equal
    stem apart. An earlier receipt of the same file moves to `history/`; an undecided one never
    takes the place of a decided one.

    Raises: EnvironmentProblem when the folder cannot be written; nothing has changed then.
    Effects: creates folders and files, moves earlier receipts.
    """
    folder = out_dir / safe_stem(receipt.exercise)
    try:
        with made(folder), folder_lock(folder, patience or Patience()):
            return _write(receipt, folder, forms, owner_of(receipt.submission.name, origin))
    except LockTimeout as error:
        raise _problem(folder, f"another grade is still writing there ({error})") from error
    except OSError as error:
        raise _problem(folder, error.strerror or str(error)) from error


def _write(receipt: Receipt, folder: Path, forms: Mapping[str, str], owner: str) -> Written:
    index = _read_index(folder)
    stem = _choose_stem(folder, index, receipt.submission.name, owner)
    earlier = _read_json(folder / f"{stem}.json")
    keeps = receipt.verdict == "undecided" and earlier.get("verdict") in _DECIDED
    away = {} if keeps else _to_history(folder, stem, earlier)
    place = _free(folder / "history", stem, receipt.created_at) if keeps else folder / stem
    texts = {_with_ending(place, ending): text for ending, text in forms.items()}
    # Last, because it may replace a file, and because a receipt without its entry is still found.
    texts[folder / _INDEX] = _index_text({**index, stem.casefold(): owner})
    with made(place.parent, *(path.parent for path in away.values())), staged(texts) as moves:
        move_all([*away.items(), *moves])
    return _written(place, forms, _sentence(place, keeps, away))


def _sentence(place: Path, keeps: bool, away: Mapping[Path, Path]) -> str:
    if keeps:
        return (
            "This run was undecided, so the earlier receipt stays in place; "
            f"this one is kept as history/{place.name}."
        )
    kept = next((path for path in away.values()), None)
    return f"The earlier receipt is kept as history/{kept.name}." if kept else ""


def _written(place: Path, forms: Mapping[str, str], message: str) -> Written:
    def path(ending: str) -> Path | None:
        return _with_ending(place, ending) if ending in forms else None

    return Written(
        json=path("json"),
        md=path("md"),
        html=path("html"),
        instructor=path("instructor.json"),
        envelope=path("dsse.json"),
        message=message,
    )


def _with_ending(place: Path, ending: str) -> Path:
    # Not with_suffix, which would cut a stem that holds a dot.
    return place.with_name(f"{place.name}.{ending}")


def _choose_stem(folder: Path, index: Mapping[str, str], name: str, owner: str) -> str:
    """Return the first stem that is free or already this file's."""
    for candidate in candidates(stem_of(name), owner):
        claimed = index.get(candidate.casefold())
        if claimed == owner:
            return candidate
        if claimed is None and _may_take(folder / f"{candidate}.json", name):
            return candidate
    raise OSError(f"every name for {name} is taken")


def _may_take(path: Path, name: str) -> bool:
    """Return whether a stem the index does not know is free: no receipt of another file there."""
    part = _read_json(path).get("submission")
    return not isinstance(part, dict) or part.get("name") == name


def _to_history(folder: Path, stem: str, earlier: Mapping[str, Any]) -> dict[Path, Path]:
    """Return the moves, from -> to, that bring every form of an earlier receipt out of the way."""
    present = [_with_ending(folder / stem, ending) for ending in _ENDINGS]
    present = [path for path in present if os.path.lexists(path)]
    if not present:
        return {}
    created_at = earlier.get("created_at")
    if not isinstance(created_at, str):
        seconds = present[0].lstat().st_mtime
        created_at = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    place = _free(folder / "history", stem, created_at)
    return {path: place.with_name(place.name + path.name[len(stem) :]) for path in present}


def _free(history: Path, stem: str, created_at: str) -> Path:
    """Return a place in `history`, numbered when any form of a receipt already has that name."""
    name = f"{stem}.{moment(created_at)}"
    place, number = history / name, 1
    while any(os.path.lexists(_with_ending(place, ending)) for ending in _ENDINGS):
        number += 1
        place = history / f"{name}-{number}"
    return place


def _read_json(path: Path) -> dict[str, Any]:
    """Return the object in `path`; an empty one where it is missing or cannot be read."""
    try:
        value = json.loads(read_ordinary(path))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _read_index(folder: Path) -> dict[str, str]:
    entries = _read_json(folder / _INDEX).get("stems")
    entries = entries if isinstance(entries, dict) else {}
    return {str(stem): owner for stem, owner in entries.items() if isinstance(owner, str)}


def _index_text(stems: Mapping[str, str]) -> str:
    return json.dumps({"stems": dict(sorted(stems.items()))}, indent=1) + "\n"


def _problem(folder: Path, reason: str) -> EnvironmentProblem:
    return EnvironmentProblem(
        f"The receipt could not be written: {reason}",
        where=str(folder),
        next_step="choose another folder with --out DIR, or grade without one: --no-receipt",
    )
