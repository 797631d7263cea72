"""Limit the calling thread to the system calls that JAX on CPU needs, with a BPF allow-list.

A refused call answers EPERM, which Python shows as PermissionError. It must never allow a call by
default, never let one reach another process, never let one change a file in a way that Landlock
does not decide about, and never let a child end itself by SIGKILL: such an end comes from outside.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from grader.sandbox.landlock import libc

_ALLOW: Final = 0x7FFF0000
_REFUSE: Final = 0x00050000 | errno.EPERM
_ABSENT: Final = 0x00050000 | errno.ENOSYS
_LOAD, _AND, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
_NUMBER_AT, _ARCH_AT, _ARGUMENTS_AT = 0, 4, 16
_X32_BIT: Final = 0x40000000
_STEP_BYTES: Final = 8
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_OWN_PID: Final = -1  # stands for the child's pid until install() knows it

# Which architecture name the kernel reports, and its number for each call we speak of. No POSIX
# timer is among them: it may be told to send SIGKILL, in memory, out of a filter's sight.
_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_NUMBERS = {
    "x86_64": """
read=0 write=1 open=2 close=3 stat=4 fstat=5 lstat=6 poll=7 lseek=8 mmap=9 mprotect=10 munmap=11
brk=12 rt_sigaction=13 rt_sigprocmask=14 rt_sigreturn=15 ioctl=16 pread64=17 pwrite64=18 readv=19
writev=20 access=21 pipe=22 select=23 sched_yield=24 mremap=25 msync=26 mincore=27 madvise=28
dup=32 dup2=33 pause=34 nanosleep=35 getitimer=36 alarm=37 setitimer=38 getpid=39 clone=56
exit=60 wait4=61 kill=62 uname=63 fcntl=72 fsync=74 fdatasync=75 getdents=78 getcwd=79 chdir=80
fchdir=81 readlink=89 umask=95 gettimeofday=96 getrlimit=97 getrusage=98 sysinfo=99 times=100
getuid=102 getgid=104 geteuid=107 getegid=108 getppid=110 getpgrp=111 getgroups=115 getresuid=118
getresgid=120 getpgid=121 getsid=124 capget=125 rt_sigpending=127 rt_sigtimedwait=128
rt_sigqueueinfo=129 rt_sigsuspend=130 sigaltstack=131 statfs=137 fstatfs=138 getpriority=140
sched_getparam=143 sched_getscheduler=145 sched_get_priority_max=146 sched_get_priority_min=147
sched_rr_get_interval=148 prctl=157 arch_prctl=158 gettid=186 time=201 futex=202
sched_setaffinity=203 sched_getaffinity=204 getdents64=217 set_tid_address=218 restart_syscall=219
fadvise64=221 clock_gettime=228 clock_getres=229 clock_nanosleep=230 exit_group=231 epoll_wait=232
epoll_ctl=233 tgkill=234 waitid=247 openat=257 newfstatat=262 readlinkat=267 faccessat=269
pselect6=270 ppoll=271 set_robust_list=273 epoll_pwait=281 timerfd_create=283 timerfd_settime=286
timerfd_gettime=287 eventfd2=290 epoll_create1=291 dup3=292 pipe2=293 preadv=295 pwritev=296
rt_tgsigqueueinfo=297 prlimit64=302 getcpu=309 sched_getattr=315 getrandom=318 membarrier=324
preadv2=327 pwritev2=328 statx=332 rseq=334 clone3=435 close_range=436 faccessat2=439
epoll_pwait2=441 futex_waitv=449 futex_wake=454 futex_wait=455 futex_requeue=456
""",
    "aarch64": """
