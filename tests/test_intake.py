"""Raw bytes and paths; what the command does with them is in tests/cli/test_bad_input.py."""

from __future__ import annotations

import ast
import codecs
import os
from pathlib import Path

import pytest

from grader import intake
from grader.errors import UsageProblem
from grader.records.cells import Cells
from grader.records.submission import Submission

SAVE = "save it as UTF-8, or say its encoding in the first line: # -*- coding: latin-1 -*-"
OTHER = "grade the .py file itself, not a compiled or packed one"
CALLED = "call it s.ipynb, and grade that"
NO_NOTEBOOK = "is called a notebook and holds none: a notebook is JSON and begins with {"
AS_PYTHON = "if it holds Python code, give it a name that ends in .py, and grade that"
CODING = "correct the coding line at the top"
NOTEBOOK = b'{"cells": [], "metadata": {}, "nbformat": 4}'
LATIN = "# Z\u00f6e\n".encode("latin-1")


def given(raw: bytes, name: str = "s.py") -> Submission:
    return Submission(name, name, raw)


# ------------------------------------------------------------------------------------ what is read


def test_a_file_is_read_as_raw_bytes_under_its_last_name(tmp_path: Path) -> None:
    path = tmp_path / "my l\u00f6sung.py"
    path.write_bytes(b"\xef\xbb\xbfx = 1\r\n")
    found = intake.read(str(path))
    assert (found.name, found.path, found.raw) == (path.name, str(path), b"\xef\xbb\xbfx = 1\r\n")
    assert (found.format, found.stem) == ("py", "my l\u00f6sung")


def test_a_link_is_followed_and_keeps_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "real.py").write_bytes(b"x = 1\n")
    (tmp_path / "link.py").symlink_to("real.py")
    found = intake.read(str(tmp_path / "link.py"))
    assert (found.name, found.raw) == ("link.py", b"x = 1\n")


def test_a_name_that_is_no_text_becomes_text(tmp_path: Path) -> None:
    raw_path = os.path.join(os.fsencode(tmp_path), b"a\xff.py")
    Path(os.fsdecode(raw_path)).write_bytes(b"x = 1\n")
    assert intake.read(os.fsdecode(raw_path)).name == "a\ufffd.py"


