"""`grade portfolio`: what it writes and says, and that a refused zip leaves nothing behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from grader.portfolio.pack import zipped
from grader.portfolio.unpack import members
from tests.command import Ran, run
from tests.portfolio.factory import listed, receipts, tree

pytestmark = pytest.mark.once


def portfolio(cwd: Path, *args: str | Path) -> Ran:
    return run("portfolio", *args, cwd=cwd)


@pytest.fixture
def learner(tmp_path: Path) -> Path:
    """Return a folder in which a learner has graded things."""
    receipts(tmp_path)
    return tmp_path


def test_one_page_and_one_zip_are_made_and_told(learner: Path) -> None:
    ran = portfolio(learner)
    assert ran.code == 0
    assert ran.stdout.splitlines() == [
        "portfolio portfolio.zip: 3 receipts of 2 exercises, 1 graded file, not signed",
        "page      portfolio.html",
        "  Next: keep the zip in another place too; "
        "`grade portfolio --import portfolio.zip` restores it",
    ]
    said = [line.partition(" (")[0] for line in ran.stderr.splitlines()]
    assert said == [
        "left out  my_solution.py: it was not found as it was graded",
        "left out  pipes.py: it was not found as it was graded",
    ]
    assert (learner / "portfolio.html").is_file()


def test_a_portfolio_comes_back_in_an_empty_folder(learner: Path) -> None:
    portfolio(learner, "--out", "kept")
    ran = portfolio(learner, "--import", "kept/portfolio.zip", "other/receipts")
    assert ran.code == 0, ran.said
    assert ran.stdout.splitlines() == [
        "checked   kept/portfolio.zip is whole: 9 files as its manifest lists; "
        "not signed, so nobody vouches for who made it",
        "restored  3 receipts to other/receipts",
        "          1 graded file to other/receipts/submissions",
        "  Next: `grade portfolio other/receipts` makes the page again",
    ]
    again = portfolio(learner, "other/receipts", "--out", "again.zip")
    assert again.code == 0, again.said
    one, two = members(learner / "kept" / "portfolio.zip"), members(learner / "again.zip")
    assert {k: v for k, v in one.items() if k != "manifest.json"} == {
        k: v for k, v in two.items() if k != "manifest.json"
    }


def test_a_signed_one_is_restored_with_its_key_alone(learner: Path) -> None:
    for name in ("own", "other"):
        assert run("keygen", "--out", f"keys/{name}.pem", cwd=learner).code == 0
    ran = portfolio(learner, "--key", "keys/own.pem")
    assert "1 graded file, signed" in ran.stdout
    ran = portfolio(learner, "--import", "portfolio.zip", "one", "--key", "keys/own.pub")
    assert (ran.code, "as its manifest lists, signed with this key" in ran.stdout) == (0, True)
    ran = portfolio(learner, "--import", "portfolio.zip", "two", "--key", "keys/other.pub")
    assert (ran.code, ran.stdout) == (1, "")
    assert ran.stderr == (
        "grade: portfolio.zip is signed by another key\n"
        "  Next: nothing was restored; check which key its maker signs with\n"
    )
    assert not (learner / "two").exists()
    ran = portfolio(learner, "--import", "portfolio.zip", "three")
    claimed = "it holds something that calls itself a signature, which was not checked"
    assert (ran.code, claimed in ran.stdout) == (0, True)
    assert "add --key and their public key" in ran.stderr
    ran = portfolio(learner)
    assert "not signed (the earlier one was: add --key to sign)" in ran.stdout
    ran = portfolio(learner, "--import", "portfolio.zip", "four", "--key", "keys/own.pub")
    assert (ran.code, "is not signed: it has no manifest.dsse.json" in ran.stderr) == (1, True)


def test_a_tampered_one_leaves_nothing_behind(learner: Path) -> None:
    portfolio(learner)
    found = members(learner / "portfolio.zip")
    (learner / "bad.zip").write_bytes(zipped({**found, "index.html": b"other"}))
    before = tree(learner)
    ran = portfolio(learner, "--import", "bad.zip", "new")
    assert (ran.code, ran.stdout) == (1, "")
    assert ran.stderr == (
        "grade: bad.zip holds index.html changed: it is not what manifest.json lists\n"
        "  Next: nothing was restored; ask for the zip again, from whoever made it\n"
    )
    assert tree(learner) == before and not (learner / "new").exists()


def test_conflicts_are_told_and_what_is_there_stays(learner: Path) -> None:
    portfolio(learner)
    notes = learner / "receipts" / "distributed-03" / "my_solution.md"
    notes.write_bytes(b"my notes")
    ran = portfolio(learner, "--import", "portfolio.zip")
    assert ran.code == 0
    assert "restored  0 receipts to receipts; 3 there already" in ran.stdout
    assert ran.stderr == (
        "conflict  distributed-03/my_solution.md: "
        "another text of the same receipt is there already and stays\n"
    )
    assert notes.read_bytes() == b"my notes"


def test_a_folder_without_receipts_says_so(tmp_path: Path) -> None:
    (tmp_path / "receipts").mkdir()
    (tmp_path / "receipts" / "x.json").write_text("{}", encoding="utf-8")
    ran = portfolio(tmp_path)
    assert (ran.code, ran.stdout) == (2, "")
    first, *rest = ran.stderr.splitlines()
    assert first.startswith(f"left out  receipts{os.sep}x.json: it is no receipt")
    assert rest == [
        "grade: there is no receipt in receipts",
        "  Next: grade something first: grade EXERCISE FILE; or name the folder of receipts",
    ]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["receipts"]


@pytest.mark.parametrize("option", ["--out", "--submissions", "--course"])
def test_what_makes_no_sense_for_an_import_is_refused(option: str, learner: Path) -> None:
    ran = portfolio(learner, "--import", "portfolio.zip", option, "x")
    assert (ran.code, ran.stderr) == (
        2,
        f"grade: {option} is for making a portfolio, and --import restores one\n"
        f"  Next: leave {option} out\n",
    )


def test_a_wrong_key_is_told_before_anything_is_written(learner: Path) -> None:
    ran = portfolio(learner, "--key", "nowhere.pem")
    assert ran.code == 2 and "the key cannot be read" in ran.stderr
    assert not (learner / "portfolio.zip").exists()


def test_what_a_file_is_called_cannot_act_on_the_terminal(learner: Path) -> None:
    (learner / "receipts" / "a\x1b[2Jb").write_bytes(b"")
    ran = portfolio(learner)
    assert ran.code == 0 and "\x1b" not in ran.stderr + ran.stdout
    assert "no part of a receipt" in ran.stderr


def test_a_forged_name_in_a_zip_cannot_act_on_the_terminal(learner: Path) -> None:
    portfolio(learner)
    found = members(learner / "portfolio.zip")
    (learner / "bad.zip").write_bytes(zipped(listed({**found, "a\x1b[2Jb": b""})))
    ran = portfolio(learner, "--import", "bad.zip", "new")
    assert ran.code == 1 and "\x1b" not in ran.stderr


@pytest.mark.parametrize(
    "args",
    [
        ["--key", ""],
        ["--import", "portfolio.zip", "new", "--key", ""],
        ["--import", ""],
        ["--out", ""],
        ["--submissions", ""],
        ["--course", ""],
        ["--import", "portfolio.zip", ""],
        [""],
    ],
)
def test_an_empty_value_never_passes_for_none(args: list[str], learner: Path) -> None:
    portfolio(learner)
    before = tree(learner)
    ran = portfolio(learner, *args)
    name = args[-2] if args[-2:-1] and args[-2].startswith("--") else "DIR"
    assert (ran.code, ran.stdout, ran.stderr) == (
        2,
        "",
        f"grade: {name} is empty, as when a variable of the shell is not set\n"
        f"  Next: give {name} a value, or leave it out\n",
    )
    assert tree(learner) == before


def test_something_else_in_the_signatures_place_is_not_told_as_a_signature(learner: Path) -> None:
    portfolio(learner)
    found = members(learner / "portfolio.zip")
    (learner / "p.zip").write_bytes(zipped({**found, "manifest.dsse.json": b"{}"}))
    ran = portfolio(learner, "--import", "p.zip", "new")
    assert ran.code == 0
    assert "; it holds something that calls itself a signature, which was not checked\n" in (
        ran.stdout
    )
