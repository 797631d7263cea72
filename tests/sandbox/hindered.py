"""Make a machine that gives less: a forked child is refused calls before it confines itself.

It never undoes anything, so call it in a child that ends soon.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import resource
import struct
from collections.abc import Callable

from grader.sandbox.landlock import libc

_CALLS = {
    "x86_64": {"unshare": 272, "mount": 165, "umount2": 166, "openat": 257, "landlock": 444},
    "aarch64": {"unshare": 97, "mount": 40, "umount2": 39, "openat": 56, "landlock": 444},
}.get(platform.machine(), {})
_NEW_MOUNTS, _NEW_USER = 0x00020000, 0x10000000
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000


class _FilterProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def _refuse(call: str, code: int, test: tuple[int, int, int] | None = None) -> None:
    """Answer `call` with an errno: always, or where (operation, argument, operand) says so."""
    steps = [(_LOAD, 0, 0, 0), (_EQUAL, _CALLS[call], 1, 0), (_RETURN, _ALLOW, 0, 0)]
    if test is not None:
        operation, argument, operand = test
        steps += [(_LOAD, 16 + 8 * argument, 0, 0), (operation, operand, 1, 0)]
        steps += [(_RETURN, _ALLOW, 0, 0)]
    steps += [(_RETURN, _REFUSE | code, 0, 0)]
    text = b"".join(struct.pack("=HBBI", op, yes, no, k) for op, k, yes, no in steps)
    program = _FilterProgram(len(steps), text)
    libc("prctl", 38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    libc("prctl", 22, 2, ctypes.addressof(program), 0, 0)  # PR_SET_SECCOMP


def _small_files_only() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2, hard))


def _stuck() -> None:
    _small_files_only()
    _refuse("umount2", errno.EPERM)


_MAPPING = os.O_WRONLY | os.O_CLOEXEC
HINDRANCES: dict[str, Callable[[], None]] = {
    "": lambda: None,
    "namespaces": lambda: _refuse("unshare", errno.EPERM),
    "number_of_namespaces": lambda: _refuse("unshare", errno.ENOSPC),
    "user_namespace": lambda: _refuse("unshare", errno.EPERM, (_ANY_BIT, 0, _NEW_USER)),
    "mount_namespace": lambda: _refuse("unshare", errno.ENOSPC, (_ANY_BIT, 0, _NEW_MOUNTS)),
    "mapping": lambda: _refuse("openat", errno.EPERM, (_EQUAL, 2, _MAPPING)),
    "mounting": lambda: _refuse("mount", errno.EACCES),
    "copying": _small_files_only,
    "copying_and_unmounting": _stuck,
    "landlock": lambda: _refuse("landlock", errno.ENOSYS),
}