epoll_create1=20 epoll_ctl=21 epoll_pwait=22 dup=23 dup3=24 fcntl=25 ioctl=29 statfs=43 fstatfs=44
faccessat=48 chdir=49 fchdir=50 openat=56 close=57 pipe2=59 getdents64=61 lseek=62 read=63 write=64
readv=65 writev=66 pread64=67 pwrite64=68 preadv=69 pwritev=70 pselect6=72 ppoll=73 readlinkat=78
newfstatat=79 fstat=80 fsync=82 fdatasync=83 timerfd_create=85 timerfd_settime=86
timerfd_gettime=87 capget=90 exit=93 exit_group=94 waitid=95 set_tid_address=96 futex=98
set_robust_list=99 nanosleep=101 getitimer=102 setitimer=103 clock_gettime=113 clock_getres=114
clock_nanosleep=115 sched_getscheduler=120 sched_getparam=121 sched_setaffinity=122
sched_getaffinity=123 sched_yield=124 sched_get_priority_max=125 sched_get_priority_min=126
sched_rr_get_interval=127 restart_syscall=128 kill=129 tgkill=131 sigaltstack=132
rt_sigsuspend=133 rt_sigaction=134 rt_sigprocmask=135 rt_sigpending=136 rt_sigtimedwait=137
rt_sigqueueinfo=138 rt_sigreturn=139 getpriority=141 getresuid=148 getresgid=150 times=153
getpgid=155 getsid=156 getgroups=158 uname=160 getrlimit=163 getrusage=165 umask=166 prctl=167
getcpu=168 gettimeofday=169 getpid=172 getppid=173 getuid=174 geteuid=175 getgid=176 getegid=177
gettid=178 sysinfo=179 brk=214 munmap=215 mremap=216 clone=220 mmap=222 fadvise64=223 mprotect=226
msync=227 mincore=232 madvise=233 rt_tgsigqueueinfo=240 wait4=260 prlimit64=261 sched_getattr=275
getrandom=278 membarrier=283 preadv2=286 pwritev2=287 statx=291 rseq=293 clone3=435 close_range=436
faccessat2=439 epoll_pwait2=441 futex_waitv=449 futex_wake=454 futex_wait=455 futex_requeue=456
eventfd2=19 getcwd=17
""",
}
# With a scratch also these, whose targets Landlock decides about: by path, or when the descriptor
# was opened for writing. It decides nothing about modes, owners, times, attributes and locks, so a
# child could change them on every file that belongs to its user: no chmod, chown, utime, setxattr
# or flock, by path or by descriptor. Nor truncate by path, which ABI 1 and 2 do not know.
_SCRATCH_NUMBERS = {
    "x86_64": """
sendfile=40 ftruncate=77 rename=82 mkdir=83 rmdir=84 unlink=87 mkdirat=258 unlinkat=263
renameat=264 fallocate=285 renameat2=316 copy_file_range=326
""",
    "aarch64": """
