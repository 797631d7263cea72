"""One child process seen from the coordinator: send, receive under caps, deadline, kill.

The child is hostile: everything read here is bounded, and nothing that it sends is trusted.
Reader threads keep both pipes moving, so that neither side can block the other; they work the
same on Windows, where pipes cannot be polled.
"""

from __future__ import annotations

import contextlib
import functools
import os
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol

from grader import wire
from grader.errors import EnvironmentProblem, WireProblem
from grader.records.evidence import Output

TOTAL_BYTES = 64 * 1024 * 1024
HEAD_BYTES = 16 * 1024
TAIL_BYTES = 16 * 1024
# How often the crowd on the cores is looked at, and the most that it may slow a deadline.
LOOK_S = 0.25
MOMENT_S = 0.001
MOST_CROWDED = 16.0
# By number: the names do not exist on Windows, nor do the signals.
SIGKILL, SIGXCPU = 9, 24
NEAR_LIMIT_S = 0.5

# What our own child ends with when an exception leaves its main function.
BROKEN_DOWN = 70
_EXHAUSTED = ("pthread_create failed", "Resource temporarily unavailable", "can't start new thread")


def exhausted(output: str) -> bool:
    """Return whether a child said at its end that the machine gave it no more threads."""
    return any(words in output[-4000:] for words in _EXHAUSTED)


@functools.cache
def _cores() -> float:
    """Return how many cores this process may use, less where its control group has a quota.

    Format of `cpu.max` (quota and period in µs, or `max`): kernel's Documentation/cgroup-v2.
    """
    cores = float(len(os.sched_getaffinity(0)))
    with contextlib.suppress(OSError, ValueError):
        with open("/sys/fs/cgroup/cpu.max", encoding="ascii") as file:
            quota, period = file.read().split()
        cores = min(cores, int(quota) / int(period))
    return max(cores, 0.1)


def crowding() -> float:
    """Return how many runnable threads there are for each core of ours, at least 1."""
    try:
        cores = _cores()
        with open("/proc/loadavg", encoding="ascii") as file:
            runnable = float(file.read().split()[3].partition("/")[0])
    except (OSError, AttributeError, ValueError, IndexError):
        try:
            cores, runnable = os.cpu_count() or 1, os.getloadavg()[0]
        except (OSError, AttributeError):
            return 1.0
    return min(max(runnable / cores, 1.0), MOST_CROWDED)


class Deadline:
    """A wall limit in seconds that passes slower while many threads want the cores.

    Time in which each core is wanted by n threads counts as one n-th, so that a program gets the
    same chance on a busy machine as on a quiet one.
    """

    def __init__(self, seconds: float, crowd: Callable[[], float] = crowding) -> None:
        self._seconds = seconds
        self._crowd = crowd
        self._spent, self._wanted = 0.0, 0.0
        self._at = time.monotonic()

    def extend(self, seconds: float) -> None:
        """Allow some more."""
        self._seconds = max(self._seconds, self.spent()) + seconds

    def spent(self) -> float:
        """Return the seconds that count so far."""
        now = time.monotonic()
        if now - self._at >= LOOK_S or not self._wanted:
            self._wanted = self._crowd()
            self._spent += (now - self._at) / self._wanted
            self._at = now
        return self._spent + (now - self._at) / self._wanted

    def left(self) -> float:
        """Return the seconds that are left, never negative."""
        return max(self._seconds - self.spent(), 0.0)


@dataclass(frozen=True, slots=True)
class Exit:
    """How a process ended: exit code or signal, CPU seconds and peak resident bytes."""

    code: int | None
    signal: int | None
    cpu_s: float = 0.0
    peak_bytes: int = 0

    def by_cpu_limit(self, cpu_limit_s: float) -> bool:
        """Return whether it was the CPU limit that ended it, and not some other kill."""
        if self.signal == SIGKILL:
            return self.cpu_s >= cpu_limit_s - NEAR_LIMIT_S
        return self.signal == SIGXCPU


def start(thread: threading.Thread) -> None:
    """Start a thread. Raises: EnvironmentProblem where this machine gives no more of them."""
    try:
        thread.start()
    except RuntimeError as error:
        raise EnvironmentProblem(
            f"this machine does not let us go on: {error}",
            next_step="raise `ulimit -u` and `ulimit -v`, or wait until it is less busy",
        ) from error


class Handle(Protocol):
    """The part of a child that differs between a fork and a spawned process."""

    def kill(self) -> None:
        """End the child and all that it started; no error when it is gone already."""

    def remind(self) -> None:
        """Send the child SIGALRM where there is such a thing: its wall seconds are used up."""

    def wait(self, timeout_s: float) -> Exit | None:
        """Return how the child ended, None when it still runs after `timeout_s`."""


