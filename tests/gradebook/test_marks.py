"""The sheet for marks by hand comes back whole from any spreadsheet, and loses nothing."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from grader.errors import UsageProblem
from grader.gradebook import marks
from grader.records.gradebook import Gradebook, Mark
from tests.gradebook.factory import ADA, BLAISE, MARY, only, row, small
from tests.receipt import factory

HEAD = "key,name,item,points,max_points,comment,text\n"
Marks = dict[str, tuple[Mark, ...]]


def written(folder: Path, text: str | bytes) -> Path:
    place = folder / "marks.csv"
    place.write_bytes(text if isinstance(text, bytes) else text.encode())
    return place


def read(folder: Path, text: str | bytes) -> Marks:
    return marks.read(written(folder, text))


def round_trip(folder: Path, known: Marks, book: Gradebook | None = None) -> Marks:
    return read(folder, marks.sheet(book or small(), known))


def cells(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_a_new_sheet_asks_for_everybody_who_has_a_grade() -> None:
    lines = cells(marks.sheet(small(), {}))
    assert [line["key"] for line in lines] == [
        one.person.key for one in small().rows if one.receipt is not None
    ]
    assert {(line["item"], line["points"], line["comment"]) for line in lines} == {
        ("explanation", "", "")
    }


def test_an_empty_sheet_gives_no_marks(tmp_path: Path) -> None:
    assert round_trip(tmp_path, {}) == {}


@pytest.mark.parametrize(
    "comment",
    [
        "",
        "good",
        "a, b; c",
        'says "no"',
        "two\nlines",
        "=1+1",
        "'=1+1",
        "-",
        "@x",
        "'quoted'",
        "é王",
    ],
)
def test_marks_come_back_as_they_were(tmp_path: Path, comment: str) -> None:
    known: Marks = {"ada": (Mark("explanation", 2.5, 5.0, comment),)}
    once = round_trip(tmp_path, known)
    assert once == known
    assert round_trip(tmp_path, once) == known


def test_no_cell_is_a_formula() -> None:
    known: Marks = {"ada": (Mark("=item", 1.0, 2.0, "=cmd()"),)}
    found = [cell for line in cells(marks.sheet(small(), known)) for cell in line.values()]
    assert "'=cmd()" in found
    assert not [cell for cell in found if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]


def test_further_items_are_kept_beside_the_explanation(tmp_path: Path) -> None:
    known: Marks = {"ada": (Mark("style", 1.0, 2.0), Mark("explanation", 2.0, 5.0))}
    assert round_trip(tmp_path, known) == known
    alone: Marks = {"ada": (Mark("style", 1.0, 2.0),)}
    lines = [line for line in cells(marks.sheet(small(), alone)) if line["key"] == "ada"]
    assert [(line["item"], line["points"]) for line in lines] == [
        ("explanation", ""), ("style", "1.0"),
    ]  # fmt: skip


def test_marks_of_somebody_without_a_grade_now_are_kept(tmp_path: Path) -> None:
    # Undecided after a change of the rubric, or not in this week's export.
    known: Marks = {
        "mary": (Mark("explanation", 1.0, 5.0, "from before"),),
        "gone": (Mark("explanation", 2.0, 5.0),),
    }
    assert round_trip(tmp_path, known) == known
    assert round_trip(tmp_path, known, only(row(MARY, None, status="undecided"))) == known


def test_the_explanation_stands_beside_its_mark() -> None:
    separate = factory.passed().separate.model_copy(
        update={"explanation": {"why": "bytes", "how": "=x"}}
    )
    book = only(row(ADA, factory.passed(separate=separate)), row(BLAISE, factory.passed()))
    assert cells(marks.sheet(book, {}))[0]["text"] == "why: bytes | how: =x"


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "ada,Ada,explanation,2.5,5,well done,\n",
        HEAD + 'ada,Ada,explanation,"2,5",5,well done,\n',
        HEAD.replace(",", ";") + "ada;Ada;explanation;2,5;5,0;well done;\n",
        "\ufeff" + HEAD.replace(",", ";") + "ada;Ada;explanation;2,5;5,0;well done;\n",
        "\ufeff" + HEAD + "ada,Ada,explanation,2.5,5,well done,\n",
        (HEAD + "ada,Ada,explanation,2.5,5,well done,\n").replace("\n", "\r\n"),
        "comment,points,key,max_points\nwell done, 2.5 ,ada,5\n",
        HEAD + "\n,,,,,,\nada,Ada,,2.5,5,well done\n",
        HEAD + "ada,Ada,explanation,2.5,5,well done,,,,\n",
    ],
    ids=["plain", "decimal-comma", "semicolons", "bom-semicolons", "bom", "crlf", "columns-moved",
         "blank-and-short-lines", "long-line"],
)  # fmt: skip
def test_every_spreadsheets_own_way_is_understood(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text) == {"ada": (Mark("explanation", 2.5, 5.0, "well done"),)}


def test_a_line_that_is_not_filled_in_is_no_mark(tmp_path: Path) -> None:
    assert read(tmp_path, HEAD + "ada,Ada,explanation, ,5,not yet,\n") == {}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("ada,Ada,explanation,many,5,,", "line 3: points is 'many'"),
        ("ada,Ada,explanation,-1,5,,", "line 3: points is '-1'"),
        ("ada,Ada,explanation,nan,5,,", "line 3: points is 'nan'"),
        ("ada,Ada,explanation,1e999,5,,", "line 3: points is '1e999'"),
        ("ada,Ada,explanation,3,,,", "line 3: max_points is ''"),
        ("ada,Ada,explanation,3", "line 3: max_points is ''"),
    ],
)
def test_a_number_that_is_none_is_named_with_its_line(tmp_path: Path, line: str, says: str) -> None:
    with pytest.raises(UsageProblem) as raised:
        read(tmp_path, f"{HEAD}bob,Bob,explanation,1,5,,\n{line}\n")
    assert raised.value.what == f"the marks file, {says}, not a number of points"
    assert raised.value.where == str(tmp_path / "marks.csv")
    assert raised.value.next_step == (
        "write a number such as 3 or 2.5, and the most there can be in max_points"
    )


@pytest.mark.parametrize(
    ("text", "column"),
    [("", "key"), ("name,points\n", "key"), ("key,points\n", "max_points"),
     ("key\tpoints\tmax_points\n", "key")],
)  # fmt: skip
def test_a_column_that_is_missing_is_named(tmp_path: Path, text: str, column: str) -> None:
    with pytest.raises(UsageProblem) as raised:
        read(tmp_path, text)
    assert raised.value.what == f"the marks file lacks the column {column}"
    assert raised.value.next_step == "keep the header that `grade marks` writes"


def test_a_file_that_is_no_text_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="the marks file cannot be read: 'utf-8' codec"):
        read(tmp_path, HEAD.encode("utf-16"))
    with pytest.raises(UsageProblem, match="the marks file cannot be read: No such file"):
        marks.read(tmp_path / "nowhere.csv")


def test_a_cell_without_bounds_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="the marks file is no CSV: field larger than"):
        read(tmp_path, HEAD + 'ada,Ada,explanation,1,5,"' + "x" * 200_000)
