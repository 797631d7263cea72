"""A file of the results is replaced whole or not at all, and left alone where nothing changed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from grader.errors import EnvironmentProblem
from grader.gradebook import results


def names(folder: Path) -> list[str]:
    return sorted(str(one.relative_to(folder)) for one in folder.rglob("*") if one.is_file())


def test_a_file_is_written_with_the_folders_that_it_needs(tmp_path: Path) -> None:
    assert results.put(tmp_path / "a" / "b.txt", b"one")
    assert (tmp_path / "a" / "b.txt").read_bytes() == b"one"
    assert names(tmp_path) == ["a/b.txt"]


def test_a_file_that_is_the_same_is_not_touched(tmp_path: Path) -> None:
    place = tmp_path / "b.txt"
    results.put(place, b"one")
    before = place.stat()
    assert not results.put(place, b"one")
    assert (place.stat().st_ino, place.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_file_that_changes_is_another_file_and_whoever_reads_it_keeps_the_old(
    tmp_path: Path,
) -> None:
    place = tmp_path / "b.txt"
    results.put(place, b"one")
    with place.open("rb") as reader:
        assert results.put(place, b"two")
        assert reader.read() == b"one"
    assert place.read_bytes() == b"two"


def test_a_file_that_cannot_be_replaced_stays_and_nothing_is_left(tmp_path: Path) -> None:
    place = tmp_path / "b.txt"
    (place / "inside").mkdir(parents=True)
    with pytest.raises(EnvironmentProblem) as raised:
        results.put(place, b"two")
    assert raised.value.where == str(place)
    assert raised.value.next_step == "mend that, then run the same command: it goes on where it " \
        "stopped"  # fmt: skip
    assert names(tmp_path) == []
    assert (place / "inside").is_dir()


def test_only_the_files_that_changed_are_named(tmp_path: Path) -> None:
    results.put(tmp_path / "a", b"1")
    assert results.put_all(tmp_path, {"a": b"1", "b": b"2"}) == ["b"]


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(b"")
    with pytest.raises(EnvironmentProblem, match="the results cannot be written") as raised:
        results.folder(tmp_path / "out", "distributed-03")
    assert raised.value.where == str(tmp_path / "out" / "distributed-03")


@pytest.mark.skipif(os.name != "posix", reason="asks for a process by id")
def test_what_a_killed_process_left_half_written_is_removed_and_nothing_else(
    tmp_path: Path,
) -> None:
    root = results.folder(tmp_path, "distributed-03")
    half = "import os,sys; from pathlib import Path; from grader.gradebook import results\n" \
        "os.replace = lambda *_: os._exit(9); results.put(Path(sys.argv[1]), b'half')"  # fmt: skip
    place = root / "receipts" / "ada" / "x.json"
    done = subprocess.run([sys.executable, "-c", half, str(place)], timeout=60, check=False)
    assert done.returncode == 9
    (left,) = names(root)
    # One like it that is still being written, and one of another machine.
    alive = left.replace(left.split("-")[1], str(os.getpid()))
    foreign = left.replace(left.split("/")[-1].split("-")[0], ".00000000")
    for kept in (alive, foreign, "receipts/.tmp", ".notes.tmp"):
        (root / kept).write_bytes(b"")
    results.folder(tmp_path, "distributed-03")
    assert names(root) == sorted([alive, foreign, "receipts/.tmp", ".notes.tmp"])
