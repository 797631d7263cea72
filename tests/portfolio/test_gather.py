"""What a portfolio takes from a folder, and that everything else is told."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from grader.errors import UsageProblem
from grader.portfolio.gather import gather
from grader.portfolio.submissions import Place, submissions
from grader.receipt import render
from grader.receipt.read import MARK
from grader.records.receipt import SourceLine
from grader.trust import page
from tests.portfolio.factory import (
    SOURCE,
    attempts,
    edited,
    failed,
    passed,
    put,
    receipts,
    submission,
)


def told(folder: Path) -> dict[str, str]:
    """Return what was left out: path below the folder -> why."""
    return {os.path.relpath(one.who, folder): one.why for one in gather(folder).told}


def test_every_attempt_is_found_oldest_first(tmp_path: Path) -> None:
    found = gather(receipts(tmp_path))
    assert [one.place for one in found.attempts] == [
        "distributed-03/history/my_solution.2026-02-28T09-00-00Z",
        "distributed-03/my_solution",
        "distributed-04/pipes",
    ]
    assert sorted(found.attempts[1].forms) == ["dsse.json", "html", "json", "md"]
    assert found.told == []


def test_the_same_receipt_in_two_places_counts_once(tmp_path: Path) -> None:
    folder = receipts(tmp_path)
    put(folder, "distributed-03/history/my_solution.2026-03-01T10-20-30Z", passed(), txt=b"text")
    put(folder, "copies/of/it", passed())
    found = gather(folder)
    assert len(found.attempts) == 3 and found.told == []
    # The copy's other forms are kept.
    assert "txt" in found.attempts[1].forms
    assert found.attempts[1].place == "distributed-03/my_solution"


def test_another_text_of_the_same_receipt_is_told(tmp_path: Path) -> None:
    folder = receipts(tmp_path)
    put(folder, "distributed-03/history/copy", passed(), md=b"# two")
    assert told(folder) == {
        "distributed-03/history/copy.md": "another text of the same receipt; "
        f"{folder}/distributed-03/my_solution.md was taken"
    }


def test_receipts_of_one_name_are_told_apart(tmp_path: Path) -> None:
    put(tmp_path, "a/answer", passed())
    put(tmp_path, "b/answer", failed())
    put(tmp_path, "c/ANSWER", passed(created_at="2026-05-01T00:00:00Z"))
    places = [one.place for one in attempts(tmp_path)]
    assert len({place.casefold() for place in places}) == 3
    assert all(place.startswith("distributed-03/") for place in places)


def test_an_instructors_record_is_never_taken(tmp_path: Path) -> None:
    folder = receipts(tmp_path)
    put(folder, "distributed-03/my_solution.instructor", passed(), html=b"seed")
    put(folder, "distributed-03/renamed", passed()).write_text('{"seed": "00"}', encoding="utf-8")
    why = "an instructor's record: it tells the seed, so no portfolio takes it"
    left = told(folder)
    assert left.pop("distributed-03/my_solution.instructor.json") == why
    assert left.pop("distributed-03/my_solution.instructor.html") == why
    assert list(left) == ["distributed-03/renamed.json"]
    assert len(attempts(folder)) == 3


BROKEN = {
    "empty": (b"", "it is no receipt: this is not strict JSON"),
    "binary": (b"\xff\xfe\x00", "it is no receipt: this is not strict JSON"),
    "list": (b"[]", "it is no receipt: this is JSON, but not one object"),
    "deep": (b"[" * 100_000, "it is no receipt: this is not strict JSON"),
    "other": (b"{}", "it is no receipt that this version reads: "),
    "doubled": (b'{"exercise": 1, "exercise": 2}', "the key 'exercise' occurs twice"),
    "schema": (edited(passed(), schema_version=2), "this version reads: schema_version: "),
    "unknown": (edited(passed(), seed="00"), "this version reads: seed: "),
    "exercise": (edited(passed(), exercise="../../up"), "it names no exercise"),
    "points": (edited(passed(), points=200), "its points are 200 of 100"),
    "negative": (edited(passed(), points=-1), "its points are -1 of 100"),
    "undated": (edited(passed(), created_at="yesterday"), "it has no date"),
    "infinite": (
        edited(passed(), checks=[{"evidence": [{"x": "@"}]}]).replace(b'"@"', b"1e999"),
        "it is no receipt: this is not strict JSON: 1e999 is larger than a number can be",
    ),
    "half": (
        edited(passed(), exercise_title="\ud800"),
        "it is no receipt: this is not strict JSON: half of a surrogate pair is no character",
    ),
    "zoneless": (edited(passed(), created_at="2026-01-01T00:00:00"), "its date has no time zone"),
    "digest": (
        edited(passed(), submission={**submission().model_dump(), "sha256": "../x"}),
        "it does not say which file was graded",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_receipt_is_told_and_left_out(name: str, tmp_path: Path) -> None:
    folder = receipts(tmp_path)
    raw, why = BROKEN[name]
    (folder / "distributed-03" / f"{name}.json").write_bytes(raw)
    (folder / "distributed-03" / f"{name}.html").write_bytes(b"page")
    found = gather(folder)
    assert len(found.attempts) == 3
    left = told(folder)
    assert why in left[f"distributed-03/{name}.json"]
    assert left[f"distributed-03/{name}.html"] == (
        "its receipt, the .json of the same name, is not there or was left out"
    )


@pytest.mark.skipif(os.name != "posix", reason="links and pipes of POSIX")
def test_no_link_is_followed_and_no_pipe_waited_for(tmp_path: Path) -> None:
    folder = receipts(tmp_path)
    secret = tmp_path / "secret"
    secret.write_text("secret", encoding="utf-8")
    (folder / "distributed-03" / "my_solution.txt").symlink_to(secret)
    (folder / "away").symlink_to(tmp_path)
    os.mkfifo(folder / "distributed-03" / "pipe.json")
    assert told(folder) == {
        "away": "a link, which is not followed",
        "distributed-03/my_solution.txt": "a link, which is not followed",
        "distributed-03/pipe.json": "no ordinary file",
    }
    assert all(b"secret" not in one for two in attempts(folder) for one in two.forms.values())


def test_what_is_no_part_of_a_receipt_is_told(tmp_path: Path) -> None:
    folder = receipts(tmp_path)
    (folder / "key.pem").write_text("PRIVATE KEY", encoding="utf-8")
    assert told(folder) == {"key.pem": "no part of a receipt"}


def test_a_folder_that_is_not_there_says_what_to_name(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem) as caught:
        gather(tmp_path / "nowhere")
    assert caught.value.sentence() == (
        f"there is no folder {tmp_path}/nowhere\n"
        "  Next: name the folder that `grade EXERCISE FILE` wrote, such as receipts"
    )


def test_a_zip_in_place_of_the_folder_leads_to_import(tmp_path: Path) -> None:
    (tmp_path / "portfolio.zip").write_bytes(b"PK")
    with pytest.raises(UsageProblem, match="grade portfolio --import ZIP"):
        gather(tmp_path / "portfolio.zip")


def test_a_submission_is_found_by_its_digest_alone(tmp_path: Path) -> None:
    own = attempts(receipts(tmp_path))
    (tmp_path / "pipes.py").write_bytes(b"other = 2\n")  # of the same name and size
    (tmp_path / "renamed.txt").write_bytes(b"answer = 0\n")
    found = submissions(own, [Place(tmp_path, False)], {})
    assert sorted(found.files.values()) == [b"answer = 0\n", SOURCE]
    assert [(one.who, one.why.partition(" (")[0]) for one in found.told] == [
        ("pipes.py", "it was not found as it was graded")
    ]


@pytest.mark.parametrize("raw", [b"a = 1\nb = 2\n", b"a = 1\r\nb = 2", "é = 1\n".encode()])
def test_a_file_written_over_comes_back_from_its_receipt(raw: bytes, tmp_path: Path) -> None:
    quoted = [SourceLine(line=n, text=t) for n, t in enumerate(raw.decode().splitlines(), 1)]
    whole: dict[str, Any] = {"source_lines": quoted, "source_cut": False}
    put(tmp_path, "a/one", passed(submission=submission(raw), **whole))
    put(tmp_path, "a/lying", failed(submission=submission(b"x"), **whole))
    found = submissions(attempts(tmp_path), [], {})
    assert list(found.files.values()) == [raw]
    assert len(found.told) == 1


def test_files_beside_a_submission_come_with_it(tmp_path: Path) -> None:
    part = submission(SOURCE, layers=b"layer = 1\n", gone=b"nowhere")
    put(tmp_path / "receipts", "distributed-03/my_solution", passed(submission=part))
    (tmp_path / "layers").write_bytes(b"layer = 1\n")
    (tmp_path / "my_solution.py").write_bytes(SOURCE)
    found = submissions(attempts(tmp_path / "receipts"), [Place(tmp_path, False)], {})
    assert [path.rpartition("/")[2] for path in found.files] == ["layers", "my_solution.py"]
    assert len({path.rpartition("/")[0] for path in found.files}) == 1
    assert [one.who for one in found.told] == ["gone"]


def test_a_receipt_cannot_name_a_file_elsewhere_as_its_sibling(tmp_path: Path) -> None:
    secret = b"not yours"
    (tmp_path / "secret").write_bytes(secret)
    part = submission(SOURCE, **{"../secret": secret})
    inner = tmp_path / "inner"
    put(inner / "receipts", "distributed-03/my_solution", passed(submission=part))
    (inner / "my_solution.py").write_bytes(SOURCE)
    found = submissions(attempts(inner / "receipts"), [Place(inner, False)], {})
    assert list(found.files.values()) == [SOURCE]
    assert [(one.who, one.why) for one in found.told] == [
        ("../secret", "no name of a file that can be kept")
    ]


def test_a_receipt_comes_back_out_of_its_page(tmp_path: Path) -> None:
    raw = render.to_json(passed()).encode()
    shown = page.with_receipt(b"<!doctype html><html><body>x</body></html>", raw)
    path = put(tmp_path, "distributed-03/mine", passed(), html=shown, md=b"# mine")
    path.unlink()
    found = gather(tmp_path)
    assert not found.told
    (one,) = found.attempts
    assert (one.place, one.forms) == (
        "distributed-03/mine",
        {"json": raw, "html": shown, "md": b"# mine"},
    )
    assert "json" not in one.sources
    put(tmp_path, "elsewhere/mine", passed())
    assert len(attempts(tmp_path)) == 1


def test_a_page_without_a_sound_receipt_stays_out(tmp_path: Path) -> None:
    body = b"<!doctype html><html><body>x</body></html>"
    (tmp_path / "a.html").write_bytes(page.with_receipt(body, b'{"exercise": 1}'))
    (tmp_path / "b.html").write_bytes(body)
    why = "its receipt, the .json of the same name, is not there or was left out"
    assert told(tmp_path) == {"a.html": why, "b.html": why}


def test_an_instructors_form_is_known_by_what_it_says(tmp_path: Path) -> None:
    mark = MARK.encode()
    raw = render.to_json(passed()).encode()
    shown = page.with_receipt(b"<!doctype html>\n<!-- " + mark + b" --><body></body>", raw)
    put(
        tmp_path,
        "a/good",
        passed(),
        txt=mark + b"\nseed",
        md=b"<!-- " + mark + b" -->\n",
        html=shown,
        dsse_json=b'{"receipt": {}, "instructor": {"seed": "00"}}',
    )
    (tmp_path / "alone.html").write_bytes(shown)
    left = told(tmp_path)
    assert left.pop("alone.html").startswith("its receipt, the .json")
    assert set(left) == {f"a/good.{ending}" for ending in ("txt", "md", "html", "dsse.json")}
    assert set(left.values()) == {
        "an instructor's record: it tells the seed, so no portfolio takes it"
    }
    assert [set(one.forms) for one in attempts(tmp_path)] == [{"json"}]
