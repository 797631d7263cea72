"""The lines in question are quoted with their neighbours; the whole submission is there too."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.receipt.quoting import excerpts, listing, numbered
from grader.receipt.render import Form, render
from grader.records.receipt import Receipt
from tests.receipt import factory

TEMPLATES = [Path(__file__).parents[2] / "templates"]


def test_a_line_comes_with_two_on_either_side() -> None:
    (piece,) = excerpts(factory.failed(), [41])
    assert [line.number for line in piece.lines] == [39, 40, 41, 42, 43]
    assert [line.number for line in piece.lines if line.marked] == [41]
    assert piece.named == "line 41"


def test_lines_whose_neighbours_touch_are_one_piece() -> None:
    found = excerpts(factory.failed(), [1, 10, 13, 41, 41, None])
    assert [piece.named for piece in found] == ["line 1", "lines 10 and 13", "line 41"]
    assert [line.number for line in found[0].lines] == [1, 2, 3]


def test_a_line_that_the_receipt_does_not_hold_is_not_quoted() -> None:
    assert excerpts(factory.failed(), [400]) == []
    assert excerpts(factory.failed(source_lines=[], source_cut=None), [41]) == []


def test_text_marks_the_line_in_front() -> None:
    (piece,) = excerpts(factory.error(), [57])
    assert numbered(piece.lines).split("\n") == [
        "  55  a55 = 55", "  56  a56 = 56", "> 57  new_v = step(vs, g)", "  58  a58 = 58",
        "  59  a59 = 59",
    ]  # fmt: skip
    assert numbered([]) == ""


def test_the_whole_submission_is_listed_with_every_line_in_question_marked() -> None:
    found = listing(factory.failed())
    assert [line.number for line in found] == list(range(1, 61))
    assert [line.number for line in found if line.marked] == [41]
    assert [line.number for line in listing(factory.error()) if line.marked] == [57]


def test_a_submission_too_long_to_keep_is_said_to_be_cut() -> None:
    assert "Too long to be kept whole" in render(factory.failed(source_cut=True), "html", TEMPLATES)
    assert "Too long to be kept" not in render(factory.failed(), "html", TEMPLATES)


def notebook() -> Receipt:
    """Return a receipt of a notebook whose cells begin at lines 1, 40 and 42."""
    found = factory.failed()
    part = found.submission.model_copy(update={"format": "ipynb", "cells": [1, 40, 42]})
    return found.model_copy(update={"submission": part})


def test_a_notebooks_lines_are_quoted_by_cell() -> None:
    (piece,) = excerpts(notebook(), [41])
    assert piece.named == "cell 2, line 2"
    above, below = numbered(piece.lines).split("\n")
    assert above.startswith("  2:1  ")
    assert below == f"> 2:2  {piece.lines[1].text}"
    found = excerpts(notebook(), [39, 42, 44])
    assert [piece.named for piece in found] == ["cell 1, line 39", "cell 3, lines 1 and 3"]
    assert [line.label for line in listing(notebook())][38:43] == [
        "1:39",
        "2:1",
        "2:2",
        "3:1",
        "3:2",
    ]


@pytest.mark.parametrize("form", ["html", "md", "txt"])
def test_how_a_notebook_ended_names_the_cell(form: Form) -> None:
    found = factory.error()
    part = found.submission.model_copy(update={"format": "ipynb", "cells": [1, 50]})
    text = render(found.model_copy(update={"submission": part}), form, TEMPLATES)
    assert "at cell 2, line 8" in text
