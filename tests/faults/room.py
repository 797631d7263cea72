"""Run a command while folders of it are small, full or read-only, and tell what lies in them after.

    python -I -S room.py REPORT OPTIONS FOLDER... -- COMMAND...

Each FOLDER is covered by an empty file system mounted with OPTIONS, in a mount namespace of its own
that ends with the command; `ro` in place of OPTIONS makes the folders themselves read-only. REPORT
then names every file that was in them. Nothing on disk changes.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from collections.abc import Sequence

REFUSED = 113
_NEWNS = 0x00020000
_READ_ONLY, _REMOUNT, _BIND, _REC, _PRIVATE = 0x1, 0x20, 0x1000, 0x4000, 0x40000


def _mount(source: str, target: str, kind: str | None, flags: int, options: str = "") -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    words = [None if word is None else os.fsencode(word) for word in (source, target, kind)]
    if libc.mount(*words, ctypes.c_ulong(flags), options.encode()) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"mount on {target}: {os.strerror(error)}")


def _prepare(options: str, folders: Sequence[str]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_NEWNS) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"unshare: {os.strerror(error)}")
    _mount("none", "/", None, _REC | _PRIVATE)
    for folder in folders:
        if options == "ro":
            _mount(folder, folder, None, _BIND)
            _mount("none", folder, None, _BIND | _REMOUNT | _READ_ONLY)
        else:
            _mount("none", folder, "tmpfs", 0, options)


def _listing(folders: Sequence[str]) -> list[str]:
    return sorted(
        os.path.join(place, name)
        for folder in folders
        for place, _folders, files in os.walk(folder)
        for name in files
    )


def main(arguments: Sequence[str]) -> None:
    """Prepare the folders, run the command, report, and end as it ended."""
    cut = list(arguments).index("--")
    report, options, *folders = arguments[:cut]
    command = arguments[cut + 1 :]
    here = os.getcwd()
    # While it can be: the folder of the report may be among those.
    told = os.open(report, os.O_WRONLY | os.O_CREAT)
    try:
        _prepare(options, folders)
    except OSError as error:
        print(f"this machine does not let the tests mount: {error}")
        sys.stdout.flush()
        os._exit(REFUSED)
    os.chdir(here)
    pid = os.fork()
    if pid == 0:
        os.close(told)
        os.execv(command[0], list(command))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _, status = os.waitpid(pid, 0)
    os.write(told, json.dumps(_listing(folders)).encode())
    os._exit(max(os.waitstatus_to_exitcode(status), 0))


if __name__ == "__main__":
    main(sys.argv[1:])
