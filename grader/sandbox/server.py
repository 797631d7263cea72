"""The fork server: import JAX once, then fork a confined child for each request.

It must never touch a device, start a thread or hold anything secret: each child gets its memory.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
from dataclasses import replace
from typing import Any

from grader.sandbox import confine as walls
from grader.sandbox.landlock import libc
from grader.sandbox.paths import readable_paths

ENTRIES = {
    "learner": "grader.sandbox.learner",
    "replay": "grader.replay.worker",
    "outline": "grader.sandbox.outline",
    "cells": "grader.sandbox.cells",
}
REQUEST_BYTES = 65536
FRAMES_FD = 3
_SET_DUMPABLE = 4
_LEAST_FILE_BYTES = 1 << 20


class Server:
    """Requests in, forks out; it alone reaps its children."""

    def __init__(
        self, control: socket.socket, readable: tuple[str, ...], cache: str | None, room: str
    ) -> None:
        self._control = control
        self._readable = readable
        self._cache = cache
        self._children: dict[int, tuple[int, int]] = {}
        self._room = room
        self._poll = select.poll()
        self._poll.register(control.fileno(), select.POLLIN)

    def run(self) -> None:
        """Serve until the coordinator closes its end, then end every child that is left."""
        while True:
            for fd, _events in self._poll.poll():
                if fd == self._control.fileno():
                    if not self._request():
                        self._leave()
                else:
                    self._reap(fd)

    def _request(self) -> bool:
        try:
            data, fds, _flags, _address = socket.recv_fds(self._control, REQUEST_BYTES, 3)
        except ConnectionError:
            return False
        if not data:
            return False
        request = json.loads(data)
        if request["op"] == "fork":
            self._fork(request, fds)
        elif request["op"] == "kill":
            self._signal(request["id"], signal.SIGKILL)
        elif request["op"] == "remind":
            self._signal(request["id"], signal.SIGALRM)
        return True

    def _fork(self, request: dict[str, Any], fds: list[int]) -> None:
        # A thread or a started backend would be shared, half alive, by every child.
        threads = len(os.listdir("/proc/self/task"))
        if threads != 1:
            raise SystemExit(f"the fork server has {threads} threads")
        # Here and not in the child, which may not read the grader's own files.
        importlib.import_module(ENTRIES[request["entry"]])
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            # Each kind of child reads its own part of the cache: the other one holds programs.
            cache = os.path.join(self._cache, request["entry"]) if self._cache else None
            _child(request, fds, parent, self._readable, cache)
        for fd in fds:
            os.close(fd)
        pidfd = os.pidfd_open(pid)
        self._children[pidfd] = (request["id"], pid)
        self._poll.register(pidfd, select.POLLIN)
        self._tell({"id": request["id"], "pid": pid})

    def _signal(self, child_id: int, number: int) -> None:
        for pidfd, (known, _pid) in self._children.items():
            if known == child_id:
                signal.pidfd_send_signal(pidfd, number)

    def _reap(self, pidfd: int) -> None:
        child_id, pid = self._children.pop(pidfd)
        self._poll.unregister(pidfd)
        os.close(pidfd)
        _pid, status, usage = os.wait4(pid, 0)
        code = os.waitstatus_to_exitcode(status)
        self._tell(
            {
                "id": child_id,
                "code": code if code >= 0 else None,
                "signal": -code if code < 0 else None,
                "cpu_s": usage.ru_utime + usage.ru_stime,
                "peak_bytes": usage.ru_maxrss * 1024,
            }
        )

    def _tell(self, message: dict[str, Any]) -> None:
        try:
            self._control.send(json.dumps(message).encode())
        except OSError:
            self._leave()

    def _leave(self) -> None:
        """End every child, remove the room, which the coordinator may no longer do, and end."""
        self._end_all()
        shutil.rmtree(self._room, ignore_errors=True)
        # Leaving the ordinary way would tear down all that JAX has set up.
        os._exit(0)

    def _end_all(self) -> None:
        for pidfd in list(self._children):
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        for _id, pid in self._children.values():
            os.waitpid(pid, 0)


def _child(
    request: dict[str, Any],
    fds: list[int],
    parent: int,
    readable: tuple[str, ...],
    cache: str | None,
) -> None:
    """Arrange the descriptors, confine, run the entry, and never return."""
    code = 70
    try:
        for signal_number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(signal_number, signal.SIG_DFL)
        jobs, frames, output = fds
        # Out of the way first: a pipe may arrive under one of the numbers it must not keep.
        high = [os.dup(fd) for fd in (jobs, output, output, frames)]
        while min(high) <= FRAMES_FD:
            high = [os.dup(fd) for fd in high]
        for target, fd in enumerate(high):
            os.dup2(fd, target, inheritable=False)
        if cache is not None:
            import jax

            jax.config.update("jax_compilation_cache_dir", cache)
            readable = (*readable, cache)
        allowance = request["allowance"]
        profile = _profile(readable, request["workdir"], allowance)
        layers = walls.confine(profile, (0, 1, 2, FRAMES_FD), parent)
        _at_home(request["workdir"])
        sys.stdin = open(os.devnull)  # noqa: SIM115 - lives as long as the process
        sys.stdout = open(1, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
        serve(ENTRIES[request["entry"]], 0, FRAMES_FD, layers, allowance["only_full"])
        code = 0
    except BaseException:  # noqa: BLE001 - whatever happens, the server's loop must not run here
        import traceback

        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)


def _profile(readable: tuple[str, ...], workdir: str, allowance: dict[str, Any]) -> walls.Profile:
    scratch = allowance["scratch_bytes"]
    return walls.Profile(
        readable=readable,
        workdir=workdir,
        limits=walls.Limits(
            cpu_s=allowance["cpu_s"],
            memory_bytes=allowance["memory_bytes"],
            file_size_bytes=max(scratch, _LEAST_FILE_BYTES),
        ),
        writable_devices=("/dev/null",),
        scratch_bytes=scratch,
        checkpoints=allowance["checkpoints"],
    )


def _at_home(workdir: str) -> None:
    """Make the working directory the place for everything that a program may want to keep."""
    os.environ.update(HOME=workdir, TMPDIR=workdir)
    tempfile.tempdir = None  # what was found before the confinement is out of reach


def serve(
    entry: str,
    jobs_fd: int,
    frames_fd: int,
    layers: tuple[walls.LayerState, ...],
    only_full: bool,
) -> None:
    """Send the layers that hold as the first frame, then run the entry's `main`.

    With `only_full` nothing follows the first frame where a required layer is missing.
    """
    from grader import wire

    with (
        open(jobs_fd, "rb", closefd=False) as jobs,
        open(frames_fd, "wb", closefd=False) as frames,
    ):
        told = [{"name": s.name, "on": s.state == "on", "reason": s.reason} for s in layers]
        frames.write(wire.pack({"t": "layers", "layers": told}))
        frames.flush()
        if only_full and walls.level(layers) != "full":
            return
        importlib.import_module(entry).main(jobs, frames)
        frames.flush()


def _like_an_ordinary_interpreter() -> None:
    """Add the names that `site` adds: a module may call `exit()`."""
    import site

    site.setquit()
    site.setcopyright()
    site.sethelper()


def _seal() -> None:
    """Keep the children, which run as the same user, from reading or tracing this process."""
    with contextlib.suppress(OSError):
        libc("prctl", _SET_DUMPABLE, 0, 0, 0, 0)


def main(control_fd: int, forbidden: list[str], cache: str | None, many: bool, room: str) -> None:
    """Import what the children need, then serve requests on `control_fd`.

    Args:
        control_fd: a connected SOCK_SEQPACKET socket.
        forbidden: folders that no child may read.
        cache: folder of compiled programs that every child may read, None for none.
        many: whether to load at once what children would each load on first use.
        room: folder of the children's working directories, to be removed at the end.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _seal()
    # Nothing that an import makes is garbage: collecting meanwhile only costs time.
    gc.disable()
    _like_an_ordinary_interpreter()
    import jax
    import jax.export  # noqa: F401

    importlib.import_module("grader.sandbox.programs")
    importlib.import_module("grader.sandbox.claims")
    importlib.import_module("grader.sandbox.round_trips")
    if many:
        from grader.sandbox import ahead

        ahead.prepare()
    gc.freeze()
    gc.enable()
    control = socket.socket(fileno=control_fd)
    readable = readable_paths(forbidden)
    Server(control, readable, cache, room).run()


def main_spawned(config: dict[str, Any]) -> None:
    """Be one child without a fork server: frames on standard output, prints on standard error."""
    _like_an_ordinary_interpreter()
    entry, allowance = ENTRIES[config["entry"]], config["allowance"]
    frames_fd = os.dup(1)
    os.dup2(2, 1)
    if config["forbidden"] is None:
        trusted = "the program that runs here is part of the course"
        layers = tuple(walls.LayerState(name, "off", trusted) for name in walls.LAYERS)
    else:
        # Before the walls stand: the child may not read the grader's own files.
        importlib.import_module(entry)
        cache = [config["cache"]] if config["cache"] else []
        readable = (*readable_paths(config["forbidden"]), *cache)
        profile = _profile(readable, config["workdir"], allowance)
        profile = replace(profile, lifted=tuple(config["lifted"].items()))
        layers = walls.confine(profile, (0, 1, 2, frames_fd))
        _at_home(config["workdir"])
    serve(entry, 0, frames_fd, layers, allowance["only_full"])
    sys.stdout.flush()
    os._exit(0)
