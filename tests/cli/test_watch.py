"""`grade watch` grades each save once, says what is new, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import io
import os
import re
import signal
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rich.console import Console

from grader.cli.saves import Saves, signs
from grader.cli.terminal import show_again
from grader.cli.watching import Voice, news
from grader.errors import Undecided
from grader.process import Child, Exit
from grader.records.receipt import OutcomePart, Receipt
from grader.sandbox.launching import Allowance
from grader.sandbox.standby import Standby
from tests.command import EXERCISE, STARTER_FILLED, command, environment, run
from tests.faults.processes import children, look, server_of, until
from tests.receipt import factory

NAME = "my_solution.py"
RIGHT = STARTER_FILLED.read_text(encoding="utf-8")
WRONG = RIGHT.replace('lax.psum(share, "data")', 'lax.pmean(share, "data")')
WAITING = "to grade again, Ctrl-C to stop"
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and a terminal")


# ------------------------------------------------------------------------------- noticing a save


@pytest.fixture
def saves(tmp_path: Path) -> Iterator[Callable[..., Saves]]:
    started: list[Saves] = []

    def follow(*names: str, at_once: Callable[[], None] = lambda: None) -> Saves:
        found = Saves([tmp_path / name for name in names], at_once)
        found.start()
        # What is done before the thread looks is no change.
        assert until(lambda: found.ready)
        started.append(found)
        return found

    yield follow
    for one in started:
        one.stop()


def rename(path: Path, text: str) -> None:
    new = path.with_name("new")
    new.write_text(text)
    os.replace(new, path)


def backed_up(path: Path, text: str) -> None:
    """Save as vim does: the old file gets another name, and a new one is written."""
    os.replace(path, path.with_name(path.name + "~"))
    path.write_text(text)


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


@pytest.mark.once
@pytest.mark.parametrize("save", [Path.write_text, rename, backed_up, append])
def test_every_way_of_saving_is_noticed(
    saves: Callable[..., Saves], tmp_path: Path, save: Callable[[Path, str], object]
) -> None:
    file = tmp_path / "a.py"
    file.write_text("x = 1\n")
    told = threading.Event()
    followed = saves("a.py", at_once=told.set)
    save(file, "x = 22\n")
    assert followed.wait(60)
    assert told.is_set()


@pytest.mark.once
def test_what_lies_beside_the_file_is_no_save(saves: Callable[..., Saves], tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    followed = saves("a.py", "beside.csv")
    (tmp_path / "notes.txt").write_text("no submission")
    (tmp_path / "a.py").read_text()
    assert not followed.wait(0.7)
    (tmp_path / "beside.csv").write_text("1,2\n")
    assert followed.wait(60)


@pytest.mark.once
def test_a_folder_that_goes_away_and_comes_back_is_followed_again(
    saves: Callable[..., Saves], tmp_path: Path
) -> None:
    folder = tmp_path / "work"
    followed = saves("work/a.py")
    folder.mkdir()
    (folder / "a.py").write_text("x = 1\n")
    assert followed.wait(60)
    folder.rename(tmp_path / "elsewhere")
    assert until(lambda: followed.wait(0.1) and signs(folder / "a.py") == ())
    folder.mkdir()
    (folder / "a.py").write_text("x = 2\n")
    assert until(lambda: followed.wait(0.1) and signs(folder / "a.py"))
    while followed.wait(0.7):
        pass
    (folder / "a.py").write_text("x = 33\n")
    assert followed.wait(60)


@pytest.mark.once
def test_a_save_of_what_a_link_points_to_is_noticed(
    saves: Callable[..., Saves], tmp_path: Path
) -> None:
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "b.py"
    target.write_text("x = 1\n")
    (tmp_path / "a.py").symlink_to(target)
    followed = saves("a.py")
    rename(target, "x = 2\n")
    assert followed.wait(60)


# ------------------------------------------------------------------- a clean room that waits warm


class Told:
    """The handle of a child of a test's own: it runs until it is killed."""

    def __init__(self) -> None:
        self.exit: Exit | None = None

    def kill(self) -> None:
        self.exit = Exit(None, 9)

    def remind(self) -> None:
        """Nothing runs."""

    def wait(self, timeout_s: float) -> Exit | None:
        return self.exit


