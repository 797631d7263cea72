"""A class that is signed stays signed: by every command that writes its receipts, or not at all."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.command import Ran, run
from tests.gradebook.bulk import broken, files, grade, root

pytest.importorskip("securesystemslib", reason="signing needs the extra [sign]")
pytest.importorskip("cryptography", reason="signing needs the extra [sign]")


def hand_in(cwd: Path) -> None:
    for number, name in enumerate(("ada", "bob")):
        (cwd / "class" / name).mkdir(parents=True)
        (cwd / "class" / name / "my_solution.py").write_text(broken(number), encoding="utf-8")


def key(cwd: Path, name: str = "course") -> Path:
    place = cwd / "keys" / f"{name}.pem"
    assert run("keygen", "--out", place, cwd=cwd).code == 0
    return place


def verify(cwd: Path, by: Path) -> Ran:
    return run("verify", root(cwd) / "receipts", "--key", by.with_suffix(".pub"), cwd=cwd)


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a class that was graded and signed; tests work on copies of it."""
    cwd = tmp_path_factory.mktemp("signed")
    hand_in(cwd)
    ran = grade(cwd, "class", "--quiet", "--sign", key(cwd))
    assert ran.code == 0, ran.said
    return cwd


@pytest.fixture
def signed(graded: Path, tmp_path: Path) -> Path:
    shutil.copytree(graded, tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_every_receipt_is_signed_and_says_whose_it_is(signed: Path) -> None:
    ran = verify(signed, signed / "keys" / "course.pem")
    assert ran.code == 0, ran.said
    assert "2 verified, 0 refused" in ran.said
    record = json.loads((root(signed) / "receipts/ada/my_solution.json").read_bytes())
    assert record["learner"] == {"name": "ada", "id": "ada", "email": ""}


def test_one_learners_receipt_under_anothers_folder_names_its_owner(signed: Path) -> None:
    receipts = root(signed) / "receipts"
    shutil.rmtree(receipts / "bob")
    shutil.copytree(receipts / "ada", receipts / "bob")
    ran = verify(signed, signed / "keys" / "course.pem")
    assert "bob, distributed-03" not in ran.said


def test_a_second_run_with_the_key_writes_nothing(signed: Path) -> None:
    before = files(root(signed))
    ran = grade(signed, "class", "--quiet", "--sign", signed / "keys" / "course.pem")
    assert ran.code == 0, ran.said
    assert files(root(signed)) == before


@pytest.mark.parametrize(
    "args",
    [
        ("distributed-03", "class", "--quiet", "--no-cache"),
        ("regrade", "results", "class", "--quiet"),
        ("regrade", "results", "--override", "ada", "values", "1", "--why", "by hand"),
    ],
)
def test_no_command_takes_the_signatures_away(signed: Path, args: tuple[str, ...]) -> None:
    before = files(root(signed))
    ran = run(*args, cwd=signed)
    assert ran.code == 2
    assert "these results are signed by key " in ran.said
    assert "and this would take the signatures away" in ran.said
    assert "Next: name the key with --sign KEY" in ran.said
    assert files(root(signed)) == before


def test_an_override_with_the_key_leaves_receipts_that_verify(signed: Path) -> None:
    pem = signed / "keys" / "course.pem"
    words = ("--override", "ada", "values", "1", "--why", "by hand", "--sign", pem)
    ran = run("regrade", "results", *words, cwd=signed)
    assert ran.code == 0, ran.said
    assert verify(signed, pem).code == 0


def test_what_only_reads_needs_no_key(signed: Path) -> None:
    for args in (
        ("regrade", "results", "class", "--preview", "--quiet"),
        ("export", "results", "--to", "moodle-feedback"),
        ("inspect", "results", "ada"),
    ):
        ran = run(*args, cwd=signed)
        assert ran.code == 0, ran.said


def test_another_key_signs_all_of_it_anew(signed: Path) -> None:
    other = key(signed, "next")
    assert grade(signed, "class", "--quiet", "--sign", other).code == 0
    assert verify(signed, other).code == 0
    refused = verify(signed, signed / "keys" / "course.pem")
    assert refused.code == 1
    assert "0 verified, 2 refused" in refused.said


def test_pseudonyms_are_neither_named_nor_signed(signed: Path) -> None:
    pem = signed / "keys" / "course.pem"
    assert grade(signed, "class", "--quiet", "--anonymize", "--sign", pem).code == 0
    shown = root(signed) / "anonymous"
    assert [one.name for one in shown.rglob("*.dsse.json")] == []
    records = [json.loads(one.read_bytes()) for one in shown.rglob("learner-*.json")]
    assert [one["learner"] for one in records] == [None, None]


def test_a_key_among_the_submissions_is_refused_before_anything_runs(signed: Path) -> None:
    pem = shutil.copy2(signed / "keys" / "course.pem", signed / "class" / "ada" / "key.pem")
    ran = grade(signed, "class", "--sign", pem)
    assert ran.code == 2
    assert "the key lies among the submissions" in ran.said
    assert "keep the key in a folder of its own; nothing was run" in ran.said


def test_a_receipt_of_an_earlier_file_takes_its_signature_along(signed: Path) -> None:
    folder = signed / "class" / "ada"
    (folder / "my_solution.py").rename(folder / "other.py")
    pem = signed / "keys" / "course.pem"
    assert grade(signed, "class", "--quiet", "--sign", pem).code == 0
    history = root(signed) / "receipts" / "ada" / "history"
    assert {one.name for one in history.iterdir()} == {
        f"my_solution.{ending}" for ending in ("html", "md", "json", "dsse.json")
    }
    assert verify(signed, pem).code == 0


def test_signatures_are_kept_where_the_ledger_is_gone(signed: Path) -> None:
    for one in root(signed).glob("ledger.sqlite*"):
        one.unlink()
    before = files(root(signed))
    ran = grade(signed, "class", "--quiet")
    assert ran.code == 2
    assert "and this would take the signatures away" in ran.said
    assert files(root(signed)) == before


def test_half_a_surrogate_pair_costs_nobody_a_grade_and_verifies(tmp_path: Path) -> None:
    hand_in(tmp_path)
    text = """
checkpoint = "b\\ud800"
explanation = {"\\udfff": "\\ud800"}
raise ValueError("\\ud800")
"""
    (tmp_path / "class" / "ada" / "my_solution.py").write_text(text, encoding="utf-8")
    pem = key(tmp_path)
    ran = grade(tmp_path, "class", "--quiet", "--sign", pem)
    assert ran.code == 0, ran.said
    assert verify(tmp_path, pem).code == 0
    record = json.loads((root(tmp_path) / "receipts/ada/my_solution.json").read_bytes())
    assert "\\ud800" in record["outcome"]["message"]
