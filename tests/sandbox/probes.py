"""What a confined child must not manage, by name: each act raises OSError or tells what it got.

Acts aim at the process that forked them with signal 0 and empty arguments, so that a missing
refusal is seen and does no harm. Only those of `ENDS` aim at the child, which would die of it.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from grader.sandbox.landlock import libc


@dataclass(frozen=True)
class Scene:
    """Where an act happens: the forking process and the directories around the child."""

    parent: int
    workdir: str
    outside: str


Act = Callable[[Scene], object]

FILES: dict[str, Act] = {
    "read_outside": lambda s: Path(s.outside, "canary").read_text(),
    "read_own_memory": lambda s: os.open("/proc/self/mem", os.O_RDWR),
    "read_own_mounts": lambda s: Path("/proc/self/mountinfo").read_text(),
    "read_program": lambda s: os.open("/proc/self/exe", os.O_RDONLY),
    "list_outside": lambda s: os.listdir(s.outside),
    "list_root": lambda s: os.listdir("/"),
    "read_parent_memory": lambda s: os.open(f"/proc/{s.parent}/mem", os.O_RDONLY),
    "read_parent_environment": lambda s: Path(f"/proc/{s.parent}/environ").read_bytes(),
    "read_through_proc_root": lambda s: os.listdir("/proc/self/root/"),
    "truncating_open": lambda s: os.open(f"{s.workdir}/present", os.O_RDONLY | os.O_TRUNC),
    "symlink": lambda s: os.symlink("/", f"{s.workdir}/new"),
    "link": lambda s: os.link(f"{s.workdir}/present", f"{s.workdir}/new"),
    "fifo": lambda s: os.mkfifo(f"{s.workdir}/new"),
    "shm_open": lambda s: os.open(f"/dev/shm/{s.parent}", os.O_RDWR | os.O_CREAT),
    "execute_program": lambda s: os.execv("/usr/bin/env", ["env"]),
}

# Refused where there is no scratch. The link leads outside; with a scratch it is not there.
BARE: dict[str, Act] = {
    "write_in_workdir": lambda s: Path(s.workdir, "new").write_text("x"),
    "overwrite_in_workdir": lambda s: os.open(f"{s.workdir}/present", os.O_WRONLY),
    "unnamed_file": lambda s: os.open(s.workdir, os.O_WRONLY | os.O_TMPFILE),
    "temporary_file": lambda s: tempfile.mkstemp(),
    "make_directory": lambda s: os.mkdir(f"{s.workdir}/new"),
    "remove_file": lambda s: os.unlink(f"{s.workdir}/present"),
    "rename": lambda s: os.rename(f"{s.workdir}/present", f"{s.workdir}/moved"),
    "read_through_link": lambda s: Path(s.workdir, "way-out").read_text(),
}
# Of a child without a scratch.
PAIR: dict[str, Act] = {"stream_pair": lambda s: socket.socketpair()}


def _fork(scene: Scene) -> int:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return child


def _socket(family: int, kind: int) -> str:
    with socket.socket(family, kind) as made:
        return str(made)


def _connect(scene: Scene) -> None:
    with socket.socket() as made:
        made.connect(("127.0.0.1", 9))


def _bind(scene: Scene) -> None:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))


def _own_signal_through_owner(scene: Scene) -> int:
    reading, _ = os.pipe()
    return libc("fcntl", reading, 8, scene.parent)  # F_SETOWN


def _raw(number: int, *arguments: int | bytes) -> Act:
    """A system call of x86-64 by its number."""
    return lambda scene: libc("syscall", number, *arguments)


def _at_parent(number: int, *arguments: int) -> Act:
    """A system call of x86-64 whose first argument is the parent's pid."""
    return lambda scene: libc("syscall", number, scene.parent, *arguments)


def _old_gate(scene: Scene) -> None:
    """The getpid of 32-bit x86, through its own gate: mov eax, 20; int 0x80; cdqe; ret."""
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(b"\xb8\x14\x00\x00\x00\xcd\x80\x48\x98\xc3")
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    answer = ctypes.CFUNCTYPE(ctypes.c_long)(address)()
    if answer < 0:
        raise OSError(-answer, os.strerror(-answer))


