"""Where compiled programs are kept between grades, and whether they may be used here.

Entries are native code without an integrity check, so only the trusted warmer fills a folder, in
one step, and every child may only read it.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

WORKS, NEVER_HITS = "works", "never hits"
_MARK = "state"
# Of what is kept: programs compiled otherwise are not found again.
FORM = "3"


def home() -> Path:
    """Return the program's cache folder: $XDG_CACHE_HOME/grade, else ~/.cache/grade."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base and os.path.isabs(base) else Path.home() / ".cache") / "grade"


def folder(warm: Path) -> Path | None:
    """Return the folder for this interpreter, JAX, processor and the warming programs in `warm`.

    None where the exercise has no such programs, or they cannot be read.
    """
    try:
        sources = [path.read_bytes() for path in sorted(warm.glob("*.py"))]
    except OSError:
        return None
    if not sources:
        return None
    facts = "\n".join([FORM, sys.version, *jax_versions(), platform.machine(), _processor()])
    digest = hashlib.sha256(facts.encode())
    for source in sources:
        digest.update(hashlib.sha256(source).digest())
    return home() / "xla" / digest.hexdigest()[:20]


def jax_versions() -> list[str]:
    """Return the names of the installed metadata folders of jax and jaxlib.

    `importlib.metadata` says the same and takes longer to import than all else here.
    """
    names: list[str] = []
    for path in sys.path:
        try:
            entries = os.listdir(path or ".")
        except OSError:
            continue
        names += [n for n in entries if n.startswith("jax") and n.endswith(".dist-info")]
    return sorted(names)


def _processor() -> str:
    """Return the processor's model and features: reloaded code must fit them."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return platform.processor()
    kept = [
        line
        for line in text.split("\n\n")[0].splitlines()
        if line.startswith(("model name", "flags", "Features", "CPU part"))
    ]
    return "\n".join(kept)


def state(place: Path) -> str:
    """Return `works`, `never hits`, or an empty string where the folder was never filled."""
    try:
        found = (place / _MARK).read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return ""
    return found if _is_ours(place) else ""


def usable(place: Path) -> str | None:
    """Return the folder for children to read, None where there is none that may be trusted."""
    return str(place) if state(place) == WORKS else None


def private(name: str) -> Path | None:
    """Return a folder of the cache that nobody else can write to, None where there is none.

    Effects: makes the folder.
    """
    try:
        place = home() / name
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
    except (OSError, RuntimeError):
        return None
    return place if _is_ours(place) else None


def _is_ours(place: Path) -> bool:
    if not hasattr(os, "getuid"):
        return True
    try:
        found = place.stat()
    except OSError:
        return False
    writable = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return found.st_uid == os.getuid() and not writable


@contextmanager
def filling(place: Path) -> Iterator[Path]:
    """Give a new folder beside `place` that becomes it when the block ends without an error.

    Raises:
        OSError: the cache folder cannot be written.
    """
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = Path(tempfile.mkdtemp(prefix="filling-", dir=place.parent))
    try:
        yield fresh
        if not place.exists():
            fresh.rename(place)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def mark(place: Path, found: str) -> None:
    """Record whether entries of this folder are ever hit on this machine."""
    (place / _MARK).write_text(found, encoding="ascii")
