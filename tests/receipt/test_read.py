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
