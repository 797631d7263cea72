"""Say which paths a confined JAX process may read.

It must never name the home directory, a temporary directory, the grader, a course, or a directory
that holds one of them.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from grader.sandbox.landlock import carve, is_within

DISTRIBUTION = "shardgrade"
PACKAGE = "grader"
_SYSTEM = (
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/usr/share/zoneinfo",
    "/sys/devices/system/cpu",
    "/proc/cpuinfo",
    "/dev/urandom",
)
# Each child gets its own, since a rule is made in the child. XLA reads neither; libffi looks at
# the status, and a thread's stack is found in the maps.
_OF_THE_CHILD = ("/proc/self/maps", "/proc/self/status")


def readable_paths(forbidden: Sequence[str]) -> tuple[str, ...]:
    """What the interpreter, JAX and the packages beside it need, with nothing forbidden beneath.

    A forbidden directory that holds a whole library directory (a virtual environment inside a
    course) does not take that library away; anything forbidden inside a library is left out.
    """
    site_packages = list(_site_packages())
    closed = (*forbidden, *_private(), *_own(site_packages))
    walls = [os.path.realpath(path) for path in closed]
    allowed: list[str] = []
    for root in (*_interpreter(), *site_packages, *_SYSTEM):
        real = os.path.realpath(root)
        inner = [wall for wall in walls if wall == real or not is_within(real, wall)]
        allowed += _entries(root, inner) if root in site_packages else carve(real, inner)
    return (*_outermost(allowed), *_OF_THE_CHILD)


def _entries(directory: str, walls: Sequence[str]) -> Iterator[str]:
    # Entry by entry even where nothing is forbidden: a package may be a link to elsewhere.
    for entry in sorted(os.listdir(directory)):
        yield from carve(os.path.join(directory, entry), walls)


def _interpreter() -> Iterator[str]:
    for prefix in dict.fromkeys((sys.base_prefix, sys.base_exec_prefix)):
        yield from (os.path.join(prefix, name) for name in ("lib", "lib64"))
    yield os.path.join(sys.prefix, "pyvenv.cfg")


def _site_packages() -> Iterator[str]:
    for path in dict.fromkeys(sys.path):
        if os.path.basename(path) in ("site-packages", "dist-packages") and os.path.isdir(path):
            yield path


def _own(site_packages: Sequence[str]) -> Iterator[str]:
    """The grader wherever it is installed: here, and in the base interpreter of an environment."""
    package, checkout = Path(__file__).resolve().parents[1:3]
    yield str(package)
    if str(checkout) not in map(os.path.realpath, site_packages):
        yield str(checkout)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    base = os.path.join(sys.base_prefix, "lib", version, "site-packages")
    for directory in dict.fromkeys((*site_packages, base)):
        for name in os.listdir(directory) if os.path.isdir(directory) else ():
            if name == PACKAGE or DISTRIBUTION in name.lower():
                yield os.path.join(directory, name)


def _private() -> Iterator[str]:
    yield os.path.expanduser("~")
    yield tempfile.gettempdir()


def _outermost(paths: Iterable[str]) -> Iterator[str]:
    last = ""
    for path in sorted(set(paths), key=lambda path: path.split(os.sep)):
        if not last or not is_within(path, last):
            last = path
            yield path
