"""Every command does what it says, and how it is started, read or ended changes no verdict."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from grader import __version__
from grader.records.receipt import Receipt
from tests.command import (
    EXERCISE,
    ROOT,
    STARTER_FILLED,
    command,
    environment,
    grade,
    run,
)

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and process groups")
FILLED = STARTER_FILLED.read_bytes()
STARTER = (ROOT / "exercises" / EXERCISE / "starter.py").read_bytes()
ESCAPE = "\x1b["


def put(folder: Path, name: str = "solution.py", raw: bytes = FILLED) -> Path:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(raw)
    return folder / name


# ------------------------------------------------------------------------------- the small commands


def test_version_is_that_of_the_package(tmp_path: Path) -> None:
    ran = run("--version", cwd=tmp_path)
    assert (ran.code, ran.stderr) == (0, "")
    assert ran.stdout.strip() == f"grade, version {__version__}"


def test_help_names_every_command_and_how_to_grade(tmp_path: Path) -> None:
    ran = run("--help", cwd=tmp_path)
    assert (ran.code, ran.stderr) == (0, "")
    for name in ("EXERCISE FILE", "list", "show", "start", "audit", "doctor", "schema"):
        assert f"\n  {name}" in ran.stdout
    ran = run(EXERCISE, "--help", cwd=tmp_path)
    assert ran.code == 0
    assert ran.stdout.startswith(f"Usage: grade {EXERCISE} FILE... [OPTIONS]\n")


def test_list_shows_id_title_points_and_summary(tmp_path: Path) -> None:
    ran = run("list", cwd=tmp_path)
    assert (ran.code, ran.stderr) == (0, "")
    assert f"{EXERCISE}  Communication-efficient algorithms (100 points)\n" in ran.stdout
    assert "All-reduce, reduce-scatter and all-gather" in ran.stdout


def test_show_gives_the_prompt_as_it_was_written(tmp_path: Path) -> None:
    ran = run("show", EXERCISE, cwd=tmp_path)
    assert (ran.code, ran.stderr) == (0, "")
    prompt = (ROOT / "exercises" / EXERCISE / "prompt.md").read_text(encoding="utf-8")
    assert ran.stdout == prompt
    unknown = run("show", "distributed-30", cwd=tmp_path)
    assert unknown.code == 2
    assert "did you mean distributed-03?" in unknown.stderr


def test_start_writes_the_starter_and_never_overwrites(tmp_path: Path) -> None:
    ran = run("start", EXERCISE, cwd=tmp_path)
    assert ran.code == 0
    assert (tmp_path / "distributed-03.py").read_bytes() == STARTER
    assert "grade distributed-03 distributed-03.py" in ran.stdout
    (tmp_path / "distributed-03.py").write_text("hours of work\n")
    again = run("start", EXERCISE, cwd=tmp_path)
    assert again.code == 2
    assert "distributed-03.py exists already and is left as it is" in again.stderr
    assert "Next: name another folder" in again.stderr
    assert (tmp_path / "distributed-03.py").read_text() == "hours of work\n"


def test_start_writes_a_notebook_when_asked(tmp_path: Path) -> None:
    ran = run("start", EXERCISE, "--notebook", cwd=tmp_path)
    assert ran.code == 0
    made = (tmp_path / "distributed-03.ipynb").read_bytes()
    assert made == (ROOT / "exercises" / EXERCISE / "starter.ipynb").read_bytes()
    assert "wrote distributed-03.ipynb\n" in ran.stdout
    assert "then: grade distributed-03 distributed-03.ipynb" in ran.stdout
    again = run("start", EXERCISE, "--notebook", cwd=tmp_path)
    assert again.code == 2
    assert "distributed-03.ipynb exists already and is left as it is" in again.stderr
    file = run("start", EXERCISE, "--notebook", "mine.ipynb", cwd=tmp_path)
    assert file.code == 2
    assert "mine.ipynb looks like a file, and `grade start` takes a folder" in file.stderr


def test_start_makes_the_folder_it_is_given(tmp_path: Path) -> None:
    ran = run("start", EXERCISE, "week 9/mine", cwd=tmp_path)
    assert ran.code == 0
    assert (tmp_path / "week 9" / "mine" / "distributed-03.py").read_bytes() == STARTER
    put(tmp_path, "taken", b"mine")
    taken = run("start", EXERCISE, "taken", cwd=tmp_path)
    assert taken.code == 2
    assert "taken is not a folder" in taken.stderr
    assert (tmp_path / "taken").read_bytes() == b"mine"


def test_doctor_tells_what_was_tried_on_this_machine(tmp_path: Path) -> None:
    ran = run("doctor", cwd=tmp_path)
    assert (ran.code, ran.stderr) == (0, "")
    for line in ("grade ", "python ", "course ", "jax ", "confinement ", "cache "):
        assert f"\n{line}" in f"\n{ran.stdout}"
    assert "4 logical CPU devices" in ran.stdout
    if sys.platform == "linux":
        for layer in ("landlock", "seccomp", "rlimits", "no_new_privs", "capabilities"):
            assert re.search(rf"^    (on |OFF) {layer}\b", ran.stdout, re.MULTILINE)
    assert f"    {EXERCISE}: " in ran.stdout
    assert list(tmp_path.iterdir()) == []


def test_the_schema_is_that_of_the_receipts_that_are_written(tmp_path: Path) -> None:
    put(tmp_path)
    graded = grade("solution.py", cwd=tmp_path).graded
    ran = run("schema", "receipt", cwd=tmp_path)
    assert (ran.code, ran.stderr) == (0, "")
    schema = json.loads(ran.stdout)
    assert schema == Receipt.model_json_schema()
    assert list(schema["properties"]) == list(graded)
    assert set(schema["required"]) <= set(graded)
    assert Receipt.model_validate_json(json.dumps(graded)).points == 100


# ------------------------------------------------------------------------------ receipts and output


def test_json_is_alone_on_stdout_and_equals_the_file(tmp_path: Path) -> None:
    put(tmp_path, raw=b"print('hello from the module')\nx = 1\n")
    ran = grade("solution.py", "--json", "--timings", cwd=tmp_path)
    assert ran.code == 1
    assert (tmp_path / "receipts" / EXERCISE / "solution.json").read_text("utf-8") == ran.stdout
    assert Receipt.model_validate_json(ran.stdout).verdict == "failed"
    assert "NaN" not in ran.stdout
    for words in ("0 of 100 points", f"receipts/{EXERCISE}/solution.html", "running", " ms"):
        assert words in ran.stderr
    # What a module prints belongs to its receipt, never to our own streams.
    assert ran.graded["output"]["text"] == "hello from the module\n"
    assert "hello from the module" not in ran.stderr


def test_three_receipts_are_written_and_named(tmp_path: Path) -> None:
    put(tmp_path)
    ran = grade("solution.py", "--out", "deep/er", cwd=tmp_path)
    assert ran.code == 0
    written = sorted(p.name for p in (tmp_path / "deep" / "er" / EXERCISE).glob("[!.]*"))
    assert written == ["solution.html", "solution.json", "solution.md"]
    for name in written:
        assert f"deep/er/{EXERCISE}/{name}" in ran.stdout
    assert not (tmp_path / "receipts").exists()


def test_no_receipt_writes_nothing(tmp_path: Path) -> None:
    put(tmp_path)
    ran = grade("solution.py", "--no-receipt", cwd=tmp_path)
    assert ran.code == 0
    assert "Passed: 100 of 100 points" in ran.stdout
    assert "receipts" not in ran.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["solution.py"]


def test_an_earlier_receipt_moves_to_the_history_byte_for_byte(tmp_path: Path) -> None:
    folder = tmp_path / "receipts" / EXERCISE
    put(tmp_path, raw=b"ring_all_bytes = 48\n")
    grade("solution.py", cwd=tmp_path)
    first = {
        ending: (folder / f"solution.{ending}").read_bytes() for ending in ("json", "md", "html")
    }
    put(tmp_path, raw=b"ring_all_bytes = 48\nring_scatter_bytes = 24\n")
    ran = grade("solution.py", cwd=tmp_path)
    assert ran.graded["points"] == 4
    assert "The earlier receipt is kept as history/solution." in ran.said
    kept = sorted((folder / "history").iterdir())
    assert {path.suffix[1:]: path.read_bytes() for path in kept} == first
    assert json.loads(first["json"])["points"] == 2


def test_files_of_equal_name_do_not_take_each_others_receipt(tmp_path: Path) -> None:
    for folder, answer in (("ada", 48), ("bob", 47)):
        put(tmp_path, f"{folder}/solution.py", f"ring_all_bytes = {answer}\n".encode())
        grade(f"{folder}/solution.py", cwd=tmp_path)
    found = (tmp_path / "receipts" / EXERCISE).glob("[!.]*.json")
    assert sorted(json.loads(path.read_bytes())["points"] for path in found) == [0, 2]
    assert not (tmp_path / "receipts" / EXERCISE / "history").exists()


def test_the_exit_code_follows_the_verdict(tmp_path: Path) -> None:
    sources = {
        "passed": (0, FILLED),
        "failed": (1, b"ring_all_bytes = 48\n"),
        # Full marks do not make up for a module that does not run to its end.
        "error": (1, FILLED + b"\nraise SystemExit(0)\n"),
    }
    for verdict, (code, raw) in sources.items():
        put(tmp_path, f"{verdict}.py", raw)
        ran = grade(f"{verdict}.py", "--json", cwd=tmp_path)
        assert (ran.graded["verdict"], ran.code) == (verdict, code)
    assert ran.graded["points"] == 100


@pytest.mark.slow
def test_the_cache_of_compiled_programs_changes_no_verdict(tmp_path: Path) -> None:
    put(tmp_path)
    options = (EXERCISE, "solution.py", "--json", "--no-receipt", "--seed", "0c")
    first, second = run(*options, cwd=tmp_path), run(*options, cwd=tmp_path)
    without = run(*options, "--no-cache", cwd=tmp_path)
    assert [ran.code for ran in (first, second, without)] == [0, 0, 0]
    digests = {ran.graded["evidence_digest"] for ran in (first, second, without)}
    assert len(digests) == 1
    cached = run("doctor", cwd=tmp_path).stdout
    assert f"{EXERCISE}: works" in cached


# ----------------------------------------------------------------------------------------- a course


def renamed_course(folder: Path) -> Path:
    """Make a course that holds our exercise under another id and title."""
    for kind in ("exercises", "rubrics"):
        shutil.copytree(ROOT / kind / EXERCISE, folder / kind / "sharding-07")
    for name in ("exercises/sharding-07/exercise.toml", "rubrics/sharding-07/rubric.toml"):
        text = (folder / name).read_text(encoding="utf-8")
        text = text.replace(EXERCISE, "sharding-07").replace("Communication-efficient", "Frugal")
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_a_course_of_ones_own_is_used_instead_of_the_shipped_one(tmp_path: Path) -> None:
    course = renamed_course(tmp_path / "course")
    put(tmp_path)
    listed = run("list", "--course", course, cwd=tmp_path)
    assert listed.stdout.startswith("sharding-07  Frugal algorithms (100 points)\n")
    assert EXERCISE not in listed.stdout
    assert run("list", cwd=tmp_path, env={"GRADE_COURSE": str(course)}).stdout == listed.stdout
    assert run("list", cwd=course / "exercises").stdout == listed.stdout
    ran = run("sharding-07", "solution.py", "--no-cache", "--course", course, cwd=tmp_path)
    assert ran.code == 0
    assert ran.graded["exercise"] == "sharding-07"
    assert (tmp_path / "receipts" / "sharding-07" / "solution.json").is_file()
    gone = run(EXERCISE, "solution.py", "--course", course, cwd=tmp_path)
    assert gone.code == 2
    assert f"there is no exercise '{EXERCISE}'" in gone.stderr


def test_a_course_without_exercises_says_so(tmp_path: Path) -> None:
    for name in ("exercises", "rubrics"):
        (tmp_path / name).mkdir()
    ran = run("list", cwd=tmp_path)
    assert (ran.code, ran.stdout) == (0, "")
    assert "holds no exercise yet" in ran.stderr


# ------------------------------------------------------------------------------------------- colour


def on_terminal(folder: Path, *args: str, **variables: str) -> tuple[int, str]:
    """Run a command whose three streams are a terminal; return its code and what it showed."""
    import pty

    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command(*args),
        cwd=folder,
        env=environment(TERM="xterm-256color", **variables),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # what Linux says when the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(ours)
    return process.wait(60), shown.decode("utf-8")


COLOUR = re.compile(r"\x1b\[[0-9;]*3[0-7][0-9;]*m")


@LINUX
def test_a_terminal_shows_colour_and_what_goes_on(tmp_path: Path) -> None:
    put(tmp_path, raw=b"ring_all_bytes = 48\n")
    code, shown = on_terminal(tmp_path, EXERCISE, "--no-cache", "solution.py")
    assert code == 1
    assert COLOUR.search(shown)
    assert "grading solution.py" in shown
    assert "2 of 100 points" in shown
    # The cursor that the spinner hid is back.
    assert shown.rfind("\x1b[?25h") > shown.rfind("\x1b[?25l")


@LINUX
def test_no_color_is_honoured_on_a_terminal(tmp_path: Path) -> None:
    put(tmp_path, raw=b"ring_all_bytes = 48\n")
    code, shown = on_terminal(tmp_path, EXERCISE, "--no-cache", "solution.py", NO_COLOR="1")
    assert code == 1
    assert "2 of 100 points" in shown
    assert not COLOUR.search(shown)


def test_nothing_but_text_reaches_a_file_or_a_pipe(tmp_path: Path) -> None:
    put(
        tmp_path,
        raw=b"ring_all_bytes = 48\nprint('\\x1b[31mred\\x07')\nraise ValueError('\\x1b[2J')\n",
    )
    ran = grade("solution.py", cwd=tmp_path, env={"TERM": "xterm-256color"})
    assert ran.code == 1
    assert "grading" not in ran.said
    assert "\x1b" not in ran.stdout + ran.stderr
    assert "\x07" not in ran.stdout + ran.stderr


# --------------------------------------------------------------------- whoever reads it goes away


def unread(folder: Path, *args: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command whose standard output nobody reads any more."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        return subprocess.run(
            command(*args),
            cwd=folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=writing,
            stderr=subprocess.PIPE,
            timeout=120,
        )
    finally:
        os.close(writing)


@pytest.mark.parametrize(("raw", "code"), [(FILLED, 0), (b"ring_all_bytes = 48\n", 1)])
@pytest.mark.parametrize("options", [(), ("--json",)], ids=["table", "json"])
def test_a_verdict_does_not_depend_on_being_read(
    raw: bytes, code: int, options: tuple[str, ...], tmp_path: Path
) -> None:
    put(tmp_path, raw=raw)
    done = unread(tmp_path, EXERCISE, "--no-cache", "solution.py", *options)
    assert done.returncode == code, done.stderr
    assert b"Error" not in done.stderr
    assert (tmp_path / "receipts" / EXERCISE / "solution.json").is_file()


@pytest.mark.parametrize(
    "args", [("list",), ("--help",), ("--version",), ("show", EXERCISE), ("schema", "receipt")]
)
def test_a_command_nobody_reads_ends_in_silence(args: tuple[str, ...], tmp_path: Path) -> None:
    done = unread(tmp_path, *args)
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_first_line_alone_may_be_read(tmp_path: Path) -> None:
    put(tmp_path, raw=b"x = 1\n")
    process = subprocess.Popen(
        command(EXERCISE, "--no-cache", "solution.py"),
        cwd=tmp_path,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None and process.stderr is not None
    first = process.stdout.readline()
    process.stdout.close()
    assert process.wait(60) == 1
    assert first.decode() == f"{EXERCISE} · Communication-efficient algorithms\n"
    assert process.stderr.read() == b""
    process.stderr.close()


CLOSED = "import os, sys\nfor fd in {}: os.close(fd)\nos.execv(sys.argv[1], sys.argv[1:])"


@pytest.mark.skipif(sys.platform == "win32", reason="descriptors are inherited otherwise there")
@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)], ids=str)
def test_streams_the_caller_closed_are_not_missed(closed: tuple[int, ...], tmp_path: Path) -> None:
    put(tmp_path)
    line = command(EXERCISE, "--no-cache", "solution.py")
    done = subprocess.run(
        [sys.executable, "-c", CLOSED.format(closed), *line],
        cwd=tmp_path,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    receipt = json.loads((tmp_path / "receipts" / EXERCISE / "solution.json").read_bytes())
    assert receipt["points"] == 100


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this platform has no full device")
@pytest.mark.parametrize("args", [("list",), (EXERCISE, "--no-cache", "--json", "solution.py")])
def test_a_full_disk_is_the_machines_fault_not_a_bug(args: tuple[str, ...], tmp_path: Path) -> None:
    put(tmp_path, raw=b"x = 1\n")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            command(*args),
            cwd=tmp_path,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=120,
        )
    assert done.returncode == 4, done.stderr
    assert b"No space left on device" in done.stderr
    assert b"Next: " in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps a folder that is in use")
def test_a_current_folder_that_is_gone_is_told(tmp_path: Path) -> None:
    file = put(tmp_path, raw=b"x = 1\n")
    gone = tmp_path / "gone"
    gone.mkdir()
    remove = f"import os, sys\nos.rmdir({str(gone)!r})\nos.execv(sys.argv[1], sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", remove, *command(EXERCISE, "--no-cache", file)],
        cwd=gone,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 4, done.stderr
    assert done.stderr.startswith("grade: the current folder is not there any more\n  Next: ")


# ---------------------------------------------------------------------------------- ended midway


def alive(pid: int) -> bool:
    """Return whether a process still runs; one that waits to be reaped does not."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rsplit(b")", 1)[1].split()[0] not in (b"Z", b"X")
    except OSError:
        return False