mkdirat=34 unlinkat=35 renameat=38 ftruncate=46 fallocate=47 sendfile=71 renameat2=276
copy_file_range=285
""",
}
# What writes checkpoints wakes its own threads over a pair of sockets and locks its files. Only an
# exercise that asks for such functions has these: a lock is seen by every process that may open the
# file, so two children could signal each other by one, and delay whoever takes locks himself.
_CHECKPOINT_NUMBERS = {
    "x86_64": "sendto=44 recvfrom=45 getsockname=51 socketpair=53",
    "aarch64": "socketpair=199 getsockname=204 sendto=206 recvfrom=207",
}

# Calls whose arguments decide. Everything else in the table is allowed whatever it is given.
# fcntl leaves out F_SETOWN and F_SETSIG, with which the kernel would signal the parent for us,
# and locks, with which a reader could stall whoever writes a cache. prctl leaves out
# PR_SET_PDEATHSIG and PR_SET_DUMPABLE. pids and signals are ints: the kernel drops the upper word
# as we do.
_ONE_OF: dict[str, tuple[int, tuple[int, ...]]] = {
    "kill": (0, (_OWN_PID,)),
    "tgkill": (0, (_OWN_PID,)),
    "rt_sigqueueinfo": (0, (_OWN_PID,)),
    "rt_tgsigqueueinfo": (0, (_OWN_PID,)),
    "prlimit64": (0, (0, _OWN_PID)),
    "sched_setaffinity": (0, (0, _OWN_PID)),
    # TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX, TCGETS2: reads and own flags.
    "ioctl": (1, (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451, 0x802C542A)),
    # F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC, F_GETPIPE_SZ.
    "fcntl": (1, (0, 1, 2, 3, 4, 1030, 1032)),
    # Reads of PDEATHSIG, SECCOMP, NO_NEW_PRIVS; SET_NAME, GET_NAME; SET_VMA (names a mapping).
    "prctl": (0, (2, 15, 16, 21, 39, 0x53564D41)),
    # No flag, RENAME_NOREPLACE, RENAME_EXCHANGE; RENAME_WHITEOUT would make a device.
    "renameat2": (4, (0, 1, 2)),
}
_WITH_CHECKPOINTS: dict[str, tuple[int, tuple[int, ...]]] = {
    # The above, and F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW.
    "fcntl": (1, (0, 1, 2, 3, 4, 1030, 1032, 36, 37, 38)),
    # SOCK_STREAM, plain or with SOCK_NONBLOCK, SOCK_CLOEXEC, both.
    "socketpair": (1, (0x1, 0x801, 0x80001, 0x80801)),
    # No flag, MSG_DONTWAIT, MSG_NOSIGNAL, both: none of the rarer paths in the kernel.
    "sendto": (3, (0, 0x40, 0x4000, 0x4040)),
    "recvfrom": (3, (0, 0x40, 0x4000, 0x4040)),
}
# AF_UNIX and no other protocol: such a pair has no name, and nothing here can connect or bind.
_EQUALS = {"socketpair": ((0, 1), (2, 0))}
# By which argument a call names its signal, which may not be SIGKILL.
_SIGNAL_AT = {"kill": 1, "tgkill": 2, "rt_sigqueueinfo": 1, "rt_tgsigqueueinfo": 2}
_SIGKILL: Final = 9
# Pointers that must be null: a child may read its limits and set none, and send to the other end
# of its own pair only.
_NULL_AT = {"prlimit64": 2, "sendto": 4}
_OPEN_FLAGS_AT = {"open": 1, "openat": 2}
_ACCESS_MODE, _READ_ONLY, _NEITHER, _TRUNCATE = 0o3, 0o0, 0o3, 0o1000
_CLONE_THREAD: Final = 0x00010000
# CLONE_PTRACE, CLONE_VFORK, CLONE_PARENT, and every new namespace.
_CLONE_NEVER: Final = 0x0000E000 | 0x7E020000


@dataclass(frozen=True)
class Program:
    """Filter code and the byte offsets at which the child's own pid has to be written."""

    code: bytes
    pid_offsets: tuple[int, ...]

    def for_pid(self, pid: int) -> bytes:
        """Return the program with the child's own pid where signals may go."""
        code = bytearray(self.code)
        for offset in self.pid_offsets:
            struct.pack_into("=I", code, offset, pid)
        return bytes(code)


Step = tuple[int, int, int, int]  # operation, operand, jump if true, jump if false


def _argument(index: int) -> Step:
    # The lower word: the architectures of the table are little-endian.
    return (_LOAD, _ARGUMENTS_AT + 8 * index, 0, 0)


def _answer(value: int) -> Step:
    return (_RETURN, value, 0, 0)


def _refuse_if(index: int, value: int) -> list[Step]:
    return [_argument(index), (_EQUAL, value, 0, 1), _answer(_REFUSE)]


def _refuse_unless(index: int, value: int) -> list[Step]:
    return [_argument(index), (_EQUAL, value, 1, 0), _answer(_REFUSE)]


def _refuse_unless_null(index: int) -> list[Step]:
    lower, upper = _argument(index), (_LOAD, _ARGUMENTS_AT + 8 * index + 4, 0, 0)
    null = [(_EQUAL, 0, 1, 0), _answer(_REFUSE)]
    return [lower, *null, upper, *null]


def _allow_if_one_of(index: int, values: Sequence[int]) -> list[Step]:
    steps = [_argument(index)]
    for value in values:
        steps += [(_EQUAL, value, 0, 1), _answer(_ALLOW)]
    return [*steps, _answer(_REFUSE)]


def _threads_only() -> list[Step]:
    never = [(_ANY_BIT, _CLONE_NEVER, 0, 1), _answer(_REFUSE)]
    thread = [(_ANY_BIT, _CLONE_THREAD, 0, 1), _answer(_ALLOW)]
    return [_argument(0), *never, *thread, _answer(_REFUSE)]


def _open_as_declared(index: int) -> list[Step]:
    """Leave the choice to Landlock, but for two modes whose effect it may not see.

    Truncating without writing asks ABI 1 and 2 for reading only; the fourth access mode, neither
    to read nor to write, asks for nothing on any ABI and still opens devices and truncates.
    """
    mode = [_argument(index), (_AND, _ACCESS_MODE, 0, 0), (_EQUAL, _NEITHER, 0, 1)]
    writing = [_answer(_REFUSE), (_EQUAL, _READ_ONLY, 1, 0), _answer(_ALLOW)]
    reading = [_argument(index), (_ANY_BIT, _TRUNCATE, 0, 1), _answer(_REFUSE), _answer(_ALLOW)]
    return [*mode, *writing, *reading]


