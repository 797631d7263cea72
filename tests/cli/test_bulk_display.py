"""What a person sees while a class is graded: how far it is, and nothing that acts."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

import pytest

from grader.cli.progress import Bar, Lines, Silent, display
from grader.gradebook.runner import Done
from tests.command import EXERCISE, TIMEOUT_S, command, environment, run
from tests.gradebook import classes
from tests.gradebook.bulk import broken
from tests.receipt import factory

DONE = Done("k", factory.passed())
FAILED = Done("k", factory.failed())
UNDECIDED = Done("k", None, "no \x1b[2Jroom", "run it again")


def test_lines_say_the_end_and_what_our_side_could_not_do(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = Lines(3)
    for done in (DONE, UNDECIDED, FAILED):
        lines.advance(done)
    lines.close()
    out, err = capsys.readouterr()
    said = err.splitlines()
    assert out == ""
    assert said[0].startswith("undecided: no ")
    assert "\x1b" not in err
    assert said[-1].startswith("3/3, 1 passed, 1 failed, 1 undecided")
    assert len(said) == 2


def test_a_long_class_says_little(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines(1000)
    for _ in range(1000):
        lines.advance(DONE)
    assert len(capsys.readouterr().err.splitlines()) < 10


def test_quiet_is_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    with display(1, quiet=True) as show:
        assert isinstance(show, Silent)
        show.say("plan")
        show.advance(UNDECIDED)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("total", [0, 2])
def test_a_bar_takes_any_text_as_it_is(total: int, capsys: pytest.CaptureFixture[str]) -> None:
    bar = Bar(total)
    bar.say("ambiguous: [bold]Jane[/] \x1b[31m")
    for done in (DONE, UNDECIDED)[:total]:
        bar.advance(done)
    bar.close()
    err = capsys.readouterr().err
    assert "[bold]Jane[/]" in err
    assert "\x1b[31m" not in err


@pytest.mark.skipif(os.name != "posix", reason="opens a terminal of its own")
def test_a_terminal_shows_a_bar_and_is_left_as_it_was(tmp_path: Path) -> None:
    import pty

    classes.write(tmp_path / "in", {f"p{n}.py": broken(n) for n in range(3)})
    ours, theirs = pty.openpty()
    seen = bytearray()

    def read() -> None:
        try:
            while chunk := os.read(ours, 4096):
                seen.extend(chunk)
        except OSError:
            pass  # how a terminal says that nobody writes to it any more

    reader = threading.Thread(target=read)
    reader.start()
    done = subprocess.run(
        command(EXERCISE, "--no-cache", "in"),
        cwd=tmp_path,
        env=environment(TERM="xterm-256color", COLUMNS="100"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
        timeout=TIMEOUT_S,
        check=False,
    )
    os.close(theirs)
    reader.join(TIMEOUT_S)
    os.close(ours)
    text = seen.decode("utf-8", "replace")
    assert done.returncode == 0, text
    assert "plain: 3 submissions: 3 to grade" in text
    assert "3/3, 0 passed, 3 error" in text
    # The cursor that was hidden for the bar is shown again.
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")
    assert b"\x1b" not in done.stdout


def test_results_come_to_standard_output_and_progress_does_not(tmp_path: Path) -> None:
    classes.write(tmp_path / "in", {f"p{n}.py": broken(n) for n in range(3)})
    ran = run(EXERCISE, "--no-cache", "in", cwd=tmp_path)
    assert ran.stdout.splitlines() == [
        "0 of 3 passed",
        "",
        "results  results/distributed-03",
        "         results/distributed-03/report.html",
        "         results/distributed-03/gradebook.csv",
        "         results/distributed-03/summary.json",
    ]
    first, last = ran.stderr.splitlines()[0], ran.stderr.splitlines()[-1]
    assert first == "plain: 3 submissions: 3 to grade"
    assert last.startswith("3/3, 0 passed, 3 error, ")


def test_a_reader_that_goes_away_does_not_stop_the_grading(tmp_path: Path) -> None:
    classes.write(tmp_path / "in", {f"p{n}.py": broken(n) for n in range(3)})
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        command(EXERCISE, "--no-cache", "in"),
        cwd=tmp_path,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=writing,
        stderr=subprocess.PIPE,
        timeout=TIMEOUT_S,
        check=False,
    )
    os.close(writing)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "results" / EXERCISE / "gradebook.csv").exists()
