"""A zip is made by strangers: what is read of it, what is refused, and what is said."""

from __future__ import annotations

import contextlib
import io
import os
import stat
import struct
import unicodedata
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.errors import GradeError, UsageProblem
from grader.gradebook import archive
from grader.gradebook.archive import Entry, members, nested
from tests.gradebook.classes import zipped

relaxed = settings(deadline=None, max_examples=200, derandomize=True)


def paths(path: Path) -> list[str]:
    return [entry.path for entry in members(path)[0]]


def refused(path: Path) -> list[str]:
    return [note.text for note in members(path)[1] if note.kind == "refused"]


def with_info(
    path: Path, change: Callable[[zipfile.ZipInfo], None], data: bytes = b"x = 1\n"
) -> Path:
    with zipfile.ZipFile(path, "w") as file:
        info = zipfile.ZipInfo("a.py", (2026, 3, 2, 1, 2, 4))
        change(info)
        file.writestr(info, data)
    return path


# ------------------------------------------------------------------------------------- what is read


def test_members_come_sorted_with_their_dates_and_are_read_on_demand(tmp_path: Path) -> None:
    path = zipped(tmp_path / "z.zip", [("b/x.py", "b = 1\n"), ("a.py", "a = 1\n"), ("c/", "")])
    entries, notes = members(path)
    assert [(e.path, e.size, e.modified) for e in entries] == [
        ("a.py", 6, "2026-03-02T10:20:30"),
        ("b/x.py", 6, "2026-03-02T10:20:30"),
    ]
    assert notes == []
    assert entries[1].read(100) == b"b = 1\n" == entries[1].read(6)
    assert entries[1].read(3) == b"b ="
    assert entries[1].shown == f"{path}: b/x.py"
    assert (entries[1].name, entries[1].folder) == ("x.py", "b")


def test_nothing_is_written_beside_the_zip(tmp_path: Path) -> None:
    for entry in members(zipped(tmp_path / "z.zip", [("a/b.py", "x")]))[0]:
        entry.read(10)
    assert [one.name for one in tmp_path.iterdir()] == ["z.zip"]


def test_what_a_desktop_adds_is_left_out_without_a_word(tmp_path: Path) -> None:
    junk = [
        "__MACOSX/._a.py",
        "x/.DS_Store",
        "Thumbs.db",
        "._a.py",
        "x/__pycache__/a.pyc",
        ".git/a",
    ]
    path = zipped(tmp_path / "z.zip", [(name, "x") for name in ["a.py", *junk]])
    assert paths(path) == ["a.py"]
    assert members(path)[1] == []


def test_names_from_windows_keep_their_folders(tmp_path: Path) -> None:
    assert paths(zipped(tmp_path / "z.zip", [("x\\y\\a.py", "1"), ("./b//c.py", "1")])) == [
        "b/c.py",
        "x/y/a.py",
    ]


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("flagged", [True, False])
def test_an_accent_is_the_same_however_it_was_written(
    tmp_path: Path, form: str, flagged: bool
) -> None:
    name = unicodedata.normalize(form, "Zoë Šťastná.py")  # type: ignore[arg-type]
    path = zipped(tmp_path / "z.zip", [(name, "x")])
    if not flagged:
        # Many tools write UTF-8 and do not say so.
        raw = bytearray(path.read_bytes())
        for signature, at in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
            where = raw.index(signature) + at
            (flags,) = struct.unpack_from("<H", raw, where)
            struct.pack_into("<H", raw, where, flags & ~0x800)
        path.write_bytes(raw)
    assert paths(path) == ["Zoë Šťastná.py"]


def test_an_old_name_that_is_no_utf8_is_kept(tmp_path: Path) -> None:
    path = zipped(tmp_path / "z.zip", [("AAAA.py", "x")])
    path.write_bytes(path.read_bytes().replace(b"AAAA", "Zo\u00eb!".encode("cp437")))
    assert paths(path) == ["Zoë!.py"]


# ---------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("/etc/a.py", "its name is an absolute path"),
        ("\\\\server\\a.py", "its name is an absolute path"),
        ("C:\\a.py", "its name is an absolute path"),
        ("c:a.py", "its name is an absolute path"),
        ("../a.py", "its name leads out of the zip"),
        ("x/../../a.py", "its name leads out of the zip"),
        ("x\\..\\a.py", "its name leads out of the zip"),
        ("d/" * 61 + "a.py", "it lies too deep"),
        ("n" * 5000, "its name is too long"),
    ],
)
def test_no_member_leaves_the_zip(tmp_path: Path, name: str, why: str) -> None:
    path = zipped(tmp_path / "z.zip", [("ok.py", "x"), (name, "x")])
    assert paths(path) == ["ok.py"]
    assert refused(path) == [why]


