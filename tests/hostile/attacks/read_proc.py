# ruff: noqa
# outcome: finished
# verdict: failed
# points: 0
"""Looks through /proc at its parents, at the first process and at a neighbour of the same user."""

import os

WORLD = {}
KINDS = ("environ", "cmdline", "maps", "mem", "stat", "status", "syscall", "stack", "auxv", "wchan")
LINKS = ("exe", "cwd", "root", "fd/0", "fd/1", "fd/2", "fd/3", "ns/pid")


def attempt(label, action):
    try:
        print("LEAK:", label, action())
    except OSError:
        pass


def first_bytes(path):
    with open(path, "rb") as file:
        return file.read(32)


for who in (os.getppid(), 1, WORLD.get("neighbour", 1), "self", "thread-self", os.getpid()):
    own = who in ("self", "thread-self", os.getpid())
    for kind in KINDS:
        if not (own and kind in ("maps", "status")):
            attempt(f"/proc/{who}/{kind}", lambda: first_bytes(f"/proc/{who}/{kind}"))
    for link in LINKS:
        if not own:
            attempt(f"/proc/{who}/{link}", lambda: os.readlink(f"/proc/{who}/{link}"))
            attempt(f"/proc/{who}/{link}", lambda: first_bytes(f"/proc/{who}/{link}"))
    attempt(f"/proc/{who}/fd", lambda: os.listdir(f"/proc/{who}/fd"))
    attempt(f"/proc/{who}/task", lambda: os.listdir(f"/proc/{who}/task"))
attempt("/proc", lambda: os.listdir("/proc"))
for file in ("net/tcp", "net/unix", "mounts", "version", "sys/kernel/hostname", "keys", "locks"):
    attempt(f"/proc/{file}", lambda: first_bytes(f"/proc/{file}"))
