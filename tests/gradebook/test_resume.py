"""A run may be ended at any moment: what is finished is kept, and the same command goes on."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.command import EXERCISE
from tests.faults.processes import server_of, until
from tests.gradebook.bulk import FULL, PARTIAL, broken, course_with
from tests.gradebook.staged import Class, set_up
from tests.hostile.stage import Running

pytestmark = [
    pytest.mark.once,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and a fork server"),
]


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