def descendants(pid: int) -> set[int]:
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    parents[int(name)] = int(file.read().rsplit(b")", 1)[1].split()[1])
            except OSError:
                continue
    found, added = {pid}, {pid}
    while added:
        added = {child for child, parent in parents.items() if parent in found} - found
        found |= added
    return found - {pid}


def until(holds: Callable[[], object], within_s: float = 30.0) -> bool:
    """Wait until `holds` is true; the bound is there for a failing test, not to time anything."""
    deadline = time.monotonic() + within_s
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


# Uses CPU time first, so that it can be told from outside that it runs, and then none.
BUSY_THEN_ASLEEP = b"""
import time
while time.process_time() < 2:
    pass
time.sleep(10**6)
"""


def learner_runs(pid: int) -> bool:
    """Return whether a process that the server of this grade forked has used a second of CPU."""
    forked = {grandchild for child in descendants(pid) for grandchild in descendants(child)}
    return any(map(busy, forked))


def busy(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            facts = file.read().rsplit(b")", 1)[1].split()
            # Asking for the time is a system call, so a good part of it is the kernel's.
            return int(facts[11]) + int(facts[12]) >= os.sysconf("SC_CLK_TCK")
    except OSError:
        return False


@LINUX
@pytest.mark.parametrize(
    ("number", "code", "says"),
    [
        (signal.SIGINT, 130, "interrupted"),
        (signal.SIGTERM, 128 + signal.SIGTERM, ""),
        (signal.SIGHUP, 128 + signal.SIGHUP, ""),
        (signal.SIGKILL, -signal.SIGKILL, ""),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_grade_that_is_ended_leaves_no_receipt_and_no_child(
    number: signal.Signals, code: int, says: str, tmp_path: Path
) -> None:
    put(tmp_path, raw=BUSY_THEN_ASLEEP)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    process = subprocess.Popen(
        command(EXERCISE, "--no-cache", "solution.py"),
        cwd=tmp_path,
        env=environment(TMPDIR=str(scratch)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert until(lambda: learner_runs(process.pid))
    children = descendants(process.pid)
    os.killpg(process.pid, number)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == code
    assert stdout == ""
    assert says in stderr
    assert "Traceback" not in stderr
    assert until(lambda: not any(map(alive, children)))
    assert not (tmp_path / "receipts").exists()
    if number != signal.SIGKILL:
        assert list(scratch.iterdir()) == []


@LINUX
def test_the_end_of_our_own_server_is_never_the_learners_fault(tmp_path: Path) -> None:
    put(tmp_path, raw=BUSY_THEN_ASLEEP)
    process = subprocess.Popen(
        command(EXERCISE, "--no-cache", "solution.py"),
        cwd=tmp_path,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert until(lambda: learner_runs(process.pid))
    children = descendants(process.pid)
    # The server is the only child of ours; all others are its own.
    (server,) = (child for child in children if len(descendants(child)) == len(children) - 1)
    os.kill(server, signal.SIGKILL)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 5
    assert "Not passed" not in stdout
    assert "the process that starts the children ended" in stderr
    assert "then run it again" in stderr
    assert not (tmp_path / "receipts").exists()
    assert until(lambda: not any(map(alive, children)))


def test_an_exercise_that_is_wrong_hides_none_of_the_others(tmp_path: Path) -> None:
    course = tmp_path / "course"
    for name in ("exercises", "rubrics"):
        shutil.copytree(ROOT / name, course / name)
    shutil.copytree(course / "exercises" / EXERCISE, course / "exercises" / "aaa-01")
    ran = run("list", "--course", course, cwd=tmp_path)
    assert ran.code == 3
    assert f"{EXERCISE}  Communication-efficient algorithms (100 points)" in ran.stdout
    assert "exercise.toml of aaa-01 says it belongs to" in ran.said or "is missing" in ran.said


def test_start_takes_a_folder_and_says_so_of_a_file_name(tmp_path: Path) -> None:
    ran = run("start", EXERCISE, "mine.py", cwd=tmp_path)
    assert ran.code == 2
    assert "mine.py looks like a file, and `grade start` takes a folder" in ran.said
    assert f"Next: grade start {EXERCISE} ." in ran.said
    assert not (tmp_path / "mine.py").exists()
