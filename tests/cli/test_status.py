"""`grade` alone says where a learner stands and one thing to do, whatever else lies there."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader import answers, hints
from grader.catalog.course import Course
from grader.catalog.load import entry
from grader.portfolio import tries
from grader.portfolio.standing import Standing, Step, next_step, standing
from grader.receipt.render import to_json
from grader.records.receipt import Receipt
from tests.command import EXERCISE, ROOT, Ran, environment, home, run
from tests.receipt import factory

pytestmark = pytest.mark.once
ENTRY = entry(Course(ROOT), EXERCISE)
STARTER = (ENTRY.folder / "starter.py").read_bytes()
NAME = f"{EXERCISE}.py"
GRADE = f"grade {EXERCISE} {NAME}"
MINE = b"x = 1\n"


def of(receipt: Receipt, raw: bytes = MINE, name: str = NAME, **more: Any) -> Receipt:
    """Return a receipt as that of a file with these bytes, with nothing tracked apart."""
    submission = receipt.submission.model_copy(
        update={"name": name, "sha256": hashlib.sha256(raw).hexdigest()}
    )
    apart = receipt.separate.model_copy(update={"prediction": None, "checkpoint": None})
    return receipt.model_copy(update={"submission": submission, "separate": apart, **more})


def keep(folder: Path, receipt: Receipt, name: str = "distributed-03.json") -> Path:
    path = folder / "receipts" / EXERCISE / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(to_json(receipt), encoding="utf-8")
    return path


def look(folder: Path, raw: bytes | None = MINE) -> Standing:
    """Return how a learner stands who has a file with these bytes, none for None."""
    if raw is not None:
        (folder / NAME).write_bytes(raw)
    read = tries.read(folder / "receipts")
    assert not read.told
    return standing(ENTRY, read.tries, folder, folder / "memory")


@functools.cache
def small_course() -> Path:
    """Return a course that has this exercise alone."""
    course = home() / "status" / "course"
    for name in ("exercises", "rubrics"):
        shutil.copytree(ROOT / name / EXERCISE, course / name / EXERCISE)
    return course


def status(folder: Path, *args: str, course: Path | None = None) -> Ran:
    given = {"XDG_STATE_HOME": str(folder / "state"), "COLUMNS": "80"}
    return run(*args, cwd=folder, env={**given, "GRADE_COURSE": str(course or small_course())})


# ---------------------------------------------------------------------------------------- next step


def test_a_prediction_comes_before_the_first_run_alone(tmp_path: Path) -> None:
    predict = f"grade predict {EXERCISE}"
    assert next_step([look(tmp_path, STARTER)]).command == predict
    answers.predict(EXERCISE, {"local_rows": 4}, tmp_path / "memory")
    assert next_step([look(tmp_path, STARTER)]) == Step(
        "Fill in one part of the file, then see what it gives.", GRADE
    )
    assert next_step([look(tmp_path)]) == Step("See how far the file is.", GRADE)
    shutil.rmtree(tmp_path / "memory")
    keep(tmp_path, of(factory.failed()))
    assert next_step([look(tmp_path)]).command != predict


def test_the_hint_is_for_the_first_check_that_fails(tmp_path: Path) -> None:
    keep(tmp_path, of(factory.failed()))
    stands = look(tmp_path)
    assert next_step([stands]) == Step(
        "collectives does not pass yet.", f"grade hint {EXERCISE} collectives"
    )
    for _ in range(stands.has_hints["collectives"]):
        hints.use(EXERCISE, "collectives", tmp_path / "memory")
    assert next_step([look(tmp_path)]) == Step(
        "No hint is left for collectives; read the idea behind the mistake.",
        f"grade explain {EXERCISE} psum-slice",
    )


def test_a_file_that_changed_is_to_be_graded(tmp_path: Path) -> None:
    keep(tmp_path, of(factory.failed()))
    changed = look(tmp_path, b"y = 2\n")
    assert changed.changed and not look(tmp_path, MINE).changed
    assert next_step([changed]) == Step("The file has changed since the last try.", GRADE)


@pytest.mark.parametrize(
    ("receipt", "why"),
    [
        (factory.error(), "Mend what stopped it, then try again."),
        (
            factory.undecided(),
            "The last try was undecided, which is not your fault. Try again.",
        ),
    ],
)
def test_what_stopped_or_was_undecided_is_tried_again(
    receipt: Receipt, why: str, tmp_path: Path
) -> None:
    keep(tmp_path, of(receipt))
    assert next_step([look(tmp_path)]) == Step(why, GRADE)


def test_after_a_pass_comes_the_quiz_then_the_next_exercise_then_the_portfolio(
    tmp_path: Path,
) -> None:
    keep(tmp_path, of(factory.passed()))
    passed = look(tmp_path)
    other = replace(passed, id="distributed-04", files=(), tries=())
    assert next_step([passed, other]).command == f"grade quiz {EXERCISE}"
    answers.answer_quiz(EXERCISE, "a", tmp_path / "memory")
    passed = look(tmp_path)
    assert passed.finished
    assert next_step([passed, other]) == Step(
        "The next exercise waits.", "grade start distributed-04"
    )
    assert next_step([passed]).command == "grade portfolio"
    assert next_step([]).command == "grade list"


def test_the_exercise_worked_on_last_is_the_one_to_go_on_with(tmp_path: Path) -> None:
    keep(tmp_path, of(factory.failed()))
    first = look(tmp_path)
    assert first.file is not None
    newer = replace(first.file, path="distributed-04.py", changed_at=first.file.changed_at + 1e9)
    other = replace(first, id="distributed-04", files=(newer,), tries=(), predicted=True)
    assert next_step([first, other]).command == "grade distributed-04 distributed-04.py"
    assert next_step([other, first]) == next_step([first, other])


def test_a_file_that_is_gone_can_be_begun_again(tmp_path: Path) -> None:
    keep(tmp_path, of(factory.failed()))
    assert next_step([look(tmp_path, None)]).command == f"grade start {EXERCISE}"


def test_a_command_can_be_copied_whatever_the_file_is_called(tmp_path: Path) -> None:
    keep(tmp_path, of(factory.failed(), name="-my try.py"))
    (tmp_path / "-my try.py").write_bytes(b"changed")
    stands = standing(ENTRY, tries.read(tmp_path / "receipts").tries, tmp_path, tmp_path)
    assert next_step([stands]).command == f"grade {EXERCISE} './-my try.py'"


# --------------------------------------------------------------------------------------- what lies


def test_best_and_last_are_told_apart_and_copies_count_once(tmp_path: Path) -> None:
    keep(tmp_path, of(factory.failed(), created_at="2026-03-01T10:00:00Z"), "history/a.json")
    keep(tmp_path, of(factory.failed(), created_at="2026-03-01T10:00:00Z"), "history/copy.json")
    keep(tmp_path, of(factory.error(), created_at="2026-03-02T10:00:00Z"))
    stands = look(tmp_path)
    assert stands.best is not None and stands.last is not None
    assert (len(stands.tries), stands.best.points, stands.last.points) == (2, 84, 50)
    assert not stands.passed


def test_an_undecided_try_is_never_the_best(tmp_path: Path) -> None:
    keep(tmp_path, of(factory.undecided()))
    assert look(tmp_path).best is None


def test_files_are_found_as_notebook_and_in_the_folders_right_below(tmp_path: Path) -> None:
    (tmp_path / "week 9").mkdir()
    (tmp_path / "week 9" / f"{EXERCISE}.ipynb").write_bytes(b"{}")
    (tmp_path / "week 9" / f"{EXERCISE}.2026-01-01T00-00-00.py").write_bytes(b"kept aside")
    os.utime(tmp_path / "week 9" / f"{EXERCISE}.ipynb", (1, 1))
    stands = look(tmp_path)
    assert [mine.path for mine in stands.files] == [
        NAME,
        os.path.join("week 9", f"{EXERCISE}.ipynb"),
    ]


def test_files_beside_the_submission_count_as_changes(tmp_path: Path) -> None:
    with_data = replace(
        ENTRY, exercise=ENTRY.exercise.model_copy(update={"siblings": ("data.py",)})
    )
    receipt = of(factory.failed())
    submission = receipt.submission.model_copy(
        update={"siblings": {"data.py": hashlib.sha256(b"1").hexdigest()}}
    )
    keep(tmp_path, receipt.model_copy(update={"submission": submission}))
    (tmp_path / NAME).write_bytes(MINE)
    (tmp_path / "data.py").write_bytes(b"1")
    read = tries.read(tmp_path / "receipts").tries
    assert not standing(with_data, read, tmp_path, tmp_path).changed
    (tmp_path / "data.py").write_bytes(b"2")
    assert standing(with_data, read, tmp_path, tmp_path).changed


@pytest.mark.skipif(os.name != "posix", reason="pipes and links as POSIX has them")
def test_what_is_no_receipt_is_told_and_breaks_nothing(tmp_path: Path) -> None:
    good = keep(tmp_path, of(factory.failed()))
    folder = good.parent
    keep(tmp_path, of(factory.passed(), exercise="foreign-07"), "f.json")
    (folder / "cut.json").write_bytes(good.read_bytes()[:900])
    (folder / "deep.json").write_text("[" * 100_000)
    (folder / "bytes\udcff\n.json").write_bytes(b"\xff\x00")
    (folder / "link.json").symlink_to(good)
    (folder / "history").mkdir()
    os.mkfifo(folder / "history" / "pipe.json")
    with (folder / "huge.json").open("wb") as file:
        file.truncate(17 << 20)
    (tmp_path / "receipts" / "elsewhere").symlink_to("/", target_is_directory=True)
    for silent in (".index.json", "x.dsse.json", "x.instructor.json", "x.html", "notes.txt"):
        (folder / silent).write_text("{")
    ran = status(tmp_path)
    assert (ran.code, ran.stderr) == (0, "")
    assert "points      84 of 100 on 2026-03-01 10:20 UTC; 1 try\n" in ran.stdout
    assert "\n8 things in receipts/ left out:\n" in ran.stdout
    assert "and 5 more; `grade status --json` names them all\n" in ran.stdout
    told = json.loads(status(tmp_path, "status", "--json").stdout)["left_out"]
    whys = {os.path.basename(one["who"]): one["why"] for one in told}
    assert whys["huge.json"] == "it cannot be read: it is larger than 16 MiB"
    assert whys["link.json"] == whys["elsewhere"] == "a link, which is not followed"
    assert whys["pipe.json"] == "no ordinary file"
    assert whys["deep.json"].startswith("it is no receipt: ")
    assert whys["foreign-07"] == "no exercise of this course"
    assert len(whys) == 8


def test_of_very_many_receipts_the_latest_are_read(tmp_path: Path) -> None:
    folder = keep(tmp_path, of(factory.failed())).parent
    (folder / "history").mkdir()
    for number in range(tries.MOST_RECEIPTS + 2):
        empty = folder / "history" / f"{number}.json"
        empty.write_bytes(b"{")
        os.utime(empty, (1, 1))
    read = tries.read(tmp_path / "receipts")
    assert len(read.tries) == 1
    assert read.told[-1].why == "3 older receipts are not read"


def test_a_try_of_another_exercises_file_does_not_count_unless_it_passed(tmp_path: Path) -> None:
    keep(tmp_path, of(factory.passed(), created_at="2026-03-01T10:00:00Z"), "a.json")
    other = "distributed-02.py"
    (tmp_path / other).write_bytes(b"theirs")
    keep(tmp_path, of(factory.error(), b"theirs", other), "b.json")
    stands = look(tmp_path)
    assert [mine.path for mine in stands.files] == [NAME]
    assert stands.passed and stands.last is not None and stands.last.verdict == "passed"
    assert [one.name for one in stands.strays] == [other]
    keep(tmp_path, of(factory.passed(), b"theirs", other), "b.json")
    assert not look(tmp_path).strays


def test_the_file_that_carries_the_id_is_the_one_at_hand(tmp_path: Path) -> None:
    def at_hand(**changed_at: int) -> str:
        for name, at in changed_at.items():
            os.utime(tmp_path / names[name], (at, at))
        found = look(tmp_path, None).file
        assert found is not None
        return found.path

    names = {"mine": NAME, "other": "other.py"}
    (tmp_path / NAME).write_bytes(MINE)
    (tmp_path / "other.py").write_bytes(b"z = 1\n")
    keep(tmp_path, of(factory.failed(), b"z = 1\n", "other.py"), "other.json")
    # It was left behind ungraded, as a starter that nobody filled in would be.
    assert at_hand(mine=1, other=2) == "other.py"
    assert at_hand(mine=3, other=2) == NAME
    keep(tmp_path, of(factory.failed(), MINE), "mine.json")
    assert at_hand(mine=1, other=2) == NAME
    (tmp_path / NAME).write_bytes(STARTER)
    assert at_hand(mine=1, other=2) == "other.py"
    assert at_hand(mine=3, other=2) == NAME


# ---------------------------------------------------------------------------------------- commands


def test_in_an_empty_folder_it_says_how_to_begin(tmp_path: Path) -> None:
    ran = status(tmp_path)
    assert (ran.code, ran.stderr) == (0, "")
    assert ran.stdout.startswith("Nothing of an exercise lies in this folder yet.\n\n")
    assert f"\n{EXERCISE} · Communication-efficient algorithms (100 points)\n" in ran.stdout
    assert "grade --help shows every command" in ran.stdout
    assert ran.stdout.endswith(f"\n  Next: grade start {EXERCISE}\n")
    assert list(tmp_path.iterdir()) == []


def test_one_glance_says_where_a_learner_stands(tmp_path: Path) -> None:
    assert status(tmp_path, "start", EXERCISE).code == 0
    keep(
        tmp_path, of(factory.failed(), STARTER, created_at="2026-03-01T10:00:00Z"), "history/a.json"
    )
    keep(tmp_path, of(factory.error(), STARTER))
    (tmp_path / NAME).write_bytes(MINE)
    hints.use(EXERCISE, "values", tmp_path / "state" / "grade")
    ran = status(tmp_path)
    assert (ran.code, ran.stderr) == (0, "")
    assert ran.stdout == (
        f"{EXERCISE} · Communication-efficient algorithms\n"
        f"  file        {NAME}, changed since the last try\n"
        "  points      best 84 of 100; last try 50 on 2026-03-01 10:20 UTC; 2 tries\n"
        "  stopped     at line 57: ValueError: shapes (2,) and (8,) cannot be added\n"
        "  open        momentum 0/14, permutation 0/12, label_reversal 0/10,\n"
        "              byte_budget 0/14\n"
        "  hints       1 used: values 1\n"
        "  also        nothing predicted, quiz open\n"
        "\nThe file has changed since the last try.\n"
        f"  Next: {GRADE}\n"
    )
    assert status(tmp_path, "status").stdout == ran.stdout
    found = json.loads(status(tmp_path, "status", "--json").stdout)
    assert found["next"]["command"] == GRADE
    (one,) = found["exercises"]
    assert (one["best"]["points"], one["last"]["points"], one["changed"]) == (84, 50, True)


def test_the_best_try_is_named_where_it_is_of_another_file_or_stopped(tmp_path: Path) -> None:
    whole = of(factory.error(), b"z", "other.py", created_at="2026-03-01T10:00:00Z", points=100)
    keep(tmp_path, whole, "other.json")
    keep(tmp_path, of(factory.failed()))
    (tmp_path / NAME).write_bytes(MINE)
    assert (
        "  points      best 100 of 100 (other.py, stopped before its end); last try 84 on\n"
        "              2026-03-01 10:20 UTC; 2 tries\n"
    ) in status(tmp_path).stdout


def test_a_fresh_starter_hides_what_was_open_before_it(tmp_path: Path) -> None:
    keep(tmp_path, of(factory.error()))
    stray = of(factory.error(), b"theirs", "my_distributed-02.py", points=0)
    keep(tmp_path, stray, "stray.json")
    (tmp_path / NAME).write_bytes(STARTER)
    ran = status(tmp_path, course=ROOT)
    assert ran.stdout.startswith(
        f"{EXERCISE} · Communication-efficient algorithms\n"
        f"  file        {NAME}, fresh from the starter\n"
        "  points      last try 50 on 2026-03-01 10:20 UTC; 1 try\n"
        "  not counted 1 try of a file that is another exercise's by its name:\n"
        "              my_distributed-02.py\n"
        "  also        "
    )
    found = json.loads(status(tmp_path, "status", "--json", course=ROOT).stdout)
    (one,) = found["exercises"]
    assert (one["untouched"], one["not_counted"], one["last"]["name"]) == (True, 1, NAME)


def test_an_exercise_that_is_wrong_hides_none_of_the_others(tmp_path: Path) -> None:
    course = shutil.copytree(small_course(), tmp_path / "course")
    shutil.copytree(course / "exercises" / EXERCISE, course / "exercises" / "aaa-01")
    ran = status(tmp_path, course=course)
    assert ran.code == 3
    assert ran.stderr.startswith("grade: rubric.toml is missing (")
    assert ran.stdout.endswith(f"  Next: grade start {EXERCISE}\n")


def test_a_look_loads_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "from grader.cli.main import run\nassert run([]) == 0\n"
        "import sys\nprint('\\n'.join(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment(GRADE_COURSE=str(small_course())),
        capture_output=True,
        text=True,
        check=True,
    )
    heavy = {"jax", "jaxlib", "numpy", "rich", "jinja2", "cryptography"}
    assert not heavy & set(done.stdout.split())
