"""The filter as code, for every architecture with a table, whatever this machine is.

A small interpreter runs it, so that what an x86-64 machine cannot try is decided here.
"""

from __future__ import annotations

import errno
import itertools
import os
import re
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.sandbox import seccomp

X86_64, AARCH64, ARM, I386 = 0xC000003E, 0xC00000B7, 0x40000028, 0x40000003
ARCHES = {"x86_64": X86_64, "aarch64": AARCH64}
ALLOWED, REFUSED, ABSENT = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
PID = 4711
THREAD = 0x003D0F00  # what pthread_create passes
KINDS = {
    "bare": {},
    "scratch": {"scratch": True},
    "checkpoints": {"scratch": True, "checkpoints": True},
}
PROGRAMS = [(machine, kind) for machine in ARCHES for kind in KINDS]
by_program = pytest.mark.parametrize(("machine", "kind"), PROGRAMS)
MAKES_OR_LOSES = {"mkdirat", "unlinkat", "renameat", "ftruncate", "sendfile", "copy_file_range"}

# What each decided call may be given, and what it may not: arguments, then the answer.
_WRITE, _TRUNCATE, _CREATE = os.O_WRONLY, os.O_TRUNC, os.O_CREAT
OPEN = [
    (os.O_RDONLY | os.O_CLOEXEC, ALLOWED),
    (os.O_RDONLY | os.O_DIRECTORY, ALLOWED),
    (os.O_PATH, ALLOWED),
    (_WRITE | _CREATE | _TRUNCATE, ALLOWED),
    (os.O_RDWR | _CREATE | os.O_EXCL, ALLOWED),
    (os.O_RDWR | _TRUNCATE, ALLOWED),
    (os.O_RDONLY | _TRUNCATE, REFUSED),
    (os.O_RDONLY | _TRUNCATE | _CREATE, REFUSED),
    (3, REFUSED),
    (3 | _TRUNCATE, REFUSED),
]
OWN_ONLY = [((PID,), ALLOWED), ((PID + 1,), REFUSED), ((0,), REFUSED), ((0xFFFFFFFF,), REFUSED)]
OWN_OR_ZERO = [((PID,), ALLOWED), ((0,), ALLOWED), ((1,), REFUSED)]
KILL, HIGH = 9, 1 << 32


def signalling(at: int) -> list[tuple[tuple[int, ...], int]]:
    """What a call may be given whose signal stands at `at`: not SIGKILL, and nobody else's pid."""
    own = (PID,) * at
    sent = [((*own, number), ALLOWED) for number in (0, 1, 6, 10, 14, 15, 19, 64)]
    killing = [((*own, word), REFUSED) for word in (KILL, HIGH | KILL, (5 << 32) | KILL)]
    return [*OWN_ONLY, *sent, *killing, (((PID + 1),) * at + (KILL,), REFUSED)]


# Reading limits is allowed, of its own; a pointer to new ones may have zeros in either half.
LIMITS = [
    *OWN_OR_ZERO,
    *(((who, 7, 0, 0xDEAD0000BEEF), ALLOWED) for who in (0, PID)),
    *(((0, 7, at, 0), REFUSED) for at in (1, 0xFFFFFFFF, HIGH, 0x7FFF00000000, 0x7FFF12345678)),
    ((PID, 7, HIGH, 0), REFUSED),
]
DECIDED: dict[str, list[tuple[tuple[int, ...], int]]] = {
    "kill": signalling(1),
    "tgkill": signalling(2),
    "rt_sigqueueinfo": signalling(1),
    "rt_tgsigqueueinfo": signalling(2),
    "prlimit64": LIMITS,
    "sched_setaffinity": OWN_OR_ZERO,
    "clone": [
        ((THREAD,), ALLOWED),
        ((17,), REFUSED),
        ((0x4111,), REFUSED),  # vfork
        *(((THREAD | flag,), REFUSED) for flag in (0x8000, 0x2000, 0x20000, 0x10000000)),
    ],
    "clone3": [((0,), ABSENT)],
    "open": [((0, flags), answer) for flags, answer in OPEN],
    "openat": [((0, 0, flags), answer) for flags, answer in OPEN],
    "renameat2": [((0,) * 4 + (flags,), ALLOWED) for flags in (0, 1, 2)]
    + [((0,) * 4 + (flags,), REFUSED) for flags in (4, 5, 3)],
    "ioctl": [((0, 0x5401), ALLOWED), ((0, 0x5412), REFUSED), ((0, 0x89), REFUSED)],
    "fcntl": [((0, 3), ALLOWED), *(((0, n), REFUSED) for n in (5, 6, 7, 8, 10, 37, 1024, 1033))],
    "prctl": [((15,), ALLOWED), *(((n,), REFUSED) for n in (1, 4, 22, 35, 59))],
}

