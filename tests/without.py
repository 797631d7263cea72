"""Run a command on a machine that lacks system calls: `python without.py CALL=ERRNO... -- COMMAND`.

What a container or an older kernel refuses is refused here by a seccomp filter around the command.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys

# x86-64 has its own numbers for the older calls; the newer ones are the same everywhere.
_NUMBERS = {
    "x86_64": {"unshare": 272, "mount": 165, "prctl_seccomp": 157},
    "aarch64": {"unshare": 97, "mount": 40, "prctl_seccomp": 167},
}
_EVERYWHERE = {"landlock": 444}
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _MODE_FILTER = 38, 22, 2


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def refuse(calls: dict[str, int]) -> None:
    """Refuse the named calls with an errno in this process and all that it starts."""
    numbers = {**_EVERYWHERE, **_NUMBERS.get(platform.machine(), {})}
    steps = [(_LOAD, 0, 0, 0)]
    for name, error in calls.items():
        steps += [(_EQUAL, numbers[name], 0, 1), (_RETURN, _REFUSE | error, 0, 0)]
    steps.append((_RETURN, _ALLOW, 0, 0))
    code = b"".join(struct.pack("=HBBI", op, yes, no, k) for op, k, yes, no in steps)
    program = _Program(len(steps), code)
    libc = ctypes.CDLL(None, use_errno=True)
    for arguments in (
        (_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
        (_PR_SET_SECCOMP, _MODE_FILTER, ctypes.addressof(program), 0, 0),
    ):
        if libc.prctl(*map(ctypes.c_ulong, arguments)):
            raise OSError(ctypes.get_errno(), "the filter is not in force")


if __name__ == "__main__":
    at = sys.argv.index("--")
    named = (word.partition("=") for word in sys.argv[1:at])
    refuse({name: getattr(errno, error) for name, _, error in named})
    os.execvp(sys.argv[at + 1], sys.argv[at + 1 :])
