"""The course secret: with it, the hidden inputs of a grade can be made again by whoever holds it.

It lies outside every course and is never given to a child, shown or written to a receipt.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from pathlib import Path

from grader.errors import EnvironmentProblem

LEAST_BYTES = 16
_NAME = "course-secret"


def home() -> Path:
    """Return the folder of keys: $XDG_CONFIG_HOME/grade, else ~/.config/grade."""
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base and os.path.isabs(base) else Path.home() / ".config") / "grade"


def read(folder: Path | None = None) -> bytes | None:
    """Return the course secret kept in `folder` (`home()` without one), None where there is none.

    Raises:
        EnvironmentProblem: it cannot be read, others can read it, or it is too short.
    """
    try:
        place = (folder or home()) / _NAME
        with place.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            found = file.read().strip()
    except (FileNotFoundError, NotADirectoryError, RuntimeError):  # RuntimeError: no home at all
        return None
    except OSError as error:
        raise EnvironmentProblem(
            f"the course secret cannot be read: {error.strerror}",
            where=str(place),
            next_step="mend its permissions, or move it away to grade without one",
        ) from error
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise EnvironmentProblem(
            "the course secret can be read by other users",
            where=str(place),
            next_step=f"chmod 600 {place}",
        )
    if len(found) < LEAST_BYTES:
        raise EnvironmentProblem(
            f"the course secret has {len(found)} bytes, fewer than {LEAST_BYTES}",
            where=str(place),
            next_step="move it away; a new one is made where one is needed",
        )
    return found


def ensure(folder: Path | None = None) -> bytes:
    """Return the course secret, made now where there was none.

    Raises: EnvironmentProblem. Effects: may write the file, for its owner alone.
    """
    found = read(folder)
    if found is not None:
        return found
    try:
        place = (folder or home()) / _NAME
    except RuntimeError as error:
        raise EnvironmentProblem(
            "no course secret can be kept: there is no home folder",
            next_step="set XDG_CONFIG_HOME to a folder that can be written",
        ) from error
    fresh = place.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_hex(32).encode() + b"\n")
        _publish(fresh, place)
    except OSError as error:
        raise EnvironmentProblem(
            f"no course secret can be kept: {error.strerror}",
            where=str(place),
            next_step="set XDG_CONFIG_HOME to a folder that can be written",
        ) from error
    # Whoever was first has made it: two that begin together must end with one secret.
    made = read(folder)
    if made is None:
        raise EnvironmentProblem("the course secret vanished", where=str(place))
    return made


def _publish(fresh: Path, place: Path) -> None:
    try:
        os.link(fresh, place)
    except FileExistsError:
        pass
    except OSError:  # a file system without hard links
        if not place.exists():
            os.replace(fresh, place)
            return
    fresh.unlink(missing_ok=True)


def seed(key: bytes, *parts: bytes) -> bytes:
    """Return HMAC-SHA256 (RFC 2104) of the parts, each preceded by its length, under `key`."""
    message = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    return hmac.new(key, message, hashlib.sha256).digest()
