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
    (tmp_path / "receipts").mkdir()
    for other in ("gradebook.csv", "summary.json", "report.html"):
        (tmp_path / other).write_text('{"learners": 3}')
    for ours_alone in (".index.json", "b.instructor.json"):
        (tmp_path / "e" / ours_alone).write_text("{}")
    found = shelf.below(tmp_path)
    assert names(found, tmp_path) == [
        "e/alone", "e/b", "e/never", "e/page", "e/spoilt", "e/history/b.2026",
    ]  # fmt: skip
    assert [path.name for path in found.others] == [
        "gradebook.csv", "report.html", "summary.json", "b.instructor.json",
    ]  # fmt: skip
    assert refused(found, ours[1]) == {
        "alone": "malformed",
        "never": "unsigned",
        "page": "unsigned",
        "spoilt": "unsigned",
    }


def refused(found: shelf.Found, key: SSlibKey) -> dict[str, str]:
    reasons: dict[str, str] = {}
    for one in found.receipts:
        try:
            shelf.check(one, [key])
        except Refused as error:
            reasons[one.stem] = error.reason
    return reasons


def test_whatever_ends_as_a_receipt_does_and_is_unsigned_is_refused(
    tmp_path: Path, ours: Pair
) -> None:
    save(tmp_path, "good", forms(receipt(), ours[0]))
    good = forms(receipt(), None)
    bare = b"<html><body><p>100 of 100 points</p></body></html>"
    stripped = {
        "evil.JSON": good["json"],
        "forged.HTML": good["html"],
        "upper.DSSE.JSON": b"{}",
        "lone.md": b"# passed: 100",
        "lone2.TXT": b"passed",
        "unquoted.html": good["html"].replace(b'id="grade-receipt"', b"id=grade-receipt"),
        "renamed.json": good["json"].replace(b'"evidence_digest"', b'"evidence"'),
        "cut.html": bare,
        ".hidden.html": bare,
        "x.instructor.html": bare,
        # Names of a class and of a portfolio, where there is neither.
        "report.html": bare,
        "summary.json": b"{}",
        "index.html": bare,
        "manifest.json": b"{}",
        "portfolio.html": bare,
        ".index.json": good["json"],
    }
    for name, raw in stripped.items():
        (tmp_path / name).write_bytes(raw)
    found = shelf.below(tmp_path)
    assert len(found.receipts) == len(stripped) + 1
    assert found.others == []
    reasons = refused(found, ours[1])
    assert set(reasons) == {shelf_stem(name) for name in stripped}
    assert {*reasons.values()} == {"unsigned", "malformed"}
    assert [stem for stem, reason in reasons.items() if reason == "malformed"] == ["upper"]


def shelf_stem(name: str) -> str:
    return name[: name.lower().rindex(".dsse.json" if ".DSSE" in name else ".")]


def test_a_receipt_whose_endings_are_in_capitals_is_compared_as_one(
    tmp_path: Path, ours: Pair
) -> None:
    made = forms(receipt(), ours[0])
    for ending, raw in made.items():
        (tmp_path / f"a.{ending.upper()}").write_bytes(raw)
    (one,) = shelf.below(tmp_path).receipts
    assert shelf.check(one, [ours[1]]).checked == ("json", "md", "html")
    alone = shelf.place(tmp_path / "a.HTML")
    assert shelf.check(alone, [ours[1]]).checked == ("html",)
    assert alone.shown().name == "a.HTML"
    (tmp_path / "a.MD").write_bytes(b"# passed")
    with pytest.raises(Refused) as error:
        shelf.check(one, [ours[1]])
    assert (error.value.reason, error.value.where) == ("changed", "a.MD")


def test_a_second_spelling_of_a_form_is_a_receipt_by_itself(tmp_path: Path, ours: Pair) -> None:
    save(tmp_path, "a", forms(receipt(), ours[0]))
    (tmp_path / "a.Html").write_bytes(b"<p>passed")
    if len(list(tmp_path.iterdir())) == 4:
        pytest.skip("this file system knows no second spelling")
    first, second = shelf.below(tmp_path).receipts
    assert (first.shown().name, second.shown().name) == ("a.json", "a.Html")
    assert shelf.check(first, [ours[1]])
    with pytest.raises(Refused) as error:
        shelf.check(second, [ours[1]])
    assert (error.value.reason, error.value.where) == ("unsigned", "a.Html")


