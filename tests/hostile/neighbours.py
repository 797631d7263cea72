"""Who else is on this machine: a process of the same user, and doors that nobody may knock on."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Neighbours:
    """A sleeping process and three listening sockets, with what they were like at first."""

    sleeper: subprocess.Popen[bytes]
    tcp: socket.socket
    udp: socket.socket
    unix: socket.socket
    settings: object = None

    def like(self) -> object:
        """Return all that another process could have changed about the sleeping one."""
        pid = self.sleeper.pid
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            stopped = file.read().rpartition(")")[2].split()[0] in "tT"
        return (
            self.sleeper.poll(),
            stopped,
            Path(f"/proc/{pid}/limits").read_text(encoding="utf-8"),
            os.getpriority(os.PRIO_PROCESS, pid),
            os.sched_getaffinity(pid),
        )

    def heard(self) -> list[str]:
        """Return which of the doors somebody knocked on."""
        found = []
        for name, door in (("tcp", self.tcp), ("unix", self.unix), ("udp", self.udp)):
            with contextlib.suppress(BlockingIOError):
                _ = door.recv(1) if name == "udp" else door.accept()[0].close()
                found.append(name)
        return found


@contextlib.contextmanager
def neighbours(uid: int | None, door: Path) -> Iterator[Neighbours]:
    """Give neighbours that belong to `uid`, with a unix socket at `door`; they go at the end."""
    who = {} if uid is None else {"user": uid, "group": uid, "extra_groups": []}
    sleep = shutil.which("sleep") or "sleep"
    with contextlib.ExitStack() as stack:
        kinds = ((socket.AF_INET, socket.SOCK_STREAM), (socket.AF_INET, socket.SOCK_DGRAM))
        tcp, udp = (stack.enter_context(socket.socket(*kind)) for kind in kinds)
        unix = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        tcp.bind(("127.0.0.1", 0))
        udp.bind(("127.0.0.1", 0))
        # A unix address may have 107 bytes, fewer than a path of a test.
        folder = os.open(door.parent, os.O_PATH)
        unix.bind(f"/proc/self/fd/{folder}/{door.name}")
        os.close(folder)
        door.chmod(0o777)
        for listener in (tcp, unix):
            listener.listen()
        for one in (tcp, udp, unix):
            one.setblocking(False)
        sleeper = subprocess.Popen(
            [sleep, "900"], stdin=subprocess.DEVNULL, start_new_session=True, cwd="/", **who
        )
        found = Neighbours(sleeper, tcp, udp, unix)
        found.settings = found.like()
        try:
            yield found
        finally:
            if sleeper.poll() is None:
                os.kill(sleeper.pid, signal.SIGKILL)
            sleeper.wait(10)
