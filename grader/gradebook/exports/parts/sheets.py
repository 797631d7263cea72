"""Filling one column of a platform's own sheet: reading it, scaling to it, telling what changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from grader.errors import UsageProblem
from grader.gradebook.exports.parts.cells import Sheet, read
from grader.gradebook.exports.parts.matching import Matched
from grader.gradebook.exports.parts.record import Options, counted, listed
from grader.gradebook.looks import has_grade, max_points, named
from grader.gradebook.rounding import exact, shown
from grader.receipt.escape import visible_line
from grader.receipt.files import read_ordinary
from grader.records.gradebook import Gradebook

_MOST_BYTES = 64 << 20


def opened(options: Options) -> tuple[str, Sheet]:
    """Return the template's file name and its cells.

    Raises: UsageProblem when it cannot be read or is no CSV text.
    """
    path = options.template
    if path is None:
        raise UsageProblem("A template is needed", next_step="give --template FILE")
    try:
        data = read_ordinary(path)
    except OSError as error:
        raise UsageProblem(
            f"{path.name} cannot be read: {error.strerror or error}",
            where=str(path),
            next_step="give the file as the platform made it",
        ) from error
    if len(data) > _MOST_BYTES:
        raise UsageProblem(f"{path.name} is too large for a sheet of grades", where=str(path))
    return path.name, read(data, path.name)


@dataclass(frozen=True)
class Scale:
    """The points that a full grade becomes, and a remark where that is worth telling."""

    to: Decimal | None
    remark: str = ""


def scale(options: Options, maximum: Decimal | None, gradebook: Gradebook, where: str) -> Scale:
    """Return the scale: what was asked for, else the sheet's own maximum."""
    asked = options.scale_to
    if asked is None:
        if maximum is None or maximum <= 0:
            return Scale(None)
        known = {all_ for row in gradebook.rows if (all_ := max_points(row)) is not None}
        told = f"Points were scaled so that full points are the {shown(maximum)} of {where}."
        return Scale(maximum, told if known - {exact(maximum)} else "")
    if maximum is not None and exact(asked) != exact(maximum):
        told = f"--scale-to is {shown(asked)}, but {where} has {shown(maximum)} points."
        return Scale(asked, told)
    return Scale(asked)


def unmatched(matched: Matched, gradebook: Gradebook, platform: str) -> list[str]:
    """Return who is on one side only, and who has no grade to fill in."""
    said = list(matched.remarks)
    lines = [visible_line(line.who) for line in matched.only_in_sheet]
    if lines:
        said.append(f"In the {platform} sheet but not in the gradebook: {listed(lines, 50)}.")
    graded = [named(row) for row in matched.only_in_gradebook if has_grade(row)]
    if graded:
        said.append(f"Graded, but not found in the {platform} sheet: {listed(graded, 50)}.")
    empty = [row for row in gradebook.rows if not has_grade(row)]
    if empty:
        names = listed([named(row) for row in empty], 50)
        said.append(
            f"{counted(len(empty), 'learner')} without a grade, left as they were: {names}."
        )
    return said


def candidates(headers: Sequence[str]) -> str:
    """Return column titles as a message shows them."""
    return listed([f'"{visible_line(header)}"' for header in headers], 20) or "none"
