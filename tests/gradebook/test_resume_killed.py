"""A run of sixty that is killed at any moment, again and again, ends as one that never was."""

from __future__ import annotations

import os
import random
import signal
import sys
from pathlib import Path

import pytest

from tests.command import SOLUTIONS
from tests.faults.processes import until
from tests.gradebook import classes
from tests.gradebook.bulk import broken
from tests.gradebook.sameness import canonical, every_export
from tests.gradebook.staged import Class
from tests.hostile.stage import Ended, Stage

pytestmark = [
    pytest.mark.once,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and a fork server"),
]
KILLS = 10
LEARNERS = 60
MOST_WAIT_S = 1.0
MOODLE = "JAX-Assignment 3-991.zip"


def whole_solutions() -> list[str]:
    """Return solutions that are replayed in full: some that pass, some that do not."""
    right = sorted((SOLUTIONS / "accepted").glob("*.py"))[:12]
    wrong = sorted((SOLUTIONS / "rejected").glob("*.py"))[::3][:12]
    return [one.read_text(encoding="utf-8") for one in (*right, *wrong)]


def texts() -> list[str]:
    """Return the files of the class, no two alike, and those that take long among the others."""
    stop = "import os\nprint(os.getpid())\nx = {n}\nraise ValueError('x')\n"
    made = whole_solutions()
    made += [f"x = {n}\n" for n in range(8)] + [stop.format(n=n) for n in range(4)]
    made += [broken(n) for n in range(LEARNERS - len(made))]
    random.Random(0).shuffle(made)
    assert len(set(made)) == LEARNERS
    return made


def set_up(folder: Path) -> Stage:
    """Write the class: a third in a folder, a third from Canvas, a third from Moodle."""
    stage = Stage(folder / "stage")
    stage.set()
    learners = [
        classes.Learner(one.number, one.first, one.last, {"my_solution.py": text})
        for one, text in zip(classes.many(LEARNERS), texts(), strict=True)
    ]
    third = LEARNERS // 3
    plain, canvas, moodle = learners[:third], learners[third : 2 * third], learners[2 * third :]
    classes.folders_folder(stage.work / "in", plain)
    classes.canvas_zip(stage.work, canvas, late=[canvas[0].number])
    classes.moodle_zip(stage.work, moodle)
    classes.canvas_roster(stage.work / "canvas.csv", canvas)
    classes.moodle_roster(stage.work / "moodle.csv", moodle)
    stage.before = stage.files()
    return stage


def kill(graded: Class, goal: int, wait_s: float) -> Ended | None:
    """Start the command and kill it once so many are kept and a moment has passed.

    Returns None where it ended before.
    """
    with graded.stage.started(*graded.line) as grade:
        until(lambda: len(graded.attempts()) >= goal or grade.warden.poll() is not None)
        # Anywhere between two results, or in the start, or in the files of the class.
        until(lambda: grade.warden.poll() is not None, within_s=wait_s)
        if grade.warden.poll() is not None:
            grade.ended()
            return None
        try:
            os.kill(grade.pid, signal.SIGKILL)
        except ProcessLookupError:
            return None
        ended = grade.ended()
    return ended if ended.code == -signal.SIGKILL else None


def kill_again_and_again(torn: Class, seed: int) -> None:
    """Kill the run at ten moments anywhere between its beginning and its end."""
    draw = random.Random(seed)
    goals = sorted(draw.randrange(LEARNERS + 1) for _ in range(KILLS))
    kills = 0
    while goals:
        goal, wait_s = goals.pop(0), draw.uniform(0, MOST_WAIT_S)
        before = torn.kept()
        ended = kill(torn, goal, wait_s)
        after = torn.kept()
        print(f"seed {seed}: {len(before)} kept, wait for {goal} and {wait_s:.3f} s: {len(after)}")
        assert after[: len(before)] == before
        if ended is not None:
            kills += 1
            assert ended.left == []
        else:
            # It had ended already, so that moment was none.
            assert len(after) == LEARNERS
            goals.append(0)
    assert kills == KILLS


@pytest.mark.parametrize("seed", [3])
def test_a_run_of_sixty_that_is_killed_ten_times_ends_as_one_that_never_was(
    seed: int, tmp_path: Path
) -> None:
    stage = set_up(tmp_path)
    named = ("in", "submissions.zip", MOODLE)
    # The same home, so the same course secret and the same hidden inputs.
    whole, torn = Class(stage, "whole", named=named), Class(stage, "torn", ("--jobs", "2"), named)
    first = whole.run()
    assert (first.code, first.left) == (0, []), first.stderr
    kill_again_and_again(torn, seed)
    kept = torn.kept()
    last = torn.run()
    assert (last.code, last.left) == (0, []), last.stderr
    assert f"{LEARNERS} submissions: {LEARNERS - len(kept)} to grade" in last.stderr

    # Nothing that was kept has been graded again, and nothing twice.
    assert torn.kept()[: len(kept)] == kept
    attempts = torn.attempts()
    assert len(attempts) == len(set(attempts)) == LEARNERS
    assert sorted(attempts) == sorted(whole.attempts())

    grades = torn.grades()
    assert len(grades) == LEARNERS
    assert list(grades.values()).count("100") >= 12
    same = canonical(whole.root)
    assert canonical(torn.root) == same
    assert len(same) == 3 + 3 * LEARNERS
    learner = "last21first21-1021"
    assert every_export(torn.export, torn.root, learner) == every_export(
        whole.export, whole.root, learner
    )
    # Nothing half written is left, neither there nor anywhere else.
    assert not list(torn.root.rglob(".*"))
    seen = stage.files()
    assert {place: seen.get(place) for place in stage.before} == stage.before
    for place in (stage.work, stage.scratch):
        assert {*place.rglob("*")} <= {*stage.before}
