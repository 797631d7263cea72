"""Keys, signed grades and their checking as commands: what is told, and how each of them ends."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from grader.catalog import course
from grader.cli import early, signing, verify
from grader.errors import EnvironmentProblem, UsageProblem
from grader.records.submission import Submission
from grader.trust.verify import Expected
from tests.command import EXERCISE, ROOT, STARTER_FILLED, Ran, environment, grade, run
from tests.faults.processes import server_of
from tests.hostile.stage import Stage

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux confines what signs")
# Tries every way that a module has to a file, and says what came of each.
_READS = """
import glob, io, os, pathlib, sys
KEY = {key!r}
def by_link():
    os.symlink(KEY, "link"); return open("link", "rb").read()
def by_hard_link():
    os.link(KEY, "hard"); return open("hard", "rb").read()
def by_memory():
    return [open(one, "rb").read(9) for one in glob.glob("/proc/[0-9]*/mem")][0]
for way in (
    lambda: open(KEY, "rb").read(), lambda: os.read(os.open(KEY, os.O_RDONLY), 999),
    lambda: io.FileIO(KEY).read(), lambda: pathlib.Path(KEY).read_bytes(),
    lambda: os.listdir({folder!r}),
    lambda: open(os.path.relpath(KEY), "rb").read(), by_link, by_hard_link, by_memory,
    lambda: [os.environ[one] for one in os.environ if "PRIVATE" in os.environ[one]][0],
):
    try:
        print("REACHED", way())
    except (OSError, IndexError) as error:
        print("refused", type(error).__name__)
