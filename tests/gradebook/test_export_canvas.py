"""Canvas: one column of the instructor's own sheet is filled, and nothing else moves.

The sheets have the form that lib/gradebook_exporter.rb of canvas-lms writes (2026).
"""

from __future__ import annotations

import csv
import io
import zipfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from grader.errors import UsageProblem
from grader.gradebook import exports
from grader.gradebook.exports import Export, Options
from grader.records.gradebook import Gradebook, Person
from tests.gradebook.factory import ADA, BLAISE, CHEN, only, row, small
from tests.receipt import factory

SHEET = (
    "Student,ID,SIS User ID,SIS Login ID,Section,Notes,Lab 2 (71),Sharding (72),"
    "Sharding (73),Current Score,Final Score\r\n"
    ",,,,,,,Manual Posting,,,\r\n"
    "    Points Possible,,,,,,10.00,100.00,50.00,(read only),(read only)\r\n"
    '"Lovelace, Ada",1001,S001,ada,"A, ""B""",=1+1,9.00,,,90.00,90.00\r\n'
    '"Pascal, Blaise",1002,S002,blaise,A,,EX,12.50,7.00,80.00,80.00\r\n'
    '"Wei 陳, Chen",1003,,,"A",,8.00,"","",1.00,1.00\r\n'
    '"Nobody, Nora",1009,,,A,,8.00,N/A,,1.00,1.00\r\n'
    '"Student, Test",1099,,,A,,,,,,\r\n'
)


def sheet(tmp_path: Path, text: str | bytes = SHEET) -> Path:
    place = tmp_path / "2026-03-01 Grades-JAX.csv"
    place.write_bytes(text if isinstance(text, bytes) else text.encode())
    return place


def fill(
    tmp_path: Path, text: str | bytes = SHEET, book: Gradebook | None = None, **more: Any
) -> Export:
    given: dict[str, Any] = {"column": "72", **more}
    return exports.export("canvas", book or small(), Options(sheet(tmp_path, text), **given))


def cells(data: bytes, delimiter: str = ",") -> list[list[str]]:
    text = data.decode("utf-8-sig")
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))


def test_only_the_cells_of_the_column_change(tmp_path: Path) -> None:
    ((name, data),) = fill(tmp_path).files
    assert name == "2026-03-01 Grades-JAX.csv"
    assert data.decode() == (
        SHEET
        .replace(",9.00,,,90.00", ",9.00,100.00,,90.00")
        .replace(",EX,12.50,", ",EX,90.00,")
        .replace(',8.00,"","",', ',8.00,"50.00","",')
    )  # fmt: skip


def test_changes_say_what_was_there(tmp_path: Path) -> None:
    changes = fill(tmp_path).changes
    assert [(one.who, one.before, one.after) for one in changes] == [
        ("Lovelace, Ada", "", "100.00"),
        ("Pascal, Blaise", "12.50", "90.00"),
        ("Wei 陳, Chen", "", "50.00"),
    ]
    assert {one.column for one in changes} == {"Sharding (72)"}


def test_remarks_name_everybody_without_a_partner(tmp_path: Path) -> None:
    said = "\n".join(fill(tmp_path).remarks)
    assert "In the Canvas sheet but not in the gradebook: Nobody, Nora." in said
    assert "Graded, but not found in the Canvas sheet: =HYPERLINK(" in said
    assert "2 learners without a grade, left as they were: Mary Cartwright (mary)" in said
    assert "1 grade in that column will be replaced." in said
    assert "posts manually" in said
    assert "Test" not in said


@pytest.mark.parametrize("kept", ["EX", "N/A"])
def test_excused_and_not_assigned_stay(tmp_path: Path, kept: str) -> None:
    text = SHEET.replace(",12.50,", f",{kept},")
    made = fill(tmp_path, text, only(row(BLAISE, factory.passed())))
    assert made.files[0][1].decode() == text
    assert f"Left as they were ({kept}): Pascal, Blaise." in made.remarks


def test_an_equal_grade_is_no_change(tmp_path: Path) -> None:
    text = SHEET.replace(",12.50,", ",84,")
    made = fill(tmp_path, text, only(row(BLAISE, factory.failed())))
    assert made.files[0][1].decode() == text
    assert not made.changes


@pytest.mark.parametrize("column", ["72", "(72)", "Sharding (72)", " Sharding (72) "])
def test_a_column_is_found_by_its_id_or_its_header(tmp_path: Path, column: str) -> None:
    assert fill(tmp_path, column=column).changes[0].column == "Sharding (72)"


