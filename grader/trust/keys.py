"""Ed25519 keys as files: made once, never overwritten, a private one readable by its owner alone.

A key's id is the hex SHA-256 of its DER SubjectPublicKeyInfo (RFC 8410), which
`openssl pkey -pubin -in FILE -outform DER | sha256sum` gives as well.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader import secret
from grader.errors import EnvironmentProblem, GradeError, UsageProblem
from grader.trust import extra

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from securesystemslib.signer import CryptoSigner, SSlibKey

NAME = "grade-signing.pem"
_MOST_BYTES = 64 * 1024


def default() -> Path:
    """Return where a key is kept that nobody named a place for.

    Raises: EnvironmentProblem where there is no home folder.
    """
    try:
        return secret.home() / "keys" / NAME
    except RuntimeError as error:
        raise EnvironmentProblem(
            "there is no home folder to keep a key in", next_step="name a file: --out FILE"
        ) from error


def public_place(private: Path) -> Path:
    """Return where the public half of a private key goes."""
    return private.with_suffix(".pub")


def generate(place: Path) -> SSlibKey:
    """Make a key: the private half at `place` (PKCS #8 PEM, mode 0600), the public half beside it.

    Raises:
        UsageProblem: something is there already, or the place is inside a course.
        EnvironmentProblem: others can write to the folder, it cannot be written, or a library is
            missing.
    Effects: makes the folder, for its owner alone, and both files.
    """
    extra.require()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
    )

    _refuse_folder(place)
    public = public_place(place)
    if public == place:
        raise UsageProblem(
            f"{place} is the name of a public key",
            next_step="end the private key's name otherwise, for example in .pem",
        )
    _refuse_place(place, public)
    made = Ed25519PrivateKey.generate()
    private_pem = made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    public_pem = made.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    _write(place, private_pem, 0o600)
    try:
        _write(public, public_pem, 0o644)
    except GradeError:
        with suppress(OSError):
            place.unlink()
        raise
    return _public(made.public_key())


def _refuse_folder(place: Path) -> None:
    if not place.name or os.path.isdir(place):
        raise UsageProblem(
            "this is a folder, and a key is a file",
            where=str(place),
            next_step=f"name a file in it: --out {shlex.quote(str(place / NAME))}",
        )


def _refuse_place(place: Path, public: Path) -> None:
    for path in (place, public):
        if os.path.lexists(path):
            raise _in_the_way(path)
    folder = place.parent
    try:
        real = folder.resolve()
        for above in (real, *real.parents):
            if (above / "rubrics").is_dir() and (above / "exercises").is_dir():
                raise UsageProblem(
                    "a key is never kept inside a course, which is passed on as a whole",
                    where=str(above),
                    next_step="leave --out out, or name a file in a folder of your own",
                )
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        mode = folder.stat().st_mode
    except (OSError, RuntimeError) as error:
        raise _unwritable(place, error) from error
    if os.name == "posix" and mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise EnvironmentProblem(
            "other users can write to the folder of the key, and so replace it",
            where=str(folder),
            next_step=f"chmod go-w {shlex.quote(str(folder))}, or name another folder",
        )


def _write(path: Path, content: bytes, mode: int) -> None:
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(path, flags, mode)
    except FileExistsError:
        raise _in_the_way(path) from None
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(handle)
    except OSError as error:
        with suppress(OSError):
            path.unlink()
        raise _unwritable(path, error) from error


def _in_the_way(path: Path) -> UsageProblem:
    return UsageProblem(
        "there is a file already, and a key is never overwritten",
        where=str(path),
        next_step="use that key, or name another file: --out FILE",
    )


def _unwritable(path: Path, error: OSError | RuntimeError) -> EnvironmentProblem:
    reason = getattr(error, "strerror", None) or error
    return EnvironmentProblem(
        f"the key cannot be written: {reason}",
        where=str(path),
        next_step="name a file in a folder that can be written: --out FILE",
    )


def load_private(path: Path) -> CryptoSigner:
    """Return the signer whose private key is in a file.

    Raises:
        UsageProblem: there is no such file, or it holds no private Ed25519 key.
        EnvironmentProblem: others can read it, it has a second name, or a library is missing.
    """
    extra.require()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from securesystemslib.signer import CryptoSigner

    raw, known = _read(path)
    # First what it is: how to close a file that holds no key is no advice.
    if b"PRIVATE KEY-----" not in raw:
        raise _no_key(path, "private", "name the private key that `grade keygen` made")
    _refuse_open(path, known)
    try:
        key = load_pem_private_key(raw, None)
    except TypeError as error:
        raise _no_key(path, "unprotected private", "remove its passphrase: openssl pkey") from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise _no_key(
            path, "readable private", "name another, or make one: grade keygen"
        ) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise _no_key(path, "private Ed25519", "make one: grade keygen")
    return CryptoSigner(key, _public(key.public_key()))


def load_public(path: Path) -> SSlibKey:
    """Return the public key in a file.

    Raises:
        UsageProblem: there is no such file, or it holds no public Ed25519 key.
        EnvironmentProblem: a library is missing.
    """
    extra.require()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    raw, _ = _read(path)
    if b"PRIVATE KEY-----" in raw:
        step = f"name its public half, such as {public_place(path)}, and pass on no other"
        raise UsageProblem("this is a private key", where=str(path), next_step=step)
    try:
        key = load_pem_public_key(raw)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise _no_key(path, "public", "name the .pub file of the key that signed") from error
    if not isinstance(key, Ed25519PublicKey):
        raise _no_key(path, "public Ed25519", "name the .pub file that `grade keygen` made")
    return _public(key)


def _read(path: Path) -> tuple[bytes, os.stat_result]:
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(path, flags)
        with os.fdopen(handle, "rb") as file:
            known = os.fstat(handle)
            ordinary = stat.S_ISREG(known.st_mode)
            raw = file.read(_MOST_BYTES) if ordinary else b""
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageProblem(
            f"the key cannot be read: {reason}",
            where=str(path),
            next_step="check its name, or make one: grade keygen",
        ) from error
    if not ordinary:
        raise UsageProblem(
            "a key is an ordinary file, and this is none",
            where=str(path),
            next_step="name the file that `grade keygen` made",
        )
    return raw, known


def _refuse_open(path: Path, known: os.stat_result) -> None:
    """Refuse a private key that more than its owner can read under this one name."""
    if os.name == "posix" and known.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise EnvironmentProblem(
            "other users can read the private key",
            where=str(path),
            next_step=f"chmod 600 {shlex.quote(str(path))}; if somebody may have, make a new one",
        )
    # Only the name at hand is closed to submissions.
    if known.st_nlink > 1:
        raise EnvironmentProblem(
            f"the private key has {known.st_nlink} names (hard links), and another could be read",
            where=str(path),
            next_step="copy it to a new file, name that one, and remove the others",
        )


def _no_key(path: Path, kind: str, step: str) -> UsageProblem:
    return UsageProblem(f"this file holds no {kind} key", where=str(path), next_step=step)


def _public(key: Ed25519PublicKey) -> SSlibKey:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
    from securesystemslib.signer import SSlibKey

    der: Any = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return SSlibKey.from_crypto(key, hashlib.sha256(der).hexdigest())
