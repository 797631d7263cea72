"""Archives that are no zips are refused with what to do, and empty folders in zips are told."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from grader.cli.run import _PACKED
from grader.errors import UsageProblem
from grader.gradebook import sources
from grader.gradebook.archive import _OTHERS, nested, opened, other_archive
from grader.gradebook.sources.tree import of_path
from grader.records.gradebook import Collected
from tests.gradebook import classes
from tests.gradebook.bulk import grade, root
from tests.gradebook.classes import CLASS, WANTED, write, zipped

NEXT = "unpack it and name the folder, or pack it as a zip"


def tar(mode: str = "w:gz") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as file:  # type: ignore[call-overload]
        info = tarfile.TarInfo("amy/my_solution.py")
        info.size = 5
        file.addfile(info, io.BytesIO(b"x = 1"))
    return out.getvalue()


def collect(path: Path, **more: str) -> Collected:
    return sources.collect([str(path)], wanted=WANTED, **more)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------- other archives


@pytest.mark.parametrize(
    ("name", "kind"),
    [("c.tar", "tar archive"), ("c.TAR.GZ", "tar archive"), ("c.tgz", "tar archive"),
     ("c.tar.bz2", "tar archive"), ("c.tar.xz", "tar archive"), ("c.rar", "RAR archive"),
     ("c.7z", "7-Zip archive")],
)  # fmt: skip
def test_an_archive_that_is_no_zip_says_what_to_do(tmp_path: Path, name: str, kind: str) -> None:
    (tmp_path / name).write_bytes(b"bytes")
    with pytest.raises(UsageProblem) as raised:
        of_path(tmp_path / name)
    assert raised.value.what == f"{tmp_path / name} is a {kind}, and only zips are opened"
    assert raised.value.next_step == NEXT


@pytest.mark.parametrize(
    ("raw", "kind"),
    [(tar(), "gzip or tar.gz archive"), (tar("w"), "tar archive"),
     (b"Rar!\x1a\x07\x01\x00more", "RAR archive"), (b"7z\xbc\xaf\x27\x1cmore", "7-Zip archive")],
    ids=["gz", "tar", "rar", "7z"],
)  # fmt: skip
def test_one_that_was_only_renamed_is_found_out(tmp_path: Path, raw: bytes, kind: str) -> None:
    (tmp_path / "c.zip").write_bytes(raw)
    with pytest.raises(UsageProblem, match=f"c.zip is a {kind}, and only zips are opened"):
        opened(tmp_path / "c.zip")
    outer = zipped(tmp_path / "outer.zip", [("hw.zip", raw)])
    ((entry,), _) = opened(outer).listed()
    with pytest.raises(UsageProblem, match=f"is a {kind}, and only zips are opened"):
        nested(entry)


def test_every_ending_is_taken_for_a_class() -> None:
    assert {ending for ending, _ in _OTHERS} | {".zip"} == set(_PACKED)
    assert other_archive("my_solution.py") == ""


def test_the_command_says_it(tmp_path: Path) -> None:
    (tmp_path / "submissions.tar.gz").write_bytes(tar())
    ran = grade(tmp_path, "submissions.tar.gz")
    assert (ran.code, ran.stdout) == (2, ""), ran.said
    assert "submissions.tar.gz is a tar archive, and only zips are opened" in ran.stderr
    assert f"Next: {NEXT}" in ran.stderr
    assert not (root(tmp_path) / "gradebook.csv").exists()


@pytest.mark.parametrize("layout", ["canvas", "moodle", "plain"])
def test_a_learners_own_is_told_with_what_to_ask_for(tmp_path: Path, layout: str) -> None:
    name = {"canvas": "doe_1_7_hw.rar", "moodle": "Doe_1_assignsubmission_file/hw.rar",
            "plain": "doe/hw.rar"}[layout]  # fmt: skip
    other = {"canvas": "roe_2_8_a.py", "moodle": "Roe_2_assignsubmission_file/a.py",
             "plain": "roe/a.py"}[layout]  # fmt: skip
    found = collect(zipped(tmp_path / "c.zip", [(name, "x"), (other, "y")]), source=layout)
    (note,) = found.notes
    assert note.kind == "empty"
    assert note.text.endswith(
        "there is hw.rar; a RAR archive is not opened: unpack it, or ask for a zip or the file "
        "itself"
    )


def test_one_beside_the_learners_files_is_told(tmp_path: Path) -> None:
    found = collect(write(tmp_path / "in", {"amy.py": "x", "bob.7z": "y"}))
    assert [(one.kind, one.text) for one in found.notes] == [
        ("ignored", "a 7-Zip archive is not opened: unpack it, or ask for a zip or the file itself")
    ]


# --------------------------------------------------------------------------- empty folders in zips


def told(path: Path, **more: str) -> list[tuple[str, str]]:
    return [(one.kind, one.who) for one in collect(path, **more).notes]


def test_an_empty_folder_in_a_zip_is_told_as_on_the_disk(tmp_path: Path) -> None:
    members = [("c/amy/", ""), ("c/bob/my_solution.py", "x"), ("c/carl/my_solution.py", "y")]
    packed = zipped(tmp_path / "c.zip", members)
    folder = write(tmp_path / "c", {"bob/my_solution.py": "x", "carl/my_solution.py": "y"})
    (folder / "amy").mkdir()
    assert told(packed) == told(folder) == [("empty", "amy")]
    for path in (packed, folder):
        assert [one.key for one in collect(path).people] == ["amy", "bob", "carl"]


@pytest.mark.parametrize(
    "members",
    [
        [("amy/src/", ""), ("bob/a.py", "x"), ("carl/a.py", "y")],
        [("amy/.DS_Store", ""), ("bob/a.py", "x"), ("carl/a.py", "y")],
        [("amy/.git/HEAD", ""), ("bob/a.py", "x"), ("carl/a.py", "y")],
        [("amy\\", ""), ("bob\\a.py", "x"), ("carl\\a.py", "y")],
    ],
    ids=["inner", "junk", "git", "backslash"],
)
def test_what_holds_no_file_is_empty_however_it_is_written(
    tmp_path: Path, members: list[tuple[str, str]]
) -> None:
    assert told(zipped(tmp_path / "c.zip", members)) == [("empty", "amy")]


def test_folders_of_tools_are_nobodys(tmp_path: Path) -> None:
    members = [("__MACOSX/", ""), ("__MACOSX/amy/._a.py", ""), (".hidden/x/", ""),
               ("amy/a.py", "x"), ("amy/", ""), ("bob/a.py", "y"), ("../up/", ""),
               ("bob/__pycache__/", "")]  # fmt: skip
    packed = opened(zipped(tmp_path / "c.zip", members))
    assert packed.hollow(packed.listed()[0]) == frozenset()


def test_an_empty_participant_of_moodle_is_told(tmp_path: Path) -> None:
    path = classes.moodle_zip(tmp_path, CLASS[:2], more={"Ann Lee_7009_assignsubmission_file/": ""})
    assert told(path) == [("empty", "Ann Lee")]
    assert "Ann Lee" in [one.name for one in collect(path).people]


def test_an_empty_submission_of_gradescope_is_told(tmp_path: Path) -> None:
    files = classes.gradescope_files()
    lone = next(name for name in files if name.startswith("submission_300/"))
    members = [(f"x/{name}", text) for name, text in files.items() if name != lone]
    path = zipped(tmp_path / "g.zip", [*members, ("x/submission_300/", "")])
    assert told(path) == [("empty", "Jane Doe")]


def test_an_empty_clone_is_told(tmp_path: Path) -> None:
    name = f"{WANTED}-submissions"
    members = [(f"{name}/{WANTED}-amy/a.py", "x"), (f"{name}/{WANTED}-bob/", "")]
    assert told(zipped(tmp_path / "c.zip", members)) == [("empty", "bob")]


def test_a_folder_in_canvas_zip_is_told(tmp_path: Path) -> None:
    members = [("doe_1_7_a.py", "x"), ("roe_2_8_a.py", "y"), ("extra/", "")]
    path = zipped(tmp_path / "c.zip", members)
    assert told(path) == [("ignored", f"{path}/extra")]


def test_a_zip_of_nothing_but_empty_folders_names_everybody(tmp_path: Path) -> None:
    path = zipped(tmp_path / "c.zip", [("amy/", ""), ("bob/", "")])
    assert told(path) == [("empty", "amy"), ("empty", "bob")]
