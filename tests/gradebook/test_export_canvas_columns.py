"""Canvas: only a column of points is filled; what Canvas shows or computes otherwise stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from grader.errors import UsageProblem
from grader.gradebook import exports
from grader.gradebook.exports import Export, Options
from tests.gradebook.factory import ADA, BLAISE, only, row
from tests.receipt import factory

# Every column that lib/gradebook_exporter.rb of canvas-lms may write behind the assignments (2026).
SHOWN = (
    "Current Points,Final Points,Current Score,Unposted Current Score,Final Score,"
    "Unposted Final Score,Current Grade,Unposted Current Grade,Final Grade,Unposted Final Grade,"
    "Override Score,Override Grade"
)
VALUES = "9.00,9.00,90.00,90.00,45.00,45.00,A-,A-,F,F,,B+"
SHEET = (
    f"Student,ID,SIS Login ID,Section,Sharding (72),Labs Current Score,{SHOWN}\n"
    f"    Points Possible,,,,100.00,(read only),{','.join(['(read only)'] * 12)}\n"
    f'"Lovelace, Ada",1001,ada,A,,88.00%,{VALUES}\n'
    f'"Pascal, Blaise",1002,blaise,A,,"3,7 GPA",{VALUES}\n'
)
BOOK = only(row(ADA, factory.passed()), row(BLAISE, factory.passed()))


def fill(tmp_path: Path, text: str = SHEET, **more: Any) -> Export:
    place = tmp_path / "grades.csv"
    place.write_bytes(text.encode())
    return exports.export("canvas", BOOK, Options(place, **{"column": "72", **more}))


def test_letters_gpa_and_percent_stay_byte_for_byte(tmp_path: Path) -> None:
    ((_, data),) = fill(tmp_path).files
    expected = SHEET.replace("ada,A,,", "ada,A,100.00,").replace("blaise,A,,", "blaise,A,100.00,")
    assert data == expected.encode()


@pytest.mark.parametrize("column", SHOWN.split(","))
def test_none_of_them_can_be_the_column(tmp_path: Path, column: str) -> None:
    with pytest.raises(UsageProblem) as raised:
        fill(tmp_path, column=column)
    assert raised.value.what == (
        f"There is no assignment column {column!r}: that one is computed by Canvas, or is none of "
        "an assignment's"
    )
    assert raised.value.next_step == 'give --column "Title (id)"; there are: "Sharding (72)"'


@pytest.mark.parametrize("possible", ["A", "GPA", "100%", "complete", "Points"])
def test_points_possible_that_are_no_points_are_refused(tmp_path: Path, possible: str) -> None:
    with pytest.raises(UsageProblem) as raised:
        fill(tmp_path, SHEET.replace(",100.00,(read", f",{possible},(read"))
    assert raised.value.what == (
        f"The column Sharding (72) takes no points: its Points Possible are {possible!r}"
    )
    assert raised.value.next_step == (
        "in Canvas let the assignment display its grade as points, export the gradebook again, or "
        "name another column with --column"
    )


@pytest.mark.parametrize("held", ["A-", "complete", "87%", "3.7 GPA"])
def test_a_column_that_holds_other_grades_is_refused(tmp_path: Path, held: str) -> None:
    with pytest.raises(UsageProblem) as raised:
        fill(tmp_path, SHEET.replace("ada,A,,", f"ada,A,{held},"))
    assert raised.value.what == (
        f"The column Sharding (72) holds grades such as {held!r}, which are no points"
    )


@pytest.mark.parametrize("held", ["EX", "N/A", "12.5", "12,5", "-3"])
def test_a_column_that_holds_points_is_filled(tmp_path: Path, held: str) -> None:
    assert fill(tmp_path, SHEET.replace("ada,A,,", f'ada,A,"{held}",')).files


def test_no_points_possible_are_told(tmp_path: Path) -> None:
    made = fill(tmp_path, SHEET.replace(",100.00,(read", ",0.00,(read"))
    assert "Sharding (72) has 0 Points Possible: points were not scaled." in made.remarks


def test_who_of_the_sheet_is_left_out_may_be_in_a_group(tmp_path: Path) -> None:
    more = SHEET + f'"Noether, Emmy",1003,emmy,A,,,{VALUES}\n'
    said = " ".join(fill(tmp_path, more).remarks)
    assert "In the Canvas sheet but not in the gradebook: Noether, Emmy." in said
    assert "grade with a --roster that has a column `group`, and every member gets the grade." in (
        said
    )
    assert "--roster" not in " ".join(fill(tmp_path).remarks)
