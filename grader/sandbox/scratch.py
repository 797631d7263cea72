"""Give a confined child a sized memory file system of its own as its working directory.

It must never leave a working directory that is half set up, and never let a mount of the child be
seen outside it.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from typing import Final

from grader.sandbox.landlock import libc
from grader.sandbox.namespaces import AROUND_US, Namespaces

_NOSUID, _NODEV, _NOEXEC, _RECURSIVE, _PRIVATE = 2, 4, 8, 1 << 14, 1 << 18
_DETACH: Final = 2
# Beside the copies: an inode and its name take up to a KiB of the kernel's own memory each.
INODES: Final = 1024
_COPIES_BYTES: Final = 64 << 20
_WHY_NOT: Final = {
    errno.EPERM: f"mounting is {AROUND_US}",
    errno.EACCES: f"mounting is {AROUND_US}",
    errno.ENODEV: "this kernel has no tmpfs",
    errno.ENOSYS: "this kernel mounts nothing",
    errno.ENOSPC: "the number of mounts is limited to what is in use (fs.mount-max)",
}


class HalfMountedError(RuntimeError):
    """The scratch lies over the working directory without its files, and would not go away."""


def mount(workdir: str, size_bytes: int, namespaces: Namespaces) -> str:
    """Mount a scratch over `workdir` with the regular files that lie there; a description.

    Those files do not count against `size_bytes`; other entries are hidden, not copied. The caller
    enters the directory afterwards.

    Raises: OSError with the reason, and then the directory is what it was; HalfMountedError.
    """
    if size_bytes <= 0:
        raise OSError(errno.ENOENT, "none was asked for")
    if "mount" not in namespaces.names:
        raise OSError(errno.EPERM, namespaces.refused or "no mount namespace")
    copies = _regular_files(workdir)
    size = _whole_pages(size_bytes) + sum(_whole_pages(len(data)) for data in copies.values())
    inodes = INODES + len(copies) + 1
    # First, or a host that shares its mounts would see what we mount.
    _mount("none", "/", "", _RECURSIVE | _PRIVATE, "")
    options = f"size={size},nr_inodes={inodes},mode=0700"
    _mount("scratch", workdir, "tmpfs", _NOSUID | _NODEV | _NOEXEC, options)
    try:
        _fill(workdir, copies, size)
    except OSError as error:
        _unmount(workdir)
        raise OSError(error.errno, f"its files could not be written: {error.strerror}") from error
    return f"{size_bytes >> 20} MiB" if size_bytes >> 20 else f"{size_bytes >> 10} KiB"


def _mount(source: str, target: str, kind: str, flags: int, options: str) -> None:
    texts = [os.fsencode(text) or 0 for text in (source, target, kind)]
    try:
        libc("mount", *texts, flags, os.fsencode(options) or 0)
    except OSError as error:
        why = _WHY_NOT.get(error.errno or 0, f"mounting {target}: {os.strerror(error.errno or 0)}")
        raise OSError(error.errno, why) from error


def _unmount(workdir: str) -> None:
    try:
        libc("umount2", os.fsencode(workdir), _DETACH)
    except OSError as error:
        raise HalfMountedError(f"{workdir}: {error.strerror}") from error


def _regular_files(workdir: str) -> Mapping[str, bytes]:
    found: dict[str, bytes] = {}
    room = _COPIES_BYTES
    for name in sorted(os.listdir(workdir)):
        try:
            file = os.open(f"{workdir}/{name}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:  # a link, or nothing that this user could have read here either
            continue
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            continue
        with open(file, "rb") as opened:
            found[name] = opened.read(room + 1)
        room -= len(found[name])
        if room < 0:
            raise OSError(errno.EFBIG, f"more than {_COPIES_BYTES >> 20} MiB lie there already")
    return found


def _fill(workdir: str, copies: Mapping[str, bytes], size: int) -> None:
    for name, data in copies.items():
        file = os.open(f"{workdir}/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(file, "wb") as opened:
            opened.write(data)
    made = os.statvfs(workdir)
    if made.f_blocks * made.f_frsize != size:
        raise OSError(errno.EIO, "the file system has another size than was asked for")


def _whole_pages(size: int) -> int:
    page = os.sysconf("SC_PAGE_SIZE")
    return -(-size // page) * page
