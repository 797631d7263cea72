"""The reader of the zip takes only what a portfolio can be, whatever the zip says of itself."""

from __future__ import annotations

import io
import os
import random
import stat
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.errors import UsageProblem
from grader.portfolio.limits import MOST_FILE_BYTES, MOST_FILES
from grader.portfolio.pack import zipped
from grader.portfolio.refused import Refused
from grader.portfolio.unpack import members

PLAIN = {"index.html": b"page", "manifest.json": b"{}"}


def written(folder: Path, raw: bytes) -> Path:
    path = folder / "p.zip"
    path.write_bytes(raw)
    return path


def made(*named: tuple[str, bytes], **more: int) -> bytes:
    """Return a zip of these members in this order, whatever they are called."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of doubled names
        for name, raw in named:
            info = zipfile.ZipInfo("x")
            info.filename = name
            info.compress_type = more.get("method", zipfile.ZIP_DEFLATED)
            info.external_attr = more.get("mode", 0o100644) << 16
            archive.writestr(info, raw)
    return out.getvalue()


def refusal(path: Path) -> str:
    with pytest.raises(Refused) as caught:
        members(path)
    assert caught.value.next_step == (
        "nothing was restored; take the zip as `grade portfolio` wrote it"
    )
    return caught.value.what.replace(str(path), "p.zip")


def test_its_own_zip_is_read(tmp_path: Path) -> None:
    assert members(written(tmp_path, zipped(PLAIN))) == PLAIN


NAMES = [
    "../up.json",
    "/absolute.json",
    "C:/drive.json",
    "receipts/../../up.json",
    "receipts/distributed-03/../x.json",
    "receipts/distributed-03/a\\b.json",
    "receipts\\distributed-03\\x.json",
    "receipts//x.json",
    "receipts/distributed-03/",
    "receipts/distributed-03/x.instructor.json",
    "receipts/distributed-03/x.INSTRUCTOR.html",
    "receipts/distributed-03/.hidden.json",
    "receipts/distributed-03/con.json",
    "receipts/distributed-03/aux.dsse.json",
    "receipts/distributed-03/ends .json",
    "receipts/distributed-03/e\u0301.json",
    "receipts/distributed-03/bidi\u202e.json",
    "receipts/distributed-03/x.js",
    "receipts/distributed-03/x.svg",
    "receipts/distributed-03/later/x.json",
    "receipts/Distributed-03/x.json",
    "receipts/submissions/x.json",
    "submissions/distributed-03/x.py",
    "submissions/distributed-03/0123456789ab/../x.py",
    "submissions/distributed-03/0123456789ab/.bashrc",
    "submissions/distributed-03/0123456789AB/x.py",
    "submissions/distributed-03/0123456789ab/nul",
    "submissions/distributed-03/0123456789ab/a:b",
    "manifest.json/x",
    "INDEX.html",
    "__MACOSX/._index.html",
    f"receipts/distributed-03/{'x' * 250}.json",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_no_portfolio_has_is_refused(name: str, tmp_path: Path) -> None:
    said = refusal(written(tmp_path, made(*PLAIN.items(), (name, b"x"))))
    assert said.startswith("p.zip holds ")
    assert said.endswith(", a name that no file of a portfolio has")


def test_a_name_cut_short_by_a_nul_is_refused(tmp_path: Path) -> None:
    raw = made(("index.htmlXevil", b"x")).replace(b"htmlXevil", b"html\0evil")
    assert "a name that no file of a portfolio has" in refusal(written(tmp_path, raw))


def test_a_link_is_refused(tmp_path: Path) -> None:
    raw = made(("index.html", b"/etc/passwd"), mode=stat.S_IFLNK | 0o777)
    said = refusal(written(tmp_path, raw))
    assert said == "p.zip holds index.html as a link or another thing that is no file"


def test_a_name_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    raw = made(("index.html", b"one"), ("index.html", b"two"))
    assert refusal(written(tmp_path, raw)) == "p.zip holds index.html twice"


def test_names_that_differ_in_case_alone_are_refused(tmp_path: Path) -> None:
    one, two = "receipts/a-01/x.json", "receipts/a-01/X.json"
    said = refusal(written(tmp_path, made((one, b""), (two, b""))))
    assert said == f"p.zip holds {one} and {two}, which differ in case alone"


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    raw = made(("index.html", b"\0" * (8 << 20)))
    said = refusal(written(tmp_path, raw))
    assert said == "p.zip holds index.html, which unpacks to 8 MiB from next to nothing"


def test_a_file_too_large_is_refused(tmp_path: Path) -> None:
    raw = made(("index.html", b"\0" * (MOST_FILE_BYTES + 1)), method=zipfile.ZIP_STORED)
    assert refusal(written(tmp_path, raw)) == "p.zip holds index.html of 16 MiB, which is too large"


def test_another_way_of_packing_is_refused(tmp_path: Path) -> None:
    raw = made(("index.html", b"x"), method=zipfile.ZIP_BZIP2)
    said = refusal(written(tmp_path, raw))
    assert said == "p.zip holds index.html packed in a way that no portfolio is"


def _said_smaller(raw: bytes) -> bytes:
    """Return the zip with a size in both its headers that is less than what it unpacks to."""
    at = raw.index(b"PK\x01\x02")
    small = struct.pack("<L", 1)
    raw = raw[: at + 24] + small + raw[at + 28 :]
    return raw[:22] + small + raw[26:]


def _same_bytes(raw: bytes) -> bytes:
    """Return the zip with its second member where the first one is."""
    first = raw.index(b"PK\x01\x02")
    second = raw.index(b"PK\x01\x02", first + 4)
    return raw[: second + 42] + struct.pack("<L", 0) + raw[second + 46 :]


def _many(raw: bytes) -> bytes:
    count = struct.pack("<H", MOST_FILES + 1)
    return raw[:-14] + count + count + raw[-10:]


FORMS: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda raw: b"", "is no zip that `grade portfolio` wrote: it does not end as one"),
    "text": (lambda raw: b"x" * 99, "is no zip that `grade portfolio` wrote: it does not end"),
    "cut": (lambda raw: raw[:-1], "is no zip that `grade portfolio` wrote: it does not end as one"),
    "something before": (lambda raw: b"MZ" + raw, "wrote: its end does not fit it"),
    "something after": (lambda raw: raw + b"x" * 30, "it does not end as one"),
    "a comment": (lambda raw: raw[:-2] + b"\x01\x00x", "it does not end as one"),
    "too many": (_many, f"lists {MOST_FILES + 1} files, and a portfolio has at most {MOST_FILES}"),
    "a smaller size": (_said_smaller, "is damaged: "),
    "the same bytes": (_same_bytes, "in the same bytes as another file"),
}


def _listed_twice(raw: bytes) -> bytes:
    """Return the zip with two lists: a forged one, and the true one for readers of ZIP64.

    The end record and locator of ZIP64 lie in what the forged list calls its last comment.
    """
    true = raw.index(b"PK\x01\x02")
    count, size = struct.unpack("<H", raw[-12:-10])[0], len(raw) - 22 - true
    page = made(("index.html", b"forged"))
    own = page.index(b"PK\x01\x02")
    forged = bytearray(page[own:-22])
    forged[32:34] = struct.pack("<H", size + 76)
    forged[42:46] = struct.pack("<L", true)
    at = true + own
    end = at + len(forged) + size
    hidden = struct.pack(
        "<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, size, end - size
    ) + struct.pack("<4sLQL", b"PK\x06\x07", 0, end, 1)
    last = struct.pack(
        "<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, len(forged) + size + len(hidden), at, 0
    )
    return raw[:true] + page[:own] + bytes(forged) + raw[true:-22] + hidden + last


def test_two_lists_in_one_zip_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, _listed_twice(zipped(PLAIN)))
    with zipfile.ZipFile(path) as archive:  # the true list, as Python reads it
        assert archive.namelist() == sorted(PLAIN)
    assert path.read_bytes().count(b"PK\x05\x06") == 1
    assert refusal(path) == OTHERWISE


OTHERWISE = (
    "p.zip is not packed as `grade portfolio` packs: it was made by something else, or changed"
)


def _between(raw: bytes) -> bytes:
    """Return the zip with bytes between its last member and its list."""
    at = raw.index(b"PK\x01\x02")
    return raw[:at] + b"more" + raw[at:-6] + struct.pack("<LH", at + 4, 0)


def _with(**more: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, raw in PLAIN.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = 0o100644 << 16
            for attribute, value in more.items():
                setattr(info, attribute, value)
            archive.writestr(info, raw)
    return out.getvalue()


PACKED_OTHERWISE: dict[str, Callable[[], bytes]] = {
    "an entry's comment": lambda: _with(comment=b"x"),
    "an extra field": lambda: _with(extra=b"\xfe\xca\x02\x00ab"),
    "between": lambda: _between(zipped(PLAIN)),
    "order": lambda: made(*sorted(PLAIN.items(), reverse=True)),
    "mode": lambda: made(*sorted(PLAIN.items()), mode=0o100755),
    "another name in front": lambda: zipped(PLAIN).replace(b"index", b"other", 1),
}


@pytest.mark.parametrize("name", PACKED_OTHERWISE)
def test_what_is_packed_otherwise_is_refused(name: str, tmp_path: Path) -> None:
    assert refusal(written(tmp_path, PACKED_OTHERWISE[name]())) == OTHERWISE


def test_bytes_hidden_behind_what_is_packed_are_refused(tmp_path: Path) -> None:
    packed = zlib.compress(b"page", wbits=-15) + b"hidden"
    name = b"index.html"
    facts = struct.pack("<4H3L2H", 0, 8, 0, 0x21, zlib.crc32(b"page"), len(packed), 4, len(name), 0)
    local = b"PK\x03\x04\x14\x00" + facts + name + packed
    mode = struct.pack("<3H2L", 0, 0, 0, 0o100644 << 16, 0)
    listed = b"PK\x01\x02\x14\x03\x14\x00" + facts + mode + name
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, len(listed), len(local), 0)
    said = refusal(written(tmp_path, local + listed + end))
    assert said == "p.zip is damaged: index.html is not what its list says"


def test_names_beyond_ascii_and_stored_members_are_its_own_too(tmp_path: Path) -> None:
    found = {**PLAIN, "receipts/a-01/é.json": b"{}", "receipts/a-01/z.md": b"\0" * (5 << 20)}
    assert members(written(tmp_path, zipped(found))) == found


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "p.zip")
    with pytest.raises(UsageProblem) as caught:
        members(tmp_path / "p.zip")
    assert caught.value.sentence() == (
        f"{tmp_path}/p.zip cannot be read: it is no ordinary file\n"
        "  Next: name a zip that `grade portfolio` wrote"
    )


@pytest.mark.parametrize("name", FORMS)
def test_a_zip_of_another_form_is_refused(name: str, tmp_path: Path) -> None:
    change, said = FORMS[name]
    assert said in refusal(written(tmp_path, change(zipped(PLAIN))))


def test_any_damage_is_a_refusal_or_changes_nothing(tmp_path: Path) -> None:
    raw = zipped({**PLAIN, "receipts/a-01/x.json": b"{}" * 50})
    chance = random.Random(5)
    for _ in range(600):
        turned = bytearray(raw)
        for _ in range(chance.randint(1, 4)):
            turned[chance.randrange(len(raw))] = chance.randrange(256)
        path = written(tmp_path, bytes(turned))
        try:
            found = members(path)
        except Refused:
            continue
        assert set(found) <= {*PLAIN, "receipts/a-01/x.json"} or all(
            name.startswith("receipts/a-01/") or name in PLAIN for name in found
        )


def test_a_file_that_is_not_there_says_what_to_name(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem) as caught:
        members(tmp_path / "p.zip")
    assert caught.value.sentence() == (
        f"there is no file {tmp_path}/p.zip\n  Next: name a zip that `grade portfolio` wrote"
    )
    with pytest.raises(UsageProblem, match="is a folder, and a portfolio's zip is wanted"):
        members(tmp_path)
