"""The coordinator's side of the children: start the fork server, ask it for confined children.

Where a fork is not safe, each child is a process of its own: slower, and with fewer layers around
it, which every receipt then says.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, cast

from grader.errors import Undecided
from grader.process import Child, Exit, start
from grader.sandbox import rooms
from grader.sandbox.launching import (
    Allowance,
    command,
    environment,
    tail_file,
)

if TYPE_CHECKING:
    from grader.sandbox.platforms import Platform


class Host(Protocol):
    """Whatever starts children: a fork server, spawned processes, or a fake in a test.

    `room` is a private folder for the children's working directories; it goes with the host.
    """

    room: str

    def start(self, entry: str, workdir: str, allowance: Allowance) -> Child:
        """Return a new child that runs `entry` ("learner" or "replay") in `workdir`."""

    def alive(self) -> bool:
        """Return whether children can still be started."""

    def close(self) -> None:
        """End every child that is left, and the server."""


def fork_is_safe() -> bool:
    """Return whether this platform can fork a process that has imported JAX."""
    return sys.platform == "linux" and hasattr(os, "fork") and hasattr(os, "pidfd_open")


def open_host(
    forbidden: Sequence[str],
    cache: str | None,
    *,
    many: bool = False,
    platform: Platform | None = None,
) -> Host:
    """Start the best host this machine allows; returns at once, while JAX is still loading.

    `many` says that a great many children will come. With a `platform`, for real devices, each
    child is a process of its own: a driver holds a device for one process, and none survives a
    fork. No cache is used then, since its programs are a CPU's.
    """
    if platform is not None:
        return SpawnHost(None, forbidden=forbidden, platform=platform)
    if fork_is_safe():
        return ForkServer(forbidden, cache, many=many)
    return SpawnHost(cache, forbidden=forbidden)


class _Forked:
    """The handle of one forked child; its end is told by the server."""

    def __init__(self, server: ForkServer, child_id: int) -> None:
        self._server, self._id = server, child_id
        self.ended = threading.Event()
        self.exit: Exit | None = None

    def kill(self) -> None:
        self._server.tell({"op": "kill", "id": self._id})

    def remind(self) -> None:
        self._server.tell({"op": "remind", "id": self._id})

    def wait(self, timeout_s: float) -> Exit | None:
        self.ended.wait(timeout_s)
        return self.exit


class ForkServer:
    """Children forked from one process that has imported JAX already.

    With `many` it loads at once what children would each load on first use. `before` is Python that
    the server runs first; a benchmark measures with it.
    """

    before = ""

    def __init__(self, forbidden: Sequence[str], cache: str | None, *, many: bool = False) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control = ours
        names = ("fd", "forbidden", "cache", "many", "room")
        call = f"{self.before}server.main({','.join(f'c[{name!r}]' for name in names)})"
        self._errors = tail_file()
        self.room = rooms.make()
        config = {
            "fd": theirs.fileno(),
            "forbidden": list(forbidden),
            "cache": cache,
            "many": many,
            "room": self.room,
        }
        self._process = subprocess.Popen(
            command(call, config),
            stdin=subprocess.DEVNULL,
            stdout=self._errors,
            stderr=self._errors,
            env=environment(cache),
            cwd="/",
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
        theirs.close()
        self._lock = threading.Lock()
        self._handles: dict[int, _Forked] = {}
        self._ids = itertools.count()
        self._gone = False
        start(threading.Thread(target=self._listen, daemon=True))

    def start(self, entry: str, workdir: str, allowance: Allowance) -> Child:
        """Ask for a fork; see `Host.start`.

        Raises:
            Undecided: the server is gone.
        """
        child_id = next(self._ids)
        handle = _Forked(self, child_id)
        self._handles[child_id] = handle
        jobs_r, jobs_w = os.pipe()
        frames_r, frames_w = os.pipe()
        output_r, output_w = os.pipe()
        request = {
            "op": "fork",
            "id": child_id,
            "entry": entry,
            "workdir": workdir,
            "allowance": asdict(allowance),
        }
        sent = self.tell(request, [jobs_r, frames_w, output_w])
        for fd in (jobs_r, frames_w, output_w):
            os.close(fd)
        child = Child(
            _open(jobs_w, "wb", 0),
            _open(frames_r, "rb", -1),
            _open(output_r, "rb", 0),
            handle,
            allowance.output_bytes,
        )
        if not sent:
            raise Undecided(
                "the process that loads JAX ended",
                where=self.last_words(),
                next_step="run it again; `grade doctor` shows what this machine lacks",
            )
        return child

    def tell(self, message: dict[str, Any], fds: Sequence[int] = ()) -> bool:
        """Send one request; returns False when the server is gone."""
        data = json.dumps(message).encode()
        try:
            with self._lock:
                if fds:
                    socket.send_fds(self._control, [data], list(fds))
                else:
                    self._control.send(data)
        except OSError:
            return False
        return True

    def alive(self) -> bool:
        """Return whether the server still runs."""
        return not self._gone and self._process.poll() is None

    def last_words(self) -> str:
        """Return the end of what the server printed, for a report."""
        with contextlib.suppress(OSError, ValueError):
            self._errors.seek(0)
            lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
            return lines[-1][:300] if lines else ""
        return ""

    def close(self) -> None:
        """End the server; its children end with it."""
        self._gone = True
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)
        try:
            self._process.wait(3)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._control.close()
        self._errors.close()
        # The server has done so already, unless it was ended itself.
        rooms.remove(self.room)

    def _listen(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while data := self._control.recv(65536):
                message = json.loads(data)
                if "cpu_s" not in message:
                    continue
                handle = self._handles.pop(message["id"], None)
                if handle is not None:
                    handle.exit = Exit(
                        message["code"], message["signal"], message["cpu_s"], message["peak_bytes"]
                    )
                    handle.ended.set()
        self._gone = True
        for handle in list(self._handles.values()):
            handle.ended.set()


class _Spawned:
    """The handle of one process that was started the ordinary way."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def kill(self) -> None:
        with contextlib.suppress(OSError):
            if self._process.poll() is None and hasattr(os, "killpg"):
                # It leads a session of its own, so that this reaches whatever it started.
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.kill()

    def remind(self) -> None:
        if hasattr(signal, "SIGALRM"):
            with contextlib.suppress(OSError):
                self._process.send_signal(signal.SIGALRM)

    def wait(self, timeout_s: float) -> Exit | None:
        try:
            code = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None
        return Exit(code if code >= 0 else None, -code if code < 0 else None)