class Room:
    """A host of children that do nothing, and remember what they were started as."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.room = str(folder)
        self.started: list[tuple[str, Told, io.BytesIO]] = []
        self.lives = True

    def start(self, entry: str, workdir: str, allowance: Allowance) -> Child:
        handle, sent = Told(), io.BytesIO()
        self.started.append((entry, handle, sent))
        return Child(sent, io.BytesIO(), io.BytesIO(), handle, 100)

    def alive(self) -> bool:
        return self.lives

    def close(self) -> None:
        self.lives = False


MUCH, LITTLE = Allowance(30, 1 << 30, 1 << 20), Allowance(10, 1 << 30, 1 << 20)


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path / "room")


@pytest.mark.once
def test_the_clean_room_that_waited_serves_one_grade_and_no_other(room: Room) -> None:
    host = Standby(room)
    host.start("replay", "/empty", MUCH)
    host.prepare()
    host.prepare()
    assert [entry for entry, *_ in room.started] == ["replay", "replay"]
    assert b'"warm"' in room.started[1][2].getvalue()
    host.begin()
    host.start("learner", "/work", MUCH)
    assert len(room.started) == 3  # never the one that waits
    host.start("replay", "/empty", MUCH)
    assert len(room.started) == 3
    host.start("replay", "/empty", MUCH)
    assert len(room.started) == 4


@pytest.mark.once
@pytest.mark.parametrize("why", ["ended", "another allowance"])
def test_a_clean_room_that_does_not_fit_is_not_given(room: Room, why: str) -> None:
    host = Standby(room)
    host.start("replay", "/empty", MUCH)
    host.prepare()
    waiting = room.started[1][1]
    if why == "ended":
        waiting.kill()
    host.start("replay", "/empty", MUCH if why == "ended" else LITTLE)
    assert len(room.started) == 3
    assert waiting.exit is not None


@pytest.mark.once
def test_a_dropped_grade_ends_its_children_and_starts_no_more(room: Room) -> None:
    host = Standby(room)
    host.begin()
    host.start("learner", "/work", MUCH)
    host.start("replay", "/empty", MUCH)
    host.prepare()
    host.drop()
    assert [handle.exit is not None for _, handle, _ in room.started] == [True, True, False]
    with pytest.raises(Undecided, match="this grade was dropped: the file is another one by now"):
        host.start("learner", "/work", MUCH)
    host.begin()
    host.start("learner", "/work", MUCH)
    assert room.started[3][1].exit is None


@pytest.mark.once
def test_a_host_that_can_start_nothing_keeps_nothing_waiting(room: Room) -> None:
    host = Standby(room)
    host.start("replay", "/empty", MUCH)
    host.close()
    host.prepare()
    assert len(room.started) == 1
    assert not Path(host.room).exists()


# ------------------------------------------------------------------------------ what a try shows


def again(before: Receipt, now: Receipt, encoding: str = "utf-8") -> str:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding, newline="\n")
    console = Console(file=file, _environ={}, width=80, markup=False, emoji=False, highlight=False)
    show_again(console, now, "10:20:30", news(before, now))
    file.flush()
    return " ".join(raw.getvalue().decode(encoding).split())


@pytest.mark.once
def test_a_further_try_shows_the_first_open_check_in_full_and_the_others_by_name() -> None:
    before, now = factory.passed(), factory.failed()
    said = again(before, now)
    first, *others = [check for check in now.checks if check.status != "passed"]
    points = f"{now.points} of {now.max_points} points"
    assert said.startswith(f"10:20:30 Not passed yet: {points}, {100 - now.points} fewer than")
    assert first.title.split()[0] in said
    assert " ".join(str(first.hint).split()) in said
    assert f"also open: {', '.join(check.id for check in others)}" in said
    assert not any(str(check.hint) in said for check in others if check.hint)


@pytest.mark.once
def test_what_is_new_among_the_notes_is_shown_after_the_points() -> None:
    empty = "x.py is empty: it holds no statement; `grade start` writes one"
    before = factory.failed()
    now = before.model_copy(update={"notes": [*before.notes, f"{empty}\x1b[2J"]})
    assert news(before, now)[:2] == ["84 of 100 points, as before.", f"note: {empty}␛[2J"]
    assert not [line for line in news(now, now) if line.startswith("note: ")]


@pytest.mark.once
def test_after_a_syntax_error_it_says_which_try_it_is_compared_with() -> None:
    same = news(factory.failed(), factory.failed(), "14:03:10")
    assert same == [
        "84 of 100 points, as in the last try that ran, at 14:03:10.",
        "Nothing changed in points, checks or mistakes.",
        "The file is again what it was at 14:03:10, byte for byte.",
    ]
    more = news(factory.failed(), factory.passed(), "14:03:10")
    assert more[0] == "100 of 100 points, 16 more than in the last try that ran, at 14:03:10."


@pytest.mark.once
def test_a_first_try_that_did_not_run_is_no_try_to_name_later(
    capsys: pytest.CaptureFixture[str],
) -> None:
    broken = factory.error().model_copy(
        update={"outcome": OutcomePart(kind="syntax_error", message="no", line=3)}
    )
    voice = Voice("x.py")
    for receipt in (broken, factory.failed(), broken, factory.failed()):
        voice.show(receipt)
    said = " ".join(capsys.readouterr().out.split())
    assert said.count("than before.") == 1
    assert said.count("as in the last try that ran, at ") == 1


@pytest.mark.once
def test_a_file_that_is_no_python_yet_loses_nothing() -> None:
    broken = factory.error().model_copy(
        update={"outcome": OutcomePart(kind="syntax_error", message="no Python\x1b[2J", line=3)}
    )
    assert news(factory.passed(), broken) == ["nothing of it was judged"]
    said = again(factory.passed(), broken)
    assert "Not valid Python at line 3" in said
    assert "\x1b" not in said


@pytest.mark.once
@pytest.mark.parametrize("kind", ["passed", "failed", "error", "undecided"])
def test_any_try_can_be_shown_after_any_other_on_any_terminal(kind: str) -> None:
    now = getattr(factory, kind)()
    for earlier in (factory.passed(), factory.failed(), factory.error(), factory.undecided()):
        assert f"{now.points} of {now.max_points} points" in again(earlier, now, "ascii")


# ----------------------------------------------------------------------------------- the command


@pytest.mark.once
@pytest.mark.parametrize(
    ("args", "said"),
    [
        (
            ("distributed-99", NAME),
            "there is no exercise 'distributed-99'",
        ),
        (
            (EXERCISE, "."),
            "grade: . is a folder, and one file is wanted here",
        ),
        (
            (EXERCISE, "my_solution"),
            "grade: there is no file my_solution Next: name a file that ends in .py or .ipynb",
        ),
        (
            (EXERCISE, "nowhere/a.py"),
            "grade: there is no folder nowhere Next: make it, or name a file in a folder that is",
        ),
    ],
)
def test_what_can_never_be_graded_is_refused_at_once(
    tmp_path: Path, args: tuple[str, str], said: str
) -> None:
    done = run("watch", *args, cwd=tmp_path)
    assert done.code == 2
    assert said in done.said
    assert list(tmp_path.iterdir()) == []


class Session:
    """One `grade watch` on a terminal of its own, with a temporary folder of its own."""

    def __init__(self, folder: Path, *options: str) -> None:
        import pexpect

        self.scratch = folder / "scratch"
        self.scratch.mkdir()
        self.work = folder / "work"
        self.work.mkdir()
        self.file = self.work / NAME
        program, *args = command("watch", EXERCISE, NAME, "--no-cache", *options)
        self._start = lambda: pexpect.spawn(
            program,
            args,
            cwd=str(self.work),
            env=environment(
                TMPDIR=str(self.scratch), XDG_STATE_HOME=str(folder / "state"), TERM="xterm"
            ),
            encoding="utf-8",
            dimensions=(50, 120),
            timeout=120,
        )
        self.child = None
        self.everything = ""

    def start(self) -> str:
        self.child = self._start()
        self.before = termios.tcgetattr(self.child.child_fd)
        return self.until(WAITING)

    def until(self, text: str) -> str:
        """Return what appears up to `text`, as plain words."""
        self.child.expect_exact(text)
        seen = self.child.before + self.child.after
        self.everything += seen
        return " ".join(re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", seen).split())

    def save(self, text: str, how: Callable[[Path, str], object] = Path.write_text) -> str:
        how(self.file, text)
        return self.until(WAITING)

    def processes(self) -> list[int]:
        server = server_of(self.child.pid)
        assert server is not None
        return [server, *(one.pid for one in children(server))]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """One session, from a wrong try to Ctrl-C; what it said at each step."""
    session = Session(tmp_path_factory.mktemp("watch"))
    file = session.file
    file.write_text(WRONG)
    said = {"first": session.start()}
    said["right"] = session.save(RIGHT)
    said["syntax"] = session.save(f"x = (\n{RIGHT}", rename)
    said["mended"] = session.save(RIGHT, backed_up)
    file.touch()
    said["touched"] = session.until("points")
    file.rename(file.with_name("away.py"))
    said["gone"] = session.until("Ctrl-C to stop")
    file.with_name("away.py").rename(file)
    said["back"] = session.until("points")
    session.work.rename(session.work.with_name("moved"))
    said["moved"] = session.until("Ctrl-C to stop")
    session.work.with_name("moved").rename(session.work)
    session.until("is back without a change")
    server = server_of(session.child.pid)
    assert server is not None
    os.kill(server, signal.SIGKILL)
    assert until(lambda: look(server) is None)
    said["server gone"] = session.save(f"{RIGHT}\n# after the server\n")
    # A loop without an end is dropped as soon as the next version is there.
    file.write_text("while True:\n    pass\n")
    session.until("grading")
    for number in range(5):
        file.write_text(f"{WRONG}\n# {number}\n")
    said["quick"] = session.save(f"{RIGHT}\n# the last one\n")
    while "100 of 100" not in said["quick"].rpartition("grading")[2]:
        said["quick"] += session.until(WAITING)
    left = session.processes()
    session.child.sendintr()
    said["end"] = session.until(" points")
    with contextlib.suppress(EOFError):
        import pexpect

        session.child.expect(pexpect.EOF)
    said["terminal"] = str(termios.tcgetattr(session.child.child_fd) == session.before)
    session.child.close()
    said["code"] = f"{session.child.exitstatus} {session.child.signalstatus}"
    said["processes"] = str([pid for pid in left if look(pid) is not None])
    said["rooms"] = str(list(session.scratch.iterdir()))
    said["files"] = " ".join(sorted(p.name for p in session.work.iterdir()))
    said["tries"] = str(len(list(session.work.glob(f"receipts/{EXERCISE}/history/*.json"))))
    said["everything"] = session.everything
    return said


@pytest.mark.slow
@LINUX
def test_the_first_try_is_shown_whole_and_a_further_one_by_what_is_new(
    told: dict[str, str],
) -> None:
    assert "the contributions are averaged over the devices instead of summed" in told["first"]
    assert f"receipt receipts/{EXERCISE}/my_solution.html" in told["first"]
    assert "Passed: 100 of 100 points" in told["right"]
    assert "values gained 8 points (passed)." in told["right"]
    assert "Mistake gone: the contributions are averaged" in told["right"]
    assert f"watching {NAME}: save it to grade again, Ctrl-C to stop" in told["right"]


@pytest.mark.slow
@LINUX
def test_a_syntax_error_is_said_and_the_try_before_it_compared_with(told: dict[str, str]) -> None:
    assert "Not valid Python at line 1" in told["syntax"]
    assert "nothing of it was judged" in told["syntax"]
    assert "lost" not in told["syntax"]
    assert re.search(
        r"Passed: 100 of 100 points, as in the last try that ran, at (\d\d:\d\d:\d\d)\."
        r".* The file is again what it was at \1, byte for byte\.",
        told["mended"],
    )


@pytest.mark.slow
@LINUX
def test_a_save_without_a_change_and_an_absence_are_told_in_a_line(told: dict[str, str]) -> None:
    assert "saved without a change: still 100 of 100 points" in told["touched"]
    assert f"{NAME} is not there any more waiting for {NAME}; Ctrl-C to stop" in told["gone"]
    assert "is back without a change: still 100 of 100 points" in told["back"]


@pytest.mark.slow
@LINUX
def test_neither_a_folder_nor_a_server_that_goes_away_ends_it(told: dict[str, str]) -> None:
    assert f"{NAME} is not there any more" in told["moved"]
    assert "Passed: 100 of 100 points, as before." in told["server gone"]


@pytest.mark.slow
@LINUX
def test_of_quick_saves_the_last_counts_and_what_is_outdated_is_dropped(
    told: dict[str, str],
) -> None:
    assert "Passed: 100 of 100 points" in told["quick"]
    assert "CPU" not in told["quick"]


@pytest.mark.slow
@LINUX
def test_each_try_has_a_receipt(told: dict[str, str]) -> None:
    assert told["files"] == f"{NAME} {NAME}~ receipts"
    # The newest lies beside the folder of the others, and what was dropped is no try.
    assert f"{int(told['tries']) + 1} tries" in told["end"]


@pytest.mark.slow
@LINUX
def test_ctrl_c_leaves_terminal_processes_and_folders_clean(told: dict[str, str]) -> None:
    assert re.search(r"stopped watching my_solution.py: \d+ tries, at best 100 of 100", told["end"])
    assert told["code"] == "0 None"
    assert told["terminal"] == "True"
    assert told["everything"].count("\x1b[?25l") == told["everything"].count("\x1b[?25h")
    assert told["processes"] == "[]"
    assert told["rooms"] == "[]"


@pytest.mark.slow
@pytest.mark.once
@LINUX
def test_a_file_that_is_not_there_yet_is_waited_for_and_sigterm_leaves_nothing(
    tmp_path: Path,
) -> None:
    """Not on a terminal: plain lines, at once."""
    scratch, work = tmp_path / "scratch", tmp_path / "work"
    scratch.mkdir()
    work.mkdir()
    process = subprocess.Popen(
        command("watch", EXERCISE, NAME, "--no-cache", "--no-receipt"),
        cwd=work,
        env=environment(TMPDIR=str(scratch), XDG_STATE_HOME=str(tmp_path / "state")),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    assert process.stdout is not None
    lines: list[str] = []

    def read_to(text: str) -> None:
        for line in process.stdout:  # type: ignore[union-attr]
            lines.append(line)
            if text in line:
                return
        raise AssertionError("".join(lines))

    read_to(f"waiting for {NAME}; Ctrl-C to stop")
    assert f"there is no file {NAME}" in "".join(lines)
    (work / NAME).write_text("x = (\n")
    read_to(WAITING)
    assert "Not valid Python at line 1" in "".join(lines)
    server = server_of(process.pid)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 128 + signal.SIGTERM
    assert "\x1b" not in "".join(lines) + process.stdout.read()
    process.stdout.close()
    assert server is not None
    assert until(lambda: look(server) is None)
    assert list(scratch.iterdir()) == []
    assert [path.name for path in work.iterdir()] == [NAME]
