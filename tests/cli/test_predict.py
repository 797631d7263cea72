"""`grade predict` asks before the first run, and a learner's own receipt shows the answers."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from grader import answers, hints
from grader.catalog.course import Course
from grader.catalog.load import entry
from grader.catalog.questions import problems
from grader.errors import ContentProblem
from tests.command import (
    EXERCISE,
    ROOT,
    STARTER_FILLED,
    TIMEOUT_S,
    Ran,
    command,
    environment,
    run,
)
from tests.test_audit import small_course

ENTRY = entry(Course(ROOT), EXERCISE)
IDS = [question.id for question in ENTRY.questions.predictions]
ALL = {"all_gradient": 8, "shard_gradient": 8, "gather": 8, "complete": True, "equal_storage": True}
RIGHT = {**ALL, "shard_gradient": 2, "complete": False, "equal_storage": False}


def state(folder: Path) -> Path:
    return folder / "state" / "grade"


def ask(cwd: Path, *args: str | Path) -> Ran:
    return run("predict", EXERCISE, *args, cwd=cwd, env={"XDG_STATE_HOME": str(cwd / "state")})


def typed(cwd: Path, text: str | bytes, *args: str) -> subprocess.CompletedProcess[str]:
    raw = text.encode() if isinstance(text, str) else text
    done = subprocess.run(
        command(*(args or ("predict", EXERCISE))),
        cwd=cwd,
        env=environment(XDG_STATE_HOME=str(cwd / "state")),
        input=raw,
        capture_output=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    said = [done.stdout.decode("utf-8"), done.stderr.decode("utf-8")]
    return subprocess.CompletedProcess(done.args, done.returncode, *said)


# ------------------------------------------------------------------------------------------- asking


@pytest.mark.once
def test_questions_are_asked_one_by_one_and_may_be_skipped(tmp_path: Path) -> None:
    ran = typed(tmp_path, "8\n\nmany\n-1\n2.5\n4\nNO\ny\n")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert answers.predicted(EXERCISE, state(tmp_path)) == {
        "all_gradient": 8,
        "gather": 4,
        "complete": False,
        "equal_storage": True,
    }
    places = [ran.stdout.index(f"{number} of 5") for number in range(1, 6)]
    assert places == sorted(places)
    assert ran.stdout.count("That is not a whole number. Enter skips it.") == 3
    assert ran.stdout.endswith(
        "4 answers are kept.\n"
        "  The receipt will show your answers beside what was observed.\n"
        f"  Next: grade {EXERCISE} FILE   (`grade start {EXERCISE}` writes one)\n"
    )
    again = typed(tmp_path, "\n2\n")
    assert "a whole number, now 8: " in again.stdout
    assert "Stopped. 1 answer is kept; run it again for the rest.\n" in again.stdout
    assert (answers.predicted(EXERCISE, state(tmp_path)) or {})["shard_gradient"] == 2
    shown = ask(tmp_path, "--show")
    assert shown.code == 0
    assert "answer all_gradient: 8" in shown.said and "answer complete: no" in shown.said


@pytest.mark.once
@pytest.mark.parametrize("text", ["", b"\xff\xfe\x00\n", "x" * 10**6])
def test_nobody_to_answer_is_no_bug(tmp_path: Path, text: str | bytes) -> None:
    ran = typed(tmp_path, text)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "Stopped. No new answer; run it again for the rest.\n" in ran.stdout
    assert "The receipt" not in ran.stdout and not (tmp_path / "state").exists()


@pytest.mark.once
@pytest.mark.skipif(os.name != "posix", reason="a signal as POSIX has it")
def test_ctrl_c_keeps_what_was_answered_and_says_so(tmp_path: Path) -> None:
    process = subprocess.Popen(
        command("predict", EXERCISE),
        cwd=tmp_path,
        env=environment(XDG_STATE_HOME=str(tmp_path / "state")),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(b"8\n")
    process.stdin.flush()
    for line in process.stdout:
        if b"2 of 5" in line:
            break
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, err) == (130, b"")
    assert b"Stopped. 1 answer is kept; run it again for the rest.\n" in out
    assert answers.predicted(EXERCISE, state(tmp_path)) == {"all_gradient": 8}


# ------------------------------------------------------------------------------------------ scripts


@pytest.mark.once
def test_a_file_answers_for_scripts(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('all_gradient = 8\ncomplete = "no"\n')
    (tmp_path / "b.json").write_text("\ufeff" + json.dumps({"gather": 8, "complete": True}))
    (tmp_path / "c").write_text('{"shard_gradient": 2}')
    for name in ("a.toml", "b.json", "c"):
        ran = ask(tmp_path, "--answers", name)
        assert (ran.code, ran.stderr) == (0, "")
    assert "answer equal_storage: not answered" in ran.said
    assert ran.stdout.endswith(f"  Next: grade predict {EXERCISE}   (1 of 5 not answered)\n")
    assert answers.predicted(EXERCISE, state(tmp_path)) == {
        "all_gradient": 8, "complete": True, "gather": 8, "shard_gradient": 2,
    }  # fmt: skip


LISTED = ", ".join(IDS)
WRONG: list[tuple[str, str, str]] = [
    (
        "allgradient = 8", "a.toml: there is no question 'allgradient'",
        f"did you mean all_gradient? the questions are {LISTED}",
    ),
    (
        '"\\u001b[2J" = 8', "a.toml: there is no question '\\x1b[2J'",
        f"the questions are {LISTED}",
    ),
    (
        'all_gradient = "8"', "a.toml: all_gradient has to be a whole number, 0 or more",
        "for example: all_gradient = 4; nothing was kept",
    ),
    (
        "gather = 8\nall_gradient = true",
        "a.toml: all_gradient has to be a whole number, 0 or more",
        "for example: all_gradient = 4; nothing was kept",
    ),
    (
        "all_gradient = -1", "a.toml: all_gradient has to be a whole number, 0 or more",
        "for example: all_gradient = 4; nothing was kept",
    ),
    (
        "complete = 1", "a.toml: complete has to be yes or no (true or false)",
        "for example: complete = true; nothing was kept",
    ),
    (
        "complete = no", "a.toml is not TOML: Invalid value (at line 1, column 12)",
        "mend that place",
    ),
    (" ", "a.toml holds no answer", "write one, for example: all_gradient = 4"),
    (
        "a" * (1 << 18 | 1), "a.toml is larger than 256 KiB, so it holds no answers",
        "name the file with the answers",
    ),
    ("\udcff", "a.toml is not UTF-8 text (byte 0)", "save it as UTF-8"),
    ("[1, 2]", "a.json holds no answers by question", 'write {"QUESTION": ANSWER, ...}'),
    (
        '{"gather": 8, "gather": 2}', "a.json is not JSON: 'gather' stands there twice",
        "mend that place",
    ),
    ("[" * 200_000, "a.json is not JSON: it is nested too deeply", "mend that place"),
]  # fmt: skip


@pytest.mark.once
@pytest.mark.parametrize(("text", "what", "step"), WRONG, ids=[what for _, what, _ in WRONG])
def test_a_wrong_file_is_told_and_nothing_of_it_kept(
    tmp_path: Path, text: str, what: str, step: str
) -> None:
    name = what[:6].rstrip()
    (tmp_path / name).write_text(text, encoding="utf-8", errors="surrogateescape")
    ran = ask(tmp_path, "--answers", name)
    assert (ran.code, ran.stdout) == (2, "")
    assert ran.stderr == f"grade: {what}\n  Next: {step}\n"
    assert not (tmp_path / "state").exists()


@pytest.mark.once
def test_a_file_that_is_not_there_or_not_readable_is_told(tmp_path: Path) -> None:
    assert ask(tmp_path, "--answers", "none.toml").stderr == (
        "grade: there is no file none.toml\n  Next: check the name and the folder\n"
    )
    assert ask(tmp_path, "--answers", ".").stderr == (
        "grade: . is a folder\n  Next: name a TOML or JSON file\n"
    )
    long = "n" * 300
    assert ask(tmp_path, "--answers", long).stderr == (
        f"grade: {long} cannot be read: File name too long\n"
        "  Next: check its name and permissions\n"
    )
    both = ask(tmp_path, "--answers", "x", "--show")
    assert (both.code, both.stderr) == (
        2,
        "grade: --show only shows, and --answers answers\n  Next: leave one of them out\n",
    )


@pytest.mark.once
def test_what_cannot_be_kept_is_told(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("in the way")
    (tmp_path / "a.json").write_text('{"gather": 8}')
    ran = ask(tmp_path, "--answers", "a.json")
    assert ran.code == 4
    assert ran.stderr.startswith("grade: the answers cannot be kept: ")


# ---------------------------------------------------------------------------------------- a receipt


def graded(folder: Path, *args: str, code: int = 0) -> dict[str, Any]:
    env = {"XDG_STATE_HOME": str(folder / "state")}
    ran = run(EXERCISE, "--no-cache", "--json", *args, cwd=folder, env=env)
    assert ran.code == code, ran.said
    found: dict[str, Any] = ran.graded["separate"]
    return found


def test_a_learners_own_receipt_holds_it_and_nobody_elses(tmp_path: Path) -> None:
    folder, text = tmp_path, STARTER_FILLED.read_text(encoding="utf-8")
    (folder / "says.py").write_text(text, encoding="utf-8")
    for name in ("prediction", "checkpoint"):
        text = text.replace(f"\n{name} = ", f"\nmy_{name} = ")
    (folder / "mine.py").write_text(text, encoding="utf-8")
    (folder / "answers.json").write_text(json.dumps(ALL))
    env = {"XDG_STATE_HOME": str(folder / "state")}
    ask(folder, "--answers", "answers.json")
    for letter in "ac":
        run("quiz", EXERCISE, "--answer", letter, cwd=folder, env=env)
    run("hint", EXERCISE, "values", cwd=folder, env=env)

    first = graded(folder, "mine.py")
    assert first["prediction"] is None and first["checkpoint"] is None
    assert first["predicted"]["when"] == "before"
    observed = [(one["program"], one["observed"]) for one in first["predicted"]["counts"]]
    assert observed == [("all_gradient", 8), ("shard_gradient", 2), ("gather", 8)]
    assert [one["observed"] for one in first["predicted"]["answers"]] == ["no", "no"]
    assert first["hints"] == {"values": 1}
    quiz = {key: first["quiz"][key] for key in ("answer", "correct", "first", "tries")}
    assert quiz == {"answer": "c", "correct": True, "first": "a", "tries": 2}

    (folder / "right.json").write_text(json.dumps(RIGHT))
    late = ask(folder, "--answers", "right.json")
    assert "answer complete: no (changed after the first graded try)" in late.said
    asked = typed(folder, "").stdout
    assert re.match(
        r"Your first graded try was on \d{4}-\d\d-\d\d \d\d:\d\d UTC, here or elsewhere\.\n"
        r"What you answer or change now is marked as given after it\.\n"
        rf"  To begin anew, as somebody else or again: grade predict {EXERCISE} --forget\n",
        asked,
    )
    own = graded(folder, "says.py", "--no-receipt")
    assert own["prediction"] is not None and own["checkpoint"]["answer"] == "c"
    assert own["predicted"]["when"] == "changed after"
    assert own["predicted"]["counts"] == [] and "quiz" not in own

    for option in (("--learner", "Ada"), ("--not-mine",), ("--instructor",)):
        theirs = graded(folder, "mine.py", *option)
        assert list(theirs) == ["prediction", "checkpoint", "explanation"], option


def test_a_grade_for_somebody_else_is_no_first_try(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("x = 1\n")
    graded(tmp_path, "mine.py", "--learner", "Ada", code=1)
    assert not (tmp_path / "state").exists()
    graded(tmp_path, "mine.py", code=1)
    assert answers.tried(EXERCISE, state(tmp_path))


# ---------------------------------------------------------------------------------- begin anew


@pytest.mark.once
def test_what_is_remembered_is_told_at_the_start_and_can_be_forgotten(tmp_path: Path) -> None:
    memory = state(tmp_path)
    answers.predict(EXERCISE, {"gather": 8}, memory)
    answers.answer_quiz(EXERCISE, "a", memory)
    answers.try_once(EXERCISE, "2026-03-01T10:20:30.123Z", memory)
    answers.try_once("distributed-02", "2026-03-01T10:20:30.123Z", memory)
    for _ in range(2):
        hints.use(EXERCISE, "values", memory)
    known = (
        "a graded try, the first on 2026-03-01 10:20 UTC, 1 prediction, an answer to the quiz,"
        " 2 hints"
    )
    own = {"XDG_STATE_HOME": str(tmp_path / "state")}
    started = run("start", EXERCISE, cwd=tmp_path, env=own)
    assert started.stdout.endswith(
        f"Remembered for you, here or elsewhere: {known}.\n"
        f"  To begin anew, as somebody else or again: grade predict {EXERCISE} --forget\n"
    )
    both = ask(tmp_path, "--forget", "--show")
    assert (both.code, both.stderr) == (
        2,
        "grade: --forget only forgets\n  Next: leave --show and --answers out, or --forget\n",
    )
    forgotten = ask(tmp_path, "--forget")
    told = f"Forgotten of {EXERCISE}: {known}.\nReceipts stay as they are.\n"
    assert (forgotten.code, forgotten.stdout) == (0, told)
    assert answers.tried(EXERCISE, memory) is None and answers.given(EXERCISE, memory) == {}
    assert answers.quiz(EXERCISE, memory) is None and hints.hints_used(EXERCISE, memory) == {}
    assert answers.tried("distributed-02", memory)
    again = ask(tmp_path, "--forget")
    assert again.stdout == f"Nothing of {EXERCISE} is remembered for you.\n"


@pytest.mark.once
def test_a_prediction_in_a_submission_here_is_said_to_count(tmp_path: Path) -> None:
    (tmp_path / f"{EXERCISE}.py").write_text('x = 1\nprediction = {"gather": ...}\n')
    answers.predict(EXERCISE, ALL, state(tmp_path))
    assert ask(tmp_path, "--show").stdout.endswith(
        "  The receipt will show your answers beside what was observed.\n"
        f"  But {EXERCISE}.py sets `prediction` at line 2: in a grade of that file,\n"
        "  its numbers count and not those given here.\n"
        f"  Next: grade {EXERCISE} FILE   (`grade start {EXERCISE}` writes one)\n"
    )


# ------------------------------------------------------------------------------------------ content


@pytest.mark.once
def test_the_questions_fit_the_exercise_and_its_prompt() -> None:
    for exercise in Course(ROOT).ids():
        one = entry(Course(ROOT), exercise)
        assert list(problems(one.questions, one.exercise, one.rubric)) == []
        prompt = " ".join((one.folder / "prompt.md").read_text(encoding="utf-8").split())
        asked = one.questions.checkpoint
        for said in [asked.ask, *asked.choices.values()] if asked else []:
            assert said in prompt


@pytest.mark.once
@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('kind = "replicated"', 'kind = "whole"', "prediction complete, kind: should be"),
        (
            'kind = "replicated"\nprograms = ["shard_gradient"]', 'kind = "replicated"',
            "prediction complete: replicated takes one in programs, not 0",
        ),
        (
            'id = "gather"', 'id = "complete"',
            "two predictions are called 'complete'",
        ),
    ],
)  # fmt: skip
def test_a_wrong_question_is_named(tmp_path: Path, old: str, new: str, told: str) -> None:
    file = small_course(tmp_path) / "exercises" / EXERCISE / "questions.toml"
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(ContentProblem) as caught:
        _ = entry(Course(tmp_path / "course"), EXERCISE).questions
    assert caught.value.what.startswith(f"questions.toml: {told}")


@pytest.mark.once
def test_an_exercise_without_questions_says_so(tmp_path: Path) -> None:
    course = small_course(tmp_path)
    (course / "exercises" / EXERCISE / "questions.toml").unlink()
    ran = ask(tmp_path, "--course", course)
    assert (ran.code, ran.stderr) == (
        2,
        f"grade: {EXERCISE} asks for no prediction\n  Next: grade start {EXERCISE}\n",
    )
