"""A run may be ended at any moment: what is finished is kept, and the same command goes on."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import sqlite3
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.command import EXERCISE
from tests.faults.processes import server_of, until
from tests.gradebook import classes
from tests.gradebook.bulk import FULL, PARTIAL, broken, canonical, course_with, table
from tests.hostile.stage import Ended, Running, Stage

pytestmark = [
    pytest.mark.once,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and a fork server"),
]
KILLS = 10
_TIMED = re.compile(r'time(?:stamp)?="[^"]*"')


@dataclass
class Class:
    """A class on a stage, graded again and again with one command into one folder."""

    stage: Stage
    out: str = "results"
    options: tuple[str, ...] = ()

    @property
    def line(self) -> tuple[str, ...]:
        place = str(self.stage.folder / self.out)
        return (EXERCISE, "in", "--no-cache", "--out", place, *self.options)

    @property
    def root(self) -> Path:
        return self.stage.folder / self.out / EXERCISE

    def run(self) -> Ended:
        return self.stage.run(*self.line)

    def attempts(self) -> list[str]:
        """Return the keys of all attempts that are kept by now."""
        place = self.root / "ledger.sqlite"
        if not place.exists():
            return []
        file = sqlite3.connect(place, timeout=30)
        try:
            return [key for (key,) in file.execute("SELECT key FROM attempts ORDER BY id")]
        except sqlite3.OperationalError:
            return []  # its tables are not made yet
        finally:
            file.close()

    def grades(self) -> dict[str, str]:
        lines = table((self.root / "gradebook.csv").read_bytes())
        return {key: line["points"] for key, line in lines.items()}

    def exports(self) -> dict[str, bytes]:
        """Return the files of every form that needs no template, without dates."""
        found = {}
        for form in ("csv", "github-classroom", "json", "junit"):
            place = self.stage.folder / f"{self.out}-{form}"
            ended = self.stage.run("export", self.root, "--to", form, "--out", place)
            assert ended.code == 0, ended.stderr
            (path,) = place.iterdir()
            found[form] = path.read_bytes()
        facts = json.loads(found["json"])
        for row in facts["rows"]:
            for name in ("created_at", "wall_s", "observed_cpu_us"):
                row["receipt"].pop(name)
        found["json"] = json.dumps(facts).encode()
        found["junit"] = _TIMED.sub("", found["junit"].decode()).encode()
        return found


def set_up(folder: Path, texts: dict[str, str]) -> Stage:
    stage = Stage(folder / "stage")
    stage.set()
    classes.write(stage.work / "in", {f"{name}.py": text for name, text in texts.items()})
    return stage


def kill_at_some_moment(graded: Class, draw: random.Random) -> Ended | None:
    """Start the command and kill it once it has come so far; returns None where it ended before."""
    goal = len(graded.attempts()) + draw.randrange(4)
    with graded.stage.started(*graded.line) as grade:
        until(lambda: len(graded.attempts()) >= goal or grade.warden.poll() is not None)
        # Anywhere between two results, or in the start, or in the files of the class.
        until(lambda: grade.warden.poll() is not None, within_s=draw.uniform(0, 0.8))
        if grade.warden.poll() is not None:
            grade.ended()
            return None
        try:
            os.kill(grade.pid, signal.SIGKILL)
        except ProcessLookupError:
            return None
        ended = grade.ended()
    return ended if ended.code == -signal.SIGKILL else None


@pytest.mark.parametrize("seed", [3])
def test_a_run_that_is_killed_again_and_again_ends_as_one_that_never_was(
    seed: int, tmp_path: Path
) -> None:
    texts = {f"p{n:02d}": broken(n) for n in range(22)} | {"full": FULL, "part": PARTIAL}
    stage = set_up(tmp_path, texts)
    # The same home, so the same course secret and the same hidden inputs.
    whole, torn = Class(stage, "whole"), Class(stage, "torn", ("--jobs", "2"))
    assert whole.run().code == 0
    draw = random.Random(seed)
    kills = 0
    for _ in range(4 * KILLS):
        ended = kill_at_some_moment(torn, draw)
        if ended is not None:
            kills += 1
            assert ended.left == []
        if kills == KILLS:
            break
    assert kills == KILLS
    last = torn.run()
    assert (last.code, last.left) == (0, []), last.stderr
    attempts = torn.attempts()
    assert len(attempts) == len(set(attempts)) == len(texts)
    assert sorted(attempts) == sorted(whole.attempts())
    assert canonical(torn.root) == canonical(whole.root)
    assert torn.exports() == whole.exports()
    assert not list(torn.root.rglob(".*"))


@pytest.mark.parametrize("jobs", ["1", "3"])
def test_an_interrupted_run_keeps_what_is_finished(jobs: str, tmp_path: Path) -> None:
    texts = {f"p{n:02d}": broken(n) for n in range(25)}
    # Graded by nobody within this test, unless the interrupt is not heard.
    texts |= {f"z{n}": f"import time\ntime.sleep(25)  # {n}\n" for n in range(3)}
    graded = Class(set_up(tmp_path, texts), options=("--jobs", jobs))
    with graded.stage.started(*graded.line) as grade:
        assert until(lambda: len(graded.attempts()) >= 5)
        os.killpg(grade.pid, signal.SIGINT)
        ended = grade.ended()
    assert (ended.code, ended.left) == (130, []), ended.stderr
    assert "Traceback" not in ended.stderr
    assert "interrupted; what is finished is kept" in ended.stderr
    kept = graded.attempts()
    assert 5 <= len(kept) < len(texts)
    # Their receipts are there already.
    assert len(list((graded.root / "receipts").glob("*/*.html"))) in (len(kept), len(kept) - 1)

    for name in ("z0", "z1", "z2"):
        (graded.stage.work / "in" / f"{name}.py").write_text(broken(name), encoding="utf-8")
    again = graded.run()
    assert again.code == 0, again.stderr
    assert f"{len(kept)} graded before" in again.stderr
    assert graded.attempts()[: len(kept)] == kept
    assert len(set(graded.attempts())) == len(graded.attempts()) == len(texts)


def test_an_interrupted_run_does_not_say_that_nothing_was_written(tmp_path: Path) -> None:
    texts = {f"p{n:02d}": broken(n) for n in range(12)}
    graded = Class(set_up(tmp_path, texts), options=("--jobs", "1"))
    with graded.stage.started(*graded.line) as grade:
        assert until(lambda: len(graded.attempts()) >= 1)
        os.killpg(grade.pid, signal.SIGINT)
        ended = grade.ended()
    assert "nothing was written" not in ended.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_private_folder_outlives_the_command(number: signal.Signals, tmp_path: Path) -> None:
    texts = {f"p{n:02d}": broken(n) for n in range(20)}
    graded = Class(set_up(tmp_path, texts), options=("--jobs", "3"))
    with graded.stage.started(*graded.line) as grade:
        assert until(lambda: len(graded.attempts()) >= 3)
        os.kill(grade.pid, number)
        grade.ended()
    assert [one.name for one in graded.stage.scratch.iterdir()] == ["notes.txt"]


# ------------------------------------------------------------------------------- what is undecided


def kill_servers(grade: Running, count: int) -> None:
    """Kill the process that loads JAX as soon as it is there, so many times, or until the end."""
    last: int | None = None
    for _ in range(count):
        assert until(
            lambda known=last: (
                grade.warden.poll() is not None or server_of(grade.pid) not in (None, known)
            )
        )
        last = server_of(grade.pid)
        if last is None:
            return
        os.kill(last, signal.SIGKILL)


def test_what_our_side_could_not_do_is_undecided_and_done_by_the_next_run(tmp_path: Path) -> None:
    graded = Class(set_up(tmp_path, {"amy": "x = 1\n"}))
    with graded.stage.started(*graded.line) as grade:
        kill_servers(grade, 2)
        ended = grade.ended()
    assert ended.code == 5, ended.stderr
    assert "1 undecided: run the same command again" in ended.stdout
    assert graded.grades() == {"amy": ""}
    assert graded.attempts() == []
    again = graded.run()
    assert again.code == 0, again.stderr
    assert graded.grades() == {"amy": "0"}


def test_the_grade_under_the_old_rubric_stands_until_the_new_one_has_decided(
    tmp_path: Path,
) -> None:
    course = course_with(tmp_path / "course")
    graded = Class(set_up(tmp_path, {"amy": PARTIAL}), options=("--course", str(course)))
    assert graded.run().code == 0
    before = graded.grades()
    assert 0 < int(before["amy"]) < 100
    path = course / "rubrics" / EXERCISE / "rubric.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("is divided by 16", "is shared by 16"), encoding="utf-8")
    with graded.stage.started(*graded.line) as grade:
        kill_servers(grade, 2)
        ended = grade.ended()
    assert "1 again, because rubric or versions changed" in ended.stderr
    assert "undecided: the " in ended.stderr
    assert (graded.grades(), len(graded.attempts())) == (before, 1)
    again = graded.run()
    assert again.code == 0, again.stderr
    assert (graded.grades(), len(graded.attempts())) == (before, 2)


def test_a_server_that_ends_takes_nobodys_grade_with_it(tmp_path: Path) -> None:
    texts = {f"p{n:02d}": broken(n) for n in range(12)} | {"full": FULL}
    graded = Class(set_up(tmp_path, texts), options=("--jobs", "3"))
    with graded.stage.started(*graded.line) as grade:
        assert until(lambda: len(graded.attempts()) >= 3)
        server = server_of(grade.pid)
        assert server is not None
        os.kill(server, signal.SIGKILL)
        ended = grade.ended()
    assert ended.code == 0, ended.stderr
    assert graded.grades() == {**dict.fromkeys(texts, "0"), "full": "100"}
