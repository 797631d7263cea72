"""A line of all cells as one text is named by its cell, and by its line there."""

from __future__ import annotations

import pytest

from grader.records.cells import Cells, packed, place, reworded, said, unpacked
from grader.records.evidence import Evidence, Outcome, Output, Program
from grader.records.submission import Submission
from grader.sandbox.places import in_cells

CELLS = Cells(("a\nb", "", "c\nd\ne"), ("a\nb", "", "c\nd\ne"))
STARTS = CELLS.starts


def test_all_cells_are_one_text() -> None:
    assert CELLS.code == b"a\nb\n\nc\nd\ne"
    assert STARTS == (1, 3, 4)
    assert Cells((), ()).starts == ()


@pytest.mark.parametrize(
    ("line", "cell", "inner"), [(1, 1, 1), (2, 1, 2), (3, 2, 1), (4, 3, 1), (6, 3, 3)]
)
def test_each_line_lies_in_one_cell(line: int, cell: int, inner: int) -> None:
    assert place(STARTS, line) == (cell, inner)
    assert said(STARTS, line) == f"cell {cell}, line {inner}"
    text = CELLS.code.decode().split("\n")[line - 1]
    assert CELLS.texts[cell - 1].split("\n")[inner - 1] == text


def test_a_line_of_a_module_is_a_line() -> None:
    assert said((), 7) == "line 7"


def test_texts_come_out_of_a_frame_as_they_went_in() -> None:
    for texts in ((), ("",), ("a,b\n", "é"), ("", "")):
        assert unpacked(packed(texts)) == texts


@pytest.mark.parametrize(
    ("text", "better"),
    [
        ('File "n.ipynb", line 5, in f', 'File "n.ipynb", cell 3, line 2, in f'),
        ('File "run-x/n.ipynb", line 5', 'File "run-x/n.ipynb", cell 3, line 2'),
        ("n.ipynb:5: UserWarning: no", "n.ipynb, cell 3, line 2: UserWarning: no"),
        ("created at n.ipynb:5:9 (f)", "created at n.ipynb, cell 3, line 2 (f)"),
        ('File "other.py", line 5', 'File "other.py", line 5'),
        ("on line 5 of n.ipynb", "on line 5 of n.ipynb"),
        ("nxipynb:5", "nxipynb:5"),
    ],
)
def test_what_python_says_is_given_the_cell(text: str, better: str) -> None:
    assert reworded(STARTS, "n.ipynb", text) == better
    assert reworded((), "n.ipynb", text) == text


NOTEBOOK = Submission("n.ipynb", "n.ipynb", b"{}", cells=CELLS)


def outcome(kind: str, message: str, line: int | None, **more: object) -> Outcome:
    found = Evidence(outcome=Outcome(kind, message, line, **more))  # type: ignore[arg-type]
    return in_cells(found, NOTEBOOK).outcome


def test_sentences_of_ours_name_the_cell() -> None:
    told = outcome(
        "wall_limit", "did not end in time at line 5, in `x`", 5, frames=("line 4, in f",)
    )
    assert told.message == "did not end in time at cell 3, line 2, in `x`"
    assert (told.place, told.line, told.frames) == ("cell 3, line 2", 5, ("cell 3, line 1, in f",))


def test_the_words_of_an_exception_stay_the_learners() -> None:
    told = outcome("raised", "ValueError: bad data at line 5", 4)
    assert told.message == "ValueError: bad data at line 5"
    assert told.place == "cell 3, line 1"


def test_what_to_try_fits_a_notebook() -> None:
    step = "close that bracket; `python -m py_compile n.ipynb` tells whether that was all"
    assert outcome("syntax_error", "no", 1, next_step=step).next_step == (
        "close that bracket; running that cell in Jupyter tells whether that was all"
    )
    step = "run `python -m py_compile n.ipynb` and mend that line"
    assert outcome("syntax_error", "no", 1, next_step=step).next_step == (
        "run that cell in Jupyter and mend that line"
    )
    step = "run the file with python, mend that line, and grade again"
    assert outcome("raised", "no", 1, next_step=step).next_step == (
        "run the notebook from its top, mend that line, and grade again"
    )


def test_output_and_refusals_of_programs_name_the_cell() -> None:
    found = Evidence(
        outcome=Outcome("finished"),
        programs={"f": Program("f", "refused", reason="at n.ipynb:6:1")},
        output=Output(head="n.ipynb:1: Warning", tail="n.ipynb:2: Warning"),
    )
    told = in_cells(found, NOTEBOOK)
    assert told.programs["f"].reason == "at n.ipynb, cell 3, line 3"
    assert told.output.head == "n.ipynb, cell 1, line 1: Warning"
    assert told.output.tail == "n.ipynb, cell 1, line 2: Warning"
    module = Submission("n.ipynb", "n.ipynb", b"")
    assert in_cells(found, module) is found
