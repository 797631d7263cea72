"""A receipt is written whole or not at all, and no earlier one is ever lost."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import subprocess
import sys
import time
import unicodedata
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from grader.errors import EnvironmentProblem
from grader.receipt.lock import Patience
from grader.receipt.naming import safe_stem, stem_of
from grader.receipt.render import to_json
from grader.receipt.store import Written, write
from grader.records.receipt import Receipt
from tests.receipt import factory

HASTE = Patience(wait_s=0.3, stale_s=60.0, poll_s=0.01)


def receipt(name: str = "my_solution.py", verdict: str = "failed", **more: Any) -> Receipt:
    given = factory.passed().submission.model_copy(update={"name": name})
    made: Receipt = getattr(factory, verdict)(submission=given, **more)
    return made


def forms(of: Receipt) -> dict[str, str]:
    return {"json": to_json(of), "md": f"# {of.created_at}\n", "html": f"<p>{of.created_at}</p>"}


def save(of: Receipt, out: Path, origin: str = "/home/ada/my_solution.py", **more: Any) -> Written:
    return write(of, out, forms(of), origin, **more)


def listed(out: Path) -> list[str]:
    return sorted(p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file())


def kept(out: Path) -> list[str]:
    """Return the dates of all JSON receipts below `out`."""
    paths = [path for path in out.rglob("*.json") if not path.name.startswith(".")]
    return sorted(json.loads(path.read_text())["created_at"] for path in paths)


def test_a_receipt_goes_under_its_exercise_and_stem(tmp_path: Path) -> None:
    written = save(receipt(), tmp_path)
    folder = tmp_path / "distributed-03"
    assert written == Written(
        folder / "my_solution.json", folder / "my_solution.md", folder / "my_solution.html", ""
    )
    assert Receipt.model_validate_json((folder / "my_solution.json").read_text()) == receipt()
    assert listed(folder) == [
        ".index.json", "my_solution.html", "my_solution.json", "my_solution.md",
    ]  # fmt: skip


def test_files_have_the_modes_that_the_user_asked_for(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        written = save(receipt(), tmp_path)
    finally:
        os.umask(before)
    assert written.json is not None
    assert written.json.stat().st_mode & 0o777 == 0o640


def test_an_earlier_receipt_moves_to_history_with_all_its_forms(tmp_path: Path) -> None:
    save(receipt(created_at="2026-03-01T10:20:30Z"), tmp_path)
    written = save(receipt(created_at="2026-03-02T08:00:00Z"), tmp_path)
    folder = tmp_path / "distributed-03"
    for ending in ("json", "md", "html"):
        old = folder / "history" / f"my_solution.2026-03-01T10-20-30Z.{ending}"
        assert "2026-03-01" in old.read_text()
        assert "2026-03-02" in (folder / f"my_solution.{ending}").read_text()
    assert "history/my_solution.2026-03-01T10-20-30Z.json" in written.message


def test_receipts_of_one_second_are_all_kept(tmp_path: Path) -> None:
    for _ in range(4):
        save(receipt(), tmp_path)
    assert len(kept(tmp_path)) == 4


def test_a_form_that_is_no_longer_written_does_not_stay_beside_the_new_ones(tmp_path: Path) -> None:
    save(receipt(), tmp_path)
    written = write(receipt(), tmp_path, {"json": "{}"}, "/home/ada/my_solution.py")
    assert written.md is None
    assert not (tmp_path / "distributed-03" / "my_solution.md").exists()


def test_an_undecided_receipt_never_replaces_a_decided_one(tmp_path: Path) -> None:
    save(receipt(verdict="passed", created_at="2026-03-01T00:00:00Z"), tmp_path)
    late = receipt(verdict="undecided", created_at="2026-03-02T00:00:00Z")
    written = save(late, tmp_path)
    current = json.loads((tmp_path / "distributed-03" / "my_solution.json").read_text())
    assert current["verdict"] == "passed"
    assert written.json is not None
    assert written.json.parent.name == "history"
    assert json.loads(written.json.read_text())["verdict"] == "undecided"
    assert "undecided" in written.message
    assert "stays in place" in written.message


def test_an_undecided_receipt_stands_where_there_is_no_better_one(tmp_path: Path) -> None:
    save(receipt(verdict="undecided"), tmp_path)
    written = save(receipt(verdict="undecided"), tmp_path)
    assert written.json == tmp_path / "distributed-03" / "my_solution.json"
    assert len(kept(tmp_path)) == 2
    assert save(receipt(verdict="failed"), tmp_path).json == written.json


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\x00", b"[1]", b"[" * 100_000, b'{"a": 1}'])
def test_an_earlier_file_that_cannot_be_read_is_kept_under_its_date(
    tmp_path: Path, content: bytes
) -> None:
    folder = tmp_path / "distributed-03"
    folder.mkdir()
    (folder / "my_solution.json").write_bytes(content)
    os.utime(folder / "my_solution.json", (0, 0))
    save(receipt(), tmp_path)
    old = folder / "history" / "my_solution.1970-01-01T00-00-00Z.json"
    assert old.read_bytes() == content


def test_a_date_in_an_earlier_receipt_cannot_lead_out_of_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "distributed-03"
    folder.mkdir()
    earlier = {"created_at": "../../../etc/" + "x" * 400, "verdict": "failed"}
    (folder / "my_solution.json").write_text(json.dumps(earlier))
    save(receipt(), tmp_path)
    assert [path.parent for path in folder.glob("history/*")] == [folder / "history"]


def test_equal_stems_of_different_files_get_a_digest(tmp_path: Path) -> None:
    first = save(receipt("a.py"), tmp_path, "/home/ada/a.py")
    notebook = save(receipt("a.ipynb"), tmp_path, "/home/ada/a.ipynb")
    elsewhere = save(receipt("a.py"), tmp_path, "/home/bob/a.py")
    places = [place.json.name for place in (first, notebook, elsewhere) if place.json]
    assert places[0] == "a.json"
    assert all(len(name) == len("a-12345678.json") for name in places[1:])
    assert len(set(places)) == 3
    assert not (tmp_path / "distributed-03" / "history").exists()


def test_a_file_finds_its_own_receipt_again(tmp_path: Path) -> None:
    save(receipt("a.py"), tmp_path, "/home/ada/a.py")
    first = save(receipt("a.py"), tmp_path, "/home/bob/a.py")
    edited = factory.passed().submission.model_copy(update={"name": "a.py", "sha256": "b4" * 32})
    again = save(factory.failed(submission=edited), tmp_path, "/home/bob/a.py")
    assert first.json == again.json
    assert "history/" in again.message


def test_names_that_differ_in_case_alone_do_not_share_a_file(tmp_path: Path) -> None:
    first, second = (save(receipt(name), tmp_path, f"/x/{name}") for name in ("A.py", "a.py"))
    assert first.json is not None
    assert second.json is not None
    assert first.json.name.casefold() != second.json.name.casefold()


def test_a_lost_index_loses_no_receipt(tmp_path: Path) -> None:
    save(receipt("a.py"), tmp_path, "/home/ada/a.py")
    (tmp_path / "distributed-03" / ".index.json").write_text("not json")
    written = save(receipt("a.ipynb"), tmp_path, "/home/ada/a.ipynb")
    assert written.json is not None
    assert written.json.name != "a.json"
    assert len(kept(tmp_path)) == 2


def test_no_folder_of_the_learner_is_written_down(tmp_path: Path) -> None:
    save(receipt(), tmp_path)
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or b"/home/ada" not in path.read_bytes()
    index = json.loads((tmp_path / "distributed-03" / ".index.json").read_text())
    owner = hashlib.sha256(b"my_solution.py\0/home/ada/my_solution.py").hexdigest()
    assert index == {"stems": {"my_solution": owner}}


@pytest.mark.parametrize(
    "name",
    [
        "my solution.py", "../../etc/passwd", "..", ".", "", ".hidden.py", "a/b\\c.py", "con.py",
        "NUL", "a\x00b.py", "line\nend.py", "\u202eyp.a.py", "x" * 400 + ".py", "勾" * 400,
        "U\u0308bung.py", "a:b*c?.py", "trailing. .py", "index.py", "history.py", "-rf.py",
        "\ud800.py",
    ],
)  # fmt: skip
def test_any_file_name_gives_a_safe_stem(tmp_path: Path, name: str) -> None:
    stem = stem_of(name)
    assert stem == unicodedata.normalize("NFC", stem)
    assert stem.isprintable()
    assert 0 < len(stem) <= 101
    assert len(stem.encode()) <= 181
    assert not stem.startswith(".")
    assert not set(stem) & set('<>:"/\\|?*')
    (tmp_path / f"{stem}.2026-03-01T10-20-30Z-2.json").write_text("")


def test_ordinary_names_stay_as_they_are() -> None:
    for name in ("my solution", "Übung 3", "勾配", "a.b", "lösung-final (2)"):
        assert safe_stem(name) == name


@pytest.mark.parametrize("name", ["index.py", "history.py", "勾" * 400 + ".py"])
def test_no_name_collides_with_our_own_files(tmp_path: Path, name: str) -> None:
    for _ in range(3):
        save(receipt(name), tmp_path)
    assert len(kept(tmp_path)) == 3


def test_a_folder_that_cannot_be_made_is_said_with_a_next_step(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("mine")
    with pytest.raises(EnvironmentProblem) as caught:
        save(receipt(), blocked)
    assert caught.value.exit_code == 4
    assert "--out DIR" in caught.value.sentence()
    assert "--no-receipt" in caught.value.sentence()
    assert str(blocked) in caught.value.sentence()
    assert blocked.read_text() == "mine"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_said_with_a_next_step(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(EnvironmentProblem, match="Permission"):
        save(receipt(), tmp_path)
    assert listed(tmp_path) == []


def _save_with_little_room(out: Path) -> subprocess.CompletedProcess[str]:
    """Write a receipt where no file may grow beyond 4 kB, as on a disk that fills up."""
    code = (
        "import sys; from pathlib import Path; from tests.receipt import test_store as t\n"
        "from grader.errors import EnvironmentProblem\n"
        "try: t.save(t.receipt(created_at='2026-05-05T00:00:00Z'), Path(sys.argv[1]))\n"
        "except EnvironmentProblem as error: print(error); sys.exit(error.exit_code)"
    )
    return subprocess.run(
        [sys.executable, "-c", code, str(out)],
        cwd=Path(__file__).parents[2],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path) -> None:
    ended = _save_with_little_room(tmp_path / "new")
    assert ended.returncode == 4, ended.stderr
    assert "could not be written" in ended.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_the_earlier_receipt_where_it_was(tmp_path: Path) -> None:
    save(receipt(), tmp_path)
    before = {name: (tmp_path / name).read_bytes() for name in listed(tmp_path)}
    assert _save_with_little_room(tmp_path).returncode == 4
    assert {name: (tmp_path / name).read_bytes() for name in listed(tmp_path)} == before
    assert not (tmp_path / "distributed-03" / "history").exists()


def test_a_move_that_fails_puts_everything_back(tmp_path: Path) -> None:
    save(receipt(), tmp_path)
    folder = tmp_path / "distributed-03"
    (folder / ".index.json").unlink()
    (folder / ".index.json").mkdir()
    with pytest.raises(EnvironmentProblem):
        save(receipt(created_at="2026-05-05T00:00:00Z"), tmp_path)
    assert listed(folder) == ["my_solution.html", "my_solution.json", "my_solution.md"]
    assert kept(tmp_path) == ["2026-03-01T10:20:30Z"]


def _writes(out: Path, who: int, count: int) -> None:
    for number in range(count):
        save(receipt(created_at=f"2026-03-01T10:{who:02}:{number:02}Z"), out)


def test_two_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    context = get_context("spawn")
    workers = [context.Process(target=_writes, args=(tmp_path, who, 12)) for who in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert kept(tmp_path) == sorted(
        f"2026-03-01T10:{who:02}:{number:02}Z" for who in range(3) for number in range(12)
    )
    assert not [name for name in listed(tmp_path) if "lock" in name or "tmp" in name]


def _lock(out: Path, text: str) -> Path:
    folder = out / "distributed-03"
    folder.mkdir()
    (folder / ".lock").write_text(text)
    return folder / ".lock"


def test_a_lock_that_stays_taken_ends_the_wait_and_changes_nothing(tmp_path: Path) -> None:
    lock = _lock(tmp_path, "1 elsewhere abc\n")
    with pytest.raises(EnvironmentProblem, match="another grade is still writing"):
        save(receipt(), tmp_path, patience=HASTE)
    assert listed(tmp_path) == ["distributed-03/.lock"]
    assert lock.read_text() == "1 elsewhere abc\n"


def test_an_old_lock_is_taken_over(tmp_path: Path) -> None:
    lock = _lock(tmp_path, "1 elsewhere abc\n")
    long_ago = time.time() - 61
    os.utime(lock, (long_ago, long_ago))
    assert save(receipt(), tmp_path, patience=HASTE).json is not None
    assert not lock.exists()


def test_the_lock_of_a_process_that_died_here_is_taken_over_at_once(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    _lock(tmp_path, f"{ended.pid} {os.uname().nodename} abc\n")
    assert save(receipt(), tmp_path, patience=HASTE).json is not None
