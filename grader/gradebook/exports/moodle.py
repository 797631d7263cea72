"""Fills Grade and Feedback comments of a Moodle grading worksheet; every other cell stays."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from decimal import Decimal

from grader.gradebook.exports.parts.cells import Sheet, filled
from grader.gradebook.exports.parts.figures import decimal_mark, parsed, written
from grader.gradebook.exports.parts.matching import Line, match, same_key, same_name
from grader.gradebook.exports.parts.record import Change, Export, Options, counted, listed
from grader.gradebook.exports.parts.sheets import opened, scale, unmatched
from grader.gradebook.exports.parts.worksheet import Columns, find_columns, is_locked
from grader.gradebook.looks import comment, max_points, points
from grader.gradebook.rounding import exact, scaled
from grader.receipt.escape import visible_line
from grader.records.gradebook import Gradebook, Row

NAME = "moodle"
NEEDS = ("template",)
TAKES = ("columns", "scale_to", "replace_comments")

_ORDER = ("moodle_participant", "sid", "sis_user", "email", "name")
_OURS = re.compile(r"-?\d+(\.\d+)? of \d+(\.\d+)? points\. ")
_NEWER = (
    "Moodle skips, without a word, grades that were changed on the site after this sheet was "
    "downloaded: tick “Update records that have been modified” there, or download it afresh."
)


def make(gradebook: Gradebook, options: Options) -> Export:
    """Return the worksheet with grades and comments; dates and everything else as they came.

    Raises: UsageProblem when the template is no worksheet, when a column is not found, and when
        the assignment is graded by a scale.
    """
    name, sheet = opened(options)
    columns = find_columns(sheet, name, options.columns)
    lines = _lines(sheet, columns)
    maximum = _maximum(sheet, columns, lines)
    scaling = scale(options, maximum, gradebook, "the worksheet")
    matched = match(lines, gradebook.rows, _ORDER)
    fill = _Fill(sheet, columns, maximum, options.replace_comments)
    for index, row in sorted(matched.pairs.items()):
        got, all_ = points(row), max_points(row)
        if got is not None and all_ is not None:
            fill.row(index, row, scaled(got, all_, scaling.to), scaling.to)
    told = [*columns.remarks, *([scaling.remark] if scaling.remark else [])]
    return Export(
        ((name, filled(sheet, fill.values)),),
        (*told, *fill.remarks(), *unmatched(matched, gradebook, "Moodle"), _NEWER),
        tuple(fill.changes),
    )


def _lines(sheet: Sheet, columns: Columns) -> list[Line]:
    lines = []
    for row in range(1, len(sheet.rows)):
        if not sheet.rows[row]:
            continue
        number = re.search(r"\d+$", sheet.cell(row, columns.id).strip())
        told = {
            kind: sheet.cell(row, place) if place is not None else ""
            for kind, place in (
                ("name", columns.name), ("email", columns.email), ("sid", columns.number)
            )
        }  # fmt: skip
        keys = {
            "moodle_participant": number[0] if number else "",
            "sid": same_key(told["sid"]),
            "sis_user": same_key(told["sid"]),
            "email": same_key(told["email"]),
            "name": same_name(told["name"]),
        }
        lines.append(Line(row, told["name"].strip() or sheet.cell(row, columns.id), keys))
    return lines


def _maximum(sheet: Sheet, columns: Columns, lines: list[Line]) -> Decimal | None:
    if columns.maximum is None:
        return None
    found = [parsed(sheet.cell(line.row, columns.maximum)) for line in lines]
    return next((value for value in found if value is not None), None)


class _Fill:
    """Gathers the cells to change, and what Moodle would skip in silence."""

    def __init__(
        self, sheet: Sheet, columns: Columns, maximum: Decimal | None, replace: bool
    ) -> None:
        self.sheet, self.columns, self.maximum, self.replace = sheet, columns, maximum, replace
        self.values: dict[tuple[int, int], str] = {}
        self.changes: list[Change] = []
        self.skipped: dict[str, list[str]] = {}
        used = [columns.grade, *([] if columns.maximum is None else [columns.maximum])]
        cells = [sheet.cell(row, c) for row in range(1, len(sheet.rows)) for c in used]
        self.mark = decimal_mark(cells, sheet.delimiter)

    def row(self, index: int, row: Row, grade: Decimal, to: Decimal | None) -> None:
        """Fill one learner's line, unless Moodle would refuse it."""
        place, who = self.columns.grade, visible_line(self._who(index))
        before = self.sheet.cell(index, place)
        locked = self.columns.locked
        if max(place, self.columns.comment or 0) >= len(self.sheet.rows[index]):
            self._skip("the line is too short", who)
        elif locked is not None and is_locked(self.sheet.cell(index, locked)):
            self._skip("the grade cannot be changed", who)
        elif grade < 0 or (self.maximum is not None and grade > self.maximum):
            self._skip("out of range, so Moodle would skip it", who)
        else:
            if parsed(before) == grade:
                self._skip("the grade is unchanged, so Moodle will skip it", who)
            else:
                self._set(index, place, who, written(grade, self.mark))
            self._comment(index, who, row, to)

    def remarks(self) -> list[str]:
        """Return who was left out, and how many cells lose what they held."""
        said = [f"Not filled, {why}: {listed(who, 50)}." for why, who in self.skipped.items()]
        lost = sum(bool(change.before.strip(" -")) for change in self.changes)
        if lost:
            said.append(f"{counted(lost, 'cell')} that held something will be replaced.")
        return said

    def _comment(self, index: int, who: str, row: Row, to: Decimal | None) -> None:
        place = self.columns.comment
        if place is None:
            return
        before = self.sheet.cell(index, place)
        # Moodle reads the cell as HTML.
        after = html.escape(comment(row, None if to is None else exact(to)), quote=False)
        ours = _OURS.match(before)
        if before.strip() and not ours and not self.replace:
            self._skip("the comment is somebody's own and was kept", who)
        elif before != after:
            self._set(index, place, who, after)

    def _who(self, index: int) -> str:
        name = self.columns.name
        said = self.sheet.cell(index, name) if name is not None else ""
        return said.strip() or self.sheet.cell(index, self.columns.id)

    def _skip(self, why: str, who: str) -> None:
        self.skipped.setdefault(why, []).append(who)

    def _set(self, row: int, column: int, who: str, after: str) -> None:
        titles: Mapping[int, str] = dict(enumerate(c.text for c in self.sheet.rows[0]))
        before = self.sheet.cell(row, column)
        self.values[row, column] = after
        self.changes.append(Change(who, titles.get(column, ""), before, after))
