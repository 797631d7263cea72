"""Receipts on disk: every one in a folder is found, and none is taken on trust."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from securesystemslib.signer import CryptoSigner, SSlibKey

from grader.errors import EnvironmentProblem, UsageProblem
from grader.trust import shelf, strict
from grader.trust.refused import Refused
from tests.trust.signed import forms, receipt, save

pytestmark = pytest.mark.once
Pair = tuple[CryptoSigner, SSlibKey]


def names(found: shelf.Found, root: Path) -> list[str]:
    return [(one.folder / one.stem).relative_to(root).as_posix() for one in found.receipts]


def test_any_form_of_a_receipt_stands_for_all_of_them(tmp_path: Path, ours: Pair) -> None:
    save(tmp_path, "a.b", forms(receipt(), ours[0]))
    for ending in ("json", "md", "html", "dsse.json"):
        one = shelf.place(tmp_path / f"a.b.{ending}")
        assert (one.stem, one.named) == ("a.b", ending)
        assert shelf.check(one, [ours[1]]).checked == ("json", "md", "html")
        assert one.shown() == tmp_path / f"a.b.{ending}"


def test_a_form_beside_a_good_record_is_compared_as_well(tmp_path: Path, ours: Pair) -> None:
    save(tmp_path, "a", forms(receipt(), ours[0]))
    page = tmp_path / "a.html"
    page.write_bytes(page.read_bytes().replace(b"<p>failed", b"<p>passed"))
    with pytest.raises(Refused) as error:
        shelf.check(shelf.place(tmp_path / "a.json"), [ours[1]])
    assert (error.value.reason, error.value.where) == ("changed", "a.html")


def test_a_form_that_was_asked_for_and_never_signed_is_refused(tmp_path: Path, ours: Pair) -> None:
    save(tmp_path, "a", {**forms(receipt(), ours[0]), "txt": b"later"})
    assert shelf.check(shelf.place(tmp_path / "a.json"), [ours[1]]).unsigned == ("txt",)
    with pytest.raises(Refused) as error:
        shelf.check(shelf.place(tmp_path / "a.txt"), [ours[1]])
    assert (error.value.reason, error.value.where) == ("unsigned", "a.txt")


def test_every_receipt_below_a_folder_is_found_and_told_from_other_files(
    tmp_path: Path, ours: Pair
) -> None:
    save(tmp_path / "e", "b", forms(receipt(), ours[0]))
    save(tmp_path / "e" / "history", "b.2026", forms(receipt(), ours[0]))
    save(tmp_path / "e", "never", forms(receipt(), None))
    save(tmp_path / "e", "page", {"html": forms(receipt(), None)["html"]})
    save(tmp_path / "e", "spoilt", {"json": b"{", "md": b"x"})
    save(tmp_path / "e", "alone", {"dsse.json": b"{}"})
    for other in ("gradebook.csv", "summary.json", "report.html", "README.md"):
        (tmp_path / other).write_text('{"learners": 3}')
    for ours_alone in (".index.json", "b.instructor.json", "b.instructor.html"):
        (tmp_path / "e" / ours_alone).write_text("{}")
    found = shelf.below(tmp_path)
    assert names(found, tmp_path) == [
        "e/alone", "e/b", "e/never", "e/page", "e/spoilt", "e/history/b.2026",
    ]  # fmt: skip
    assert [path.name for path in found.others] == [
        "README.md", "gradebook.csv", "report.html", "summary.json",
    ]  # fmt: skip
    reasons = {}
    for one in found.receipts:
        try:
            shelf.check(one, [ours[1]])
        except Refused as error:
            reasons[one.stem] = error.reason
    assert reasons == {
        "alone": "malformed",
        "never": "unsigned",
        "page": "unsigned",
        "spoilt": "unsigned",
    }


@pytest.mark.parametrize("name", ["a.py", "a", "a.instructor.json", ".index.json", "a.pdf"])
def test_what_is_no_receipt_by_its_name_is_said(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("{}")
    with pytest.raises(UsageProblem) as error:
        shelf.place(tmp_path / name)
    assert f"{name} is no receipt: those end in .html, .json" in str(error.value)
    assert "Next: name a receipt, or a folder of receipts" in str(error.value)


def test_a_receipt_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="there is no file"):
        shelf.place(tmp_path / "a.json")


def test_a_file_that_is_too_large_is_refused_unread(tmp_path: Path, ours: Pair) -> None:
    save(tmp_path, "a", forms(receipt(), ours[0]))
    with (tmp_path / "a.dsse.json").open("ab") as file:
        file.truncate(shelf.envelope.MOST_BYTES + 1)
    with pytest.raises(Refused) as error:
        shelf.check(shelf.place(tmp_path / "a.json"), [ours[1]])
    assert (error.value.reason, error.value.what) == (
        "unreadable",
        "this is larger than 1048576 bytes",
    )
    with (tmp_path / "a.md").open("ab") as file:
        file.truncate(strict.MOST_BYTES + 1)
    with pytest.raises(Refused, match="is larger than"):
        strict.read(tmp_path / "a.md")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a pipe with a name")
def test_a_pipe_or_a_folder_in_a_forms_place_blocks_nobody(tmp_path: Path, ours: Pair) -> None:
    save(tmp_path, "a", {"json": forms(receipt(), ours[0])["json"]})
    os.mkfifo(tmp_path / "a.md")
    (tmp_path / "a.html").mkdir()
    for ending in ("md", "html"):
        with pytest.raises(Refused) as error:
            strict.read(tmp_path / f"a.{ending}")
        assert error.value.reason == "unreadable"
    with pytest.raises(Refused):
        shelf.check(shelf.place(tmp_path / "a.json"), [ours[1]])


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() == 0, reason="nothing is closed to this user"
)
def test_a_folder_that_cannot_be_read_is_said_and_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o000)
    try:
        with pytest.raises(EnvironmentProblem) as error:
            shelf.below(tmp_path)
    finally:
        (tmp_path / "closed").chmod(0o700)
    assert "a folder cannot be read: Permission denied" in str(error.value)


def test_a_link_to_a_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "round").symlink_to(tmp_path)
    assert shelf.below(tmp_path) == shelf.Found([], [])