class SpawnHost:
    """Children as processes of their own, where a fork is not safe: slower, the same verdicts.

    Args:
        cache: folder of compiled programs, None for none.
        forbidden: folders that no child may read; None confines nothing, for trusted code.
        fill: whether children write to the cache; only trusted code may run with this.
        platform: real devices in the place of logical CPU devices.
    """

    def __init__(
        self,
        cache: str | None,
        *,
        forbidden: Sequence[str] | None = None,
        fill: bool = False,
        platform: Platform | None = None,
    ) -> None:
        pinned = environment(cache, fill=fill)
        self._environment = platform.environment(pinned) if platform else pinned
        self._lifted = dict(platform.lifted) if platform else {}
        self._cache = cache
        self._forbidden = None if forbidden is None else list(forbidden)
        self._children: list[_Spawned] = []
        self.room = rooms.make()

    def start(self, entry: str, workdir: str, allowance: Allowance) -> Child:
        """Start a process; see `Host.start`."""
        config = {
            "entry": entry,
            "workdir": workdir,
            "allowance": asdict(allowance),
            "forbidden": self._forbidden,
            "cache": self._cache_of(entry),
            "lifted": self._lifted,
        }
        process = subprocess.Popen(
            command("server.main_spawned(c)", config),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self._environment_of(entry),
            cwd=workdir,
            bufsize=0,
            start_new_session=True,
        )
        handle = _Spawned(process)
        self._children.append(handle)
        stdin, frames, output = (
            cast(io.RawIOBase, pipe) for pipe in (process.stdin, process.stdout, process.stderr)
        )
        return Child(
            cast(BinaryIO, stdin),
            io.BufferedReader(frames),
            cast(BinaryIO, output),
            handle,
            allowance.output_bytes,
        )

    def _cache_of(self, entry: str) -> str | None:
        return os.path.join(self._cache, entry) if self._cache else None

    def _environment_of(self, entry: str) -> dict[str, str]:
        place = self._cache_of(entry)
        return (
            {**self._environment, "JAX_COMPILATION_CACHE_DIR": place}
            if place
            else (self._environment)
        )

    def alive(self) -> bool:
        """Return True: a new process can always be tried."""
        return True

    def close(self) -> None:
        """End whatever still runs."""
        for child in self._children:
            child.kill()
            child.wait(5.0)
        rooms.remove(self.room)


def _open(fd: int, mode: str, buffering: int) -> BinaryIO:
    return cast(BinaryIO, open(fd, mode, buffering))
