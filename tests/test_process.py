from __future__ import annotations

import io
import os
import threading
import time
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

import pytest

from grader import process, wire
from grader.errors import WireProblem
from grader.process import MOST_CROWDED, Child, Deadline, Exit, OutputBuffer, crowding

LIMIT = 1 << 20
LONG_S = 60.0


class FakeHandle:
    """A process that runs until it is killed, or that has ended already."""

    def __init__(self, ended: Exit | None = None) -> None:
        self.kills = 0
        self.reminders = 0
        self.waits: list[float] = []
        self._ended = ended
        self.killed = threading.Event()

    def kill(self) -> None:
        self.kills += 1
        self._ended = self._ended or Exit(None, 9)
        self.killed.set()

    def remind(self) -> None:
        self.reminders += 1

    def wait(self, timeout_s: float) -> Exit | None:
        self.waits.append(timeout_s)
        return self._ended


class FakeProcess:
    """The child's ends of three real pipes, beside the `Child` that holds the other ends."""

    def __init__(self, handle: FakeHandle, limit: int = LIMIT) -> None:
        jobs_r, jobs_w = os.pipe()
        frames_r, frames_w = os.pipe()
        output_r, output_w = os.pipe()
        self.handle = handle
        self.jobs = io.BufferedReader(io.FileIO(jobs_r, "r"))
        self.frames = io.BufferedWriter(io.FileIO(frames_w, "w"))
        self.output = io.BufferedWriter(io.FileIO(output_w, "w"))
        self.child = Child(
            cast(BinaryIO, io.FileIO(jobs_w, "w")),
            io.BufferedReader(io.FileIO(frames_r, "r")),
            cast(BinaryIO, io.FileIO(output_r, "r")),
            handle,
            limit,
        )

    def write(self, data: bytes) -> None:
        self.frames.write(data)
        self.frames.flush()

    def print(self, data: bytes) -> None:
        self.output.write(data)
        self.output.flush()

    def end(self) -> None:
        for pipe in (self.frames, self.output, self.jobs):
            if not pipe.closed:
                pipe.close()


@pytest.fixture
def fake() -> Iterator[FakeProcess]:
    made = FakeProcess(FakeHandle())
    yield made
    made.end()
    made.child.finish()


def soon() -> Deadline:
    return Deadline(LONG_S, alone)


def alone() -> float:
    return 1.0


# ------------------------------------------------------------------------------------------ frames


def test_frames_come_out_in_order_and_then_nothing(fake: FakeProcess) -> None:
    for number in range(3):
        fake.write(wire.pack({"n": number}))
    fake.frames.close()
    assert [fake.child.receive(soon()) for _ in range(4)] == [{"n": 0}, {"n": 1}, {"n": 2}, None]


def test_a_frame_may_arrive_byte_by_byte(fake: FakeProcess) -> None:
    for number in wire.pack({"n": "many bytes"}):
        fake.write(bytes([number]))
    assert fake.child.receive(soon()) == {"n": "many bytes"}


def test_what_is_sent_reaches_the_child_as_a_frame(fake: FakeProcess) -> None:
    fake.child.send({"t": "job"})
    (size,) = wire.HEADER.unpack(fake.jobs.read(wire.HEADER.size))
    assert wire.unpack(fake.jobs.read(size)) == {"t": "job"}


def test_sending_to_a_child_that_is_gone_is_no_error(fake: FakeProcess) -> None:
    fake.jobs.close()
    fake.child.send({"t": "job"})
    fake.end()
    fake.child.finish()
    fake.child.send({"t": "job"})


def test_no_frame_before_the_deadline_is_a_timeout(fake: FakeProcess) -> None:
    with pytest.raises(TimeoutError):
        fake.child.receive(Deadline(0.05, alone))
    with pytest.raises(TimeoutError):
        fake.child.receive(Deadline(-5, alone))


def test_a_timeout_loses_no_frame(fake: FakeProcess) -> None:
    with pytest.raises(TimeoutError):
        fake.child.receive(Deadline(0, alone))
    fake.write(wire.pack({"n": 1}))
    assert fake.child.receive(soon()) == {"n": 1}


