# ruff: noqa
# outcome: finished
# verdict: failed
# points: 0
"""Asks the kernel for other rights, other roots and other memory; every answer must be no."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
room = ctypes.create_string_buffer(4096)
calls = {
    "setuid": (105, 0),
    "setresuid": (117, 0, 0, 0),
    "setgroups": (116, 0, room),
    "capset": (126, room, room),
    "unshare user": (272, 0x10000000),
    "unshare mount": (272, 0x00020000),
    "setns": (308, 3, 0),
    "mount": (165, b"none", b".", b"tmpfs", 0x20, b""),
    "umount": (166, b"/nowhere", 0),
    "pivot_root": (155, b".", b"."),
    "chroot": (161, b"."),
    "fsopen": (430, b"tmpfs", 0),
    "open_tree": (428, -100, b".", 0),
    "move_mount": (429, -100, b".", -100, b".", 0),
    "personality": (135, 0x0040000),
    "iopl": (172, 3),
    "ioperm": (173, 0x80, 1, 1),
    "modify_ldt": (154, 0, room, 64),
    "swapon": (167, b"/nowhere", 0),
    "init_module": (175, room, 16, b""),
    "kexec_load": (246, 0, 0, 0, 0),
    "acct": (163, 0),
    "sethostname": (170, b"passed", 6),
    "settimeofday": (164, 0, 0),
    "adjtimex": (159, room),
    "shmget": (29, 0x5EED, 64, 0o1600),
    "semget": (64, 0x5EED, 1, 0o1600),
    "msgget": (68, 0x5EED, 0o1600),
    "mq_open": (240, b"passed", 0o102, 0o600, 0),
    "memfd_create": (319, b"passed", 0),
    "io_setup": (206, 1, room),
    "eventfd in another": (438, os.getppid(), 0, 0),
    "seccomp": (317, 0, 0, 0),
    "prctl seccomp": (157, 22, 1, 0, 0, 0),
    "prctl death signal": (157, 1, 0, 0, 0, 0),
    "prctl dumpable": (157, 4, 1, 0, 0, 0),
    "prctl ptracer": (157, 0x59616D61, -1, 0, 0, 0),
    "landlock_restrict_self": (446, 3, 0),
    "setrlimit": (160, 0, room),
    "setpriority": (141, 0, 0, -20),
    "sched_setscheduler": (144, 0, 1, room),
    "ioprio_set": (251, 1, 0, 0),
    "mlockall": (151, 3),
    "move_pages": (279, os.getppid(), 0, room, room, room, 0),
    "process_madvise": (440, 3, room, 1, 4, 0),
    "fcntl owner": (72, 3, 8, os.getppid()),
    "fcntl signal": (72, 3, 10, 9),
    "fcntl lock": (72, 3, 6, room),
    "flock": (73, 3, 2),
    "setsid": (112,),
    "setpgid": (109, 0, 0),
}
for name, call in calls.items():
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in call]
    if libc.syscall(*words) >= 0:
        print("LEAK:", name, flush=True)
print("tried", len(calls))