@pytest.mark.parametrize(
    ("name", "what", "next_step"),
    [
        ("", "the file has an empty name", "name one .py file"),
        (
            "folder",
            "{} is a folder, and one file is wanted here",
            "name a file in it; `grade EXERCISE FOLDER` grades everybody in it",
        ),
        ("dangling.py", "{} is a link to nowhere", "name the file it should point to"),
        ("loop.py", "{} is a link to nowhere", "name the file it should point to"),
        ("pipe", "{} is no ordinary file", "name a .py file"),
        ("solutoin.py", "there is no file {}", "did you mean {folder}/solution.py?"),
        ("zzzzzz", "there is no file {}", "check the name and the folder"),
        ("away/x.py", "there is no file {}", "check the name and the folder"),
        ("solution.py/x", "{} cannot be read: Not a directory", "check its name and permissions"),
        ("n" * 300, "{} cannot be read: File name too long", "check its name and permissions"),
    ],
    ids=lambda value: value[:20],
)
def test_what_cannot_be_read_is_a_usage_problem(
    tmp_path: Path, name: str, what: str, next_step: str
) -> None:
    (tmp_path / "solution.py").write_bytes(b"x = 1\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "dangling.py").symlink_to("gone.py")
    (tmp_path / "loop.py").symlink_to("loop.py")
    os.mkfifo(tmp_path / "pipe")
    path = str(tmp_path / name) if name else ""
    with pytest.raises(UsageProblem) as caught:
        intake.read(path)
    assert caught.value.exit_code == 2
    assert caught.value.what == what.format(path)
    assert caught.value.next_step == next_step.format(folder=tmp_path)


def test_a_name_with_a_nul_byte_is_a_usage_problem() -> None:
    with pytest.raises(UsageProblem, match="cannot be read"):
        intake.read("a\0b.py")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_a_usage_problem(tmp_path: Path) -> None:
    path = tmp_path / "s.py"
    path.write_bytes(b"x = 1\n")
    path.chmod(0)
    with pytest.raises(UsageProblem, match="cannot be read: Permission denied"):
        intake.read(str(path))


# --------------------------------------------------------------------------- what Python takes too

GOOD = {
    "nothing": b"",
    "a comment": b"# only a comment",
    "UTF-8": "x = 'gr\u00f6\u00dfe \u2200'\n".encode(),
    "BOM": codecs.BOM_UTF8 + "x = '\u00f6'\n".encode(),
    "BOM and its coding line": codecs.BOM_UTF8 + b"# coding: utf-8\nx = 1\n",
    "CRLF": b"x = 1\r\ny = 2\r\n",
    "CR": b"x = 1\ry = 2\r",
    "declared latin-1": b"# -*- coding: latin-1 -*-\n" + LATIN,
    "declared on the second line": b"#!/usr/bin/env python\n# coding: latin-1\n" + LATIN,
    "declared cp1252": b"# coding: cp1252\nx = '\x93smart\x94'\n",
    "form feeds": b"x = 1\n\x0c\ny = 2\n\x0c\n",
    "no last line end": b"x = 1",
    "a control character in a string": b"x = '\x07'\n",
    "a dictionary first": b"{'cells': 1}\n",
    "5 MB": b"x = 1\n" * 900_000,
}


@pytest.mark.parametrize("raw", GOOD.values(), ids=GOOD)
def test_what_python_imports_is_let_through(raw: bytes) -> None:
    if len(raw) < 1000:
        ast.parse(raw)
    assert intake.problem(given(raw)) is None


# ----------------------------------------------------------------------------- what it cannot take

BAD: dict[str, tuple[bytes, str, str, str, int | None]] = {
    "latin-1 on the first line": (
        LATIN,
        "s.py",
        "s.py, line 1: the byte 0xf6 is not utf-8",
        SAVE,
        1,
    ),
    "latin-1 further down": (
        b"x = 1\n" * 5 + LATIN,
        "s.py",
        "s.py, line 6: the byte 0xf6 is not utf-8",
        SAVE,
        6,
    ),
    "latin-1 after CRLF": (
        b"x = 1\r\n" * 5 + LATIN,
        "s.py",
        "s.py, line 6: the byte 0xf6 is not utf-8",
        SAVE,
        6,
    ),
    "latin-1 after CR": (
        b"x = 1\r" * 5 + LATIN,
        "s.py",
        "s.py, line 6: the byte 0xf6 is not utf-8",
        SAVE,
        6,
    ),
    "declared ASCII": (
        b"# coding: ascii\n" + LATIN,
        "s.py",
        "s.py, line 2: the byte 0xf6 is not ascii",
        SAVE,
        2,
    ),
    "an unknown coding line": (
        b"# coding: no-such\nx = 1\n",
        "s.py",
        "s.py: unknown encoding: no-such",
        CODING,
        1,
    ),
    "a coding line against the BOM": (
        codecs.BOM_UTF8 + b"# coding: latin-1\nx = 1\n",
        "s.py",
        "s.py: encoding problem: utf-8",
        CODING,
        1,
    ),
    "UTF-16 with a mark": (
        "x = 1\n".encode("utf-16"),
        "s.py",
        "s.py is UTF-16 text, which Python does not import",
        "save it again as UTF-8",
        None,
    ),
    "UTF-16 without a mark": (
        "x = 1\ny = 2\n".encode("utf-16-le"),
        "s.py",
        "s.py is UTF-16 text, which Python does not import",
        "save it again as UTF-8",
        None,
    ),
    "NUL bytes": (
        b"x = 1\ny = '\0'\n",
        "s.py",
        "s.py holds NUL bytes (line 2): it is not a text file",
        OTHER,
        2,
    ),
    "a compiled file": (
        b"\xa7\r\r\n\0\0\0\0" + bytes(range(256)),
        "s.py",
        "s.py holds NUL bytes (line 3): it is not a text file",
        OTHER,
        3,
    ),
    "binary without NUL": (
        b"\x89PNG\x1a\xff\xfe\n",
        "s.py",
        "s.py holds bytes that no text has (0x1a): it is no text file",
        OTHER,
        1,
    ),
    "a notebook named .py": (
        b"\n " + NOTEBOOK,
        "s.py",
        "s.py is a notebook and is not called one",
        CALLED,
        None,
    ),
    "a notebook with a BOM": (
        codecs.BOM_UTF8 + NOTEBOOK,
        "s.py",
        "s.py is a notebook and is not called one",
        CALLED,
        None,
    ),
    "an old notebook": (
        b'{"nbformat": 3, "worksheets": []}',
        "s.txt",
        "s.txt is a notebook and is not called one",
        CALLED,
        None,
    ),
    "Python named .ipynb": (b"x = 1\n", "N.IPYNB", f"N.IPYNB {NO_NOTEBOOK}", AS_PYTHON, None),
    "an empty notebook": (
        b" \n",
        "s.ipynb",
        "s.ipynb is empty: it holds no notebook",
        "save it again in Jupyter",
        None,
    ),
    "too large a notebook": (
        b"{" * (intake.MOST_BYTES + 1),
        "s.ipynb",
        "s.ipynb is larger than 64 MiB",
        "clear the outputs that are large, save it, and grade that file",
        None,
    ),
    "too large": (
        b"#" * (intake.MOST_MODULE_BYTES + 1),
        "s.py",
        "s.py is larger than 16 MiB",
        "move data out of it",
        None,
    ),
}


@pytest.mark.parametrize(("raw", "name", "message", "step", "line"), BAD.values(), ids=BAD)
def test_what_python_cannot_import_is_said_in_plain_words(
    raw: bytes, name: str, message: str, step: str, line: int | None
) -> None:
    outcome = intake.problem(given(raw, name))
    assert outcome is not None
    assert (outcome.kind, outcome.message) == ("syntax_error", message)
    assert (outcome.next_step, outcome.line) == (step, line)


@pytest.mark.parametrize("codec", ["rot13", "hex", "zlib", "base64", "bz2", "uu", "undefined"])
def test_a_coding_line_that_names_no_text_encoding_is_told(codec: str) -> None:
    raw = f"# coding: {codec}\nx = 1\n".encode()
    outcome = intake.problem(given(raw))
    assert outcome is not None
    assert (outcome.kind, outcome.next_step) == ("syntax_error", CODING)
    assert intake.lines(given(raw), [2]) == {2: "x = 1"}


@pytest.mark.parametrize("codec", ["idna", "punycode", "unicode_escape", "utf-7", "cp037", "mbcs"])
def test_no_coding_line_ends_the_grader(codec: str) -> None:
    raw = f"# coding: {codec}\n".encode() + b"x = '\\x \xe9" + b"a" * 80 + b"'\n"
    outcome = intake.problem(given(raw))
    assert outcome is None or outcome.kind == "syntax_error"
    assert set(intake.lines(given(raw), [2])) <= {2}


# ------------------------------------------------------------------------------------------- lines


def test_lines_are_numbered_as_python_numbers_them() -> None:
    for end in ("\n", "\r\n", "\r"):
        raw = codecs.BOM_UTF8 + end.join(["a = 1", "b = '\u00f6'", "c = 3\x0c"]).encode()
        found = intake.lines(given(raw), [3, None, 1, 1, 0, -1, 99, 10**30])
        assert found == {1: "a = 1", 3: "c = 3\x0c"}


def test_a_line_is_shown_in_its_own_encoding() -> None:
    assert intake.lines(given(b"# coding: latin-1\n" + LATIN), [2]) == {2: "# Z\u00f6e"}


def test_a_line_that_cannot_be_decoded_is_shown_as_far_as_it_can_be() -> None:
    assert intake.lines(given(LATIN), [1]) == {1: "# Z\ufffde"}


def test_a_very_long_line_is_cut() -> None:
    assert len(intake.lines(given(b"x" * 10_000), [1])[1]) == 400


@pytest.mark.parametrize("raw", [b"", b"\n\r\n \t\x0c", b"# a\n  # b", codecs.BOM_UTF8 + b"\n"])
def test_blank_space_and_comments_are_nothing(raw: bytes) -> None:
    assert intake.is_empty(given(raw))


@pytest.mark.parametrize("raw", [b"x", b"# a\nx", b'"""doc"""', b"\xff"])
def test_anything_else_is_something(raw: bytes) -> None:
    assert not intake.is_empty(given(raw))


@pytest.mark.parametrize("codec", ["punycode", "idna", "unicode_escape", "rot13", "zip", "utf-7"])
def test_a_codec_that_is_no_text_encoding_is_never_run_here(codec: str) -> None:
    found = intake.problem(given(f"# coding: {codec}\nx = 1\n".encode()))
    assert found is not None
    assert found.kind == "syntax_error"
    assert found.next_step == CODING


@pytest.mark.parametrize("codec", ["latin-1", "cp1252", "koi8-r", "gb18030", "shift_jis", "utf-8"])
def test_an_encoding_that_texts_are_written_in_is_taken(codec: str) -> None:
    assert intake.problem(given(f"# coding: {codec}\nx = 1\n".encode())) is None


# ---------------------------------------------------------------------------------------- notebooks


@pytest.mark.parametrize(
    "raw", [NOTEBOOK, codecs.BOM_UTF8 + NOTEBOOK, NOTEBOOK.decode().encode("utf-16"), b"\n {"]
)
def test_what_may_be_a_notebook_is_opened_elsewhere(raw: bytes) -> None:
    assert intake.problem(given(raw, "s.ipynb")) is None


def test_lines_of_a_notebook_are_those_of_its_cells() -> None:
    cells = Cells(("# coding: utf-16\nx = 'é'", "!ls"), ("# coding: utf-16\nx = 'é'", "pass"))
    found = Submission("s.ipynb", "s.ipynb", NOTEBOOK, cells=cells)
    assert intake.lines(found, [2, 3, 4]) == {2: "x = 'é'", 3: "!ls"}
    assert not intake.is_empty(found)
    blank = Cells(("# only this", ""), ("# only this", ""))
    assert intake.is_empty(Submission("s.ipynb", "s.ipynb", NOTEBOOK, cells=blank))