def test_a_column_is_found_by_its_title_whatever_case(tmp_path: Path) -> None:
    assert fill(tmp_path, column="lab 2").changes[0].column == "Lab 2 (71)"


@pytest.mark.parametrize(
    ("column", "says"),
    [
        ("Sharding", r'is there 2 times\n.*"Sharding \(72\)", "Sharding \(73\)"'),
        ("Lab 9", r'no assignment column \'Lab 9\'\n.*"Lab 2 \(71\)"'),
        ("Final Score", "no assignment column"),
        ("Notes", "no assignment column"),
        ("", "Which column is to be filled"),
    ],
)
def test_a_column_that_is_not_the_only_one_is_never_made(
    tmp_path: Path, column: str, says: str
) -> None:
    with pytest.raises(UsageProblem, match=says):
        fill(tmp_path, column=column)


def test_without_a_column_the_exercise_names_it(tmp_path: Path) -> None:
    made = fill(tmp_path, book=small(title="Lab 2"), column="")
    assert made.changes[0].column == "Lab 2 (71)"


def test_a_read_only_column_is_no_candidate(tmp_path: Path) -> None:
    text = SHEET.replace("100.00,50.00", "(schreibgeschützt),50.00")
    with pytest.raises(UsageProblem, match="no assignment column '72'"):
        fill(tmp_path, text)


def test_points_are_scaled_to_the_points_possible(tmp_path: Path) -> None:
    made = fill(tmp_path, column="73")
    assert [one.after for one in made.changes] == ["50.00", "45.00", "25.00"]
    told = "Points were scaled so that full points are the 50 of the column Sharding (73)."
    assert told in made.remarks


def test_another_scale_than_the_sheets_is_told(tmp_path: Path) -> None:
    made = fill(tmp_path, scale_to=Decimal(20))
    assert made.changes[0].after == "20.00"
    assert "--scale-to is 20, but the column Sharding (72) has 100 points." in made.remarks


def test_semicolons_decimal_commas_and_a_byte_order_mark_stay(tmp_path: Path) -> None:
    text = (
        "\ufeffStudent;ID;SIS Login ID;Section;Lab (7)\n"
        "    Points Possible;;;;100,00\n"
        '"Lovelace, Ada";1001;ada;A;\n'
        'Chen;1003;;A;"3,50"\n'
    )
    made = fill(tmp_path, text, column="7")
    assert made.files[0][1].decode() == text.replace("ada;A;", "ada;A;100,00").replace(
        '"3,50"', '"50,00"'
    )


def test_last_and_first_names_may_have_a_column_each(tmp_path: Path) -> None:
    text = (
        "LastName,FirstName,ID,SIS Login ID,Section,Lab (7)\n"
        "    Points Possible,,,,,100.00\n"
        "Lovelace,Ada,,,A,\n"
        "Student,Test,5,,A,\n"
    )
    made = fill(tmp_path, text, column="7")
    assert made.files[0][1].decode() == text.replace("Ada,,,A,", "Ada,,,A,100.00")
    assert made.changes[0].who == "Ada Lovelace"


@pytest.mark.parametrize(
    "person",
    [
        Person("x", "Somebody", "", {"canvas_user": "1001"}),
        Person("x", "Somebody", "", {"sis_user": "S001"}),
        Person("x", "Somebody", "", {"sis_login": "ADA"}),
        Person("x", "ada  LOVELACE"),
        Person("x", "Lovelace, Ada"),
    ],
    ids=["id", "sis-user", "sis-login", "name", "last-first"],
)
def test_a_learner_is_found_by_ids_first_then_by_name(tmp_path: Path, person: Person) -> None:
    made = fill(tmp_path, book=only(row(person, factory.passed())))
    assert [one.who for one in made.changes] == ["Lovelace, Ada"]


def test_a_login_that_is_an_address_finds_its_learner(tmp_path: Path) -> None:
    text = SHEET.replace(",ada,", ",Ada@Example.org,")
    person = Person("x", "Countess", "ada@example.org")
    assert fill(tmp_path, text, only(row(person, factory.passed()))).changes


def test_an_id_kept_from_spreadsheets_is_still_that_id(tmp_path: Path) -> None:
    text = SHEET.replace(",S001,", ',"=""S001""",')
    person = Person("x", "", "", {"sis_user": "S001"})
    assert fill(tmp_path, text, only(row(person, factory.passed()))).changes


