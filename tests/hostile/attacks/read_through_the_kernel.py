# ruff: noqa
# outcome: finished
# verdict: failed
# points: 0
"""Asks the kernel directly, by numbers, for what the C library would be refused."""

import ctypes
import os

WORLD = {}
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
path = (WORLD.get("canaries") or ["/etc/passwd"])[0].encode()
room = ctypes.create_string_buffer(4096)
how = ctypes.create_string_buffer(24)
vector = (ctypes.c_void_p * 2)(ctypes.addressof(room), 4096)
pid, parent = WORLD.get("neighbour", 1), os.getppid()
calls = {
    "open": (2, path, 0),
    "openat": (257, -100, path, 0),
    "openat2": (437, -100, path, how, 24),
    "name_to_handle_at": (303, -100, path, room, room, 0),
    "open_by_handle_at": (304, -100, room, 0),
    "process_vm_readv the parent": (310, parent, vector, 1, vector, 1, 0),
    "process_vm_readv the neighbour": (310, pid, vector, 1, vector, 1, 0),
    "pidfd_open": (434, pid, 0),
    "pidfd_getfd": (438, 3, 0, 0),
    "ptrace attach": (101, 16, pid, 0, 0),
    "ptrace seize": (101, 0x4206, parent, 0, 0),
    "ptrace me": (101, 0, 0, 0, 0),
    "kcmp": (312, os.getpid(), parent, 0, 0, 0),
    "perf_event_open": (298, room, 0, -1, -1, 0),
    "bpf": (321, 0, room, 64),
    "io_uring_setup": (425, 1, room),
    "userfaultfd": (323, 0),
    "memfd_create": (319, b"x", 0),
    "memfd_secret": (447, 0),
    "keyctl": (250, 0, -3, 0),
    "add_key": (248, b"user", b"x", b"x", 1, -1),
    "inotify_add_watch": (254, 3, path, 1),
    "fanotify_init": (300, 0, 0),
    "x32 openat": (0x40000000 + 257, -100, path, 0),
    "landlock_create_ruleset": (444, 0, 0, 1),
    "listxattr": (194, path, room, 4096),
    "getxattr": (191, path, b"user.x", room, 4096),
    "syslog": (103, 3, room, 4096),
    "sysfs": (139, 3),
    "quotactl": (179, 0x80000700, 0, 0, room),
    "lookup_dcookie": (212, 0, 0, room, 4096),
}
for name, call in calls.items():
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in call]
    if libc.syscall(*words) >= 0:
        print("LEAK:", name)
print("tried", len(calls))