@pytest.mark.parametrize(
    ("mode", "why"),
    [
        (stat.S_IFLNK, "a link, which is not followed"),
        (stat.S_IFIFO, "no ordinary file"),
        (stat.S_IFCHR, "no ordinary file"),
    ],
)
def test_links_and_devices_are_refused(tmp_path: Path, mode: int, why: str) -> None:
    def change(info: zipfile.ZipInfo) -> None:
        info.create_system, info.external_attr = 3, (mode | 0o777) << 16

    path = with_info(tmp_path / "z.zip", change, b"/etc/passwd")
    assert paths(path) == []
    assert refused(path) == [why]


def test_a_member_with_a_password_is_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "z.zip", [("a.py", "x")])
    raw = bytearray(path.read_bytes())
    for signature, at in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        raw[raw.index(signature) + at] |= 1
    path.write_bytes(raw)
    assert refused(path) == ["encrypted: ask for it without a password"]


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_what_unpacks_without_bound_is_refused(tmp_path: Path, method: int) -> None:
    def change(info: zipfile.ZipInfo) -> None:
        info.compress_type = method

    assert "packed in a way" in refused(with_info(tmp_path / "z.zip", change))[0]


def test_a_bomb_is_refused_by_what_it_declares(tmp_path: Path) -> None:
    path = zipped(tmp_path / "z.zip", [("bomb.py", bytes(30 << 20)), ("ok.py", "x")])
    assert paths(path) == ["ok.py"]
    assert refused(path) == ["unpacks to 30 MiB from next to nothing"]


def test_a_member_that_declares_too_little_is_damaged_and_never_unpacked(tmp_path: Path) -> None:
    path = zipped(tmp_path / "z.zip", [("a.py", bytes(30 << 20))])
    raw = bytearray(path.read_bytes())
    for signature, at in ((b"PK\3\4", 22), (b"PK\1\2", 24)):
        struct.pack_into("<L", raw, raw.index(signature) + at, 100)
    path.write_bytes(raw)
    (entry,) = members(path)[0]
    with pytest.raises(UsageProblem, match="damaged"):
        entry.read(1 << 30)


def test_a_large_member_is_read_no_further_than_asked(tmp_path: Path) -> None:
    size = 20 << 20
    path = zipped(tmp_path / "z.zip", [("a.py", os.urandom(1 << 16) * (size >> 16))])
    (entry,) = members(path)[0]
    assert entry.size == size
    assert len(entry.read((16 << 20) + 1)) == (16 << 20) + 1


def test_of_two_members_of_one_name_the_later_counts_and_it_is_told(tmp_path: Path) -> None:
    names = [unicodedata.normalize(form, "é.py") for form in ("NFC", "NFD")]  # type: ignore[arg-type]
    entries, notes = members(zipped(tmp_path / "z.zip", [(names[0], "1"), (names[1], "2")]))
    assert [entry.read(9) for entry in entries] == [b"2"]
    assert [note.kind for note in notes] == ["duplicate"]


def test_too_many_members_are_a_usage_problem(tmp_path: Path) -> None:
    path = tmp_path / "z.zip"
    with zipfile.ZipFile(path, "w") as file:
        for number in range(archive.MOST_MEMBERS + 1):
            file.writestr(zipfile.ZipInfo(f"{number}"), b"")
    with pytest.raises(UsageProblem, match="holds 50001 files"):
        members(path)


def test_a_list_of_members_too_long_to_read_is_a_usage_problem(tmp_path: Path) -> None:
    path = zipped(tmp_path / "z.zip", [("a.py", "x")])
    raw = bytearray(path.read_bytes())
    struct.pack_into("<L", raw, raw.rindex(b"PK\5\6") + 12, 1 << 30)
    path.write_bytes(raw)
    with pytest.raises(UsageProblem, match="more members than can be read"):
        members(path)


# ---------------------------------------------------------------------------------- what is damaged


