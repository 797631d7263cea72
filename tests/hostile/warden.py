"""Start one command, and tell how it ended and which processes outlived it.

    python -I -S warden.py FD -- COMMAND...

Whatever the command leaves behind becomes a child of this process, however it detached itself, so
none can be missed and none of anybody else's can be taken for one. It is told on descriptor FD, as
one JSON object a line: the command's process id, then its end. What is left is then ended, by id.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import time
from collections.abc import Sequence

# What ends in an orderly way needs a moment to do so.
PATIENCE_S = 10.0
_SET_CHILD_SUBREAPER = 36


def _tell(fd: int, **facts: object) -> None:
    os.write(fd, json.dumps(facts).encode() + b"\n")


def _children() -> dict[int, str]:
    """Return the processes whose parent is this one, with what they are called."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                before, _, after = file.read().rpartition(")")
            state, parent = after.split()[:2]
        except OSError:
            continue
        if int(parent) == os.getpid() and state not in ("Z", "X"):
            found[int(name)] = before.partition("(")[2]
    return found


def _reap() -> dict[int, int]:
    """Return the children that have ended, with their status."""
    ended = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended[pid] = status


def _left(patience_s: float) -> list[str]:
    """Return the names of those that are still there after a while."""
    deadline = time.monotonic() + patience_s
    while True:
        _reap()
        names = sorted(_children().values())
        if not names or time.monotonic() > deadline:
            return names
        time.sleep(0.02)


def _end_all() -> None:
    while children := _children():
        for pid in children:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)
        _reap()


def main(arguments: Sequence[str]) -> None:
    """Run the command to its end, then look at what is left."""
    fd, command = int(arguments[0]), list(arguments[2:])
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    pid = os.fork()
    if pid == 0:
        os.close(fd)
        os.setsid()
        os.execv(command[0], command)
    _tell(fd, pid=pid)
    status = None
    while status is None:
        ended, code = os.waitpid(-1, 0)
        status = code if ended == pid else None
    left = _left(PATIENCE_S)
    _end_all()
    _tell(fd, code=os.waitstatus_to_exitcode(status), left=left)


if __name__ == "__main__":
    main(sys.argv[1:])
