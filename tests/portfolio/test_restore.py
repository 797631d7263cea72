"""A portfolio comes back whole, and nothing that is there already is lost or written over."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from grader.errors import EnvironmentProblem
from grader.portfolio import paths
from grader.portfolio.files import add_all, staged
from grader.portfolio.restore import Restored, restore
from grader.portfolio.verify import verify
from grader.receipt import render, store
from grader.receipt.lock import Patience
from tests.portfolio.factory import SOURCE, failed, files, passed, put, receipts, tree


def restored(found: dict[str, bytes], folder: Path) -> Restored:
    return restore(verify(found, "p.zip"), folder)


def test_a_round_trip_gives_equal_contents(tmp_path: Path) -> None:
    one = files(receipts(tmp_path / "one"))
    done = restored(one, tmp_path / "two" / "receipts")
    assert (done.added, done.there, done.submissions) == (3, 0, 1)
    assert (done.aside, done.conflicts) == ([], [])
    assert files(tmp_path / "two" / "receipts") == one


def test_every_file_lies_where_it_lay(tmp_path: Path) -> None:
    folder = receipts(tmp_path / "one")
    restored(files(folder), tmp_path / "two")
    before, after = tree(folder), tree(tmp_path / "two")
    assert {path: raw for path, raw in after.items() if not path.startswith("submissions/")} == {
        path: raw for path, raw in before.items() if not path.endswith(".index.json")
    }
    assert SOURCE in after.values()


def test_restoring_twice_changes_nothing(tmp_path: Path) -> None:
    found = files(receipts(tmp_path / "one"))
    restored(found, tmp_path / "two")
    before = tree(tmp_path / "two")
    done = restored(found, tmp_path / "two")
    assert (done.added, done.there, done.submissions_there) == (0, 3, 1)
    assert tree(tmp_path / "two") == before


def test_a_receipt_of_other_content_stays_and_the_portfolios_goes_beside(tmp_path: Path) -> None:
    found = files(receipts(tmp_path / "one"))
    mine = passed(created_at="2026-06-01T00:00:00Z")
    put(tmp_path / "two", "distributed-03/my_solution", mine, html=b"mine")
    before = tree(tmp_path / "two")
    done = restored(found, tmp_path / "two")
    after = tree(tmp_path / "two")
    assert {path: after[path] for path in before} == before
    aside = "distributed-03/history/my_solution.2026-03-01T10-20-30Z"
    assert after[f"{aside}.json"] == found["receipts/distributed-03/my_solution.json"]
    assert after[f"{aside}.html"] == found["receipts/distributed-03/my_solution.html"]
    assert [(one.who, one.why) for one in done.aside] == [
        (
            "distributed-03/my_solution.json",
            f"another receipt is there already; this one is {aside}.json",
        )
    ]
    assert len(list((tmp_path / "two").rglob("my_solution*.json"))) == 4


def test_a_page_alone_in_the_way_stays_too(tmp_path: Path) -> None:
    found = files(receipts(tmp_path / "one"))
    page = tmp_path / "two" / "distributed-03" / "my_solution.html"
    page.parent.mkdir(parents=True)
    page.write_bytes(b"mine")
    done = restored(found, tmp_path / "two")
    assert page.read_bytes() == b"mine" and len(done.aside) == 1


def test_a_taken_place_among_the_earlier_ones_gets_a_number(tmp_path: Path) -> None:
    found = files(receipts(tmp_path / "one"))
    place = "distributed-03/history/my_solution.2026-02-28T09-00-00Z"
    put(tmp_path / "two", place, failed(wall_s=9.0))
    done = restored(found, tmp_path / "two")
    assert done.aside[0].why.endswith(f"this one is {place}-2.json")


def test_a_receipt_that_lies_elsewhere_already_is_not_doubled(tmp_path: Path) -> None:
    found = files(receipts(tmp_path / "one"))
    put(tmp_path / "two", "distributed-03/history/moved_by_a_later_grade", passed())
    done = restored(found, tmp_path / "two")
    assert (done.added, done.there) == (2, 1)
    assert not (tmp_path / "two" / "distributed-03" / "my_solution.json").exists()


def test_forms_that_are_lacking_come_and_different_ones_are_told(tmp_path: Path) -> None:
    found = files(receipts(tmp_path / "one"))
    put(tmp_path / "two", "distributed-03/my_solution", passed(), md=b"my notes")
    done = restored(found, tmp_path / "two")
    after = tree(tmp_path / "two")
    assert after["distributed-03/my_solution.md"] == b"my notes"
    assert "distributed-03/my_solution.html" in after
    assert [(one.who, one.why) for one in done.conflicts] == [
        (
            "distributed-03/my_solution.md",
            "another text of the same receipt is there already and stays",
        )
    ]


def test_another_file_in_a_submissions_place_stays_and_is_told(tmp_path: Path) -> None:
    found = files(receipts(tmp_path / "one"))
    (path,) = (one for one in found if one.startswith(f"{paths.SUBMISSIONS}/"))
    mine = tmp_path / "two" / path
    mine.parent.mkdir(parents=True)
    mine.write_bytes(b"mine")
    done = restored(found, tmp_path / "two")
    assert mine.read_bytes() == b"mine" and done.submissions == 0
    assert [(one.who, one.why) for one in done.conflicts] == [
        (path, "another file is there already and stays; the portfolio's was not restored")
    ]


@pytest.mark.skipif(os.name != "posix", reason="links of POSIX")
def test_nothing_is_written_through_a_link_in_a_files_place(tmp_path: Path) -> None:
    found = files(receipts(tmp_path / "one"))
    outside = tmp_path / "outside"
    place = tmp_path / "two" / "distributed-03"
    place.mkdir(parents=True)
    (place / "my_solution.json").symlink_to(outside)
    done = restored(found, tmp_path / "two")
    assert not outside.exists() and len(done.aside) == 1


def test_all_or_nothing_when_a_folder_cannot_be_made(tmp_path: Path) -> None:
    found = files(receipts(tmp_path / "one"))
    two = tmp_path / "two"
    two.mkdir()
    (two / "submissions").write_bytes(b"in the way")
    with pytest.raises(EnvironmentProblem) as caught:
        restored(found, two)
    said = caught.value.sentence()
    assert said.startswith("The portfolio could not be restored: ")
    assert said.endswith(
        f"({two})\n  Next: nothing was changed; "
        "name another folder: grade portfolio --import ZIP DIR"
    )
    assert tree(two) == {"submissions": b"in the way"}
    assert sorted(one.name for one in two.iterdir()) == ["submissions"]


def test_all_or_nothing_when_the_last_file_fails(tmp_path: Path) -> None:
    targets = {tmp_path / name: name.encode() for name in "abc"}
    (tmp_path / "c").write_bytes(b"came meanwhile")
    with pytest.raises(FileExistsError), staged(tmp_path, targets) as waiting:
        add_all(waiting)
    assert tree(tmp_path) == {"c": b"came meanwhile"}


def test_a_file_system_without_hard_links_will_do(tmp_path: Path) -> None:
    def no_links(_source: Path, _target: Path) -> None:
        raise PermissionError("no links here")

    targets = {tmp_path / name: name.encode() for name in "abc"}
    with staged(tmp_path, targets) as waiting:
        add_all(waiting, no_links)
    assert tree(tmp_path) == {"a": b"a", "b": b"b", "c": b"c"}
    with pytest.raises(FileExistsError), staged(tmp_path, {tmp_path / "a": b"x"}) as waiting:
        add_all(waiting, no_links)
    assert tree(tmp_path)["a"] == b"a"


def test_a_grade_that_is_still_writing_is_waited_for_and_then_told(tmp_path: Path) -> None:
    found = verify(files(receipts(tmp_path / "one")), "p.zip")
    folder = tmp_path / "two" / "distributed-03"
    folder.mkdir(parents=True)
    (folder / ".lock").write_text("1 elsewhere 0\n", encoding="utf-8")
    with pytest.raises(EnvironmentProblem, match="a grade is still writing there"):
        restore(found, tmp_path / "two", Patience(wait_s=0.05, stale_s=60.0))
    assert list(tree(tmp_path / "two")) == ["distributed-03/.lock"]


def test_the_next_grade_goes_on_from_what_was_restored(tmp_path: Path) -> None:
    restored(files(receipts(tmp_path / "one")), tmp_path / "two")
    again = passed(created_at="2026-07-01T00:00:00Z")
    store.write(again, tmp_path / "two", {"json": render.to_json(again)})
    history = tmp_path / "two" / "distributed-03" / "history"
    assert (history / "my_solution.2026-03-01T10-20-30Z.json").is_file()
