# ruff: noqa
# outcome: finished
# verdict: failed
# points: 0
"""Sends signals to everybody it knows of: parent, neighbour, group, session, all."""

import ctypes
import os
import resource
import signal

WORLD = {}
neighbour, parent = WORLD.get("neighbour", os.getppid()), os.getppid()
libc = ctypes.CDLL(None, use_errno=True)


def attempt(label, action):
    try:
        action()
    except Exception:
        return
    print("LEAK:", label, flush=True)


def by_number(*words):
    if libc.syscall(*map(ctypes.c_long, words)) < 0:
        raise OSError


for label, pid in (("parent", parent), ("neighbour", neighbour)):
    attempt(f"kill {label}", lambda: os.kill(pid, signal.SIGKILL))
    attempt(f"stop {label}", lambda: os.kill(pid, signal.SIGSTOP))
    attempt(f"ask {label}", lambda: os.kill(pid, 0))
    attempt(f"group of {label}", lambda: os.killpg(pid, signal.SIGKILL))
    attempt(f"tkill {label}", lambda: by_number(200, pid, 9))
    attempt(f"tgkill {label}", lambda: by_number(234, pid, pid, 9))
    attempt(
        f"queue {label}",
        lambda: by_number(129, pid, 9, ctypes.addressof(ctypes.create_string_buffer(128))),
    )
    attempt(f"pidfd {label}", lambda: signal.pidfd_send_signal(os.pidfd_open(pid), signal.SIGKILL))
    attempt(f"cpu of {label}", lambda: resource.prlimit(pid, resource.RLIMIT_CPU, (1, 1)))
    attempt(f"files of {label}", lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, (0, 0)))
    attempt(f"cores of {label}", lambda: os.sched_setaffinity(pid, {0}))
    attempt(f"nice of {label}", lambda: os.setpriority(os.PRIO_PROCESS, pid, 19))
# A signal that does nothing, should it arrive.
attempt("everybody", lambda: os.kill(-1, 0))
attempt("everybody, to go on", lambda: os.kill(-1, signal.SIGCONT))
attempt("own group", lambda: os.kill(0, signal.SIGCONT))
attempt("own limits", lambda: resource.setrlimit(resource.RLIMIT_AS, (-1, -1)))
attempt("own CPU seconds", lambda: resource.setrlimit(resource.RLIMIT_CPU, (10**6, 10**6)))