def _killed_by_number(number: int, *threads: Callable[[], int]) -> Act:
    """A system call of x86-64 that sends this process a SIGKILL, with the words of a signal."""
    words = struct.pack("=iii", signal.SIGKILL, 0, -1) + bytes(116)

    def act(scene: Scene) -> int:
        whom = [os.getpid(), *(thread() for thread in threads)]
        return libc("syscall", number, *whom, signal.SIGKILL, words)

    return act


def _killed_by_timer(scene: Scene) -> int:
    event = bytes(8) + struct.pack("=ii", signal.SIGKILL, 0) + bytes(48)
    made = ctypes.create_string_buffer(8)
    return libc("syscall", 222, 1, event, made)


def _limited(kind: int, limits: tuple[int, int]) -> Act:
    """Set a limit of this process by its own number, and by the 0 that stands for it."""
    return lambda scene: resource.prlimit(os.getpid(), kind, limits)


ENDS: dict[str, Act] = {
    "kill_itself": lambda s: os.kill(os.getpid(), signal.SIGKILL),
    "raise_kill": lambda s: signal.raise_signal(signal.SIGKILL),
    "kill_own_thread": lambda s: signal.pthread_kill(threading.get_ident(), signal.SIGKILL),
    "tgkill_itself": _killed_by_number(234, threading.get_native_id),
    "queue_kill_to_itself": _killed_by_number(129),
    "queue_kill_to_own_thread": _killed_by_number(297, threading.get_native_id),
    "timer_that_kills": _killed_by_timer,
    "lower_cpu_limit": _limited(resource.RLIMIT_CPU, (1, 1)),
    "lower_files_limit": _limited(resource.RLIMIT_NOFILE, (8, 8)),
    "lower_soft_limit": lambda s: resource.prlimit(0, resource.RLIMIT_STACK, (1 << 20, -1)),
    "old_setrlimit": lambda s: libc("syscall", 160, resource.RLIMIT_CORE, bytes(16)),
}

PROCESSES: dict[str, Act] = {
    "fork": _fork,
    "vfork": lambda s: subprocess.run([sys.executable, "-c", ""], check=True),
    "exec": lambda s: os.execv("/nonexistent", ["nonexistent"]),
    "clone3": _raw(435, bytes(88), 88),
    "clone_new_namespace": _raw(56, 0x10000000 | 17, 0, 0, 0, 0),
    "kill_parent": lambda s: os.kill(s.parent, 0),
    "kill_group": lambda s: os.kill(0, 0),
    "kill_everyone": lambda s: os.kill(-1, 0),
    "tgkill_parent": lambda s: libc("syscall", 234, s.parent, s.parent, 0),
    "tkill_parent": _at_parent(200, 0),
    "queue_signal_to_parent": _at_parent(129, 0, 0),
    "pidfd_open_parent": _at_parent(434, 0),
    "signal_owner_is_parent": _own_signal_through_owner,
    "prlimit_parent": lambda s: resource.prlimit(s.parent, resource.RLIMIT_CPU),
    "pin_parent": lambda s: os.sched_setaffinity(s.parent, os.sched_getaffinity(s.parent)),
    "schedule_parent": lambda s: os.sched_setscheduler(s.parent, 0, os.sched_param(0)),
    "renice_user": lambda s: os.setpriority(os.PRIO_USER, 0, 0),
    "ptrace": _raw(101, 0, 0, 0, 0),
    "read_parent_pages": _at_parent(310, 0, 0, 0, 0, 0),
    "outlive_parent": lambda s: libc("prctl", 1, 0, 0, 0, 0),
    "become_dumpable": lambda s: libc("prctl", 4, 1, 0, 0, 0),
    "new_session": lambda s: os.setpgid(0, 0),
}

