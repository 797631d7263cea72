"""Make a learner's portfolio, step by step: gather, find the graded files, draw, sign, write."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.errors import EnvironmentProblem, UsageProblem
from grader.portfolio import page, paths, unpack
from grader.portfolio.earlier import carried
from grader.portfolio.files import opened, replace_all, shown, staged
from grader.portfolio.gather import Gathered, Told
from grader.portfolio.manifest import NotAManifest, parse
from grader.portfolio.pack import Sign, contents, zipped
from grader.portfolio.refused import Refused
from grader.portfolio.submissions import Place, submissions
from grader.portfolio.verify import compare
from grader.receipt.files import made

NAME = "portfolio"
_MOST_PAGE_START = 8192


@dataclass(frozen=True)
class Asked:
    """What a portfolio is to be made of and where it goes; `out` is a zip or a folder for it."""

    receipts: Path
    out: Path
    submissions: Path | None
    templates: Sequence[Path]
    created_at: str
    sign: Sign | None = None
    cache: Path | None = None


@dataclass(frozen=True)
class Made:
    """Where a portfolio is, what it holds, what was left out, whether it replaced a signed one."""

    zip: Path
    page: Path
    receipts: int
    exercises: int
    submissions: int
    told: list[Told]
    was_signed: bool = False


def make(asked: Asked, gathered: Gathered) -> Made:
    """Return where the portfolio of these receipts, of which there is one at least, now is.

    Raises:
        UsageProblem: what is in the way is no earlier portfolio, or one that holds more.
        ContentProblem: the template is wrong.
        EnvironmentProblem: the place cannot be written; nothing has changed then.
    Effects: writes the zip, and beside it the page, whose links lead to the receipts on the disk.
    """
    zip_place, page_place = targets(asked.out)
    earlier = _earlier(zip_place, page_place)
    attempts, replaced = carried(zip_place, earlier, gathered.attempts)
    found = submissions(attempts, _places(asked), _below(earlier, paths.SUBMISSIONS))
    inside = page.page(
        attempts, found.files, asked.templates, page.inside(found.files), cache=asked.cache
    )
    beside = page.page(
        attempts,
        found.files,
        asked.templates,
        page.on_disk(page_place.parent),
        cache=asked.cache,
        inside=False,
    )
    files = contents(attempts, found.files, inside, asked.created_at, asked.sign)
    _write({zip_place: zipped(files), page_place: beside.encode()})
    return Made(
        zip=zip_place,
        page=page_place,
        receipts=len(attempts),
        exercises=len({one.receipt.exercise for one in attempts}),
        submissions=len(found.files),
        told=[*gathered.told, *replaced, *found.told],
        was_signed=paths.SIGNATURE in earlier,
    )


def targets(out: Path) -> tuple[Path, Path]:
    """Return where zip and page go: `out` itself for a name in .zip, else into that folder."""
    if out.name.lower().endswith(".zip") and not os.path.isdir(out):
        return out, out.with_suffix(".html")
    return out / f"{NAME}.zip", out / f"{NAME}.html"


def _places(asked: Asked) -> list[Place]:
    beside = Path(os.path.abspath(asked.receipts)).parent
    places = [Place(asked.receipts / paths.SUBMISSIONS, True), Place(beside, False)]
    if asked.submissions is None:
        return places
    if not os.path.isdir(asked.submissions):
        raise UsageProblem(
            f"{shown(asked.submissions)} is not a folder",
            next_step="name the folder with the graded files, or leave --submissions out",
        )
    return [Place(asked.submissions, True), *places]


def _earlier(zip_place: Path, page_place: Path) -> dict[str, bytes]:
    """Return the files of the portfolio that is to be replaced, none where there is none.

    Raises: UsageProblem where something else is there.
    """
    if os.path.lexists(page_place) and not _is_our_page(page_place):
        raise _in_the_way(page_place)
    if not os.path.lexists(zip_place):
        return {}
    try:
        files = unpack.members(zip_place)
        # What is carried over from it is signed anew, so it has to be what its list says.
        compare(parse(files.get(paths.MANIFEST, b"")), files, shown(zip_place))
    except (Refused, UsageProblem, NotAManifest) as error:
        raise _in_the_way(zip_place) from error
    return files


def _is_our_page(place: Path) -> bool:
    try:
        with opened(place) as file:
            return page.MARK.encode() in file.read(_MOST_PAGE_START)
    except OSError:
        return False


def _below(files: Mapping[str, bytes], folder: str) -> dict[str, bytes]:
    return {path: raw for path, raw in files.items() if path.startswith(f"{folder}/")}


def _write(files: Mapping[Path, bytes]) -> None:
    (folder,) = {place.parent for place in files}
    try:
        with made(folder), staged(folder, files) as waiting:
            replace_all(waiting)
    except OSError as error:
        raise EnvironmentProblem(
            f"The portfolio could not be written: {error.strerror or error}",
            where=shown(folder),
            next_step="name another place: --out FOLDER or --out FILE.zip",
        ) from error


def _in_the_way(place: Path) -> UsageProblem:
    return UsageProblem(
        f"{shown(place)} is there already and is no portfolio, so it is left as it is",
        next_step="name another place: --out FOLDER or --out FILE.zip",
    )
