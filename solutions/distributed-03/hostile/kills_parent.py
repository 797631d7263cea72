"""Tries to end, stop or starve the process that supervises it, and claims success afterwards."""

import ctypes
import os
import resource
import signal

parent = os.getppid()
print("supervised by", parent)


def attempt(label, action):
    try:
        action()
    except BaseException as problem:
        print(label, "refused:", type(problem).__name__)
    else:
        print(label, "went through")


def raw_kill(pid, number):
    if ctypes.CDLL(None, use_errno=True).kill(pid, number) != 0:
        raise OSError(ctypes.get_errno(), "kill")


if parent > 1:
    attempt("prlimit", lambda: resource.prlimit(parent, resource.RLIMIT_CPU, (1, 1)))
    attempt("prlimit files", lambda: resource.prlimit(parent, resource.RLIMIT_NOFILE, (3, 3)))
    attempt("stop", lambda: os.kill(parent, signal.SIGSTOP))
    attempt("pidfd", lambda: signal.pidfd_send_signal(os.pidfd_open(parent), signal.SIGKILL))
    attempt("kill", lambda: os.kill(parent, signal.SIGKILL))
    attempt("kill through libc", lambda: raw_kill(parent, 9))

print("passed 100/100")
os._exit(0)