KERNEL: dict[str, Act] = {
    "mount": _raw(165, 0, 0, 0, 0, 0),
    "umount": _raw(166, b"/nonexistent", 0),
    "unshare": _raw(272, 0x10000000),
    "setns": _raw(308, -1, 0),
    "chroot": lambda s: os.chroot("/nonexistent"),
    "keyctl": _raw(250, 0, -3, 0),
    "io_uring_setup": _raw(425, 1, 0),
    "memfd_create": _raw(319, b"probe", 0),
    "memfd_secret": _raw(447, 0),
    "bpf": _raw(321, 0, 0, 0),
    "userfaultfd": _raw(323, 1),
    "perf_event_open": _raw(298, 0, 0, -1, -1, 0),
    "shmget": _raw(29, 0, 4096, 0o1600),
    "msgget": _raw(68, 0, 0o1600),
    "mq_open": _raw(240, b"probe", 0),
    "personality": _raw(135, 0x0040000),
    "seccomp_again": _raw(317, 2, 0, 0),
    "open_by_handle": _raw(304, -1, 0, 0),
    "inotify": _raw(294, 0),
    "sync_disks": _raw(162),
    "x32_getpid": _raw(0x40000000 | 39),
    "unknown_call": _raw(1000),
    "old_gate": _old_gate,
    "terminal_input": lambda s: libc("ioctl", 0, 0x5412, b"x"),  # TIOCSTI
    "name_to_handle": _raw(303, -1, b"", 0, 0, 0),
    "openat2": _raw(437, -1, b"/", bytes(24), 24),
    "open_tree": _raw(428, -1, b"/", 0),
    "move_mount": _raw(429, -1, b"/", -1, b"/", 0),
    "fsopen": _raw(430, b"tmpfs", 0),
    "mount_setattr": _raw(442, -1, b"/", 0, bytes(32), 32),
    "pivot_root": _raw(155, b"/", b"/"),
    "take_descriptor": _raw(438, -1, 0, 0),
    "write_parent_pages": _at_parent(311, 0, 0, 0, 0, 0),
    "neither_read_nor_write": lambda s: os.open(f"{s.workdir}/present", 3),
    "truncating_read": lambda s: os.open(f"{s.workdir}/present", os.O_RDONLY | os.O_TRUNC),
    "lock": lambda s: libc("syscall", 73, os.open(f"{s.workdir}/present", os.O_RDONLY), 2),
    "chmod_descriptor": lambda s: os.fchmod(os.open(f"{s.workdir}/present", os.O_RDONLY), 0o600),
    "chmod_program": lambda s: os.chmod("/proc/self/exe", 0o755),
    "chmod": lambda s: os.chmod(f"{s.workdir}/present", 0o600),
    "chown": lambda s: os.chown(f"{s.workdir}/present", os.getuid(), os.getgid()),
    "touch": lambda s: os.utime(f"{s.workdir}/present"),
    "set_attribute": lambda s: os.setxattr(f"{s.workdir}/present", "user.x", b"x"),
    "truncate": lambda s: os.truncate(f"{s.workdir}/present", 0),
    "mknod": lambda s: os.mknod(f"{s.workdir}/new"),
}

NETWORK: dict[str, Act] = {
    "connect": _connect,
    "bind": _bind,
    "tcp_socket": lambda s: _socket(socket.AF_INET, socket.SOCK_STREAM),
    "udp_socket": lambda s: _socket(socket.AF_INET, socket.SOCK_DGRAM),
    "unix_socket": lambda s: _socket(socket.AF_UNIX, socket.SOCK_STREAM),
    "netlink_socket": lambda s: _socket(socket.AF_NETLINK, socket.SOCK_RAW),
    "datagram_pair": lambda s: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM),
    "packet_pair": lambda s: socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET),
    "pair_of_another_family": _raw(53, 2, 1, 0, bytes(8)),
    "pair_of_another_protocol": _raw(53, 1, 1, 6, bytes(8)),
}

FORBIDDEN = {**FILES, **PROCESSES, **ENDS, **KERNEL, **NETWORK}