WHOLE = wire.pack({"n": 1})


@pytest.mark.parametrize("cut", [1, 3, 4, 5, len(WHOLE) - 1])
def test_a_frame_cut_short_is_a_wire_problem_after_the_whole_ones(
    fake: FakeProcess, cut: int
) -> None:
    fake.write(WHOLE + WHOLE[:cut])
    fake.frames.close()
    assert fake.child.receive(soon()) == {"n": 1}
    with pytest.raises(WireProblem, match="cut short"):
        fake.child.receive(soon())
    assert fake.child.receive(soon()) is None


def test_a_frame_that_claims_to_be_huge_is_refused_before_it_is_read(fake: FakeProcess) -> None:
    fake.write(wire.HEADER.pack(wire.FRAME_BYTES + 1))
    with pytest.raises(WireProblem, match="more than it may"):
        fake.child.receive(soon())


def test_many_frames_are_capped_in_all(fake: FakeProcess) -> None:
    body = b'{"a":"' + b"x" * (wire.FRAME_BYTES - 8) + b'"}'
    frame = wire.HEADER.pack(len(body)) + body
    writer = threading.Thread(
        target=lambda: [fake.write(frame) for _ in range(process.TOTAL_BYTES // len(body) + 1)]
    )
    writer.start()
    with pytest.raises(WireProblem, match="more than it may"):
        list(iter(lambda: fake.child.receive(soon()), None))
    writer.join(LONG_S)
    assert not writer.is_alive()


@pytest.mark.parametrize("body", [b"[]", b"not json", b"\xff\xfe", b'{"a":NaN}', b"{"])
def test_a_body_that_is_no_message_is_a_wire_problem(fake: FakeProcess, body: bytes) -> None:
    fake.write(wire.HEADER.pack(len(body)) + body)
    with pytest.raises(WireProblem):
        fake.child.receive(soon())


def test_nothing_after_a_bad_frame_is_believed_and_the_writer_does_not_block(
    fake: FakeProcess,
) -> None:
    def write() -> None:
        fake.write(wire.HEADER.pack(2) + b"[]")
        fake.write(WHOLE * 100_000)
        fake.frames.close()

    writer = threading.Thread(target=write)
    writer.start()
    with pytest.raises(WireProblem):
        fake.child.receive(soon())
    writer.join(LONG_S)
    assert not writer.is_alive()
    assert fake.child.receive(soon()) is None


# ------------------------------------------------------------------------------------------ output


class Kills:
    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1


def fed(*chunks: bytes, limit: int = LIMIT) -> tuple[OutputBuffer, Kills]:
    kills = Kills()
    buffer = OutputBuffer(limit, kills)
    for chunk in chunks:
        buffer.feed(chunk)
    return buffer, kills


def test_short_output_is_kept_whole() -> None:
    buffer, kills = fed(b"one\n", b"two\n")
    result = buffer.result()
    assert (result.text, result.tail, result.total_bytes, kills.count) == ("one\ntwo\n", "", 8, 0)


def test_no_output_is_an_empty_text() -> None:
    assert fed()[0].result().text == ""


def test_head_and_tail_are_kept_and_the_cut_is_said() -> None:
    room = process.HEAD_BYTES + process.TAIL_BYTES
    buffer, _ = fed(b"first" + b"." * room + b"last")
    result = buffer.result()
    assert result.head.startswith("first") and len(result.head) == process.HEAD_BYTES
    assert result.tail.endswith("last") and len(result.tail) == process.TAIL_BYTES
    assert "… 9 bytes left out …" in result.text


@pytest.mark.parametrize("size", [1, 7, 1000, process.HEAD_BYTES, 70_000])
def test_head_and_tail_do_not_depend_on_how_the_bytes_arrive(size: int) -> None:
    data = bytes(65 + n % 26 for n in range(process.HEAD_BYTES + process.TAIL_BYTES + 100))
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    assert fed(*pieces)[0].result() == fed(data)[0].result()


def test_exactly_as_much_as_is_kept_is_not_cut() -> None:
    data = b"x" * (process.HEAD_BYTES + process.TAIL_BYTES)
    result = fed(data)[0].result()
    assert (result.tail, len(result.text)) == ("", len(data))


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert fed(b"\xff\xfe ok")[0].result().text == "\ufffd\ufffd ok"


def test_a_flood_kills_once_and_memory_stays_bounded() -> None:
    buffer, kills = fed(*[b"x" * 1000] * 500, limit=10_000)
    assert (buffer.flooded, kills.count, buffer.result().total_bytes) == (True, 1, 500_000)
    result = buffer.result()
    assert len(result.head) + len(result.tail) <= process.HEAD_BYTES + process.TAIL_BYTES


def test_output_up_to_the_limit_is_no_flood() -> None:
    buffer, kills = fed(b"x" * 10_000, limit=10_000)
    assert (buffer.flooded, kills.count) == (False, 0)


def test_a_flooding_child_is_killed_and_never_blocks() -> None:
    fake = FakeProcess(FakeHandle(), limit=1000)

    def write() -> None:
        fake.print(b"y" * 3_000_000)
        fake.output.close()

    writer = threading.Thread(target=write)
    writer.start()
    assert fake.handle.killed.wait(LONG_S)
    writer.join(LONG_S)
    fake.end()
    fake.child.finish()
    assert fake.handle.kills == 1
    assert fake.child.output.result().total_bytes == 3_000_000


# --------------------------------------------------------------------------------------------- end


def test_a_child_that_has_ended_is_not_killed() -> None:
    ended = Exit(0, None, 1.5, 1 << 20)
    fake = FakeProcess(FakeHandle(ended))
    fake.end()
    assert fake.child.finish() == ended
    assert fake.handle.kills == 0


def test_a_child_that_still_runs_is_killed_after_its_grace() -> None:
    fake = FakeProcess(FakeHandle())
    fake.end()
    assert fake.child.finish(0.0) == Exit(None, 9)
    assert (fake.handle.kills, fake.handle.waits[0]) == (1, 0.0)


def test_finishing_lets_the_child_see_the_end_of_its_jobs() -> None:
    fake = FakeProcess(FakeHandle(Exit(0, None)))
    fake.frames.close()
    fake.output.close()
    fake.child.finish()
    assert fake.jobs.read() == b""
    fake.end()


def test_everything_printed_is_there_once_the_child_is_finished() -> None:
    fake = FakeProcess(FakeHandle(Exit(0, None)))
    fake.print(b"last words")
    fake.end()
    fake.child.finish()
    assert fake.child.output.result().text == "last words"


def test_killing_reaches_the_handle(fake: FakeProcess) -> None:
    fake.child.kill()
    assert fake.handle.kills == 1


def test_a_message_that_is_too_large_is_told_to_the_caller(fake: FakeProcess) -> None:
    message: dict[str, Any] = {"blob": "x" * wire.FRAME_BYTES}
    with pytest.raises(WireProblem):
        fake.child.send(message)


# ---------------------------------------------------------------------------------------- deadlines


def test_a_deadline_passes_slower_while_many_want_the_cores() -> None:
    quiet, busy = Deadline(60, alone), Deadline(60, lambda: 1000.0)
    time.sleep(0.05)
    assert quiet.spent() >= 0.05 > 100 * busy.spent() > 0


def test_a_deadline_that_has_passed_has_nothing_left_and_can_be_extended() -> None:
    deadline = Deadline(0, alone)
    assert deadline.left() == 0
    deadline.extend(60)
    assert 59 < deadline.left() <= 60


def test_the_crowd_on_the_cores_is_at_least_one_and_bounded() -> None:
    assert 1 <= crowding() <= MOST_CROWDED


def test_a_reminder_reaches_the_process(fake: FakeProcess) -> None:
    fake.child.remind()
    assert fake.handle.reminders == 1
