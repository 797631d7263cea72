"""Move the calling process into namespaces of its own: as many as it is given.

It must never report a namespace that this process is not in, nor a refusal without its reason.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from typing import Final

from grader.sandbox.landlock import libc

_FLAGS: Final = {
    "user": 0x10000000,
    "net": 0x40000000,
    "ipc": 0x08000000,
    "mount": 0x00020000,
}
# Best first. The last one is for a privileged process where user namespaces are switched off.
_CHOICES: Final = (
    ("user", "net", "ipc", "mount"),
    ("user", "net", "ipc"),
    ("net", "ipc", "mount"),
)
_SYSCTL: Final = {name: f"max_{'mnt' if name == 'mount' else name}_namespaces" for name in _FLAGS}
_SET_DUMPABLE: Final = 4
AROUND_US: Final = "refused by the container or the distribution around us"


@dataclass(frozen=True)
class Namespaces:
    """The namespaces this process now has to itself, and why there are not more."""

    names: tuple[str, ...]
    refused: str = ""

    def described(self) -> str:
        """What there is, then why not more. Raises: OSError with the reason where there is none."""
        if not self.names:
            raise OSError(errno.EPERM, self.refused)
        return ", ".join(self.names) + (f"; {self.refused}" if self.refused else "")


def unshare() -> Namespaces:
    """Leave the parent's namespaces, in a process with one thread.

    Effects: irrevocable; with a user namespace the process keeps its user and group, and becomes
    dumpable, because the files in /proc that take the mapping belong to root otherwise.
    """
    user, group = os.geteuid(), os.getegid()  # afterwards nobody knows, until they are mapped
    first: OSError | None = None
    for names in _CHOICES:
        try:
            # In one call, so that a refusal leaves nothing half done.
            libc("unshare", sum(_FLAGS[name] for name in names))
        except OSError as error:
            first = first or error
            continue
        missing = next((name for name in _FLAGS if name not in names), "")
        refused = f"no {missing}: {_why(first, missing)}" if first else ""
        if "user" in names:
            return _with_own_user(names, refused, user, group)
        return Namespaces(names, refused)
    return Namespaces((), _why(first, "user") if first else "")


def _with_own_user(names: tuple[str, ...], refused: str, user: int, group: int) -> Namespaces:
    try:
        _map_as_itself(user, group)
    except OSError as error:
        # Some distributions give the namespace and refuse every power in it.
        left = tuple(name for name in names if name != "mount")
        return Namespaces(left, f"no mount: mapping the user is {_why(error, 'user')}")
    return Namespaces(names, refused)


def _map_as_itself(user: int, group: int) -> None:
    # A parent that is not dumpable leaves our files in /proc to root.
    libc("prctl", _SET_DUMPABLE, 1, 0, 0, 0)
    maps = {"setgroups": "deny", "uid_map": f"{user} {user} 1", "gid_map": f"{group} {group} 1"}
    for name, text in maps.items():
        file = os.open(f"/proc/self/{name}", os.O_WRONLY)
        try:
            os.write(file, text.encode())
        finally:
            os.close(file)


def _why(error: OSError, missing: str) -> str:
    if error.errno == errno.ENOSPC:
        name = _switched_off() or missing
        return f"the number of {name} namespaces is limited to what is in use ({_SYSCTL[name]})"
    if error.errno in (errno.EPERM, errno.EACCES):
        return AROUND_US
    if error.errno in (errno.EINVAL, errno.ENOSYS):
        return "this kernel has none"
    return error.strerror or str(error)


def _switched_off() -> str:
    for name, sysctl in _SYSCTL.items():
        try:
            with open(f"/proc/sys/user/{sysctl}") as limit:
                if limit.read().strip() == "0":
                    return name
        except OSError:  # an older kernel, or no such file system here
            continue
    return ""