class OutputBuffer:
    """Keep the first and the last bytes of what a child prints, and count the rest."""

    def __init__(self, limit_bytes: int, on_flood: Callable[[], None]) -> None:
        self.limit = limit_bytes
        self._on_flood = on_flood
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0
        self.flooded = False

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes; calls `on_flood` once when the limit is passed."""
        self.total += len(chunk)
        room = HEAD_BYTES - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        self._tail += chunk
        del self._tail[:-TAIL_BYTES]
        if self.total > self.limit and not self.flooded:
            self.flooded = True
            self._on_flood()

    def result(self) -> Output:
        """Return head, tail and total as text; undecodable bytes are replaced."""
        whole = self.total <= len(self._head) + len(self._tail)
        head = bytes(self._head + self._tail) if whole else bytes(self._head)
        tail = b"" if whole else bytes(self._tail)
        return Output(head.decode("utf-8", "replace"), tail.decode("utf-8", "replace"), self.total)


class Child:
    """A running child: frames in and out, its printed output, and its end.

    Args:
        stdin: unbuffered pipe to the child; frames are written to it.
        frames: pipe the child writes frames to.
        output: pipe of everything the child prints.
        handle: kills and reaps it.
        output_limit: bytes it may print before it is killed for flooding.
    """

    def __init__(
        self,
        stdin: BinaryIO,
        frames: BinaryIO,
        output: BinaryIO,
        handle: Handle,
        output_limit: int,
    ) -> None:
        self._stdin = stdin
        self._handle = handle
        self._queue: queue.Queue[dict[str, Any] | WireProblem | None] = queue.Queue()
        self.output = OutputBuffer(output_limit, handle.kill)
        self._threads = [
            threading.Thread(target=self._read_frames, args=(frames,), daemon=True),
            threading.Thread(target=self._read_output, args=(output,), daemon=True),
        ]
        for thread in self._threads:
            start(thread)

    def send(self, message: dict[str, Any]) -> None:
        """Send one frame; a child that is gone already is noticed by `receive`, not here."""
        with contextlib.suppress(OSError, ValueError):
            self._stdin.write(wire.pack(message))
            self._stdin.flush()

    def receive(self, deadline: Deadline) -> dict[str, Any] | None:
        """Return the next frame, None when no more will come.

        Raises:
            TimeoutError: nothing is left of the deadline.
            WireProblem: the child wrote something that is no frame.
        """
        while True:
            try:
                item = self._take(deadline)
            except queue.Empty:
                if deadline.left():
                    continue
                raise TimeoutError from None
            if isinstance(item, WireProblem):
                raise item
            return item

    def _take(self, deadline: Deadline) -> dict[str, Any] | WireProblem | None:
        # What is there already costs no look at the clock, and frames come in bursts.
        with contextlib.suppress(queue.Empty):
            return self._queue.get_nowait()
        return self._queue.get(timeout=min(deadline.left(), LOOK_S) or MOMENT_S)

    def remind(self) -> None:
        """Tell the child that its wall seconds are used up."""
        self._handle.remind()

    def has_ended(self) -> bool:
        """Return whether the child is known to be no more."""
        return self._handle.wait(0.0) is not None

    def kill(self) -> None:
        """End the child at once."""
        self._handle.kill()

    def finish(self, grace_s: float = 2.0) -> Exit | None:
        """Return how the child ended, killing it after `grace_s`; closes its pipes."""
        with contextlib.suppress(OSError, ValueError):
            self._stdin.close()
        ended = self._handle.wait(grace_s)
        if ended is None:
            self._handle.kill()
            ended = self._handle.wait(5.0)
        for thread in self._threads:
            thread.join(0.5)
        return ended

    def _read_frames(self, pipe: BinaryIO) -> None:
        left = TOTAL_BYTES
        try:
            while header := pipe.read(wire.HEADER.size):
                if len(header) < wire.HEADER.size:
                    raise WireProblem("a frame was cut short")
                (size,) = wire.HEADER.unpack(header)
                left -= size
                if size > wire.FRAME_BYTES or left < 0:
                    raise WireProblem("the child sent more than it may")
                body = pipe.read(size)
                if len(body) < size:
                    raise WireProblem("a frame was cut short")
                self._queue.put(wire.unpack_claim(body))
        except WireProblem as problem:
            self._queue.put(problem)
            self._drain(pipe)
        except (OSError, ValueError):
            pass
        finally:
            self._queue.put(None)
            with contextlib.suppress(OSError):
                pipe.close()

    @staticmethod
    def _drain(pipe: BinaryIO) -> None:
        # A child that wrote nonsense must not block on a full pipe until its deadline.
        with contextlib.suppress(OSError, ValueError):
            while pipe.read(65536):
                pass

    def _read_output(self, pipe: BinaryIO) -> None:
        with contextlib.suppress(OSError, ValueError):
            while chunk := pipe.read(65536):
                self.output.feed(chunk)
        with contextlib.suppress(OSError):
            pipe.close()
