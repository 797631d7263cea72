"""Equal receipts make equal zips, whatever the day, and nothing else is ever written over."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path

import pytest

from grader.errors import ContentProblem, EnvironmentProblem, UsageProblem
from grader.portfolio import paths
from grader.portfolio.gather import gather
from grader.portfolio.make import Asked, Made, make, targets
from grader.portfolio.pack import zipped
from grader.portfolio.unpack import members
from grader.portfolio.verify import verify
from grader.receipt.read import MARK
from tests.portfolio.factory import (
    MADE_AT,
    SOURCE,
    TEMPLATES,
    files,
    listed,
    passed,
    put,
    receipts,
    submission,
)


def made(folder: Path, out: Path, created_at: str = MADE_AT, **more: Path) -> Made:
    asked = Asked(folder, out, more.get("submissions"), TEMPLATES, created_at)
    return make(asked, gather(folder))


def test_equal_contents_give_equal_bytes(tmp_path: Path) -> None:
    folder = receipts(tmp_path)
    one = made(folder, tmp_path / "one.zip")
    two = made(folder, tmp_path / "two.zip")
    assert one.zip.read_bytes() == two.zip.read_bytes()


def test_the_day_changes_the_manifest_alone(tmp_path: Path) -> None:
    folder = receipts(tmp_path)
    one, two = files(folder), files(folder, created_at="2027-01-01T00:00:00Z")
    assert {path for path in one if one[path] != two[path]} == {paths.MANIFEST}


def test_names_are_sorted_dates_fixed_and_modes_plain(tmp_path: Path) -> None:
    with zipfile.ZipFile(made(receipts(tmp_path), tmp_path).zip) as archive:
        infos = archive.infolist()
    assert [one.filename for one in infos] == sorted(one.filename for one in infos)
    assert {one.date_time for one in infos} == {(1980, 1, 1, 0, 0, 0)}
    assert {one.external_attr >> 16 for one in infos} == {0o100644}


def test_the_zip_holds_what_it_says(tmp_path: Path) -> None:
    done = made(receipts(tmp_path), tmp_path)
    found = members(done.zip)
    assert (done.receipts, done.exercises, done.submissions) == (3, 2, 1)
    assert sorted(found) == [
        "index.html",
        "manifest.json",
        "receipts/distributed-03/history/my_solution.2026-02-28T09-00-00Z.html",
        "receipts/distributed-03/history/my_solution.2026-02-28T09-00-00Z.json",
        "receipts/distributed-03/my_solution.dsse.json",
        "receipts/distributed-03/my_solution.html",
        "receipts/distributed-03/my_solution.json",
        "receipts/distributed-03/my_solution.md",
        "receipts/distributed-04/pipes.json",
        f"submissions/distributed-03/{submission().sha256[:12]}/my_solution.py",
    ]
    manifest = json.loads(found["manifest.json"])
    assert (manifest["schema_version"], manifest["created_at"]) == (1, MADE_AT)
    assert verify(found, "p.zip").submissions.popitem()[1] == SOURCE


def test_what_packs_like_a_bomb_can_still_be_restored(tmp_path: Path) -> None:
    blank = b"#" + b" " * (6 << 20)
    put(tmp_path / "receipts", "distributed-03/a", passed(submission=submission(blank)))
    (tmp_path / "my_solution.py").write_bytes(blank)
    found = members(made(tmp_path / "receipts", tmp_path).zip)
    assert blank in found.values()


def test_a_name_of_any_kind_becomes_one_that_windows_takes(tmp_path: Path) -> None:
    for number, name in enumerate(("con", "a:b", "e\u0301", "dot.", "x" * 240, "a.instructor-b")):
        one = passed(created_at=f"2026-03-0{number + 1}T00:00:00Z")
        put(tmp_path / "receipts", f"distributed-03/{name}", one)
    found = verify(members(made(tmp_path / "receipts", tmp_path).zip), "p.zip")
    assert len(found.attempts) == 6
    assert all(paths.is_portable(one.place.rpartition("/")[2]) for one in found.attempts)


def test_a_zip_or_a_folder_can_be_named(tmp_path: Path) -> None:
    assert targets(Path("x/y.ZIP")) == (Path("x/y.ZIP"), Path("x/y.html"))
    assert targets(Path("x")) == (Path("x/portfolio.zip"), Path("x/portfolio.html"))
    (tmp_path / "folder.zip").mkdir()
    assert targets(tmp_path / "folder.zip")[0] == tmp_path / "folder.zip" / "portfolio.zip"


def test_an_earlier_portfolio_is_replaced(tmp_path: Path) -> None:
    folder = receipts(tmp_path)
    made(folder, tmp_path)
    put(folder, "distributed-05/new", passed(exercise="distributed-05"))
    assert made(folder, tmp_path).receipts == 4
    assert len(verify(members(tmp_path / "portfolio.zip"), "p.zip").attempts) == 4
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("name", ["portfolio.zip", "portfolio.html"])
@pytest.mark.parametrize("raw", [b"", b"mine", zipped({"index.html": b"page"})])
def test_a_file_that_is_no_portfolio_is_left_alone(name: str, raw: bytes, tmp_path: Path) -> None:
    folder = receipts(tmp_path)
    (tmp_path / name).write_bytes(raw)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(UsageProblem) as caught:
        made(folder, tmp_path)
    assert caught.value.sentence() == (
        f"{tmp_path}/{name} is there already and is no portfolio, so it is left as it is\n"
        "  Next: name another place: --out FOLDER or --out FILE.zip"
    )
    assert (tmp_path / name).read_bytes() == raw and sorted(tmp_path.iterdir()) == before


def test_an_earlier_portfolio_that_holds_more_is_not_lost(tmp_path: Path) -> None:
    folder = receipts(tmp_path)
    made(folder, tmp_path)
    (folder / "distributed-04" / "pipes.json").unlink()
    with pytest.raises(UsageProblem) as caught:
        made(folder, tmp_path)
    assert caught.value.sentence() == (
        f"{tmp_path}/portfolio.zip holds receipts/distributed-04/pipes.json, "
        "which is not among these receipts\n"
        "  Next: bring it back first: `grade portfolio --import` with that zip; "
        "or name another file: --out FILE.zip"
    )


def test_what_was_graded_before_is_kept_from_the_earlier_portfolio(tmp_path: Path) -> None:
    folder = receipts(tmp_path)
    made(folder, tmp_path)
    (tmp_path / "my_solution.py").write_bytes(b"answer = 3\n")
    assert made(folder, tmp_path).submissions == 1
    assert SOURCE in members(tmp_path / "portfolio.zip").values()


def test_submissions_are_looked_for_where_it_is_said(tmp_path: Path) -> None:
    folder = receipts(tmp_path / "learner")
    deep = tmp_path / "elsewhere" / "deep"
    deep.mkdir(parents=True)
    (deep / "any_name.py").write_bytes(b"answer = 0\n")
    assert made(folder, tmp_path, submissions=tmp_path / "elsewhere").submissions == 2
    with pytest.raises(UsageProblem, match="nowhere is not a folder\n  Next: name the folder with"):
        made(folder, tmp_path, submissions=tmp_path / "nowhere")


def test_a_place_that_cannot_be_written_changes_nothing(tmp_path: Path) -> None:
    folder = receipts(tmp_path)
    (tmp_path / "file").write_bytes(b"mine")
    with pytest.raises(EnvironmentProblem) as caught:
        made(folder, tmp_path / "file" / "below")
    said = caught.value.sentence()
    assert said.startswith("The portfolio could not be written: ")
    assert said.endswith("  Next: name another place: --out FOLDER or --out FILE.zip")


def test_a_broken_template_of_the_course_is_named(tmp_path: Path) -> None:
    folder = receipts(tmp_path)
    (tmp_path / "portfolio.html.j2").write_text("one\n{{ nothing.here }}\n", encoding="utf-8")
    asked = Asked(folder, tmp_path, None, [tmp_path, *TEMPLATES], MADE_AT)
    with pytest.raises(ContentProblem, match=r"portfolio\.html\.j2, line 2: \{\{ nothing\.here"):
        make(asked, gather(folder))
    assert not (tmp_path / "portfolio.zip").exists()


def test_a_forged_receipt_in_the_zip_does_not_pass_for_an_earlier_one(tmp_path: Path) -> None:
    folder = receipts(tmp_path)
    forged = listed({**files(folder), "receipts/distributed-03/more.json": b"not a receipt"})
    (tmp_path / "portfolio.zip").write_bytes(zipped(forged))
    with pytest.raises(UsageProblem, match=r"more\.json, which is not among these receipts"):
        made(folder, tmp_path)


def _signed(folder: Path) -> Path:
    """Put a signature and a signed page beside a receipt; returns the receipt."""
    one = passed(created_at="2026-06-01T00:00:00Z")
    page = b'<!doctype html><script id="grade-envelope">{}</script>'
    return put(folder, "distributed-03/good", one, html=page, dsse_json=b'{"good": 1}')


def test_forms_that_the_earlier_portfolio_alone_has_are_carried_over(tmp_path: Path) -> None:
    folder = receipts(tmp_path)
    _signed(folder)
    before = members(made(folder, tmp_path).zip)
    for ending in ("dsse.json", "html"):
        (folder / "distributed-03" / f"good.{ending}").unlink()
    assert made(folder, tmp_path).zip.is_file()
    after = members(tmp_path / "portfolio.zip")
    kept = {path: raw for path, raw in before.items() if path.startswith("receipts/")}
    assert {path: raw for path, raw in after.items() if path.startswith("receipts/")} == kept


@pytest.mark.parametrize("ending", ["dsse.json", "html"])
def test_a_signed_form_is_not_replaced_by_another(ending: str, tmp_path: Path) -> None:
    folder = receipts(tmp_path)
    _signed(folder)
    before = made(folder, tmp_path).zip.read_bytes()
    (folder / "distributed-03" / f"good.{ending}").write_bytes(b"other")
    with pytest.raises(UsageProblem) as caught:
        made(folder, tmp_path)
    assert caught.value.sentence() == (
        f"{tmp_path}/portfolio.zip holds distributed-03/good.{ending} with a signature, "
        "and the one in the folder is another\n"
        "  Next: move the folder's away to keep the earlier one; "
        "or name another file: --out FILE.zip"
    )
    assert (tmp_path / "portfolio.zip").read_bytes() == before


def test_a_form_without_a_signature_is_replaced_and_told(tmp_path: Path) -> None:
    folder = receipts(tmp_path)
    made(folder, tmp_path)
    (folder / "distributed-03" / "my_solution.md").write_bytes(b"# other")
    told = {one.who: one.why for one in made(folder, tmp_path).told}
    assert told["distributed-03/my_solution.md"] == (
        "the earlier portfolio had another text of it, which this one replaces"
    )


def test_an_instructors_form_is_not_carried_over(tmp_path: Path) -> None:
    folder = receipts(tmp_path)
    mark = f"{MARK}\nseed".encode()
    with_seed = {**files(folder), "receipts/distributed-03/my_solution.txt": mark}
    (tmp_path / "portfolio.zip").write_bytes(zipped(listed(with_seed)))
    assert mark not in members(made(folder, tmp_path).zip).values()


def test_what_was_changed_in_an_earlier_portfolio_is_not_carried_over(tmp_path: Path) -> None:
    folder = receipts(tmp_path)
    found = members(made(folder, tmp_path).zip)
    forged = {**found, "receipts/distributed-03/my_solution.md": b"forged"}
    (tmp_path / "portfolio.zip").write_bytes(zipped(forged))
    with pytest.raises(UsageProblem, match="is there already and is no portfolio"):
        made(folder, tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("name", ["portfolio.zip", "portfolio.html"])
def test_a_pipe_in_its_place_is_not_waited_for(name: str, tmp_path: Path) -> None:
    folder = receipts(tmp_path)
    os.mkfifo(tmp_path / name)
    with pytest.raises(UsageProblem, match="is there already and is no portfolio"):
        made(folder, tmp_path)


def test_a_name_too_long_for_the_disk_is_told(tmp_path: Path) -> None:
    folder = receipts(tmp_path)
    with pytest.raises(EnvironmentProblem, match="The portfolio could not be written: "):
        made(folder, tmp_path / f"{'x' * 300}.zip")
    with pytest.raises(UsageProblem, match="is not a folder"):
        made(folder, tmp_path, submissions=tmp_path / ("x" * 300))
