"""Fills one column of a gradebook downloaded from Canvas; every other cell stays as it came."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from grader.errors import UsageProblem
from grader.gradebook.exports.parts.cells import Sheet, filled
from grader.gradebook.exports.parts.figures import decimal_mark, parsed, written
from grader.gradebook.exports.parts.matching import Line, match, same_key, same_name
from grader.gradebook.exports.parts.record import Change, Export, Options, counted, listed
from grader.gradebook.exports.parts.sheets import candidates, opened, scale, unmatched
from grader.gradebook.looks import max_points, points
from grader.gradebook.rounding import scaled
from grader.receipt.escape import visible_line
from grader.records.gradebook import Gradebook, Row

NAME = "canvas"
NEEDS = ("template",)
TAKES = ("column", "scale_to")

_ORDER = ("canvas_user", "sis_user", "sis_login", "email", "name")
_TITLED = re.compile(r"(?s)(.*?)\s*\((\d+)\)\s*")
_KEPT = ("EX", "N/A")
_GROUPS = (
    "Canvas files group work under one member: where others of the sheet were in the group, grade "
    "with a --roster that has a column `group`, and every member gets the grade."
)


@dataclass(frozen=True)
class _Layout:
    """Where a Canvas sheet has what: the header's row, its columns by title, the learners."""

    header: int
    titles: tuple[str, ...]
    learners: tuple[int, ...]
    possible: int | None

    def column(self, title: str) -> int | None:
        return self.titles.index(title) if title in self.titles else None


def make(gradebook: Gradebook, options: Options) -> Export:
    """Return the template with one column filled.

    Raises: UsageProblem when the template is no Canvas gradebook, or when the column is not there
        or not the only one that fits; a new column is never made.
    """
    name, sheet = opened(options)
    layout = _layout(sheet, name)
    column = _column(sheet, layout, gradebook, options.column)
    title = layout.titles[column]
    possible = sheet.cell(layout.possible, column) if layout.possible is not None else ""
    _refuse_other_grades(sheet, layout, column, possible)
    scaling = scale(options, parsed(possible), gradebook, f"the column {visible_line(title)}")
    lines = _lines(sheet, layout)
    matched = match(lines, gradebook.rows, _ORDER)
    grades = {
        index: value
        for index, row in matched.pairs.items()
        if (value := _grade(row, scaling.to)) is not None
    }
    who = {line.row: visible_line(line.who) for line in lines}
    values, changes, remarks = _fill(sheet, layout, column, grades, who)
    told = [scaling.remark] if scaling.remark else []
    if parsed(possible) == 0 and scaling.to is None:
        told.append(f"{visible_line(title)} has 0 Points Possible: points were not scaled.")
    told += [_GROUPS] if matched.only_in_sheet else []
    return Export(
        ((name, filled(sheet, values)),),
        (*told, *remarks, *unmatched(matched, gradebook, "Canvas"), *_posting(sheet, column)),
        changes,
    )


def _grade(row: Row, to: Decimal | None) -> Decimal | None:
    got, all_ = points(row), max_points(row)
    return None if got is None or all_ is None else scaled(got, all_, to)


def _layout(sheet: Sheet, name: str) -> _Layout:
    for index, cells in enumerate(sheet.rows):
        titles = tuple(cell.text for cell in cells)
        bare = [title.strip() for title in titles]
        if (bare[:2] == ["Student", "ID"] or bare[:3] == ["LastName", "FirstName", "ID"]) and (
            "Section" in bare
        ):
            rest = range(index + 1, len(sheet.rows))
            id_ = bare.index("ID")
            possible = next((r for r in rest if "Points Possible" in sheet.cell(r, 0)), None)
            learners = tuple(
                r for r in rest if r != possible and sheet.rows[r] and _is_learner(sheet, r, id_)
            )
            return _Layout(index, tuple(bare), learners, possible)
        if cells:
            break
    raise UsageProblem(
        f"{name} is no Canvas gradebook: it has no header with Student, ID and Section",
        next_step="download it in Canvas: Grades, Export, Export Entire Gradebook",
    )


def _is_learner(sheet: Sheet, row: int, id_: int) -> bool:
    """Return whether a row is a person's; the test student, who is nobody, is not."""
    names = sheet.cell(row, 0).strip(), sheet.cell(row, 1).strip()
    test = names[0] == "Student, Test" or (id_ == 2 and names == ("Student", "Test"))
    known = any(sheet.cell(row, column).strip() for column in range(id_ + 1))
    return known and not test


