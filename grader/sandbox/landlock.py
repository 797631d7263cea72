"""Limit the calling thread to named files with Landlock, through its three system calls.

It grants reading, writing to named devices, and more only beneath a scratch that belongs to the
child alone. It must never grant a path that was not asked for, and never report a restriction that
the kernel does not keep.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import stat
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

# The three numbers are the same on every architecture.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_QUERY_VERSION: Final = 1
_PATH_BENEATH: Final = 1
# Refusals are the learner's doing: without this flag a loop of them floods the host's audit log.
_LOG_SAME_EXEC_OFF: Final = 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
REMOVE_DIR, REMOVE_FILE, MAKE_DIR, MAKE_REG = 1 << 4, 1 << 5, 1 << 7, 1 << 8
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
# A rule on a file that names a directory right is answered with EINVAL.
FILE_RIGHTS: Final = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
READ_ONLY: Final = READ_FILE | READ_DIR
READ_WRITE: Final = READ_FILE | WRITE_FILE | TRUNCATE
# No devices, sockets, fifos or links, and nothing to execute. REFER lets a file move from one
# directory to another, and never into or out of the scratch, where this rule ends.
SCRATCH: Final = READ_ONLY | READ_WRITE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | REFER

_FS_BITS_BY_ABI: Final = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16, 6: 16, 7: 16}
_NET_FROM_ABI, _SCOPE_FROM_ABI, _QUIET_FROM_ABI = 4, 6, 7
_WHY_ABSENT: Final = {
    errno.ENOSYS: "this kernel has no Landlock (Linux 5.13 brought it)",
    errno.EOPNOTSUPP: "Landlock is built in, but not among the modules named at boot (lsm=)",
    errno.EPERM: "the container around us refuses Landlock",
}
NEWEST_ABI: Final = max(_FS_BITS_BY_ABI)


@dataclass(frozen=True)
class Handled:
    """What a ruleset denies unless a rule allows it, as the kernel's bit masks."""

    filesystem: int
    network: int
    scoped: int
    size_bytes: int

    def packed(self) -> bytes:
        """The kernel's `landlock_ruleset_attr`, as long as this ABI knows it."""
        whole = struct.pack("=QQQ", self.filesystem, self.network, self.scoped)
        return whole[: self.size_bytes]


def handled(abi: int) -> Handled:
    """Everything that this ABI, from 1 to the newest known, can deny."""
    network = 0b11 if abi >= _NET_FROM_ABI else 0  # bind and connect over TCP
    scoped = 0b11 if abi >= _SCOPE_FROM_ABI else 0  # abstract unix sockets and signals
    size = 24 if scoped else 16 if network else 8
    return Handled((1 << _FS_BITS_BY_ABI[abi]) - 1, network, scoped, size)


@functools.cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)  # not at import: it fails on Windows


def libc(function: str, *arguments: int | bytes | ctypes.Array[ctypes.c_char]) -> int:
    """Call a function of the C library with words and buffers; its result, never negative.

    Raises: OSError with the kernel's errno.
    """
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result: int = getattr(_library(), function)(*words)
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{function}: {os.strerror(error)}")
    return result


def abi_version() -> int:
    """The kernel's Landlock ABI.

    Raises: OSError where there is none.
    """
    try:
        return libc("syscall", _CREATE_RULESET, 0, 0, _QUERY_VERSION)
    except OSError as error:
        why = _WHY_ABSENT.get(error.errno or 0, f"no Landlock: {error.strerror}")
        raise OSError(error.errno, why) from error


def restrict(
    readable: Iterable[str],
    writable_devices: Iterable[str],
    scratch: str | None = None,
    *,
    newest_abi: int = NEWEST_ABI,
) -> str:
    """Deny this thread, and all that it starts, every file but these; returns a description.

    A path that cannot be opened gets no rule, so it stays denied. `no_new_privs` must be set.
    Files may be made and removed beneath `scratch`. `newest_abi` asks for no more than an older
    kernel has.

    Raises: OSError when the restriction is not in force, or the scratch is not granted.
    """
    abi = min(abi_version(), newest_abi)
    masks = handled(abi)
    ruleset = libc("syscall", _CREATE_RULESET, masks.packed(), masks.size_bytes, 0)
    wanted = [(path, READ_ONLY) for path in readable]
    wanted += [(path, READ_WRITE) for path in writable_devices]
    try:
        if scratch is not None and not _add_rule(ruleset, scratch, SCRATCH & masks.filesystem):
            raise OSError(errno.ENOENT, f"no rule could be made for {scratch}")
        added = [_add_rule(ruleset, path, rights & masks.filesystem) for path, rights in wanted]
        quiet = _LOG_SAME_EXEC_OFF if abi >= _QUIET_FROM_ABI else 0
        libc("syscall", _RESTRICT_SELF, ruleset, quiet)
    finally:
        os.close(ruleset)
    _expect_denied("/")
    # How many there are depends on what else is installed, which is no fact of a grade.
    granted = "all paths" if all(added) else f"{sum(added)} of {len(wanted)} paths"
    return f"ABI {abi}, {granted}"


def _add_rule(ruleset: int, path: str, rights: int) -> bool:
    """Whether there is a rule now: not for a path that is absent or out of this user's reach."""
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            rights &= FILE_RIGHTS
        libc("syscall", _ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", rights, place), 0)
    except OSError:
        return False
    finally:
        os.close(place)
    return True


def _expect_denied(path: str) -> None:
    try:
        os.close(os.open(path, os.O_RDONLY))
    except PermissionError:
        return
    raise OSError(errno.EPERM, f"accepted by the kernel, and {path} can still be read")


def is_within(path: str, ancestor: str) -> bool:
    """Whether a normal absolute path is the ancestor itself or lies beneath it."""
    return path == ancestor or path.startswith(ancestor.rstrip(os.sep) + os.sep)


def carve(path: str, forbidden: Iterable[str]) -> Iterator[str]:
    """The paths to allow so that all of `path` is readable except what is forbidden.

    A rule covers everything beneath it and cannot be narrowed afterwards, so a directory with
    something forbidden inside is replaced by its entries. Links are resolved; one met on the way
    down gets no rule, since a rule on its directory would not have reached its target either.
    """
    real = os.path.realpath(path)
    walls = [os.path.realpath(wall) for wall in forbidden]
    if os.path.exists(real) and not any(is_within(real, wall) for wall in walls):
        yield from _carve(real, walls)


def _carve(path: str, walls: list[str]) -> Iterator[str]:
    beneath = [wall for wall in walls if is_within(wall, path)]
    if not beneath:
        yield path
    elif path not in beneath:
        for entry in _entries(path):
            if not entry.is_symlink():
                yield from _carve(entry.path, beneath)


def _entries(directory: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:  # a file, or not ours to list: leaving it out denies it
        return []
