"""`grade hint` gives a little more each time and counts; `grade explain` says what is behind."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from pathlib import Path

import pytest

from grader import hints
from grader.catalog.course import Course
from grader.catalog.load import entry
from grader.errors import ContentProblem, EnvironmentProblem
from tests.command import EXERCISE, ROOT, Ran, run
from tests.test_audit import small_course

ENTRY = entry(Course(ROOT), EXERCISE)


def hint(cwd: Path, *args: str) -> Ran:
    return run("hint", EXERCISE, *args, cwd=cwd, env={"XDG_STATE_HOME": str(cwd / "state")})


# ----------------------------------------------------------------------------------------- counting


def test_each_hint_that_is_shown_is_counted(tmp_path: Path) -> None:
    assert hints.hints_used("tiny-01", tmp_path) == {}
    assert [hints.use("tiny-01", "values", tmp_path) for _ in range(3)] == [1, 2, 3]
    hints.use("tiny-01", "budget", tmp_path)
    hints.use("other-01", "values", tmp_path)
    assert hints.hints_used("tiny-01", tmp_path) == {"values": 3, "budget": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["hints.json"]


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"tiny-01": 3}', "[" * 100_000, '{"tiny-01": {"values": "2"}}', "\xff"]
    + [f'{{"tiny-01": {{"values": {count}}}}}' for count in ("-1", "true", "1e400", "10000")],
)
def test_a_broken_file_counts_as_none_and_is_replaced(tmp_path: Path, text: str) -> None:
    (tmp_path / "hints.json").write_text(text, encoding="latin-1")
    assert hints.hints_used("tiny-01", tmp_path) == {}
    assert hints.use("tiny-01", "values", tmp_path) == 1
    assert json.loads((tmp_path / "hints.json").read_text()) == {"tiny-01": {"values": 1}}


@pytest.mark.skipif(os.name != "posix", reason="modes as POSIX has them")
def test_the_count_is_the_learners_own(tmp_path: Path) -> None:
    hints.use("tiny-01", "values", tmp_path / "grade")
    assert (tmp_path / "grade").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "grade" / "hints.json").stat().st_mode & 0o777 == 0o600


def test_a_count_that_cannot_be_kept_shows_no_hint(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(EnvironmentProblem) as caught:
        hints.use("tiny-01", "values", tmp_path / "file")
    assert caught.value.what.startswith("the number of hints cannot be kept: ")
    assert caught.value.next_step == "set XDG_STATE_HOME to a folder that can be written"


# ----------------------------------------------------------------------------------------- commands


def test_hints_come_one_at_a_time_and_stay_to_be_read_again(tmp_path: Path) -> None:
    texts = next(check.hints for check in ENTRY.rubric.checks if check.id == "label_reversal")
    for number in range(1, len(texts) + 1):
        ran = hint(tmp_path, "label_reversal")
        assert ran.code == 0
        assert [text in ran.said.replace("  ", " ") for text in texts] == [
            index < number for index in range(len(texts))
        ]
    assert "That was the last one." in ran.said
    again = hint(tmp_path, "label_reversal")
    assert "You have seen them all." in again.said and texts[-1] in again.said
    assert hints.hints_used(EXERCISE, tmp_path / "state" / "grade") == {"label_reversal": 3}


def test_without_a_check_it_says_what_is_left(tmp_path: Path) -> None:
    hint(tmp_path, "values")
    ran = hint(tmp_path)
    assert ran.code == 0
    assert "values 3 of 4 left" in ran.said
    assert all(f"{check.id} {len(check.hints)} of" in ran.said for check in ENTRY.rubric.checks[1:])
    assert ran.stdout.endswith(f"  Next: grade hint {EXERCISE} CHECK\n")


def test_a_check_that_is_not_there_is_told_with_the_nearest(tmp_path: Path) -> None:
    ran = hint(tmp_path, "value")
    assert ran.code == 2
    assert ran.stderr == (
        "grade: distributed-03 has no check 'value'\n"
        "  Next: did you mean values? `grade hint distributed-03` shows them all\n"
    )
    assert not (tmp_path / "state").exists()


def test_a_mistake_is_explained_by_an_example_and_what_to_read(tmp_path: Path) -> None:
    ran = run("explain", EXERCISE, "local-mean", cwd=tmp_path)
    assert ran.code == 0
    assert ran.stdout.startswith("local-mean · each device divides by its own four rows")
    for label in ("idea", "example", "try", "read"):
        assert f"\n  {label} " in ran.stdout
    assert "“The problem” in `grade show distributed-03`" in ran.said
    assert (
        "\n                  each divides by all four:       1.5 and 3.5     sum  5\n" in ran.stdout
    )
    assert max(map(len, ran.stdout.splitlines())) < 110


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (
            ("explain", "nonsense"),
            f"{EXERCISE} has no mistake 'nonsense'\n"
            f"  Next: `grade explain {EXERCISE}` shows what there is",
        ),
        (
            ("explain", "values"),
            f"values is a check of {EXERCISE}, not a mistake\n  Next: grade hint {EXERCISE} values",
        ),
        (
            ("hint", "local-mean"),
            f"local-mean is a mistake of {EXERCISE}, not a check\n"
            f"  Next: grade explain {EXERCISE} local-mean",
        ),
    ],
)
def test_what_is_neither_or_the_other_is_told_with_the_right_command(
    args: tuple[str, str], told: str, tmp_path: Path
) -> None:
    ran = run(args[0], EXERCISE, args[1], cwd=tmp_path)
    assert (ran.code, ran.stderr) == (2, f"grade: {told}\n")


def test_two_mistakes_that_nothing_tells_apart_are_both_explained(tmp_path: Path) -> None:
    ran = run("explain", EXERCISE, "local-mean-or-summed-twice", cwd=tmp_path)
    assert ran.code == 0
    assert "local-mean · " in ran.stdout and "\nsummed-twice · " in ran.stdout


def test_a_mistake_that_is_not_there_is_told_with_the_nearest(tmp_path: Path) -> None:
    ran = run("explain", EXERCISE, "local_means", cwd=tmp_path)
    assert ran.code == 2
    assert ran.stderr == (
        "grade: distributed-03 has no mistake 'local_means'\n"
        "  Next: did you mean local-mean? `grade explain distributed-03` shows them all\n"
    )


def test_without_a_mistake_all_are_listed(tmp_path: Path) -> None:
    ran = run("explain", EXERCISE, cwd=tmp_path)
    assert ran.code == 0
    assert [line.split()[0] for line in ran.stdout.splitlines()[:-1]] == [
        mistake.id for mistake in ENTRY.rubric.mistakes
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="a locale of POSIX")
def test_a_terminal_without_these_characters_is_no_bug(tmp_path: Path) -> None:
    ascii_only = {"PYTHONIOENCODING": "ascii", "XDG_STATE_HOME": str(tmp_path)}
    for args in (("explain", EXERCISE, "local-mean"), ("hint", EXERCISE, "values")):
        assert run(*args, cwd=tmp_path, env=ascii_only).code == 0


# ------------------------------------------------------------------------------------------ content


def test_every_check_has_hints_and_every_mistake_an_explanation() -> None:
    assert all(len(check.hints) in (3, 4) for check in ENTRY.rubric.checks)
    explained = [one.mistake for one in ENTRY.explanations.explanations]
    assert sorted(explained) == sorted(mistake.id for mistake in ENTRY.rubric.mistakes)


def test_no_hint_and_no_example_holds_a_line_of_a_solution() -> None:
    solutions = [*(ROOT / "solutions" / EXERCISE / "accepted").glob("*.py")]
    lines = {
        line.strip()
        for path in solutions
        for line in path.read_text(encoding="utf-8").splitlines()
        if "=" in line and len(line.strip()) > 18
    }
    texts = [text for check in ENTRY.rubric.checks for text in check.hints]
    texts += [one.idea + one.example for one in ENTRY.explanations.explanations]
    assert not [line for line in lines for text in texts if line in text]


def test_explanations_belong_to_no_grade(tmp_path: Path) -> None:
    course = small_course(tmp_path)
    before = entry(Course(course), EXERCISE).digest
    file = course / "rubrics" / EXERCISE / "mistakes.toml"
    file.unlink()
    bare = entry(Course(course), EXERCISE)
    assert (bare.digest, bare.explanations.explanations) == (before, ())
    ran = run("explain", EXERCISE, "sign", "--course", course, cwd=tmp_path)
    assert ran.code == 0 and "The residual is prediction minus label" in ran.said


def test_a_wrong_key_of_an_explanation_is_named(tmp_path: Path) -> None:
    course = small_course(tmp_path)
    file = course / "rubrics" / EXERCISE / "mistakes.toml"
    file.write_text('[[explanations]]\nmistake = "sign"\nidea = "a"\nexample = "b"\nsee = "c"\n')
    with pytest.raises(ContentProblem, match="explanation sign: read is missing"):
        _ = entry(Course(course), EXERCISE).explanations


def test_an_audit_misses_hints_and_explanations(tmp_path: Path) -> None:
    course = small_course(tmp_path, rejected=["values--sign.py"])
    rubrics = course / "rubrics" / EXERCISE
    rubric = rubrics / "rubric.toml"
    kept = ENTRY.rubric.checks[0].hints
    text = rubric.read_text(encoding="utf-8").replace(f'  "{kept[0]}",\n  "{kept[1]}",\n', "")
    rubric.write_text(text, encoding="utf-8")
    file = rubrics / "mistakes.toml"
    told = file.read_text(encoding="utf-8")
    told = told.replace('mistake = "sign"', 'mistake = "sing"').replace('"The idea"', '"The ideas"')
    file.write_text(told, encoding="utf-8")
    assert tomllib.loads(told)
    ran = run("audit", EXERCISE, "--course", course, cwd=tmp_path)
    assert ran.code == 3
    for problem in (
        "check values has 2 hints, not 3 or 4",
        "mistakes.toml explains the mistake sign 0 times, not once",
        "mistakes.toml explains sing, which is no mistake of the rubric",
        "mistakes.toml: no-sum: prompt.md has no section 'The ideas'",
    ):
        assert problem in ran.said