def _column(sheet: Sheet, layout: _Layout, gradebook: Gradebook, asked: str) -> int:
    """Return the column of an assignment: by its whole header, its id or its title, in that order.

    Computed columns are not looked at: Canvas would ignore what they are given.
    """
    open_ = [
        index
        for index in range(layout.titles.index("Section") + 1, len(layout.titles))
        if _TITLED.fullmatch(layout.titles[index]) and not _read_only(sheet, layout, index)
    ]
    split = {i: m.groups() for i in open_ if (m := _TITLED.fullmatch(layout.titles[i]))}
    for wish in [asked.strip()] if asked else [gradebook.title, gradebook.exercise]:
        for fits in (
            [i for i in open_ if layout.titles[i] == wish],
            [i for i in open_ if split[i][1] == wish.strip("()")],
            [i for i in open_ if split[i][0] == wish],
            [i for i in open_ if same_name(split[i][0]) == same_name(wish)],
        ):
            if len(fits) == 1:
                return fits[0]
            if fits:
                raise _no_column(f"The column {wish!r} is there {len(fits)} times", layout, fits)
    if not asked and len(open_) == 1:
        return open_[0]
    said = f"There is no assignment column {asked!r}" if asked else "Which column is to be filled?"
    if asked.strip() in layout.titles:
        said += ": that one is computed by Canvas, or is none of an assignment's"
    raise _no_column(said, layout, open_)


def _refuse_other_grades(sheet: Sheet, layout: _Layout, column: int, possible: str) -> None:
    """Raise where the column is not one of points: letters, GPA, percent, complete."""
    cells = [sheet.cell(row, column).strip() for row in layout.learners]
    other = [cell for cell in cells if cell not in ("", *_KEPT) and not _is_points(cell)]
    title = visible_line(layout.titles[column])
    if possible.strip() and not _is_points(possible):
        said = f"The column {title} takes no points: its Points Possible are {possible.strip()!r}"
    elif other:
        said = f"The column {title} holds grades such as {other[0]!r}, which are no points"
    else:
        return
    raise UsageProblem(
        said,
        next_step="in Canvas let the assignment display its grade as points, export the gradebook "
        "again, or name another column with --column",
    )


def _is_points(text: str) -> bool:
    return parsed(text) is not None and "%" not in text


def _no_column(said: str, layout: _Layout, fits: Sequence[int]) -> UsageProblem:
    shown = candidates([layout.titles[i] for i in fits])
    return UsageProblem(said, next_step=f'give --column "Title (id)"; there are: {shown}')


def _read_only(sheet: Sheet, layout: _Layout, column: int) -> bool:
    # The words are translated, the brackets are not; a number of points has none.
    cell = sheet.cell(layout.possible, column) if layout.possible is not None else ""
    return cell.strip().startswith("(")


def _lines(sheet: Sheet, layout: _Layout) -> list[Line]:
    places = {
        "canvas_user": layout.column("ID"),
        "sis_user": layout.column("SIS User ID"),
        "sis_login": layout.column("SIS Login ID"),
    }
    lines = []
    for row in layout.learners:
        keys = {k: same_key(sheet.cell(row, c)) for k, c in places.items() if c is not None}
        login = keys.get("sis_login", "")
        name = sheet.cell(row, 0)
        if layout.titles[0] == "LastName":
            name = f"{sheet.cell(row, 1)} {sheet.cell(row, 0)}"
        keys |= {"email": login if "@" in login else "", "name": same_name(_bare(name))}
        lines.append(Line(row, name.strip(), keys))
    return lines


def _bare(name: str) -> str:
    text = name.strip()
    return text[2:-1] if text.startswith('="') and text.endswith('"') else text


def _fill(
    sheet: Sheet, layout: _Layout, column: int, grades: dict[int, Decimal], names: dict[int, str]
) -> tuple[dict[tuple[int, int], str], tuple[Change, ...], list[str]]:
    mark = decimal_mark(_figures(sheet, layout), sheet.delimiter)
    values: dict[tuple[int, int], str] = {}
    changes: list[Change] = []
    kept: dict[str, list[str]] = {}
    for row, grade in sorted(grades.items()):
        before, who = sheet.cell(row, column), names[row]
        if column >= len(sheet.rows[row]):
            kept.setdefault("the line is too short", []).append(who)
        elif before.strip() in _KEPT:
            kept.setdefault(before.strip(), []).append(who)
        elif parsed(before) != grade:
            after = written(grade, mark)
            values[row, column] = after
            changes.append(Change(who, layout.titles[column], before, after))
    remarks = [f"Left as they were ({why}): {listed(who, 50)}." for why, who in kept.items()]
    replaced = sum(bool(change.before.strip()) for change in changes)
    if replaced:
        remarks.append(f"{counted(replaced, 'grade')} in that column will be replaced.")
    return values, tuple(changes), remarks


def _figures(sheet: Sheet, layout: _Layout) -> list[str]:
    rows = [row for row in (layout.possible, *layout.learners) if row is not None]
    first = layout.titles.index("Section") + 1
    return [cell.text for row in rows for cell in sheet.rows[row][first:]]


def _posting(sheet: Sheet, column: int) -> list[str]:
    hidden = any("Manual Posting" in sheet.cell(row, column) for row in range(len(sheet.rows)))
    told = "The assignment posts manually: learners see the grades once you post them in Canvas."
    return [told] if hidden else []