"""


@dataclass(frozen=True)
class Signed:
    """A folder in which a grade was signed, and what the command said."""

    folder: Path
    ran: Ran
    key: str

    @property
    def receipts(self) -> Path:
        return self.folder / "receipts" / EXERCISE

    def copied(self, to: Path) -> Path:
        shutil.copytree(self.receipts, to / "receipts")
        shutil.copy(self.folder / "my.pub", to / "my.pub")
        return to / "receipts"


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Signed:
    """One real grade in a folder that is a course, by a module that wants the key inside it."""
    folder = tmp_path_factory.mktemp("course")
    for name in ("exercises", "rubrics", "templates"):
        shutil.copytree(ROOT / name, folder / name)
    made = run("keygen", "--out", tmp_path_factory.mktemp("keys") / "my.pem", cwd=folder)
    assert made.code == 0, made.said
    said = dict(line.split(maxsplit=1) for line in made.stdout.splitlines())
    private = Path(said["private"].split("   ")[0])
    key = folder / "exercises" / EXERCISE / "my.pem"
    shutil.copy2(private, key)
    shutil.copy(private.with_suffix(".pub"), folder / "my.pub")
    text = STARTER_FILLED.read_text(encoding="utf-8")
    reads = _READS.format(key=str(key), folder=str(key.parent))
    (folder / "s.py").write_text(text + reads, encoding="utf-8")
    ran = grade("s.py", "--sign", str(key), "--learner", " Ada  Lovelace", cwd=folder)
    return Signed(folder, ran, said["key"])


@LINUX
def test_a_signed_grade_says_where_the_signature_is_and_whose(graded: Signed) -> None:
    assert graded.ran.code == 0, graded.ran.said
    assert graded.ran.graded["learner"] == {"name": "Ada Lovelace", "id": "", "email": ""}
    assert f"signed receipts/{EXERCISE}/s.dsse.json by key {graded.key}" in graded.ran.said
    assert sorted(path.name for path in graded.receipts.glob("s.*")) == [
        "s.dsse.json", "s.html", "s.json", "s.md",
    ]  # fmt: skip


@LINUX
def test_no_module_reads_the_key_that_signs_wherever_it_is(graded: Signed) -> None:
    output = graded.ran.graded["output"]["text"]
    assert output.count("refused") == 10, output
    assert "REACHED" not in output
    secret = (graded.folder / "exercises" / EXERCISE / "my.pem").read_text().splitlines()[1]
    for path in graded.receipts.iterdir():
        assert secret not in path.read_text(encoding="utf-8")
    assert secret not in graded.ran.stdout + graded.ran.stderr


def test_the_key_that_signs_is_kept_from_every_child_under_its_real_name(tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_text("")
    (tmp_path / "link.pem").symlink_to(tmp_path / "key.pem")
    closed = early.forbidden(course.Course(ROOT), str(tmp_path / "link.pem"))
    assert str((tmp_path / "key.pem").resolve()) in closed
    assert set(early.forbidden(course.Course(ROOT))) < set(closed)


@LINUX
@pytest.mark.parametrize("ending", ["json", "html", "md", "dsse.json"])
def test_every_form_of_a_signed_receipt_is_verified(graded: Signed, ending: str) -> None:
    file = f"receipts/{EXERCISE}/s.{ending}"
    ran = run(
        "verify", file, "--key", "my.pub", "--submission", "s.py", "--learner", "ada lovelace",
        cwd=graded.folder,
    )  # fmt: skip
    assert ran.code == 0, ran.said
    assert ran.stdout.splitlines() == [
        f"verified  {file}",
        f"          passed, 100 of 100 points in {EXERCISE}",
        '          learner "Ada Lovelace"',
        f"          graded {graded.ran.graded['created_at']}; forms compared: json, md, html",
        f"          signed by key {graded.key}",
    ]


@LINUX
def test_a_page_alone_is_verified_by_who_has_nothing_else(graded: Signed, tmp_path: Path) -> None:
    shutil.copy(graded.receipts / "s.html", tmp_path / "download (1).html")
    shutil.copy(graded.folder / "my.pub", tmp_path)
    ran = run("verify", "download (1).html", "--key", "my.pub", cwd=tmp_path)
    assert ran.code == 0, ran.said
    assert "forms compared: html" in ran.said


@LINUX
def test_a_folder_tells_of_each_receipt_in_it_and_counts_the_unsigned(
    graded: Signed, tmp_path: Path
) -> None:
    folder = graded.copied(tmp_path)
    (folder / "history").mkdir()
    for ending, stem in (("html", "history/page"), ("json", "history/plain"), ("json", "better")):
        shutil.copy(folder / f"s.{ending}", folder / f"{stem}.{ending}")
    shutil.copy(folder / "s.dsse.json", folder / "better.dsse.json")
    text = (folder / "better.json").read_text(encoding="utf-8")
    (folder / "better.json").write_text(text.replace("Ada", "Ida"), encoding="utf-8")
    (folder / "notes.md").write_text("looks like a receipt")
    (folder / "marks.csv").write_text("is none")
    (folder / "elsewhere").symlink_to(tmp_path)
    ran = run("verify", "receipts", "--key", "my.pub", cwd=tmp_path)
    assert ran.code == 1
    said = ran.stdout.splitlines()
    assert [line for line in said if line[0] != " "] == [
        "refused   receipts/better.json",
        "refused   receipts/notes.md",
        "verified  receipts/s.json",
        "verified  receipts/history/page.html",
        "refused   receipts/history/plain.json",
        "unchecked receipts/elsewhere",
    ]
    for words in (
        "other receipt: the signature is of another learner's receipt (better.json)",
        "unsigned: there is no signature: plain.dsse.json is missing",
        "unsigned: there is no signature: notes.dsse.json is missing",
        "5 receipts: 2 verified, 3 refused (2 unsigned)",
        "a link to a folder, which is not followed: what is in it is not known; name it by itself",
        "1 other file is no receipt and was passed over:",
        "  receipts/marks.csv",
    ):
        assert f"          {words}" in said


@LINUX
def test_the_results_can_be_read_by_a_program(graded: Signed, tmp_path: Path) -> None:
    folder = graded.copied(tmp_path)
    (folder / "s.md").write_text("# passed\n")
    (folder / "data.csv").write_text("")
    good = run("verify", graded.receipts / "s.html", "--key", "my.pub", "--json", cwd=tmp_path)
    bad = run("verify", "receipts", "--key", "my.pub", "--json", cwd=tmp_path)
    said = json.loads(bad.stdout)
    (one,), (other,) = json.loads(good.stdout)["receipts"], said["receipts"]
    assert said["others"] == ["receipts/data.csv"]
    assert (said["copies_under_pseudonyms"], said["not_looked_into"]) == ([], [])
    assert (good.code, bad.code) == (0, 1)
    assert (one["verified"], one["learner"], one["points"], one["key"]) == (
        True, "Ada Lovelace", 100, graded.key,
    )  # fmt: skip
    assert (other["verified"], other["reason"]) == (False, "changed")
    assert other["problem"] == "this file was changed after it was signed (s.md)"


@LINUX
def test_another_file_is_not_the_one_that_was_graded(graded: Signed, tmp_path: Path) -> None:
    graded.copied(tmp_path)
    shutil.copy(STARTER_FILLED, tmp_path / "s.py")
    file = "receipts/s.json"
    ran = run("verify", file, "--key", "my.pub", "--submission", "s.py", cwd=tmp_path)
    assert ran.code == 1
    assert "other submission: the file at hand is not the one that was graded, s.py" in ran.said
    missing = run("verify", file, "--key", "my.pub", "--submission", "t.py", cwd=tmp_path)
    assert (missing.code, "there is no file t.py" in missing.stderr) == (2, True)


@LINUX
def test_a_key_of_somebody_else_refuses_and_one_of_several_will_do(
    graded: Signed, tmp_path: Path
) -> None:
    graded.copied(tmp_path)
    assert run("keygen", "--out", "other.pem", cwd=tmp_path).code == 0
    alone = run("verify", "receipts/s.json", "--key", "other.pub", cwd=tmp_path)
    assert alone.code == 1
    assert (
        f"other key: it is signed by the key {graded.key}, which is not one of yours" in alone.said
    )
    both = run("verify", "receipts/s.json", "--key", "other.pub", "--key", "my.pub", cwd=tmp_path)
    assert both.code == 0, both.said


@LINUX
def test_what_a_receipt_holds_cannot_act_on_the_terminal(graded: Signed, tmp_path: Path) -> None:
    folder = graded.copied(tmp_path)
    (folder / "s.json").rename(folder / "s\x1b[31m.json")
    outer = json.loads((folder / "s.dsse.json").read_text())
    outer["payloadType"] = "\x1b]0;owned\x07"
    (folder / "s\x1b[31m.dsse.json").write_text(json.dumps(outer))
    ran = run("verify", "receipts", "--key", "my.pub", cwd=tmp_path)
    assert ran.code == 1
    assert "\x1b" not in ran.stdout and "\x07" not in ran.stdout


def test_keygen_makes_a_key_in_our_folder_and_never_a_second_one(tmp_path: Path) -> None:
    env = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    first = run("keygen", cwd=tmp_path, env=env)
    private = tmp_path / "config" / "grade" / "keys" / "grade-signing.pem"
    assert first.code == 0, first.said
    assert f"private {private} keep it; whoever has it signs as you" in first.said
    assert f"public {private.with_suffix('.pub')} give it to whoever" in first.said
    if os.name == "posix":
        assert stat.S_IMODE(private.stat().st_mode) == 0o600
    held = private.read_bytes()
    second = run("keygen", cwd=tmp_path, env=env)
    assert (second.code, second.stdout) == (2, "")
    assert "a key is never overwritten" in second.stderr
    assert private.read_bytes() == held


@dataclass(frozen=True)
class Odd:
    """A receipt that is refused in a way nobody foresaw."""

    error: Exception

    def shown(self) -> Path:
        return Path("odd.json")

    def file(self, ending: str) -> Path:
        return Path(f"odd.{ending}")

    def endings(self) -> list[str]:
        raise self.error


def test_what_nobody_foresaw_refuses_one_receipt_and_ends_no_run() -> None:
    places: list[Any] = [Odd(ZeroDivisionError("by nought")), Odd(RecursionError("deep"))]
    found = list(verify._check(places, [], Expected()))
    assert [(one.verified, one.reason) for one in found] == [(False, "malformed")] * 2
    assert found[0].problem == "this could not be made sense of: ZeroDivisionError: by nought"
    ours: list[Any] = [Odd(EnvironmentProblem("a library is missing"))]
    with pytest.raises(EnvironmentProblem):
        list(verify._check(ours, [], Expected()))


def test_a_name_cannot_pass_for_a_line_of_ours() -> None:
    name = "verified  carol, 100 of 100 points"
    line = "verified  " + "a" * 30 + name
    assert verify.wrapped(line, 0) == [line]
    first, *rest = verify.wrapped(line, 40)
    assert first == line[:40]
    assert "".join(piece[12:] for piece in rest) == line[40:]
    assert all(piece.startswith(" " * 12) and len(piece) <= 40 for piece in rest)
    wide = verify.wrapped("\u732b" * 30, 40)
    assert [len(piece.strip()) for piece in wide] == [20, 10]
    assert verify._quoted('a" \\') == '"a\\" \\\\"'
    assert len(verify._quoted("x" * 500)) == 103


def refused(ran: Ran, code: int, *said: str) -> None:
    assert ran.code == code, ran.said
    assert "Next: " in ran.stderr
    for words in said:
        assert words in ran.said
    assert "Traceback" not in ran.said


def test_a_key_that_cannot_sign_is_told_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "s.py").write_text("print('it ran')\n")
    ran = grade("s.py", "--sign", "none.pem", cwd=tmp_path)
    refused(ran, 2, "the key cannot be read: No such file or directory (none.pem)")
    ran = grade("s.py", "--sign", "none.pem", "--no-receipt", cwd=tmp_path)
    refused(ran, 2, "--sign signs a receipt, and --no-receipt writes none")
    assert not (tmp_path / "receipts").exists()


def test_a_key_that_would_be_handed_to_the_module_is_refused(tmp_path: Path) -> None:
    run("keygen", "--out", "k.pem", cwd=tmp_path)
    os.link(tmp_path / "k.pem", tmp_path / "data.csv")
    beside = Submission("s.py", str(tmp_path / "s.py"), b"", siblings=(("data.csv", b""),))
    itself = Submission("data.csv", str(tmp_path / "data.csv"), b"")
    for submission in (beside, itself):
        with pytest.raises(UsageProblem) as error:
            signing.refuse_handing_over(str(tmp_path / "k.pem"), submission)
        assert "the key would be handed to the submission" in str(error.value)
        assert "keep the key in a folder of its own; nothing was run" in str(error.value)
    signing.refuse_handing_over(str(tmp_path / "k.pub"), beside)
    signing.refuse_handing_over(None, beside)


@pytest.mark.parametrize("way", ["whole", "text", "notebook", "utf-16", "beside"])
def test_a_copy_of_the_key_is_not_handed_to_the_module(tmp_path: Path, way: str) -> None:
    run("keygen", "--out", "k.pem", cwd=tmp_path)
    key = (tmp_path / "k.pem").read_text()
    source = f'KEY = """{key}"""\n'
    raw = {
        "whole": key.encode(),
        "text": source.replace("\n", "\r\n").encode(),
        "notebook": json.dumps({"cells": [{"source": source.splitlines(True)}]}).encode(),
        "utf-16": source.encode("utf-16"),
        "beside": b"",
    }[way]
    siblings = (("data.csv", key.encode()),) if way == "beside" else ()
    submission = Submission("s.py", str(tmp_path / "s.py"), raw, siblings=siblings)
    with pytest.raises(UsageProblem) as error:
        signing.refuse_handing_over(str(tmp_path / "k.pem"), submission)
    assert "the key would be handed to the submission" in str(error.value)
    (tmp_path / "class" / "ada").mkdir(parents=True)
    (tmp_path / "class" / "ada" / "s.py").write_bytes(raw or key.encode())
    with pytest.raises(UsageProblem) as error:
        signing.refuse_among(str(tmp_path / "k.pem"), [str(tmp_path / "class")])
    assert "the key lies among the submissions" in str(error.value)
    (tmp_path / "class" / "ada" / "s.py").write_text("x = 1\n")
    signing.refuse_among(str(tmp_path / "k.pem"), [str(tmp_path / "class")])


def test_where_a_receipt_is_signed_confinement_is_full_unless_said_otherwise() -> None:
    assert signing.only_full(None, "key.pem")
    assert signing.only_full("full", None)
    assert not signing.only_full("auto", "key.pem")
    assert not signing.only_full(None, None)


@pytest.mark.parametrize("name", ["", " \t", "x" * 201])
def test_a_learner_has_a_name_that_fits(name: str) -> None:
    with pytest.raises(UsageProblem) as error:
        signing.learner(name)
    assert "--learner takes a name of 1 to 200 characters" in str(error.value)
    assert 'for example --learner "Ada Lovelace"' in str(error.value)
    assert signing.learner(None) is None


def test_a_learner_whose_name_is_no_text_is_refused_at_once() -> None:
    with pytest.raises(UsageProblem) as error:
        signing.learner("Ad\udce9le")
    assert "--learner is no text in UTF-8" in str(error.value)
    assert 'for example --learner "Ada Lovelace"; nothing was run' in str(error.value)


def test_what_verify_cannot_do_without_is_told(tmp_path: Path) -> None:
    run("keygen", "--out", "k.pem", cwd=tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.py").write_text("")
    refused(run("verify", "a.json", cwd=tmp_path), 2, "missing option '--key'")
    refused(
        run("verify", "empty", "--key", "k.pub", cwd=tmp_path), 2, "there is no receipt in empty"
    )
    refused(run("verify", "a.json", "--key", "k.pub", cwd=tmp_path), 2, "there is no file a.json")
    for option in ("--learner", "--submission", "--key"):
        ran = run("verify", "a.json", "--key", "k.pub", option, " ", cwd=tmp_path)
        refused(ran, 2, f"{option} is empty, so nothing would be checked by it Next: ")
    ran = run("verify", "a.json", "--key", "k.pub", "--learner", "Ad\udce9le", cwd=tmp_path)
    refused(ran, 2, "--learner is no printable text (in UTF-8)")
    refused(run("keygen", "--out", "", cwd=tmp_path), 2, "--out is empty")
    refused(run("verify", "a.py", "--key", "k.pub", cwd=tmp_path), 2, "a.py is no receipt")
    refused(run("verify", "a.py", "--key", "k.pem", cwd=tmp_path), 2, "this is a private key")
    for name in ("a", "b"):
        (tmp_path / f"{name}.dsse.json").write_text("{}")
    ran = run("verify", ".", "--key", "k.pub", "--submission", "a.py", cwd=tmp_path)
    refused(ran, 2, "--submission is for one receipt, and there are 2")


@pytest.mark.parametrize(
    "args", [["keygen"], ["verify", "a.json", "--key", "k.pub"], [EXERCISE, "s.py", "--sign", "k"]]
)
def test_without_the_libraries_every_command_names_the_extra(
    tmp_path: Path, args: list[str]
) -> None:
    (tmp_path / "s.py").write_text("")
    code = (
        "import sys\n"
        "sys.modules['securesystemslib'] = None\n"
        "from grader.cli.main import run\n"
        "sys.exit(run(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *args],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 4, done.stderr
    assert "need securesystemslib, which this Python does not have" in done.stderr
    assert "Next: pip install 'shardgrade[sign]'" in done.stderr


@LINUX
@pytest.mark.slow
@pytest.mark.once
def test_an_undecided_grade_is_not_signed_and_says_so(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "stage")
    stage.set()
    run("keygen", "--out", tmp_path / "k.pem", cwd=tmp_path)
    stage.put("s.py", "import time\ntime.sleep(600)\n")
    key = ("--sign", tmp_path / "k.pem")
    with stage.started(EXERCISE, "--no-cache", "--out", stage.out, *key, "--", "s.py") as grading:
        server = None
        while server is None:
            server = server_of(grading.pid)
        os.kill(server, signal.SIGKILL)
        ended = grading.ended()
    assert ended.code == 5, ended.stdout + ended.stderr
    forms = stage.receipts("s") if list(stage.out.rglob("s.json")) else {}
    assert "dsse.json" not in forms
    assert not list(stage.out.rglob("*.dsse.json"))
    if forms:
        said = ended.stdout + ended.stderr
        assert "not signed: an undecided grade says nothing about the submission" in said