# For checkpoints: a nameless pair of streams, sending to its other end only, and locks of its own.
STREAM, NONBLOCK, CLOEXEC = 1, 0x800, 0x80000
WITH_CHECKPOINTS: dict[str, list[tuple[tuple[int, ...], int]]] = {
    "fcntl": [((0, n), ALLOWED) for n in (3, 36, 37, 38)]
    + [((0, n), REFUSED) for n in (5, 6, 7, 8, 10, 1024, 1033)],
    "socketpair": [
        *(((1, STREAM | more, 0), ALLOWED) for more in (0, NONBLOCK, CLOEXEC, NONBLOCK | CLOEXEC)),
        *(((1, kind, 0), REFUSED) for kind in (2, 3, 5, 2 | CLOEXEC, STREAM | 0x10)),
        *(((family, STREAM, 0), REFUSED) for family in (2, 10, 16, 17, 40)),
        ((1, STREAM, 6), REFUSED),
    ],
    "sendto": [
        ((3, HIGH, 1, 0, 0, 0), ALLOWED),
        *(((3, HIGH, 1, 0, at, 16), REFUSED) for at in (1, HIGH, 0x7FFF12345678)),
        *(((3, HIGH, 1, flags, 0, 0), ALLOWED) for flags in (0x40, 0x4000, 0x4040)),
        *(((3, HIGH, 1, flags, 0, 0), REFUSED) for flags in (1, 0x41, 0x4000000, 0x8000000)),
    ],
    "recvfrom": [
        *(((3, HIGH, 1, flags, HIGH, HIGH), ALLOWED) for flags in (0, 0x40, 0x4000, 0x4040)),
        *(((3, HIGH, 1, flags, 0, 0), REFUSED) for flags in (1, 2, 0x100, 0x2000)),
    ],
}


def run(code: bytes, number: int, arch: int, arguments: tuple[int, ...] = ()) -> int:
    """The answer of a filter; it fails on an operation or a jump that the kernel would reject."""
    words = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
    data = struct.pack("=IIQ6Q", number, arch, 0, *words)
    steps = list(struct.iter_unpack("=HBBI", code))
    held, at = 0, 0
    while True:
        operation, yes, no, operand = steps[at]
        at += 1
        if operation == 0x20:
            (held,) = struct.unpack_from("=I", data, operand)
        elif operation == 0x54:
            held &= operand
        elif operation == 0x06:
            return operand
        else:
            tests = {0x15: held == operand, 0x35: held >= operand, 0x45: bool(held & operand)}
            at += yes if tests[operation] else no


def code_of(machine: str, kind: str) -> bytes:
    return seccomp.build(machine, **KINDS[kind]).for_pid(PID)


@by_program
def test_every_listed_call_is_answered_as_meant(machine: str, kind: str) -> None:
    code, arch = code_of(machine, kind), ARCHES[machine]
    for name, number in seccomp.numbers(machine, **KINDS[kind]).items():
        decided = DECIDED | WITH_CHECKPOINTS if kind == "checkpoints" else DECIDED
        for arguments, answer in decided.get(name, [((), ALLOWED), ((1 << 31,) * 6, ALLOWED)]):
            assert run(code, number, arch, arguments) == answer, (name, arguments)


@by_program
def test_every_other_call_is_refused(machine: str, kind: str) -> None:
    code, arch = code_of(machine, kind), ARCHES[machine]
    listed = set(seccomp.numbers(machine, **KINDS[kind]).values())
    for number in itertools.chain(range(1100), (0x3FFFFFFF, 0x80000000, 0xFFFFFFFF)):
        if number not in listed:
            assert run(code, number, arch) == REFUSED, number


@by_program
def test_another_architecture_is_refused(machine: str, kind: str) -> None:
    code = code_of(machine, kind)
    for arch in {X86_64, AARCH64, ARM, I386, 0} - {ARCHES[machine]}:
        for number in seccomp.numbers(machine, **KINDS[kind]).values():
            assert run(code, number, arch) == REFUSED


@by_program
def test_calls_of_x32_are_refused(machine: str, kind: str) -> None:
    code, arch = code_of(machine, kind), ARCHES[machine]
    for number in seccomp.numbers(machine, **KINDS[kind]).values():
        assert run(code, number | 0x40000000, arch) == REFUSED
    # Only x86-64 has them: elsewhere no step is spent on that.
    asked = [step for step in struct.iter_unpack("=HBBI", code) if step[0] == 0x35]
    assert len(asked) == (machine == "x86_64")


