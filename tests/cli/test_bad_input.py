"""Whatever is handed in: a clear sentence, the next step, the right exit code, nothing lost."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from grader.cli import own_file
from grader.records.receipt import Receipt
from tests.command import EXERCISE, ROOT, STARTER_FILLED, Ran, command, environment, grade, run

FILLED = STARTER_FILLED.read_bytes()
NOTEBOOK = json.dumps({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()
AS_LATIN_1 = "# Lösung von Zoë\n".encode("latin-1")
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256))
SAVE_AS_UTF_8 = "save it as UTF-8, or say its encoding in the first line: # -*- coding: latin-1 -*-"
OTHER_FILE = "grade the .py file itself, not a compiled or packed one"


def whole(ran: Ran) -> None:
    """See that nothing of Python's own reached the user, and that a receipt is a valid one."""
    assert "Traceback" not in ran.stdout + ran.stderr
    assert "a bug in the grader" not in ran.stderr
    if ran.receipt is not None:
        Receipt.model_validate_json(json.dumps(ran.receipt))


def refused(ran: Ran, code: int, *sentences: str) -> None:
    """See that a command ended before any grade, with these words and the next step on stderr."""
    whole(ran)
    assert ran.code == code, ran.said
    assert ran.receipt is None
    assert ran.stdout == ""
    assert ran.stderr.startswith("grade: ")
    assert "\n  Next: " in ran.stderr
    for sentence in sentences:
        assert sentence in ran.stderr


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


# ---------------------------------------------------------------- what is no readable file: exit 2


def test_a_missing_file_is_told_with_the_name_that_was_probably_meant(tmp_path: Path) -> None:
    (tmp_path / "my_solution.py").write_bytes(b"x = 1\n")
    ran = grade("my_solutoin.py", cwd=tmp_path)
    refused(ran, 2, "there is no file my_solutoin.py", "did you mean my_solution.py?")
    assert names(tmp_path) == {"my_solution.py"}


def test_a_missing_file_without_a_near_name_is_told_to_be_looked_for(tmp_path: Path) -> None:
    ran = grade("away/solution.py", cwd=tmp_path)
    refused(ran, 2, "there is no file away/solution.py", "check the name and the folder")


def test_a_folder_is_a_class_and_takes_no_option_of_one_file(tmp_path: Path) -> None:
    (tmp_path / "homework").mkdir()
    (tmp_path / "homework" / "solution.py").write_bytes(b"x = 1\n")
    ran = grade("homework", "--json", cwd=tmp_path)
    refused(ran, 2, "--json is for one file, and this is a class", "leave --json out")
    assert names(tmp_path) == {"homework"}


def test_a_link_to_nowhere_is_told_apart_from_a_missing_file(tmp_path: Path) -> None:
    (tmp_path / "solution.py").symlink_to("gone.py")
    ran = grade("solution.py", cwd=tmp_path)
    refused(ran, 2, "solution.py is a link to nowhere", "name the file it should point to")
    assert (tmp_path / "solution.py").is_symlink()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this platform has no fifo")
def test_a_fifo_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "solution.py")
    refused(grade("solution.py", cwd=tmp_path), 2, "solution.py is no ordinary file", ".py file")


def test_an_empty_name_is_not_taken_for_the_current_folder(tmp_path: Path) -> None:
    refused(grade("", cwd=tmp_path), 2, "the file has an empty name", "name one .py file")