def test_files_of_a_class_hold_no_receipt_under_their_names(tmp_path: Path, ours: Pair) -> None:
    save(tmp_path / "receipts" / "ada", "ada", forms(receipt(), ours[0]))
    (tmp_path / "gradebook.csv").write_text("")
    (tmp_path / "report.html").write_bytes(forms(receipt(), None)["html"])
    (tmp_path / "summary.json").write_bytes(forms(receipt(), None)["json"])
    assert refused(shelf.below(tmp_path), ours[1]) == {
        "report": "unsigned",
        "summary": "unsigned",
    }


def test_files_of_a_portfolio_are_told_and_not_refused(tmp_path: Path, ours: Pair) -> None:
    save(tmp_path / "receipts" / "e", "a", forms(receipt(), ours[0]))
    for name in ("index.html", "manifest.json", "manifest.dsse.json"):
        (tmp_path / name).write_text("{}")
    found = shelf.below(tmp_path)
    assert names(found, tmp_path) == ["receipts/e/a"]
    assert [path.name for path in found.others] == [
        "index.html", "manifest.dsse.json", "manifest.json",
    ]  # fmt: skip


def test_copies_under_pseudonyms_are_those_of_a_class_alone(tmp_path: Path, ours: Pair) -> None:
    root = tmp_path / "e"
    save(root / "receipts" / "ada", "ada", forms(receipt(), ours[0]))
    save(root / "anonymous" / "learner-1", "learner-1", forms(receipt(), None))
    save(root / "anonymous" / "learner-2", "learner-2", {"dsse.json": b"{}"})
    save(root / "receipts" / "anonymous", "bob", forms(receipt(), None))
    (root / "anonymous" / "report.html").write_text("<p>of the class")
    assert refused(shelf.below(tmp_path), ours[1]) == {
        "bob": "unsigned", "learner-1": "unsigned", "learner-2": "malformed", "report": "unsigned",
    }  # fmt: skip
    (root / "gradebook.csv").write_text("")
    for folder in (tmp_path, root / "anonymous"):
        found = shelf.below(folder)
        assert [path.name for path in found.copies] == ["learner-1.json"]
        assert "report.html" in [path.name for path in found.others]
    assert refused(shelf.below(tmp_path), ours[1]) == {"bob": "unsigned", "learner-2": "malformed"}


def test_folders_beyond_any_use_are_told_and_end_nothing(tmp_path: Path, ours: Pair) -> None:
    save(tmp_path, "a", forms(receipt(), ours[0]))
    tmp_path.joinpath(*["d"] * 70).mkdir(parents=True)
    found = shelf.below(tmp_path)
    assert names(found, tmp_path) == ["a"]
    ((path, told),) = found.unseen
    assert told == "more than 64 folders deep"
    assert len(path.relative_to(tmp_path).parts) == 65


@pytest.mark.parametrize("name", ["x" * 300 + ".json", "pipe.json"])
def test_a_name_that_is_no_file_is_told_as_what_it_is(tmp_path: Path, name: str) -> None:
    if name == "pipe.json":
        if not hasattr(os, "mkfifo"):
            pytest.skip("needs a pipe with a name")
        os.mkfifo(tmp_path / name)
    with pytest.raises(UsageProblem) as error:
        shelf.place(tmp_path / name)
    told = "is no ordinary file" if name == "pipe.json" else "cannot be read: File name too long"
    assert f"{name} {told}" in str(error.value)
    assert "Next: name a receipt, or a folder of receipts" in str(error.value)


def test_a_line_end_in_a_name_makes_no_line_of_ours(tmp_path: Path) -> None:
    for name in ("a\nverified  b.py", "a\nverified  b.json"):
        with pytest.raises(UsageProblem) as error:
            shelf.place(tmp_path / name)
        assert "\nverified" not in str(error.value)


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


def test_a_link_to_a_folder_is_not_followed_and_told(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "round").symlink_to(tmp_path)
    found = shelf.below(tmp_path)
    told = "a link to a folder, which is not followed"
    assert found == shelf.Found([], [], [], [(tmp_path / "inner" / "round", told)])