def test_another_id_forbids_the_name(tmp_path: Path) -> None:
    twin = Person("x", "Ada Lovelace", "", {"canvas_user": "4711"})
    made = fill(tmp_path, book=only(row(twin, factory.passed())))
    assert not made.changes
    assert any("another id differs" in one for one in made.remarks)


def test_a_name_that_two_share_finds_neither(tmp_path: Path) -> None:
    text = SHEET.replace("Pascal, Blaise", "Lovelace, Ada")
    made = fill(tmp_path, text, only(row(Person("x", "Ada Lovelace"), factory.passed())))
    assert not made.changes
    assert any("fits 2 lines" in one for one in made.remarks)


def test_two_learners_on_one_line_fill_nothing(tmp_path: Path) -> None:
    twin = Person("twin", "Ada Lovelace")
    made = fill(tmp_path, book=only(row(ADA, factory.passed()), row(twin, factory.failed())))
    assert not made.changes
    assert any("fit the same line" in one for one in made.remarks)


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "Student,ID,Lab (1)\n", "x\n" + SHEET])
def test_what_is_no_canvas_sheet_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageProblem, match="no Canvas gradebook"):
        fill(tmp_path, text)


def test_a_template_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match=r"none\.csv cannot be read"):
        exports.export("canvas", small(), Options(tmp_path / "none.csv"))


# Feedback.


def feedback(book: Gradebook, form: Any = "html") -> tuple[dict[str, bytes], tuple[str, ...]]:
    options = Options(form=form, receipt_bytes=lambda row, form: f"{row.person.key}".encode())
    made = exports.export("canvas-feedback", book, options)
    ((name, data),) = made.files
    assert name == "canvas-feedback.zip"
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        assert {info.date_time for info in archive.infolist()} <= {(1980, 1, 1, 0, 0, 0)}
        assert archive.namelist() == sorted(archive.namelist())
        return {name: archive.read(name) for name in archive.namelist()}, made.remarks


def canvas_reads(name: str) -> list[str]:
    """Return what Canvas takes out of a name: the first two parts that are all digits."""
    return [part for part in name.split("_") if part.isascii() and part.isdigit()][:2]


def test_receipts_keep_user_and_attachment() -> None:
    members, remarks = feedback(small())
    assert members["ada_1001_901001_receipt-distributed-03.html"] == b"ada"
    assert "4 receipts for Canvas." in remarks
    assert any("adds a comment each time" in one for one in remarks)
    assert any("Undecided, so no receipt yet: Zora Neale" in one for one in remarks)


@pytest.mark.parametrize(
    ("shown", "want"),
    [
        ("doejane_1234_56789_my_solution.py", "doejane_1234_56789_"),
        ("doejane_LATE_1234_56789_my_solution-1.py", "doejane_LATE_1234_56789_"),
        ("lab_submissions.zip/doejane_1234_56789_12_34_x.py", "doejane_1234_56789_"),
        ("lab.zip/doejane_1234_56789_all.zip/inner/x.py", "doejane_1234_56789_"),
        ("陳大文_1234_56789_x.py", "陳大文_1234_56789_"),
        ("anon_a1B2c_LATE_56789_x.py", "anon_a1B2c_LATE_56789_"),
        ("elsewhere.py", "adalovelace_1001_56789_"),
    ],
)
def test_the_name_is_what_canvas_gave(shown: str, want: str) -> None:
    one = row(ADA, factory.passed(), shown=shown, ids={"canvas_attachment": "56789"})
    (name,), _ = feedback(only(one), "md")
    assert name == f"{want}receipt-distributed-03.md"
    if not name.startswith("anon"):
        assert canvas_reads(name) == [want.split("_")[-3], "56789"]


def test_a_group_gets_one_receipt_under_its_representative() -> None:
    shared = {"shown": "pascalblaise_1002_77_x.py", "ids": {"canvas_attachment": "77"}}
    book = only(row(ADA, factory.passed(), **shared), row(BLAISE, factory.passed(), **shared))
    members, remarks = feedback(book)
    assert members == {"pascalblaise_1002_77_receipt-distributed-03.html": b"blaise"}
    assert any("One receipt for the group of Ada Lovelace" in one for one in remarks)


def test_a_text_entry_cannot_take_a_receipt_back() -> None:
    members, remarks = feedback(only(row(CHEN, factory.passed(), shown="x_text.html", ids={})))
    assert not members
    assert any("Without an attachment in Canvas" in one for one in remarks)