# The superuser may read everything: without these two capabilities it may not.
WITHOUT_PRIVILEGE = """
import ctypes, os, sys
CAPBSET_DROP, DAC_OVERRIDE, DAC_READ_SEARCH = 24, 1, 2
for capability in (DAC_OVERRIDE, DAC_READ_SEARCH):
    ctypes.CDLL(None).prctl(CAPBSET_DROP, capability, 0, 0, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere privileges are dropped otherwise")
def test_an_unreadable_file_is_told_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "solution.py").write_bytes(b"x = 1\n")
    (tmp_path / "solution.py").chmod(0)
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_PRIVILEGE, *command(EXERCISE, "solution.py")],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    ran = Ran(done.returncode, done.stdout, done.stderr, None)
    refused(ran, 2, "solution.py cannot be read: Permission denied", "name and permissions")
    assert names(tmp_path) == {"solution.py"}


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="there is no /proc")
def test_a_file_whose_reading_fails_is_told_with_the_reason(tmp_path: Path) -> None:
    refused(grade("/proc/self/mem", cwd=tmp_path), 2, "/proc/self/mem cannot be read: Input/output")


@pytest.mark.parametrize(
    ("name", "shown"),
    [("no\x1b[31mfile\n.py", r"'no\x1b[31mfile\n.py'"), ("no\u202efile.py", r"'no\u202efile.py'")],
)
def test_a_name_in_a_message_cannot_act_on_the_terminal(
    name: str, shown: str, tmp_path: Path
) -> None:
    refused(grade(name, cwd=tmp_path), 2, f"there is no file {shown}\n")


# ------------------------------------------------------------- what was written: receipt, 0 points


@dataclass(frozen=True)
class Bad:
    """A file that earns nothing: its bytes, and what has to be said of it."""

    name: str
    raw: bytes
    says: str
    next_step: str
    line: int | None = None
    kind: str = "syntax_error"
    verdict: str = "error"


BAD = [
    Bad("prose.py", b"Dear grader, this is mine.\n", "is not Python at line 1", "py_compile", 1),
    Bad("syntax.py", b"x = 1\ndef f(:\n    pass\n", "is not Python at line 2", "py_compile", 2),
    Bad("image.py", PNG, "holds NUL bytes (line 3): it is not a text file", OTHER_FILE, 3),
    Bad("bytes.py", bytes(range(1, 256)), "(0x01): it is no text file", OTHER_FILE, 3),
    Bad("utf16.py", FILLED.decode().encode("utf-16"), "is UTF-16 text", "save it again as UTF-8"),
    Bad("le.py", FILLED.decode().encode("utf-16-le"), "is UTF-16 text", "save it again as UTF-8"),
    Bad("nul.py", b"x = 1\ny = 2\x00\n", "holds NUL bytes (line 2)", OTHER_FILE, 2),
    Bad("latin.py", b"x = 1\n" + AS_LATIN_1, "line 2: the byte 0xf6 is not utf-8", "coding", 2),
    Bad("first.py", AS_LATIN_1 + FILLED, "line 1: the byte 0xf6 is not utf-8", SAVE_AS_UTF_8, 1),
    Bad("klingon.py", b"# coding: klingon\n", "unknown encoding", "correct the coding line", 1),
    Bad("rot13.py", b"# coding: rot13\n", "in which no text file is written", "coding line", 1),
    Bad(
        "quotes.py",
        "axis = “data”\n".encode(),
        "is not Python at line 1: it has the character '“' (U+201C)",
        'type " there instead',
        1,
    ),
    Bad(
        "dash.py",
        "x = 1\ny = x – 2\n".encode(),
        "is not Python at line 2: it has the character '–' (U+2013)",
        "type - there instead",
        2,
    ),
    Bad("notebook.py", NOTEBOOK, "is a notebook and is not called one", "call it notebook.ipynb"),
    Bad("python.ipynb", b"x = 1\n", "is called a notebook and holds none", "ends in .py"),
    Bad("cut.ipynb", NOTEBOOK[:-9], "it is not JSON at line 1", "it was cut off, merged or edited"),
    Bad("huge.py", b"#" * (17 << 20), "is larger than 16 MiB", "move data out of it"),
    Bad("empty.py", b"", "are open: nothing is filled in yet", "", None, "finished", "failed"),
    Bad(
        "none.ipynb",
        NOTEBOOK,
        "none.ipynb is empty: it holds no statement",
        "",
        None,
        "finished",
        "failed",
    ),
    Bad(
        "blank.py",
        b"\n  \n# hi\n",
        "are open: nothing is filled in yet",
        "",
        None,
        "finished",
        "failed",
    ),
]


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.name)
def test_what_cannot_earn_a_point_is_graded_with_the_reason(bad: Bad, tmp_path: Path) -> None:
    file = tmp_path / bad.name
    file.write_bytes(bad.raw)
    ran = grade(bad.name, cwd=tmp_path)
    whole(ran)
    assert ran.code == 1, ran.said
    assert (ran.graded["verdict"], ran.graded["points"]) == (bad.verdict, 0)
    assert ran.graded["blame"] == "learner"
    outcome = ran.graded["outcome"]
    assert (outcome["kind"], outcome["line"]) == (bad.kind, bad.line)
    assert bad.says in ran.said
    assert bad.next_step in ran.said
    if bad.verdict == "error":
        assert bad.name in outcome["message"]
        assert outcome["next_step"]
    assert len(list(tmp_path.glob("receipts/*/*.html"))) == 1
    assert names(tmp_path) == {bad.name, "receipts"}
    assert file.read_bytes() == bad.raw
    assert ran.graded["submission"]["size_bytes"] == len(bad.raw)
    assert ran.graded["submission"]["sha256"] == hashlib.sha256(bad.raw).hexdigest()


@pytest.mark.parametrize("raw", [b"", b"\xef\xbb\xbf\n# nothing yet\n"], ids=["no-bytes", "blank"])
def test_an_empty_file_is_called_empty(raw: bytes, tmp_path: Path) -> None:
    (tmp_path / "solution.py").write_bytes(raw)
    ran = grade("solution.py", cwd=tmp_path)
    assert any("empty" in note for note in ran.graded["notes"])


# ------------------------------------------------------------ what Python would import: full marks


def full_marks(ran: Ran) -> None:
    whole(ran)
    assert ran.code == 0, ran.said
    assert (ran.graded["verdict"], ran.graded["points"]) == ("passed", 100)


VARIANTS = {
    "bom": b"\xef\xbb\xbf" + FILLED,
    "crlf": FILLED.replace(b"\n", b"\r\n"),
    "bom-and-crlf": b"\xef\xbb\xbf" + FILLED.replace(b"\n", b"\r\n"),
    "cr": FILLED.replace(b"\n", b"\r"),
    "latin-1-declared": b"# -*- coding: latin-1 -*-\n" + AS_LATIN_1 + FILLED,
    "no-last-newline": FILLED.rstrip(b"\n"),
    "form-feed-and-tabs": FILLED.replace(b"\n\n\n", b"\n\x0c\n").replace(b"    ", b"\t"),
    "5-mb": FILLED + b"# a remark of sixty characters, many times over and over again\n" * 84_000,
    "5-mb-line": FILLED + b"remark = '" + b"x" * 5_000_000 + b"'\n",
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_python_would_import_is_graded(variant: str, tmp_path: Path) -> None:
    (tmp_path / "solution.py").write_bytes(VARIANTS[variant])
    full_marks(grade("solution.py", cwd=tmp_path))
    assert (tmp_path / "solution.py").read_bytes() == VARIANTS[variant]


def test_lines_are_counted_as_an_editor_counts_them(tmp_path: Path) -> None:
    # A byte order mark, carriage returns and another encoding shift no line and hide no character.
    source = "# -*- coding: latin-1 -*-\r\n# Zoë\r\nprint('before')\r\nraise ValueError('Zoë')\r\n"
    (tmp_path / "solution.py").write_bytes(source.encode("latin-1"))
    ran = grade("solution.py", cwd=tmp_path)
    whole(ran)
    assert ran.graded["outcome"]["line"] == 4
    assert "ValueError: Zoë" in ran.graded["outcome"]["message"]
    assert {"line": 4, "text": "raise ValueError('Zoë')"} in ran.graded["source_lines"]


NAMES = {
    "spaces": "my own solution (2).py",
    "unicode": "lösung_日本_🎈.py",
    "dash": "-solution.py",
    "newline": "two\nlines.py",
    "quotes": 'it\'s "mine" $HOME `id`.py',
    "no-ending": "solution",
    "long": "x" * 240 + ".py",
}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such names")
@pytest.mark.parametrize("kind", NAMES)
def test_any_name_a_file_may_have_is_graded(kind: str, tmp_path: Path) -> None:
    (tmp_path / NAMES[kind]).write_bytes(FILLED)
    ran = grade(NAMES[kind], cwd=tmp_path)
    full_marks(ran)
    assert ran.graded["submission"]["name"] == NAMES[kind]
    assert "\nlines.py" not in ran.stdout
    assert names(tmp_path) == {NAMES[kind], "receipts"}


@pytest.mark.skipif(sys.platform != "linux", reason="only here may a name be no text")
def test_a_name_that_is_no_text_is_graded(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.py")
    (tmp_path / name).write_bytes(b"x = 1\n")
    ran = grade(name, cwd=tmp_path)
    whole(ran)
    assert ran.code == 1, ran.said
    assert ran.graded["submission"]["name"] == "caf\ufffd.py"
    assert names(tmp_path) == {name, "receipts"}


# ----------------------------------------------------- files that are called like a module of ours

SPY = b"import pathlib\npathlib.Path(__file__).with_suffix('.ran').touch()\n"


def script() -> str | None:
    return shutil.which("grade", path=os.path.dirname(sys.executable))


@pytest.mark.parametrize("how", ["module", "script"])
def test_a_file_beside_the_submission_never_stands_in_for_a_library(
    how: str, tmp_path: Path
) -> None:
    for name in ("jax.py", "random.py", "numpy.py", "json.py", "click.py", "pydantic.py"):
        (tmp_path / name).write_bytes(SPY)
    (tmp_path / "solution.py").write_bytes(FILLED)
    before = names(tmp_path)
    line = command() if how == "module" else [script() or ""]
    if not line[0]:
        pytest.skip("the package is not installed beside this Python")
    done = subprocess.run(
        [*line, EXERCISE, "solution.py", "--no-cache"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Passed: 100 of 100 points" in done.stdout
    assert names(tmp_path) == before | {"receipts"}


@pytest.mark.parametrize("name", ["jax.py", "numpy.py", "random.py"])
def test_a_submission_called_like_a_library_is_graded_and_not_imported_by_us(
    name: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(FILLED)
    ran = grade(name, cwd=tmp_path)
    full_marks(ran)
    # What it prints when it runs stays in the sandbox.
    assert "part 1: defined" not in ran.stdout + ran.stderr
    assert "part 1: defined" in ran.graded["output"]["text"]


# ------------------------------------------------------------------------- the command line itself


def test_an_unknown_exercise_is_told_with_the_closest_one(tmp_path: Path) -> None:
    (tmp_path / "solution.py").write_bytes(FILLED)
    ran = run("distributed-30", "solution.py", cwd=tmp_path)
    refused(ran, 2, "there is no exercise 'distributed-30'", "did you mean distributed-03?")
    ran = run("distributed03", "solution.py", cwd=tmp_path)
    refused(ran, 2, "no command or exercise 'distributed03'", "did you mean distributed-03?")
    assert names(tmp_path) == {"solution.py"}


def test_a_file_without_its_exercise_is_told_what_to_type(tmp_path: Path) -> None:
    before = "name the exercise before the file:"
    (tmp_path / "my solution.py").write_bytes(FILLED)
    ran = run("my solution.py", cwd=tmp_path)
    refused(
        ran, 2, f"{before} grade EXERCISE 'my solution.py'   (`grade list` shows the exercises)\n"
    )
    for name in (f"{EXERCISE}.py", f"work/my_{EXERCISE}_v2.ipynb"):
        refused(run(name, cwd=tmp_path), 2, f"{before} grade {EXERCISE} {name}\n")


def test_an_exercise_without_a_file_is_told_which_one(tmp_path: Path) -> None:
    lacks = f"no file is named after {EXERCISE}\n"
    start = f"  Next: grade {EXERCISE} FILE   (`grade start {EXERCISE}` writes one)\n"
    refused(run(EXERCISE, cwd=tmp_path), 2, lacks + start)
    refused(run(EXERCISE, "--no-receipt", cwd=tmp_path), 2, lacks + start)
    (tmp_path / f"{EXERCISE}.ipynb").touch()
    ran = run(EXERCISE, cwd=tmp_path)
    refused(ran, 2, f"{lacks}  Next: grade {EXERCISE} {EXERCISE}.ipynb\n")
    refused(run("distributed-99", cwd=tmp_path), 2, "there is no exercise 'distributed-99'")
    ran = run("distributed-99", "missing.py", cwd=tmp_path)
    refused(ran, 2, "there is no exercise 'distributed-99'")


@pytest.mark.parametrize(
    ("folder", "name", "command"),
    [
        (".", f"{EXERCISE}.py", f"{EXERCISE}.py"),
        ("my work", f"{EXERCISE}.ipynb", f"'my work/{EXERCISE}.ipynb'"),
        ("my work", "solution.py", ""),
    ],
)
def test_a_folder_of_ones_own_is_told_how_to_grade_its_file(
    folder: str, name: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / folder).mkdir(exist_ok=True)
    (tmp_path / folder / name).touch()
    with contextlib.chdir(tmp_path):
        own_file.tell_folder(EXERCISE, [folder])
        own_file.tell_folder(EXERCISE, [folder, folder])
        for number in range(4):
            (tmp_path / folder / f"{number}.py").touch()
        own_file.tell_folder(EXERCISE, [folder])
    told = "note: a folder is graded as a class; for your own file alone: "
    expected = f"{told}grade {EXERCISE} {command}\n" if command else ""
    assert capsys.readouterr().err == expected


def test_an_unknown_option_is_told_with_the_closest_one(tmp_path: Path) -> None:
    (tmp_path / "solution.py").write_bytes(FILLED)
    ran = run(EXERCISE, "solution.py", "--no-reciept", cwd=tmp_path)
    refused(ran, 2, "there is no option --no-reciept; did you mean --no-receipt?")
    assert f"`grade {EXERCISE} --help`" in ran.stderr
    ran = run("--verison", cwd=tmp_path)
    refused(ran, 2, "there is no option --verison; did you mean --version?", "`grade --help`")
    assert names(tmp_path) == {"solution.py"}


def test_arguments_that_lack_or_are_too_many_are_named(tmp_path: Path) -> None:
    refused(run("show", "a-01", "b-02", cwd=tmp_path), 2, "extra argument (b-02)")
    refused(run("show", cwd=tmp_path), 2, "missing argument 'EXERCISE'", "`grade show --help`")


def test_without_arguments_it_says_how_to_begin_and_where_the_help_is(tmp_path: Path) -> None:
    ran = run(cwd=tmp_path)
    whole(ran)
    assert ran.code == 0
    assert "grade --help shows every command" in ran.stdout
    assert "\n  Next: grade start " in ran.stdout


@pytest.mark.parametrize("seed", ["", "0", "xyz", "0x00ff", "-1", "00" * 33])
def test_a_seed_that_is_none_is_refused_before_anything_runs(seed: str, tmp_path: Path) -> None:
    (tmp_path / "solution.py").write_bytes(FILLED)
    ran = run(EXERCISE, "solution.py", f"--seed={seed}", cwd=tmp_path)
    refused(ran, 2, "is not an even number of hexadecimal digits", "--seed 00ff")


@pytest.mark.parametrize("by", ["option", "variable"])
def test_a_course_that_is_none_is_named_with_where_it_was_asked_for(
    by: str, tmp_path: Path
) -> None:
    (tmp_path / "solution.py").write_bytes(FILLED)
    given = ["--course", "nowhere"] if by == "option" else []
    variables = {"GRADE_COURSE": "nowhere"} if by == "variable" else {}
    ran = run(EXERCISE, "solution.py", *given, cwd=tmp_path, env=variables)
    where = "(--course)" if by == "option" else "($GRADE_COURSE)"
    refused(ran, 2, f"nowhere is not a course: it has no exercises/ and rubrics/ {where}")


# --------------------------------------------------------------------------- what cannot be written


@pytest.mark.parametrize("place", ["taken", "taken/deeper"])
def test_receipts_that_cannot_be_written_do_not_hide_the_verdict(
    place: str, tmp_path: Path
) -> None:
    (tmp_path / "taken").write_text("mine")
    (tmp_path / "solution.py").write_bytes(FILLED)
    ran = grade("solution.py", "--out", place, cwd=tmp_path)
    whole(ran)
    assert ran.code == 4
    assert "Passed: 100 of 100 points" in ran.stdout
    assert f"The receipt could not be written: Not a directory ({place}/{EXERCISE})" in ran.stderr
    assert "Next: choose another folder with --out DIR" in ran.stderr
    assert (tmp_path / "taken").read_text() == "mine"
    assert names(tmp_path) == {"taken", "solution.py"}


def test_a_receipt_asked_for_on_stdout_is_printed_even_if_no_file_can_be_written(
    tmp_path: Path,
) -> None:
    (tmp_path / "taken").write_text("mine")
    (tmp_path / "solution.py").write_bytes(b"x = 1\n")
    ran = grade("solution.py", "--out", "taken", "--json", cwd=tmp_path)
    whole(ran)
    assert ran.code == 4
    assert ran.graded["verdict"] == "failed"
    assert "The receipt could not be written" in ran.stderr


# --------------------------------------------------------------------------- course content: exit 3

RUBRIC = f"rubrics/{EXERCISE}/rubric.toml"
ORACLE = f"rubrics/{EXERCISE}/oracle.py"
Change = Callable[[Path], object]


def replaced(name: str, old: str, new: str) -> Change:
    def change(root: Path) -> None:
        text = (root / name).read_text(encoding="utf-8")
        assert old in text
        (root / name).write_text(text.replace(old, new, 1), encoding="utf-8")

    return change


def written(name: str, text: str) -> Change:
    return lambda root: (root / name).write_text(text, encoding="utf-8")


def removed(name: str) -> Change:
    return lambda root: (root / name).unlink()


BROKEN: dict[str, tuple[Change, str, str]] = {
    "not-toml": (
        replaced(RUBRIC, "max_points = 100", "max_points = = 100"),
        "rubric.toml is not TOML: Invalid value (at line 2, column 14)",
        "mend that line",
    ),
    "unknown-key": (
        replaced(RUBRIC, "max_points = 100", "max_points = 100\nmaxpoints = 100"),
        "rubric.toml: unknown key maxpoints (line 3), which nothing reads",
        "mend that file; `grade schema` says what each file may hold",
    ),
    "unknown-parameter": (
        replaced(RUBRIC, "relative_tolerance", "relativ_tolerance"),
        "check values: unknown key relativ_tolerance; did you mean relative_tolerance?",
        "mend that; `grade kinds KIND` says what a kind takes",
    ),
    "unknown-kind": (
        replaced(RUBRIC, 'kind = "claims"', 'kind = "clams"'),
        "checks.momentum.kind: there is no kind 'clams'",
        "use one of",
    ),
    "points-that-do-not-sum": (
        replaced(RUBRIC, "max_points = 100", "max_points = 101"),
        "the items' points sum to 100, max_points says 101",
        "make them agree",
    ),
    "other-id": (
        replaced(f"exercises/{EXERCISE}/exercise.toml", 'id = "distributed-03"', 'id = "other-01"'),
        "exercise.toml of distributed-03 says it belongs to 'other-01'",
        "write 'distributed-03' there",
    ),
    "claim-without-truth": (
        replaced(ORACLE, '"wrong_labels": _follows', '"wrong_lables": _follows'),
        "oracle.py: claims() gives nothing for 'wrong_labels'",
        "add it there, or take it out of the rubric",
    ),
    "no-rubric": (removed(RUBRIC), "rubric.toml is missing", "restore the file"),
    "oracle-that-raises": (
        written(ORACLE, "1 / 0\n"),
        "oracle.py does not load: ZeroDivisionError",
        "grade audit",
    ),
    "oracle-without-functions": (
        written(ORACLE, "\n"),
        "oracle.py does not define cases, answer",
        "docs/writing-an-exercise.md",
    ),
    "oracle-that-raises-later": (
        lambda root: (root / ORACLE).write_text(
            (root / ORACLE).read_text(encoding="utf-8")
            + "\n\ndef answer(*_):\n    raise RuntimeError('boom')\n",
            encoding="utf-8",
        ),
        "oracle.py: answer() raised RuntimeError: boom at line ",
        "grade audit",
    ),
    "template": (
        written("templates/receipt.md.j2", "{{ nothing.there }}"),
        "receipt.md.j2 is wrong: 'nothing' is undefined",
        "correct that line",
    ),
}


def course(folder: Path, change: Change) -> Path:
    """Make a course that is a copy of ours but for one change."""
    for name in ("exercises", "rubrics", "templates"):
        shutil.copytree(ROOT / name, folder / name)
    change(folder)
    return folder


@pytest.mark.parametrize("broken", BROKEN)
def test_wrong_course_content_is_named_with_file_and_key_and_blamed_on_nobody(
    broken: str, tmp_path: Path
) -> None:
    change, sentence, next_step = BROKEN[broken]
    (tmp_path / "solution.py").write_bytes(FILLED)
    where = course(tmp_path / "course", change)
    ran = grade("solution.py", "--course", str(where), cwd=tmp_path)
    refused(ran, 3, sentence, next_step)
    assert names(tmp_path) == {"solution.py", "course"}


def test_a_missing_oracle_is_course_content(tmp_path: Path) -> None:
    (tmp_path / "solution.py").write_bytes(FILLED)
    where = course(tmp_path / "course", removed(ORACLE))
    refused(grade("solution.py", "--course", str(where), cwd=tmp_path), 3, "oracle.py is missing")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('program = "all_gradient" }', 'program = "al_gradient" }'),
        ('figure = "ring_all_bytes"', 'figure = "ring_al_bytes"'),
        ('table = "budget"', 'table = "budgt"'),
    ],
)
def test_a_name_the_exercise_does_not_ask_for_costs_the_learner_nothing(
    old: str, new: str, tmp_path: Path
) -> None:
    (tmp_path / "solution.py").write_bytes(FILLED)
    where = course(tmp_path / "course", replaced(RUBRIC, old, new))
    refused(grade("solution.py", "--course", str(where), cwd=tmp_path), 3, "rubric")
