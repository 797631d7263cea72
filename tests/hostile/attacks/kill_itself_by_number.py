# ruff: noqa
# outcome: finished
# verdict: failed
# points: 2
"""Asks the kernel in every other way to be killed, at once or early; it must live to the end."""

import ctypes
import os
import resource
import struct
import threading

ring_all_bytes = 48
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
me, thread, KILL = os.getpid(), threading.get_native_id(), 9
words = struct.pack("=iii", KILL, 0, -1) + bytes(116)
event = bytes(8) + struct.pack("=ii", KILL, 0) + bytes(48)
# A pointer whose lower half is null, should only that half be looked at.
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
high = libc.mmap(0x5_0000_0000, 4096, 3, 0x100022, -1, 0)
if high == 0x5_0000_0000:
    ctypes.memmove(high, struct.pack("=QQ", 1, 1), 16)
one_second = ctypes.create_string_buffer(struct.pack("=QQ", 1, 1))
made = ctypes.create_string_buffer(8)
calls = {
    "kill": (62, me, KILL),
    "kill, the signal's upper half set": (62, me, 1 << 32 | KILL),
    "kill the group": (62, 0, KILL),
    "kill the group by number": (62, -me, KILL),
    "tkill": (200, thread, KILL),
    "tgkill": (234, me, thread, KILL),
    "queue": (129, me, KILL, words),
    "queue to the thread": (297, me, thread, KILL, words),
    "pidfd_open": (434, me, 0),
    "timer of the wall clock": (222, 1, event, made),
    "timer of the process": (222, 2, event, made),
    "set a timer": (223, 0, 0, struct.pack("=4Q", 0, 0, 0, 1), 0),
    "message queue": (244, 3, event),
    "signal of a pipe": (72, 1, 10, KILL),
    "CPU seconds": (302, 0, resource.RLIMIT_CPU, one_second, 0),
    "CPU seconds by number": (302, me, resource.RLIMIT_CPU, one_second, made),
    "CPU seconds through a high pointer": (302, 0, resource.RLIMIT_CPU, high or -1, 0),
    "CPU seconds in the old way": (160, resource.RLIMIT_CPU, one_second),
    "time without a pause": (302, 0, 15, one_second, 0),
    "death of the parent": (157, 1, KILL, 0, 0, 0),
    "a filter that kills": (157, 22, 2, one_second, 0, 0),
    "strict mode": (157, 22, 1, 0, 0, 0),
    "seccomp": (317, 1, 0, one_second),
}
for name, call in calls.items():
    given = [ctypes.c_long(word) if isinstance(word, int) else word for word in call]
    if libc.syscall(*given) >= 0:
        print("LEAK:", name, flush=True)
print("tried", len(calls))
