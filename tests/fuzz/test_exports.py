"""Whatever bytes a learner's process calls an export, reading them refuses or ends one child."""

from __future__ import annotations

import base64
import subprocess
import sys
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz import mutations
from tests.replay.jax_process import environment

stable = settings(deadline=None, derandomize=True, max_examples=150)


class Reader:
    """A process that reads exports; when one ends it, the next gets a new process."""

    def __init__(self) -> None:
        self.deaths = 0
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.export_reader"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment(),
        )
        self.honest = base64.b64decode(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def read(self, blob: bytes) -> str:
        """Return what came of it: "read", "refused", "died", or what was raised."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(base64.b64encode(blob).decode() + "\n")
            self._process.stdin.flush()
            answer = self._line()
        except BrokenPipeError:
            answer = ""
        if not answer:
            self.close()
            self.deaths += 1
            self.start()
        return answer or "died"

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    started = Reader()
    yield started
    started.close()


def test_an_honest_export_is_read(reader: Reader) -> None:
    assert reader.read(reader.honest) == "read"


@stable
@given(st.data())
def test_a_spoilt_export_is_read_or_refused_or_ends_its_reader(
    reader: Reader, data: st.DataObject
) -> None:
    blob = data.draw(mutations.spoilt(reader.honest))
    assert reader.read(blob) in ("read", "refused", "died")


@stable
@given(st.binary(max_size=200))
def test_any_bytes_are_refused_or_end_their_reader(reader: Reader, blob: bytes) -> None:
    assert reader.read(blob) in ("refused", "died")
