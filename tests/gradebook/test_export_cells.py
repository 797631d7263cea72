"""Cells are found where csv.reader finds them, and filling one changes no other byte."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.errors import UsageProblem
from grader.gradebook.exports.parts.cells import filled, read
from grader.gradebook.exports.parts.spreadsheet import plain, safe

DERANDOMIZED = settings(derandomize=True, max_examples=400, deadline=None)
PIECES = st.sampled_from(
    [",", ";", '"', '""', "\r\n", "\n", "\r", " ", "a", "1,5", "é", "=", '="7"', "陳", "\t"]
)
TEXT = st.lists(PIECES, max_size=25).map("".join)


def reader(text: str, delimiter: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))


@DERANDOMIZED
@given(TEXT)
def test_cells_are_those_of_csv_reader(text: str) -> None:
    try:
        sheet = read(text.encode())
    except UsageProblem:
        assert not any(reader(text, ","))
        return
    assert [[cell.text for cell in row] for row in sheet.rows] == reader(text, sheet.delimiter)


@DERANDOMIZED
@given(TEXT, TEXT, st.integers(0, 10**6))
def test_filling_one_cell_changes_no_other(text: str, value: str, pick: int) -> None:
    try:
        sheet = read(text.encode())
    except UsageProblem:
        return
    places = [(r, c) for r, row in enumerate(sheet.rows) for c in range(len(row))]
    row, column = places[pick % len(places)]
    cell = sheet.rows[row][column]
    data = filled(sheet, {(row, column): value}).decode()
    assert data.startswith(text[: cell.start])
    assert data.endswith(text[cell.end :])
    want = reader(text, sheet.delimiter)
    want[row][column] = value
    unclosed = cell.quoted and not text[: cell.end].endswith('"')
    lone = not value and not cell.quoted and len(want[row]) == 1
    if not unclosed and not lone and not value.startswith('"'):
        assert reader(data, sheet.delimiter) == want


@DERANDOMIZED
@given(TEXT)
def test_filling_nothing_gives_the_same_bytes(text: str) -> None:
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        data = text.encode(encoding)
        try:
            assert filled(read(data), {}) == data
        except UsageProblem:
            assert not text.strip("\r\n")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_the_encoding_stays(encoding: str) -> None:
    data = 'Name;Note\r\n"Zoë";\r\n'.encode(encoding)
    sheet = read(data)
    assert sheet.delimiter == ";"
    assert sheet.cell(1, 0) == "Zoë"
    assert filled(sheet, {(1, 1): "9,5"}) == 'Name;Note\r\n"Zoë";9,5\r\n'.encode(encoding)


@pytest.mark.parametrize("data", [b"", b"\n\n", b"PK\x03\x04\x00\x00\x08\x00", b"\xff\xfe\x00"])
def test_what_is_no_csv_is_refused(data: bytes) -> None:
    with pytest.raises(UsageProblem):
        read(data)


@DERANDOMIZED
@given(st.text(max_size=20) | TEXT)
def test_a_safe_cell_acts_nowhere_and_comes_back(text: str) -> None:
    cell = safe(text)
    assert cell[:1] not in set("=+-@\t\r")
    assert plain(cell) == text
