"""A folder that cannot be written to is the machine's fault, and nothing is half written."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.command import EXERCISE
from tests.faults import room
from tests.faults.aftermath import the_next_run_works
from tests.faults.moments import FILLED, NAME
from tests.hostile.stage import Ended, Stage, as_user, users

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="mounts and limits as Linux has them"),
]
ROOT_ONLY = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may mount"
)
_LIMIT = (
    "import os, resource, sys\n"
    "resource.setrlimit(resource.{kind}, ({value}, {value}))\n"
    "os.execv(sys.argv[1], sys.argv[1:])"
)


def limited(kind: str, value: int) -> tuple[str, ...]:
    """Return what stands before a command that a limit is to hold for."""
    return (sys.executable, "-I", "-S", "-c", _LIMIT.format(kind=kind, value=value))


def prepared(folder: Path, uid: int | None = None) -> Stage:
    stage = Stage(folder / "stage", uid)
    stage.set()
    stage.put(NAME, FILLED)
    return stage


def grade(stage: Stage, *before: str) -> Ended:
    with stage.started(
        EXERCISE, "--no-cache", "--out", stage.out, "--", NAME, before=before
    ) as running:
        return running.ended()


def in_room(stage: Stage, options: str, *folders: Path) -> tuple[Ended, list[str]]:
    """Grade while folders are full or read-only; return that, and which files were left in them."""
    report = stage.folder.with_name("report")
    line = (sys.executable, "-I", "-S", room.__file__, str(report), options)
    ended = grade(stage, *line, *map(str, folders), "--")
    if ended.code == room.REFUSED:
        pytest.skip(ended.stdout.strip())
    return ended, json.loads(report.read_text(encoding="utf-8"))


def told_as_the_machines_fault(ended: Ended) -> None:
    assert ended.code == 4, ended.stdout + ended.stderr
    assert ended.left == []
    assert "Next: " in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "bug in the grader" not in ended.stderr


@pytest.mark.once
@ROOT_ONLY
@pytest.mark.parametrize("size", ["4k", "28k", "56k"])
def test_a_full_disk_keeps_the_verdict_and_no_half_of_a_receipt(size: str, tmp_path: Path) -> None:
    stage = prepared(tmp_path)
    ended, files = in_room(stage, f"size={size}", stage.out)
    told_as_the_machines_fault(ended)
    assert "No space left on device" in ended.stderr
    # The verdict is shown all the same.
    assert "100 of 100 points" in ended.stdout, ended.stdout
    assert files == []
    the_next_run_works(stage)


@pytest.mark.once
@ROOT_ONLY
def test_a_disk_without_room_for_one_more_file_is_a_full_one(tmp_path: Path) -> None:
    stage = prepared(tmp_path)
    ended, files = in_room(stage, "nr_inodes=3", stage.out)
    told_as_the_machines_fault(ended)
    assert files == []
    the_next_run_works(stage)


@pytest.mark.once
@pytest.mark.parametrize("most_bytes", [1 << 10, 12 << 10])
def test_a_limit_on_files_loses_no_earlier_receipt(most_bytes: int, tmp_path: Path) -> None:
    # The smaller one is not enough for the private copy of the submission either.
    stage = prepared(tmp_path)
    the_next_run_works(stage)
    earlier = stage.files()
    ended = grade(stage, *limited("RLIMIT_FSIZE", most_bytes))
    told_as_the_machines_fault(ended)
    assert stage.files() == earlier
    the_next_run_works(stage)


@pytest.mark.once
@ROOT_ONLY
def test_a_read_only_folder_is_told_to_root_too(tmp_path: Path) -> None:
    stage = prepared(tmp_path)
    before = stage.files()
    ended, _files = in_room(stage, "ro", stage.out)
    told_as_the_machines_fault(ended)
    assert "Read-only file system" in ended.stderr
    assert "100 of 100 points" in ended.stdout, ended.stdout
    assert stage.files() == before
    the_next_run_works(stage)


@pytest.mark.once
@pytest.mark.parametrize("uid", users()[-1:], ids=lambda uid: f"as-{uid or 'itself'}")
def test_a_folder_of_somebody_else_is_told(uid: int | None, tmp_path: Path) -> None:
    stage = prepared(tmp_path, uid)
    if reason := why_not(stage):
        pytest.skip(reason)
    folder = stage.out / EXERCISE
    folder.chmod(0o555)
    before = stage.files()
    ended = stage.run(EXERCISE, "--no-cache", "--out", stage.out, "--", NAME)
    told_as_the_machines_fault(ended)
    assert "Permission denied" in ended.stderr
    assert "100 of 100 points" in ended.stdout, ended.stdout
    assert stage.files() == before
    folder.chmod(0o755)
    the_next_run_works(stage)


@pytest.mark.once
@pytest.mark.parametrize("uid", users()[-1:], ids=lambda uid: f"as-{uid or 'itself'}")
def test_a_course_that_may_not_be_read_is_told(uid: int | None, tmp_path: Path) -> None:
    stage = prepared(tmp_path, uid)
    if reason := why_not(stage):
        pytest.skip(reason)
    closed = stage.folder / "closed"
    closed.mkdir(mode=0o000)
    stage.own()
    ended = stage.run(EXERCISE, "--no-cache", "--course", closed / "course", "--", NAME)
    closed.chmod(0o755)
    assert ended.code in (2, 4), ended.stderr
    assert "Next: " in ended.stderr


def why_not(stage: Stage) -> str:
    """Return why this machine cannot run a command as the user of a stage."""
    import subprocess

    line = [*as_user(stage.uid, stage.folder), sys.executable, "-c", "import grader.cli.main"]
    done = subprocess.run(line, cwd="/", capture_output=True, text=True, timeout=120)
    return "" if done.returncode == 0 else (done.stdout + done.stderr).strip()[-300:]


@pytest.mark.once
def test_a_scratch_folder_that_is_missing_is_done_without(tmp_path: Path) -> None:
    stage = prepared(tmp_path)
    before = set(stage.files())
    ended = stage.run(
        EXERCISE, "--no-cache", "--out", stage.out, "--", NAME, TMPDIR=str(stage.folder / "nowhere")
    )
    assert (ended.code, ended.left) == (0, []), ended.stderr
    own = {stage.out / EXERCISE / f"solution.{ending}" for ending in ("json", "md", "html")}
    assert set(stage.files()) - before == own | {stage.out / EXERCISE / ".index.json"}


@pytest.mark.once
@ROOT_ONLY
def test_no_scratch_folder_at_all_is_told_as_the_machines_fault(tmp_path: Path) -> None:
    stage = prepared(tmp_path)
    # Every folder that Python would fall back to, the current one included.
    common = [Path(name) for name in ("/tmp", "/var/tmp", "/usr/tmp") if os.path.isdir(name)]
    ended, _files = in_room(stage, "ro", stage.work, stage.scratch, *common)
    told_as_the_machines_fault(ended)
    the_next_run_works(stage)


@pytest.mark.parametrize("most", [8, 16, 24])
def test_too_few_descriptors_are_told_as_the_machines_fault(most: int, tmp_path: Path) -> None:
    stage = prepared(tmp_path)
    ended = grade(stage, *limited("RLIMIT_NOFILE", most))
    assert ended.code in (0, 4, 5), ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.left == []
    the_next_run_works(stage)


def test_too_little_memory_for_jax_is_told_as_the_machines_fault(tmp_path: Path) -> None:
    stage = prepared(tmp_path)
    ended = grade(stage, *limited("RLIMIT_AS", 400 << 20))
    assert ended.code in (4, 5), ended.stdout + ended.stderr
    assert "Next: " in ended.stderr
    assert ended.left == []
    the_next_run_works(stage)
