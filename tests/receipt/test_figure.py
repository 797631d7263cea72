"""The figure draws this submission's own data, and its programs come from the rubric's rows."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

from grader.errors import ContentProblem
from grader.receipt.figure import figure, ticks
from grader.receipt.render import render
from grader.records.receipt import PayloadModel, PayloadRow, Receipt
from tests.receipt import factory

TEMPLATES = [Path(__file__).parents[2] / "templates"]
SVG = "{http://www.w3.org/2000/svg}"


def model(*labels: str) -> PayloadModel:
    rows = [
        PayloadRow(program=label, model_bytes_per_rank=48.0, values_per_device=8)
        for label in labels
    ]
    return PayloadModel(label="A model", assumptions=[], rows=rows)


def bars(receipt: Receipt) -> list[tuple[int | None, float, float | None]]:
    drawn = figure(receipt)
    assert drawn is not None
    return [(bar.stored, bar.model, bar.compiled) for bar in drawn.bars]


def test_a_bar_of_two_programs_stores_what_the_last_stores_and_sends_what_both_send() -> None:
    labels = ("all_gradient", "shard_gradient", "shard_gradient + gather")
    found = bars(factory.passed(payload_model=model(*labels)))
    assert found == [(8, 48.0, 48.0), (2, 48.0, 24.0), (8, 48.0, 48.0)]


def test_any_exercises_programs_make_the_bars() -> None:
    rows = factory.compiled(
        factory.row("step", factory.ALL_GATHER, shape=[3, 4]),
        factory.row("again", factory.ALL_REDUCE, shape=[]),
    )
    receipt = factory.passed(payload_model=model("step+again+step", "again"), compiled_bytes=rows)
    assert bars(receipt) == [(12, 48.0, 96.0), (1, 48.0, 48.0)]


def test_what_was_not_observed_is_said_and_never_drawn() -> None:
    rows = factory.compiled(factory.row("step", shape=[8], bytes_per_rank=None))
    receipt = factory.passed(payload_model=model("step", "step + gone"), compiled_bytes=rows)
    assert bars(receipt) == [(8, 48.0, None), (None, 48.0, None)]
    html = render(receipt, "html", TEMPLATES)
    assert html.count(">compiled: unknown<") == 2
    assert html.count(">not observed<") == 1


def test_without_a_model_there_is_no_figure() -> None:
    assert figure(factory.undecided()) is None
    assert "<svg" not in render(factory.undecided(), "html", TEMPLATES)


def test_the_csv_is_the_same_data_shown_and_offered() -> None:
    drawn = figure(factory.passed(payload_model=model("shard_gradient, = gather")))
    assert drawn is not None
    kind, _, text = drawn.csv_url.partition(",")
    assert kind == "data:text/csv;charset=utf-8"
    assert unquote(text) == drawn.csv
    assert list(csv.reader(io.StringIO(drawn.csv))) == [
        ["bar", "values_stored_per_device", "model_bytes_per_rank", "compiled_bytes_per_rank"],
        ["shard_gradient, = gather", "", "48", ""],
    ]


def test_the_drawing_is_svg_with_axes_units_and_words_for_who_cannot_see_it() -> None:
    html = render(factory.passed(), "html", TEMPLATES)
    svg = ElementTree.fromstring(html[html.index("<svg") : html.index("</svg>") + 6])
    texts = [str(part.text) for part in svg.iter(f"{SVG}text")]
    assert {"values of the result per device", "bytes per rank"} <= set(texts)
    assert {"48 B model", "48 B compiled", "24 B model"} <= set(texts)
    assert svg.get("role") == "img"
    desc = svg.find(f"{SVG}desc")
    assert desc is not None
    assert "shard_gradient: 2 values stored on each device; 24 bytes per rank" in str(desc.text)


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([8, 2, 8], [0, 2, 4, 6, 8]), ([48.0, 24.0], [0, 20, 40, 60]), ([None], [0, 1]),
        ([0], [0, 1]), ([1], [0, 1]), ([3], [0, 1, 2, 3]), ([1e6], [0, 5e5, 1e6]),
        ([1_572_864.0], [0, 5e5, 1e6, 1.5e6, 2e6]),
    ],
)  # fmt: skip
def test_ticks_are_round_few_and_reach_the_largest(
    numbers: list[float | None], expected: list[float]
) -> None:
    assert ticks(numbers) == expected


@pytest.mark.parametrize(
    ("text", "line", "named"),
    [("<svg>\n{{ figure.brs }}</svg>", 2, "brs"), ("<svg>\n\n{% for x in %}", 3, "for")],
)
def test_a_broken_figure_names_file_line_and_variable(
    tmp_path: Path, text: str, line: int, named: str
) -> None:
    (tmp_path / "figure.svg.j2").write_text(text)
    with pytest.raises(ContentProblem) as caught:
        render(factory.passed(), "html", [tmp_path, *TEMPLATES])
    said = caught.value.sentence()
    assert f"{tmp_path / 'figure.svg.j2'}, line {line}" in said
    assert named in said


def test_the_courses_own_figure_comes_first_and_a_missing_one_is_named(tmp_path: Path) -> None:
    (tmp_path / "figure.svg.j2").write_text("<svg><text>{{ figure.bars|length }}</text></svg>")
    html = render(factory.passed(), "html", [tmp_path, *TEMPLATES])
    assert "<svg><text>3</text></svg>" in html
    (tmp_path / "figure.svg.j2").unlink()
    (tmp_path / "receipt.html.j2").write_text("{% include 'figure.svg.j2' %}")
    with pytest.raises(ContentProblem, match=r"figure\.svg\.j2 is missing"):
        render(factory.passed(), "html", [tmp_path])