@pytest.mark.parametrize(
    "raw", [b"", b"x = 1\n", b"PK\3\4", b"PK\5\6", b"PK\5\6" + bytes(18) + b"!"]
)
def test_what_is_no_zip_is_a_usage_problem(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "z.zip"
    path.write_bytes(raw)
    if raw.startswith(b"PK\5\6\0"):
        assert members(path) == ([], [])
        return
    with pytest.raises(UsageProblem, match="is no sound zip") as caught:
        members(path)
    assert "download it again" in caught.value.sentence()


def test_a_zip_that_is_cut_off_is_a_usage_problem(tmp_path: Path) -> None:
    path = zipped(tmp_path / "z.zip", [("a.py", "x" * 500)])
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(UsageProblem, match="is no sound zip"):
        members(path)


def test_a_damaged_member_says_so_when_it_is_read(tmp_path: Path) -> None:
    path = with_info(tmp_path / "z.zip", lambda info: None)
    raw = path.read_bytes()
    path.write_bytes(raw.replace(b"x = 1\n", b"x = 2\n", 1))
    (entry,) = members(path)[0]
    with pytest.raises(UsageProblem, match=r"a\.py is damaged: Bad CRC"):
        entry.read(100)


SOUND = io.BytesIO()
with zipfile.ZipFile(SOUND, "w", zipfile.ZIP_DEFLATED) as _file:
    for _name in ("a.py", "b/ü.py", "c.zip"):
        _file.writestr(zipfile.ZipInfo(_name, (2026, 3, 2, 1, 2, 4)), "x = 1\n" * 50)


@relaxed
@given(
    st.lists(
        st.tuples(st.integers(0, len(SOUND.getvalue()) - 1), st.integers(0, 255)),
        min_size=1,
        max_size=8,
    ),
    st.integers(0, 60),
)
def test_a_zip_with_damage_never_raises_anything_but_a_usage_problem(
    changes: list[tuple[int, int]], cut: int
) -> None:
    raw = bytearray(SOUND.getvalue())
    for at, value in changes:
        raw[at] = value
    outer = Entry(
        "z.zip", len(raw) - cut, lambda most: bytes(raw[: len(raw) - cut][:most]), "z.zip"
    )
    with contextlib.suppress(UsageProblem):
        for entry in nested(outer)[0]:
            assert ".." not in entry.path.split("/") and not entry.path.startswith("/")
            with contextlib.suppress(GradeError):
                entry.read(1 << 20)


@relaxed
@given(st.text(min_size=1, max_size=40), st.text(alphabet="./\\:C\0a _", min_size=1, max_size=12))
def test_no_name_leads_out_of_a_zip_or_raises(one: str, other: str) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        for name in {one, other}:
            with contextlib.suppress(UnicodeEncodeError, ValueError):
                info = zipfile.ZipInfo("x")
                info.filename = info.orig_filename = name
                file.writestr(info, b"x")
    raw = made.getvalue()
    for entry in nested(Entry("z.zip", len(raw), lambda most: raw[:most], "z.zip"))[0]:
        assert entry.path and not entry.path.startswith("/")
        assert not {"", ".", ".."} & set(entry.path.split("/"))


# ----------------------------------------------------------------------------------- a zip in a zip


def test_a_zip_in_a_zip_is_read_on_demand(tmp_path: Path) -> None:
    inner = zipped(tmp_path / "inner.zip", [("w/a.py", "inner = 1\n")]).read_bytes()
    (outer,) = members(zipped(tmp_path / "outer.zip", [("hw.zip", inner)]))[0]
    ((entry,), notes) = nested(outer)
    assert (entry.path, entry.read(100), notes) == ("w/a.py", b"inner = 1\n", [])
    assert entry.shown == f"{tmp_path}/outer.zip: hw.zip: w/a.py"


def test_a_zip_in_a_zip_has_the_same_limits(tmp_path: Path) -> None:
    inner = zipped(tmp_path / "inner.zip", [("a.py", bytes(30 << 20)), ("../b.py", "x")])
    (outer,) = members(zipped(tmp_path / "outer.zip", [("hw.zip", inner.read_bytes())]))[0]
    found, notes = nested(outer)
    assert found == []
    assert {note.kind for note in notes} == {"refused"} and len(notes) == 2


def test_a_zip_too_large_to_open_inside_another_is_a_usage_problem() -> None:
    outer = Entry("z.zip", archive.MOST_NESTED_BYTES + 1, lambda most: b"", "z.zip")
    with pytest.raises(UsageProblem, match="a zip of more than 64 MiB"):
        nested(outer)
