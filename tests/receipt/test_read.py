"""A stored receipt is read strictly, and whatever is wrong with a file is said in plain words."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from grader.errors import UsageProblem
from grader.receipt import read
from grader.receipt.render import to_json
from tests.receipt import factory

RECEIPT = factory.failed()
TEXT = to_json(RECEIPT)
FIELDS: dict[str, Any] = json.loads(TEXT)
pytestmark = pytest.mark.once


def said(path: Path) -> str:
    with pytest.raises(UsageProblem) as caught:
        read.receipt(str(path))
    message = caught.value.sentence()
    assert path.name in message
    assert "Next: " in message
    return message


def put(folder: Path, text: str | bytes, name: str = "mine.json") -> Path:
    raw = text.encode() if isinstance(text, str) else text
    (folder / name).write_bytes(raw)
    return folder / name


def test_what_was_written_is_read_as_it_was(tmp_path: Path) -> None:
    assert read.receipt(str(put(tmp_path, TEXT))) == RECEIPT
    assert read.receipt(str(put(tmp_path, "\ufeff" + TEXT))) == RECEIPT


def test_a_page_gives_the_receipt_that_is_embedded_in_it(tmp_path: Path) -> None:
    data = TEXT.replace("<", "\\u003c")
    block = f'<script type="application/vnd.grade.receipt+json" id="grade-receipt">{data}</script>'
    page = f"<!doctype html>\n<html><body><script>var a</script>{block}</body></html>"
    assert read.receipt(str(put(tmp_path, page, "mine.html"))) == RECEIPT
    assert "holds 2 receipts" in said(put(tmp_path, page + block, "mine.html"))
    message = said(put(tmp_path, "<!doctype html><p>Passed", "mine.html"))
    assert "holds no receipt's data" in message
    assert "name the .json receipt instead" in message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (TEXT[: len(TEXT) // 2], "ends in the middle: it was cut"),
        (TEXT[:-3], "ends in the middle: it was cut"),
        ("# Passed\n", "is not JSON: Expecting value (line 1, column 1)"),
        (b"\xff\xfe{}", "is not JSON"),
        (b"\x80\x81", "is not JSON"),
        ("[" * 100_000, "is not JSON: nested too deeply"),
        ('{"a": 1, "a": 2}', "is not JSON: a field stands in it twice"),
        ('{"wall_s": NaN}', "is not JSON: NaN is no number of JSON"),
        ("[]", "is no receipt of schema 1: the whole"),
        ("{}", "is no receipt of schema 1: exercise is missing"),
        (json.dumps({**FIELDS, "bonus": 3}), "bonus is a field that schema 1 does not have"),
        (json.dumps({**FIELDS, "points": "100"}), "points - Input should be a valid integer"),
        (json.dumps({**FIELDS, "wall_s": 10**400}), "is no receipt of schema 1: wall_s"),
        (TEXT.replace('"wall_s": ', '"wall_s": 1e999, "x": ', 1), "a number in it is too large"),
        (json.dumps({**FIELDS, "exercise_title": "\ud800"}), "half a character (a lone surrogate)"),
        (json.dumps({**FIELDS, "\udfff": 1}), "half a character (a lone surrogate)"),
        (json.dumps({**FIELDS, "schema_version": 2}), "is of schema 2, and this grade reads"),
        (json.dumps({**FIELDS, "schema_version": True}), "is of schema True"),
        ('{"payloadType": "x", "payload": "", "signatures": []}', "is a signature"),
        ('{"schema_version": 1, "seed": "00"}', "is an instructor's record, and a receipt is"),
        ('{"receipt": {}, "instructor": {}}', "is an instructor's view of a receipt"),
    ],
)
def test_what_is_no_receipt_is_said(tmp_path: Path, text: str | bytes, message: str) -> None:
    assert message in said(put(tmp_path, text))


def test_an_unknown_schema_tells_what_to_do(tmp_path: Path) -> None:
    message = said(put(tmp_path, json.dumps({**FIELDS, "schema_version": 2})))
    assert "use the version of grade that wrote it, or a newer one" in message


def test_a_message_shows_no_escape_sequence_of_the_file(tmp_path: Path) -> None:
    assert "\x1b" not in said(put(tmp_path, json.dumps({**FIELDS, "\x1b[2J": 1})))
    assert "\x1b" not in said(put(tmp_path, json.dumps({**FIELDS, "schema_version": "\x1b[2J"})))


def test_files_that_cannot_be_receipts_are_named(tmp_path: Path) -> None:
    assert "there is no file" in said(tmp_path / "none.json")
    assert "is a folder, and one receipt is wanted here" in said(tmp_path)
    place = put(tmp_path, "")
    os.truncate(place, read.MOST_BYTES + 1)
    assert "is larger than 16 MiB" in said(place)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    assert "is no ordinary file" in said(tmp_path / "pipe.json")


def test_a_receipt_is_no_instructors_record(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="is a receipt, and an instructor's record is wanted"):
        read.instructor_record(str(put(tmp_path, TEXT)))


def _held(index: list[list[int]], shape: list[int], values: list[float]) -> str:
    """Return an instructor's record in which one device holds this."""
    data = {"shape": shape, "dtype": "float32", "values": values}
    held = [{"device": 0, "index": index, "data": data}]
    fields = {
        "exercise": RECEIPT.exercise,
        "submission": FIELDS["submission"],
        "rubric_sha256": "0" * 64,
        "seed": "00",
        "seed_source": "course secret",
        "evidence_digest": "0" * 64,
        "created_at": RECEIPT.created_at,
        "observed": [{"case": "hidden_0", "program": "gather", "held": held}],
    }
    return json.dumps(fields)


@pytest.mark.parametrize(
    ("index", "shape", "values", "message"),
    [
        ([[0, 1]] * 40, [1, 2], [1.0], "another number of dimensions than its place"),
        ([], [2], [1.0], "another number of dimensions than its place"),
        ([[0, 2, 1]], [2], [1.0], "lies where none can"),
        ([[0]], [2], [1.0], "lies where none can"),
        ([[-4, 2]], [2], [1.0], "lies where none can"),
        ([[2, 1]], [2], [1.0], "lies where none can"),
        ([[0, 2**70]], [2], [1.0], "lies where none can"),
        ([[0, 2], [0, 4]], [-2, -4], [1.0], "has a shape that none can have"),
        ([[0, 1]] * 70, [1] * 70, [1.0], "has a shape that none can have"),
        ([[0, 2]], [2**70], [1.0], "has a shape that none can have"),
        ([[0, 1]], [1], [1.0, 2.0], "has more values than its shape"),
    ],
)
def test_a_record_of_no_array_is_refused(
    tmp_path: Path, index: list[list[int]], shape: list[int], values: list[float], message: str
) -> None:
    path = put(tmp_path, _held(index, shape, values), "mine.instructor.json")
    with pytest.raises(UsageProblem) as caught:
        read.instructor_record(str(path))
    assert message in caught.value.what
    assert " is no instructor's record: " in caught.value.what


def test_a_record_of_an_array_is_read(tmp_path: Path) -> None:
    for index, shape in (([[0, 2]], [2]), ([], []), ([[0, 0]], [0])):
        values = [1.0] if shape != [0] else []
        path = put(tmp_path, _held(index, shape, values), "mine.instructor.json")
        assert read.instructor_record(str(path)).observed[0].held[0].index == index