def _rule(name: str, checkpoints: bool) -> list[Step]:
    if name == "clone":
        return _threads_only()
    if name == "clone3":  # its flags lie in memory, out of a filter's sight; glibc falls back
        return [_answer(_ABSENT)]
    if name in _OPEN_FLAGS_AT:
        return _open_as_declared(_OPEN_FLAGS_AT[name])
    steps = _refuse_if(_SIGNAL_AT[name], _SIGKILL) if name in _SIGNAL_AT else []
    steps += _refuse_unless_null(_NULL_AT[name]) if name in _NULL_AT else []
    for index, value in _EQUALS.get(name, ()):
        steps += _refuse_unless(index, value)
    allowed = _ONE_OF | _WITH_CHECKPOINTS if checkpoints else _ONE_OF
    return [*steps, *(_allow_if_one_of(*allowed[name]) if name in allowed else [_answer(_ALLOW)])]


def numbers(machine: str, *, scratch: bool = False, checkpoints: bool = False) -> dict[str, int]:
    """System call numbers by name. Raises: KeyError for an architecture without a table."""
    table = _NUMBERS[machine] + (_SCRATCH_NUMBERS[machine] if scratch else "")
    table += _CHECKPOINT_NUMBERS[machine] if checkpoints else ""
    pairs = (item.split("=") for item in table.split())
    return {name: int(number) for name, number in pairs}


def build(machine: str, *, scratch: bool = False, checkpoints: bool = False) -> Program:
    """The allow-list for an architecture. Raises: KeyError where there is no table for it."""
    steps: list[Step] = [
        (_LOAD, _ARCH_AT, 0, 0),
        (_EQUAL, _AUDIT_ARCH[machine], 1, 0),
        _answer(_REFUSE),
        (_LOAD, _NUMBER_AT, 0, 0),
    ]
    if machine == "x86_64":
        steps += [(_AT_LEAST, _X32_BIT, 0, 1), _answer(_REFUSE)]
    listed = numbers(machine, scratch=scratch, checkpoints=checkpoints)
    for name, number in listed.items():
        rule = _rule(name, checkpoints)
        steps += [(_EQUAL, number, 0, len(rule)), *rule]
    steps.append(_answer(_REFUSE))
    code = b"".join(struct.pack("=HBBI", op, yes, no, max(k, 0)) for op, k, yes, no in steps)
    own = tuple(_STEP_BYTES * at + 4 for at, step in enumerate(steps) if step[1] == _OWN_PID)
    return Program(code, own)


# Once, in the parent: its forks only write their own pid into a copy.
_MACHINE: Final = platform.machine()
_PROGRAMS: Final = (
    {
        (scratch, checkpoints): build(_MACHINE, scratch=scratch, checkpoints=checkpoints)
        for scratch, checkpoints in ((False, False), (True, False), (True, True))
    }
    if _MACHINE in _NUMBERS
    else {}
)


class _FilterProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def install(*, scratch: bool = False, checkpoints: bool = False) -> str:
    """Put the filter on this thread and all that it starts; returns a description.

    It names this process, so install it after the fork. `no_new_privs` must be set. With `scratch`
    files may be removed and renamed, so Landlock must already say where. With `checkpoints`, which
    asks for a scratch, a loop of asyncio and locks of open files work too.

    Raises: OSError when the filter is not in force.
    """
    kind = (scratch, checkpoints and scratch)
    if kind not in _PROGRAMS:
        raise OSError(errno.ENOSYS, f"no table of system calls for {_MACHINE}")
    code = _PROGRAMS[kind].for_pid(os.getpid())
    attributes = _FilterProgram(len(code) // _STEP_BYTES, code)
    libc("prctl", _PR_SET_SECCOMP, _MODE_FILTER, ctypes.addressof(attributes), 0, 0)
    _expect_refusal()
    return _MACHINE


def _expect_refusal() -> None:
    try:
        os.listxattr("/")  # harmless where it is answered
    except PermissionError:
        return
    raise OSError(errno.EPERM, "accepted by the kernel, and not kept")
