"""The system call filter on its own: what no child may ask of the kernel, whoever it runs as."""

from __future__ import annotations

import errno
import platform
import re
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.sandbox import seccomp
from tests.sandbox import probes, wanted_probes
from tests.sandbox.confined import USERS, Confined

needs_table = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="probes speak x86-64 Linux"
)
CHANGES_FILES = ("make_directory", "remove_file", "rename", "symlink", "link", "fifo")


@pytest.fixture(scope="module", params=USERS, ids=lambda uid: f"uid{uid}")
def child(request: pytest.FixtureRequest) -> Iterator[Confined]:
    with Confined(request.param, layers="seccomp") as confined:
        yield confined


def refused(child: Confined, act: str) -> None:
    answer = child.ask(act)
    assert (answer.outcome, answer.errno) == ("refused", errno.EPERM), answer


@needs_table
@pytest.mark.parametrize("act", [act for act in probes.PROCESSES if act != "clone3"])
def test_other_processes_are_out_of_reach(child: Confined, act: str) -> None:
    refused(child, act)


@needs_table
def test_clone3_is_absent_so_that_threads_fall_back(child: Confined) -> None:
    assert child.ask("clone3").errno == errno.ENOSYS


@needs_table
@pytest.mark.parametrize("act", probes.KERNEL)
def test_privileged_and_rare_calls_are_refused(child: Confined, act: str) -> None:
    refused(child, act)


@needs_table
@pytest.mark.parametrize("act", probes.NETWORK)
def test_no_socket_is_made(child: Confined, act: str) -> None:
    refused(child, act)


@needs_table
@pytest.mark.parametrize("act", CHANGES_FILES)
def test_names_in_the_file_system_stay(child: Confined, act: str) -> None:
    refused(child, act)


@needs_table
@pytest.mark.parametrize("act", [act for act in wanted_probes.WANTED if act != "refused_in_thread"])
def test_ordinary_calls_are_answered(child: Confined, act: str) -> None:
    assert child.ask(act).outcome == "done"


def instructions(code: bytes) -> list[tuple[int, int, int, int]]:
    return list(struct.iter_unpack("=HBBI", code))


def test_every_path_through_the_filter_ends_in_an_answer() -> None:
    steps = instructions(seccomp.build("x86_64").for_pid(1))
    assert len(steps) < 4096
    for at, (operation, yes, no, _) in enumerate(steps):
        if operation & 0x07 == 0x05:
            assert at + 1 + max(yes, no) < len(steps)
    assert steps[-1] == (0x06, 0, 0, 0x00050000 | errno.EPERM)


def test_the_pid_is_written_wherever_it_is_compared() -> None:
    program = seccomp.build("x86_64")
    before, after = (instructions(program.for_pid(pid)) for pid in (111, 222))
    changed = [(x[3], y[3]) for x, y in zip(before, after, strict=True) if x != y]
    assert changed == [(111, 222)] * len(program.pid_offsets)
    assert len(program.pid_offsets) == 6


def test_an_architecture_without_a_table_is_an_error() -> None:
    with pytest.raises(KeyError):
        seccomp.build("riscv64")


def test_numbers_agree_with_the_kernel_headers() -> None:
    header = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
    if not header.exists():
        pytest.skip("the kernel headers are not installed")
    known = dict(re.findall(r"#define __NR_(\w+) (\d+)", header.read_text()))
    table = seccomp.numbers("x86_64")
    assert len(set(table.values())) == len(table)
    # A call younger than the installed headers is not in them.
    assert {name: int(known.get(name, table[name])) for name in table} == table
