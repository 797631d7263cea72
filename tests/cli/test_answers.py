"""What `grade predict` and `grade quiz` were answered is kept apart, privately, and honestly."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from grader import answers, remembered
from grader.answers import Answer, Quiz
from grader.errors import EnvironmentProblem

pytestmark = pytest.mark.once
ID = "tiny-01"


def test_nothing_is_remembered_at_first(tmp_path: Path) -> None:
    assert answers.predicted(ID, tmp_path) is None
    assert answers.checkpoint(ID, tmp_path) is None
    assert answers.quiz(ID, tmp_path) is None
    assert answers.tried(ID, tmp_path) is None


def test_answers_are_kept_by_exercise_and_question(tmp_path: Path) -> None:
    answers.predict(ID, {"step": 8, "whole": True}, tmp_path)
    answers.predict(ID, {"why": "so"}, tmp_path)
    answers.predict("other-01", {"step": 1}, tmp_path)
    assert answers.predicted(ID, tmp_path) == {"step": 8, "whole": True, "why": "so"}
    assert answers.predicted("other-01", tmp_path) == {"step": 1}


def test_when_an_answer_was_given_is_kept_with_it(tmp_path: Path) -> None:
    answers.predict(ID, {"kept": 8, "again": 2, "changed": True}, tmp_path)
    answers.try_once(ID, "2026-03-01T10:20:30Z", tmp_path)
    answers.predict(ID, {"again": 2, "changed": False, "late": 4}, tmp_path)
    # A one is no yes, although Python takes them to be equal.
    answers.predict(ID, {"late": 5}, tmp_path)
    assert {key: one.when for key, one in answers.given(ID, tmp_path).items()} == {
        "kept": "before",
        "again": "before",
        "changed": "changed",
        "late": "after",
    }
    answers.predict(ID, {"changed": True}, tmp_path)
    assert answers.given(ID, tmp_path)["changed"] == Answer(True, "changed")


def test_the_first_graded_try_stays_the_first(tmp_path: Path) -> None:
    for at in ("2026-03-01T10:20:30Z", "2026-03-02T10:20:30Z"):
        answers.try_once(ID, at, tmp_path)
    assert answers.tried(ID, tmp_path) == "2026-03-01T10:20:30Z"
    assert answers.tried("other-01", tmp_path) is None


def test_the_first_answer_to_the_quiz_and_the_number_of_tries_are_kept(tmp_path: Path) -> None:
    for letter in "abc":
        answers.answer_quiz(ID, letter, tmp_path)
    assert answers.quiz(ID, tmp_path) == Quiz("a", "c", 3)
    assert answers.checkpoint(ID, tmp_path) == "c"
    for _ in range(answers.MOST_TRIES):
        answers.answer_quiz(ID, "b", tmp_path)
    assert answers.quiz(ID, tmp_path) == Quiz("a", "b", answers.MOST_TRIES)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"tiny-01": 3}', "[" * 100_000, "\xff", '{"tiny-01": {}}']
)
def test_a_broken_file_counts_as_none_and_is_kept_aside(tmp_path: Path, text: str) -> None:
    (tmp_path / "answers.json").write_text(text, encoding="latin-1")
    assert answers.predicted(ID, tmp_path) is None
    answers.predict(ID, {"step": 8}, tmp_path)
    assert answers.predicted(ID, tmp_path) == {"step": 8}
    aside = tmp_path / f"answers.json{remembered.BROKEN}"
    assert not aside.exists() or aside.read_text(encoding="latin-1") == text
    assert aside.exists() == (not text.startswith('{"'))


@pytest.mark.parametrize(
    "one",
    [
        "3",
        '{"answer": 8}',
        '{"answer": 8, "when": "never"}',
        '{"answer": 8, "when": ["before"]}',
        '{"answer": -1, "when": "before"}',
        '{"answer": 1e400, "when": "before"}',
        '{"answer": 2.5, "when": "before"}',
        '{"answer": null, "when": "before"}',
        '{"answer": 9007199254740992, "when": "before"}',
    ],
)
def test_what_is_no_answer_is_passed_over(tmp_path: Path, one: str) -> None:
    kept = '{"answer": 8, "when": "before"}'
    text = f'{{"{ID}": {{"predictions": {{"bad": {one}, "good": {kept}}}, "quiz": {one}}}}}'
    (tmp_path / "answers.json").write_text(text)
    assert answers.given(ID, tmp_path) == {"good": Answer(8, "before")}
    assert answers.quiz(ID, tmp_path) is None


def test_half_a_character_becomes_one_that_a_receipt_can_hold(tmp_path: Path) -> None:
    answers.predict(ID, {"why": "a\ud800b"}, tmp_path)
    assert answers.predicted(ID, tmp_path) == {"why": "a?b"}


def test_what_another_version_keeps_stays(tmp_path: Path) -> None:
    file = tmp_path / "answers.json"
    file.write_text(json.dumps({"new": 1, ID: {"new": [2], "quiz": "?"}, "other-01": {"x": 1}}))
    answers.predict(ID, {"step": 8}, tmp_path)
    found = json.loads(file.read_text())
    assert (found["new"], found[ID]["new"], found["other-01"]) == (1, [2], {"x": 1})


@pytest.mark.skipif(os.name != "posix", reason="modes and pipes as POSIX has them")
def test_the_file_is_private_and_a_pipe_in_its_place_blocks_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "grade"
    answers.predict(ID, {"step": 8}, folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "answers.json").stat().st_mode & 0o777 == 0o600
    os.mkfifo(tmp_path / "answers.json")
    assert answers.predicted(ID, tmp_path) is None


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(EnvironmentProblem) as caught:
        answers.predict(ID, {"step": 8}, tmp_path / "file")
    assert caught.value.what == "the answers cannot be kept: Not a directory"
    assert caught.value.next_step == "set XDG_STATE_HOME to a folder that can be written"
