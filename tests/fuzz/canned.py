"""A child that is no process: it has said everything already, in bytes that a test made up."""

from __future__ import annotations

import io
from collections.abc import Sequence

from grader import wire
from grader.process import Child, Exit


class Trickle(io.RawIOBase):
    """A pipe that gives a stream in pieces of these sizes, again and again."""

    def __init__(self, data: bytes, sizes: Sequence[int] = (65536,)) -> None:
        super().__init__()
        self._data, self._sizes, self._turn = io.BytesIO(data), sizes, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        size = self._sizes[self._turn % len(self._sizes)]
        self._turn += 1
        piece = self._data.read(min(size, len(buffer)))
        buffer[: len(piece)] = piece
        return len(piece)


class Ended:
    """The handle of a process that ended at once."""

    def __init__(self, ended: Exit) -> None:
        self._ended = ended

    def kill(self) -> None:
        """Nothing runs."""

    def remind(self) -> None:
        """Nothing runs."""

    def wait(self, timeout_s: float) -> Exit | None:
        return self._ended


def child(
    frames: bytes, printed: bytes = b"", ended: Exit | None = None, sizes: Sequence[int] = (65536,)
) -> Child:
    """Return a child that sent `frames`, printed `printed` and is gone."""
    pipe = io.BufferedReader(Trickle(frames, sizes))
    return Child(io.BytesIO(), pipe, io.BytesIO(printed), Ended(ended or Exit(0, None)), 1 << 20)


def packed(messages: Sequence[object]) -> bytes:
    """Return frames of any JSON values, also of such as are no message."""
    import json

    bodies = [json.dumps(message).encode() for message in messages]
    return b"".join(wire.HEADER.pack(len(body)) + body for body in bodies)