@by_program
def test_the_kernel_would_take_it(machine: str, kind: str) -> None:
    steps = list(struct.iter_unpack("=HBBI", code_of(machine, kind)))
    assert len(steps) < 4096
    for at, (operation, yes, no, _) in enumerate(steps):
        if operation & 0x07 == 0x05:
            assert at + 1 + max(yes, no) < len(steps)
    assert steps[-1] == (0x06, 0, 0, REFUSED)


@by_program
def test_the_pid_is_written_wherever_it_is_compared(machine: str, kind: str) -> None:
    program = seccomp.build(machine, **KINDS[kind])
    codes = (program.for_pid(pid) for pid in (111, 222))
    before, after = (list(struct.iter_unpack("=HBBI", code)) for code in codes)
    changed = [(x[3], y[3]) for x, y in zip(before, after, strict=True) if x != y]
    assert changed == [(111, 222)] * len(program.pid_offsets)
    assert len(program.pid_offsets) == 6


def test_only_a_scratch_may_lose_or_make_names() -> None:
    for machine in ARCHES:
        bare, scratch = (seccomp.numbers(machine, scratch=having) for having in (False, True))
        assert bare.items() <= scratch.items()
        assert scratch.keys() >= MAKES_OR_LOSES and not bare.keys() & MAKES_OR_LOSES
        unmediated = ("chmod", "fchmod", "fchmodat", "chown", "fchown", "utimensat", "truncate")
        assert not scratch.keys() & {*unmediated, "setxattr", "fsetxattr", "flock", "symlinkat"}
        assert not scratch.keys() & {"linkat", "link", "symlink", "mknod", "mknodat", "creat"}


@by_program
def test_a_child_has_no_other_way_to_send_itself_a_kill(machine: str, kind: str) -> None:
    others = {"tkill", "pidfd_send_signal", "timer_create", "mq_notify", "setrlimit", "seccomp"}
    assert not seccomp.numbers(machine, **KINDS[kind]).keys() & others


def test_an_architecture_without_a_table_is_an_error() -> None:
    with pytest.raises(KeyError):
        seccomp.build("riscv64")


def _generic(header: str) -> Iterator[tuple[str, int]]:
    """Names and numbers of the table that new 64-bit architectures share."""
    numbers = {
        f"__NR_{name}": int(n) for name, n in re.findall(r"#define __NR_(\w+) (\d+)", header)
    }
    numbers |= {
        f"__NR3264_{n}": int(v) for n, v in re.findall(r"#define __NR3264_(\w+) (\d+)", header)
    }
    # The first of two definitions is the one for 64 bits.
    aliases = dict(reversed(re.findall(r"#define __NR_(\w+) (__NR3264_\w+)", header)))
    for name, number in numbers.items():
        if name.startswith("__NR_"):
            yield name.removeprefix("__NR_"), number
    for name, alias in aliases.items():
        if alias in numbers:
            yield name, numbers[alias]


HEADERS = {
    "x86_64": "/usr/include/x86_64-linux-gnu/asm/unistd_64.h",
    "aarch64": "/usr/include/asm-generic/unistd.h",
}


def known(machine: str) -> dict[str, int]:
    header = Path(HEADERS[machine])
    if not header.exists():
        pytest.skip("the kernel headers are not installed")
    if machine == "aarch64":
        return dict(_generic(header.read_text()))
    pairs = re.findall(r"#define __NR_(\w+) (\d+)", header.read_text())
    return {name: int(number) for name, number in pairs}


@by_program
def test_numbers_agree_with_the_kernel_headers(machine: str, kind: str) -> None:
    told = known(machine)
    table = seccomp.numbers(machine, **KINDS[kind])
    assert len(set(table.values())) == len(table)
    # A call younger than the installed headers is not in them.
    assert {name: told.get(name, table[name]) for name in table} == table
    assert {name for name in table if name not in told} <= {
        "futex_wake",
        "futex_wait",
        "futex_requeue",
    }


@pytest.mark.parametrize("kind", KINDS)
def test_both_tables_hold_the_same_calls(kind: str) -> None:
    ours = {machine: seccomp.numbers(machine, **KINDS[kind]).keys() for machine in ARCHES}
    assert ours["aarch64"] <= ours["x86_64"]
    assert ours["x86_64"] & known("aarch64").keys() <= ours["aarch64"]
