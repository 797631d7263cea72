# ruff: noqa
# outcome: finished
# verdict: failed
# points: 0
"""Starts processes in all the ways that Python and the C library have; a few, and none for long."""

import ctypes
import multiprocessing
import os
import pty
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor


def attempt(label, action):
    try:
        if action() == 0:
            os._exit(0)
    except Exception:
        return
    print("LEAK:", label, flush=True)


def through_libc(name, *arguments):
    function = getattr(ctypes.CDLL(None, use_errno=True), name)
    function.restype = ctypes.c_long if name == "syscall" else ctypes.c_int
    if (result := function(*arguments)) < 0 or name == "system" and result != 0:
        raise OSError
    return result


def by_number(number, *words):
    return through_libc("syscall", *map(ctypes.c_long, (number, *words)))


attempt("fork", os.fork)
attempt("forkpty", lambda: pty.fork()[0])
attempt("subprocess", lambda: subprocess.run(["true"], check=True).returncode + 1)
attempt("shell", lambda: subprocess.check_output("echo passed", shell=True))
attempt("python", lambda: subprocess.Popen([sys.executable, "-c", ""]).wait() + 1)
attempt("detached", lambda: subprocess.Popen(["sleep", "9"], start_new_session=True).pid)
attempt("posix_spawn", lambda: os.posix_spawn("/bin/true", ["true"], {}))
attempt("vfork", lambda: by_number(58))
attempt("fork by number", lambda: by_number(57))
attempt("clone", lambda: by_number(56, 17, 0, 0, 0, 0))
attempt("clone3", lambda: by_number(435, 0, 88))
attempt("libc fork", lambda: through_libc("fork"))
attempt("libc system", lambda: through_libc("system", b"true") + 1)
attempt("popen", lambda: os.popen("echo passed").read().index("passed") + 1)
for method in ("fork", "spawn", "forkserver"):
    context = multiprocessing.get_context(method)
    attempt(f"multiprocessing {method}", lambda: context.Process(target=print).start() or 1)
    attempt(f"manager {method}", lambda: context.Manager() and 1)
attempt("pool", lambda: ProcessPoolExecutor(1).submit(print).result(5) or 1)
attempt("execve", lambda: os.execv("/bin/true", ["true"]))
attempt("execveat", lambda: by_number(322, 3, 0, 0, 0, 0x1000))
attempt("fexecve", lambda: os.execve(3, ["true"], {}))
