"""`grade reset` begins a file again and loses nothing; `grade start` says what to do first."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from grader import answers
from grader.cli.reset import begin_again
from grader.errors import EnvironmentProblem, UsageProblem
from tests.command import EXERCISE, ROOT, Ran, command, environment, run

pytestmark = pytest.mark.once
FOLDER = ROOT / "exercises" / EXERCISE
STARTER = (FOLDER / "starter.py").read_bytes()
NAME = f"{EXERCISE}.py"
WORK = b"hours = 'of work'\n"
POSIX = pytest.mark.skipif(os.name != "posix", reason="files as POSIX has them")


def reset(cwd: Path, *args: str) -> Ran:
    return run("reset", EXERCISE, *args, cwd=cwd, env={"XDG_STATE_HOME": str(cwd / "state")})


def put(folder: Path, name: str = NAME, raw: bytes = WORK) -> Path:
    (folder / name).write_bytes(raw)
    return folder / name


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def refused(ran: Ran, message: str, code: int = 2) -> None:
    assert (ran.code, ran.stdout, ran.stderr) == (code, "", message)


# ------------------------------------------------------------------------------------------- reset


def test_a_file_begins_again_and_the_old_one_is_kept(tmp_path: Path) -> None:
    put(tmp_path)
    ran = reset(tmp_path)
    assert (ran.code, ran.stderr) == (0, "")
    (aside,) = names(tmp_path) - {NAME}
    assert re.fullmatch(r"distributed-03\.\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.py", aside)
    assert (tmp_path / NAME).read_bytes() == STARTER
    assert (tmp_path / aside).read_bytes() == WORK
    assert ran.stdout == (
        f"{NAME} begins again from the starter\n"
        f"  your file is kept as {aside}\n"
        "  receipts, hints and answers stay as they are\n"
        f"  Fill in a part, then: grade {EXERCISE} {NAME}\n"
    )
    again = reset(tmp_path)
    assert again.code == 0
    assert again.stdout.startswith(
        f"{NAME} is still as the starter was: there is nothing to reset\n"
    )
    assert names(tmp_path) == {NAME, aside}


def test_a_notebook_begins_again_as_a_notebook(tmp_path: Path) -> None:
    (tmp_path / "week 9").mkdir()
    put(tmp_path / "week 9", f"{EXERCISE}.ipynb")
    ran = reset(tmp_path, f"week 9/{EXERCISE}.ipynb")
    assert ran.code == 0
    assert (tmp_path / "week 9" / f"{EXERCISE}.ipynb").read_bytes() == (
        FOLDER / "starter.ipynb"
    ).read_bytes()
    assert f"then: grade {EXERCISE} 'week 9/{EXERCISE}.ipynb'\n" in ran.stdout
    put(tmp_path)
    put(tmp_path, f"{EXERCISE}.ipynb")
    refused(
        reset(tmp_path),
        f"grade: {NAME} and {EXERCISE}.ipynb both lie here\n"
        f"  Next: name one: grade reset {EXERCISE} {NAME}\n",
    )


@POSIX
def test_what_cannot_be_reset_is_told_and_left_as_it_is(tmp_path: Path) -> None:
    refused(
        reset(tmp_path),
        f"grade: there is no {NAME} and no {EXERCISE}.ipynb in this folder\n"
        f"  Next: to begin: grade start {EXERCISE}; of another name: "
        f"grade reset {EXERCISE} FILE\n",
    )
    refused(
        reset(tmp_path, f"a b/{NAME}"),
        f"grade: there is no file a b/{NAME}\n  Next: to begin: grade start {EXERCISE} 'a b'\n",
    )
    (tmp_path / "folder").mkdir()
    refused(
        reset(tmp_path, "folder"),
        "grade: folder is a folder, and one file is wanted here\n"
        f"  Next: grade reset {EXERCISE} folder/{NAME}\n",
    )
    work = put(tmp_path, "mine.py")
    (tmp_path / NAME).symlink_to(work)
    refused(
        reset(tmp_path),
        f"grade: {NAME} is a link, and is left as it is\n"
        f"  Next: name the file that it points to: {work}\n",
    )
    os.mkfifo(tmp_path / "pipe.py")
    refused(
        reset(tmp_path, "pipe.py"),
        "grade: pipe.py is no ordinary file\n  Next: name a .py or .ipynb file\n",
    )
    put(tmp_path, "notes.txt")
    refused(
        reset(tmp_path, "notes.txt"),
        "grade: notes.txt is neither a .py nor a .ipynb file\n  Next: name the file you work in\n",
    )
    put(tmp_path, "distributed-99.py")
    refused(
        reset(tmp_path, "distributed-99.py"),
        "grade: distributed-99.py has the name of another exercise, distributed-99\n"
        "  Next: grade reset distributed-99 distributed-99.py\n",
    )
    assert all((tmp_path / name).read_bytes() == WORK for name in ("mine.py", "notes.txt", NAME))
    assert names(tmp_path) == {
        *("folder", "mine.py", NAME, "pipe.py", "notes.txt", "distributed-99.py")
    }


@pytest.mark.skipif(sys.platform != "linux", reason="limits as Linux has them")
def test_a_starter_that_cannot_be_written_leaves_the_file(tmp_path: Path) -> None:
    put(tmp_path)
    limited = (
        "import os, resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    done = subprocess.run(
        [sys.executable, "-c", limited, *command("reset", EXERCISE)],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (
        4,
        "",
        f"grade: {NAME} cannot be reset: File too large; nothing was changed\n"
        "  Next: check the permissions of the file and its folder\n",
    )
    assert names(tmp_path) == {NAME} and (tmp_path / NAME).read_bytes() == WORK


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "read only"
    folder.mkdir()
    put(folder)
    folder.chmod(0o555)
    try:
        ran = reset(tmp_path, f"read only/{NAME}")
    finally:
        folder.chmod(0o755)
    assert ran.code == 4
    assert f"{NAME} cannot be reset: Permission denied; nothing was changed" in ran.stderr
    assert names(folder) == {NAME}


# -------------------------------------------------------------------------------- never lost (unit)


def test_no_name_is_ever_taken_twice(tmp_path: Path) -> None:
    kept = []
    for number in range(4):
        place = put(tmp_path, raw=b"try %d" % number)
        kept.append(begin_again(place, place.lstat(), b"starter"))
    assert [path.read_bytes() for path in kept] == [b"try %d" % number for number in range(4)]
    assert names(tmp_path) == {NAME, *(path.name for path in kept)}


def test_a_file_system_without_hard_links_will_do(tmp_path: Path) -> None:
    def no_links(_source: Path, _target: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    kept = []
    for raw in (b"one", b"two"):
        place = put(tmp_path, raw=raw)
        kept.append(begin_again(place, place.lstat(), b"starter", no_links))
    assert [path.read_bytes() for path in kept] == [b"one", b"two"]
    assert place.read_bytes() == b"starter"
    assert names(tmp_path) == {NAME, *(path.name for path in kept)}


def test_a_file_that_is_saved_meanwhile_is_left(tmp_path: Path) -> None:
    place = put(tmp_path)

    def saves(source: Path, target: Path) -> None:
        os.link(source, target)
        put(tmp_path, "new", b"saved just now")
        os.replace(tmp_path / "new", source)

    with pytest.raises(UsageProblem, match="was saved just now; nothing was changed"):
        begin_again(place, place.lstat(), b"starter", saves)
    assert place.read_bytes() == b"saved just now"
    assert sorted(path.read_bytes() for path in tmp_path.iterdir()) == [WORK, b"saved just now"]


def test_an_interruption_leaves_the_file(tmp_path: Path) -> None:
    def interrupted(source: Path, target: Path) -> None:
        raise KeyboardInterrupt

    place = put(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        begin_again(place, place.lstat(), b"starter", interrupted)
    assert names(tmp_path) == {NAME} and place.read_bytes() == WORK


@POSIX
def test_a_very_long_name_still_has_room_for_the_date(tmp_path: Path) -> None:
    place = put(tmp_path, f"{'é' * 124}.py")
    assert begin_again(place, place.lstat(), b"starter").read_bytes() == WORK
    with pytest.raises(EnvironmentProblem, match=r"cannot be reset: .*; nothing was changed"):
        begin_again(tmp_path / "gone" / NAME, place.lstat(), b"starter")


# ------------------------------------------------------------------------------------------- start


def test_start_names_the_prediction_first_until_it_is_made(tmp_path: Path) -> None:
    env = {"XDG_STATE_HOME": str(tmp_path / "state")}
    assert run("start", EXERCISE, cwd=tmp_path, env=env).stdout == (
        f"wrote {NAME}\n"
        f"  Next: grade predict {EXERCISE}\n"
        f"  What is asked: grade show {EXERCISE}\n"
        f"  Fill in a part, then: grade {EXERCISE} {NAME}\n"
    )
    answers.predict(EXERCISE, {"local_rows": 4}, tmp_path / "state" / "grade")
    ran = run("start", EXERCISE, "other", cwd=tmp_path, env=env)
    assert f"Next: grade predict {EXERCISE}\n" not in ran.stdout
    assert "Remembered for you, here or elsewhere: 1 prediction.\n" in ran.stdout


def test_start_says_what_is_there_and_how_to_begin_again(tmp_path: Path) -> None:
    put(tmp_path, raw=STARTER)
    refused(
        run("start", EXERCISE, cwd=tmp_path),
        f"grade: {NAME} exists already and is left as it is: nothing is filled in yet\n"
        f"  Next: fill in a part, then: grade {EXERCISE} {NAME}; "
        f"or name another folder: grade start {EXERCISE} DIR\n",
    )
    put(tmp_path)
    refused(
        run("start", EXERCISE, cwd=tmp_path),
        f"grade: {NAME} exists already and is left as it is\n"
        "  Next: name another folder; or begin again, with this file kept aside: "
        f"grade reset {EXERCISE} {NAME}\n",
    )
    (tmp_path / "folder" / NAME).mkdir(parents=True)
    refused(
        run("start", EXERCISE, "folder", cwd=tmp_path),
        f"grade: folder/{NAME} exists already and is no file\n"
        f"  Next: name another folder: grade start {EXERCISE} DIR\n",
    )
