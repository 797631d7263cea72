"""A key is made once, for its owner alone, and a wrong one is told from a right one."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ed448, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from grader.errors import EnvironmentProblem, UsageProblem
from grader.trust import extra, keys
from tests.trust.openssl import openssl

POSIX = pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX")
pytestmark = pytest.mark.once


def one_line(error: pytest.ExceptionInfo[Exception]) -> str:
    return " ".join(str(error.value).split())


def test_a_key_is_a_pkcs8_file_and_its_public_half(tmp_path: Path) -> None:
    made = keys.generate(tmp_path / "keys" / "mine.pem")
    private, public = tmp_path / "keys" / "mine.pem", tmp_path / "keys" / "mine.pub"
    assert private.read_bytes().startswith(b"-----BEGIN PRIVATE KEY-----\n")
    assert public.read_bytes().startswith(b"-----BEGIN PUBLIC KEY-----\n")
    assert keys.load_private(private).public_key == keys.load_public(public) == made
    assert re.fullmatch(r"[0-9a-f]{64}", made.keyid)
    assert sorted(os.listdir(tmp_path / "keys")) == ["mine.pem", "mine.pub"]


def test_no_two_keys_are_alike(tmp_path: Path) -> None:
    made = {keys.generate(tmp_path / f"{name}.pem").keyid for name in "abc"}
    assert len(made) == 3


def test_the_id_of_a_key_is_what_openssl_gives(tmp_path: Path) -> None:
    made = keys.generate(tmp_path / "mine.pem")
    place = str(tmp_path / "mine.pub")
    der = openssl("pkey", "-pubin", "-in", place, "-outform", "DER")
    digest = openssl("dgst", "-sha256", "-r", given=der)
    assert digest.split()[0].decode() == made.keyid
    again = openssl("pkey", "-in", str(tmp_path / "mine.pem"), "-pubout")
    assert again == (tmp_path / "mine.pub").read_bytes()


@POSIX
def test_a_private_key_is_its_owners_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        keys.generate(tmp_path / "keys" / "mine.pem")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "keys" / "mine.pem").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o700


@pytest.mark.parametrize("there", ["mine.pem", "mine.pub"])
def test_a_key_is_never_overwritten(tmp_path: Path, there: str) -> None:
    (tmp_path / there).write_text("dear to somebody")
    with pytest.raises(UsageProblem) as error:
        keys.generate(tmp_path / "mine.pem")
    assert f"a key is never overwritten ({tmp_path / there})" in one_line(error)
    assert "Next: use that key, or name another file: --out FILE" in one_line(error)
    assert os.listdir(tmp_path) == [there]
    assert (tmp_path / there).read_text() == "dear to somebody"


def test_a_link_to_nowhere_is_in_the_way_too(tmp_path: Path) -> None:
    (tmp_path / "mine.pem").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageProblem, match="never overwritten"):
        keys.generate(tmp_path / "mine.pem")
    assert not (tmp_path / "elsewhere").exists()


def test_a_private_key_is_never_named_like_a_public_one(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="end the private key's name otherwise"):
        keys.generate(tmp_path / "mine.pub")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("within", [".", "exercises/distributed-03", "my/keys"])
def test_no_key_is_kept_inside_a_course(tmp_path: Path, within: str) -> None:
    for name in ("rubrics", "exercises"):
        (tmp_path / "course" / name).mkdir(parents=True)
    with pytest.raises(UsageProblem) as error:
        keys.generate(tmp_path / "course" / within / "mine.pem")
    assert "a key is never kept inside a course" in one_line(error)
    assert f"({(tmp_path / 'course').resolve()})" in one_line(error)
    assert not list(tmp_path.rglob("mine.*"))


def test_a_link_does_not_lead_a_key_into_a_course(tmp_path: Path) -> None:
    for name in ("rubrics", "exercises"):
        (tmp_path / "course" / name).mkdir(parents=True)
    (tmp_path / "keys").symlink_to(tmp_path / "course")
    with pytest.raises(UsageProblem, match="never kept inside a course"):
        keys.generate(tmp_path / "keys" / "mine.pem")


@POSIX
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
def test_no_key_is_kept_where_others_could_replace_it(tmp_path: Path, mode: int) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(mode)
    with pytest.raises(EnvironmentProblem) as error:
        keys.generate(tmp_path / "shared" / "mine.pem")
    assert "other users can write to the folder of the key" in one_line(error)
    assert f"Next: chmod go-w {tmp_path / 'shared'}" in one_line(error)
    assert os.listdir(tmp_path / "shared") == []


def test_a_folder_that_is_a_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentProblem, match="the key cannot be written"):
        keys.generate(tmp_path / "file" / "mine.pem")


@POSIX
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o700 | 0o010])
def test_a_private_key_that_others_can_read_is_not_used(tmp_path: Path, mode: int) -> None:
    keys.generate(tmp_path / "my key.pem")
    (tmp_path / "my key.pem").chmod(mode)
    with pytest.raises(EnvironmentProblem) as error:
        keys.load_private(tmp_path / "my key.pem")
    assert "other users can read the private key" in one_line(error)
    assert f"Next: chmod 600 '{tmp_path / 'my key.pem'}'" in one_line(error)


def private_file(folder: Path, raw: bytes) -> Path:
    (folder / "other.pem").write_bytes(raw)
    (folder / "other.pem").chmod(0o600)
    return folder / "other.pem"


def test_a_public_key_does_not_sign_and_a_private_one_is_not_passed_on(tmp_path: Path) -> None:
    keys.generate(tmp_path / "mine.pem")
    (tmp_path / "mine.pub").chmod(0o600)
    with pytest.raises(UsageProblem, match="holds no private key"):
        keys.load_private(tmp_path / "mine.pub")
    with pytest.raises(UsageProblem) as error:
        keys.load_public(tmp_path / "mine.pem")
    assert "this is a private key" in one_line(error)
    assert f"name its public half, such as {tmp_path / 'mine.pub'}" in one_line(error)


def test_only_ed25519_signs(tmp_path: Path) -> None:
    for made in (rsa.generate_private_key(65537, 2048), ed448.Ed448PrivateKey.generate()):
        pem = made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        with pytest.raises(UsageProblem, match="holds no private Ed25519 key"):
            keys.load_private(private_file(tmp_path, pem))
        pem = made.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        (tmp_path / "other.pub").write_bytes(pem)
        with pytest.raises(UsageProblem, match="holds no public Ed25519 key"):
            keys.load_public(tmp_path / "other.pub")


def test_a_key_under_a_passphrase_is_said(tmp_path: Path) -> None:
    keys.generate(tmp_path / "mine.pem")
    key = load_pem_private_key((tmp_path / "mine.pem").read_bytes(), None)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"x"))
    with pytest.raises(UsageProblem, match="remove its passphrase"):
        keys.load_private(private_file(tmp_path, pem))


@pytest.mark.parametrize(
    "raw", [b"", b"\0" * 100, b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"]
)
def test_what_is_no_key_is_said(tmp_path: Path, raw: bytes) -> None:
    place = private_file(tmp_path, raw)
    with pytest.raises(UsageProblem, match="this file holds no"):
        keys.load_private(place)
    with pytest.raises(UsageProblem):
        keys.load_public(place)


def test_a_key_that_is_not_there_is_said(tmp_path: Path) -> None:
    for load in (keys.load_private, keys.load_public):
        with pytest.raises(UsageProblem) as error:
            load(tmp_path / "none.pem")
        assert f"the key cannot be read: No such file or directory ({tmp_path}" in one_line(error)
        assert "Next: check its name, or make one: grade keygen" in one_line(error)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a pipe with a name")
def test_a_pipe_in_a_keys_place_blocks_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.pem", 0o600)
    with pytest.raises(UsageProblem, match="a key is an ordinary file, and this is none"):
        keys.load_private(tmp_path / "pipe.pem")


@POSIX
def test_what_a_file_is_comes_before_who_can_read_it(tmp_path: Path) -> None:
    keys.generate(tmp_path / "mine.pem")
    for other in (tmp_path / "mine.pub", Path("/dev/null")):
        with pytest.raises(UsageProblem) as error:
            keys.load_private(other)
        assert "chmod" not in str(error.value)
    assert "a key is an ordinary file, and this is none (/dev/null)" in one_line(error)
    assert "Next: name the file that `grade keygen` made" in one_line(error)
    with pytest.raises(UsageProblem, match="a key is an ordinary file"):
        keys.load_public(Path("/dev/null"))


@POSIX
def test_a_private_key_under_two_names_is_not_used(tmp_path: Path) -> None:
    keys.generate(tmp_path / "mine.pem")
    os.link(tmp_path / "mine.pem", tmp_path / "second")
    for name in ("mine.pem", "second"):
        with pytest.raises(EnvironmentProblem) as error:
            keys.load_private(tmp_path / name)
        assert "the private key has 2 names (hard links), and another could be read" in str(
            error.value
        )
        assert "Next: copy it to a new file, name that one, and remove the others" in one_line(
            error
        )
    (tmp_path / "second").unlink()
    assert keys.load_private(tmp_path / "mine.pem")


@pytest.mark.parametrize("place", [".", "/", ".."])
def test_a_folder_is_no_place_for_a_key(place: str) -> None:
    with pytest.raises(UsageProblem) as error:
        keys.generate(Path(place))
    assert f"this is a folder, and a key is a file ({Path(place)})" in one_line(error)
    assert f"Next: name a file in it: --out {Path(place) / keys.NAME}" in one_line(error)


@POSIX
@pytest.mark.parametrize("size", [255, 300])
def test_a_name_that_is_too_long_for_a_key_is_said_and_nothing_left(
    tmp_path: Path, size: int
) -> None:
    with pytest.raises(EnvironmentProblem) as error:
        keys.generate(tmp_path / ("x" * size))
    assert "the key cannot be written: File name too long" in one_line(error)
    assert "x" * size in one_line(error)
    assert os.listdir(tmp_path) == []


@POSIX
def test_a_folder_that_is_a_link_to_itself_is_said(tmp_path: Path) -> None:
    (tmp_path / "round").symlink_to(tmp_path / "round")
    with pytest.raises(EnvironmentProblem, match="the key cannot be written"):
        keys.generate(tmp_path / "round" / "mine.pem")


def test_without_the_libraries_the_extra_to_install_is_named() -> None:
    with pytest.raises(EnvironmentProblem) as error:
        extra.require(["securesystemslib", "no_such_library"])
    assert one_line(error) == (
        "keys and signatures need no_such_library, which this Python does not have"
        " Next: pip install 'shardgrade[sign]'"
    )
    assert error.value.exit_code == 4


def test_nothing_is_loaded_before_it_is_needed() -> None:
    code = (
        "import sys, grader.trust.shelf, grader.trust.seal, grader.trust.keys\n"
        "print(*sorted({'cryptography', 'securesystemslib', 'pydantic'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
