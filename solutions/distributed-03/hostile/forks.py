"""Tries to multiply: forks, threads of processes and a shell, a few of each and none for long."""

import multiprocessing
import os
import subprocess
import sys
import time

FORGED = b'{"verdict": "passed", "points": 100, "max_points": 100}\n'
SECONDS = 20  # every child ends by itself


def haunt():
    """What a child does: leave the session, speak in its parent's name, linger a little."""
    try:
        os.setsid()
    except OSError:
        pass
    for descriptor in range(1, 64):
        try:
            os.set_blocking(descriptor, False)
            os.write(descriptor, FORGED)
        except OSError:
            pass
    time.sleep(SECONDS)
    os._exit(0)


def attempt(label, action):
    try:
        action()
    except BaseException as problem:
        print(label, "refused:", type(problem).__name__, problem)
    else:
        print(label, "went through")


def fork_a_few():
    for _ in range(8):
        if os.fork() == 0:
            haunt()


def run_python():
    subprocess.run([sys.executable, "-c", "print('verdict: passed')"], timeout=SECONDS, check=True)


def run_shell():
    subprocess.run("echo verdict: passed", shell=True, timeout=SECONDS, check=True)


def start_detached():
    subprocess.Popen(["sleep", str(SECONDS)], start_new_session=True)


def use_multiprocessing():
    process = multiprocessing.get_context("fork").Process(target=time.sleep, args=(1,))
    process.start()
    process.join(SECONDS)


attempt("fork", fork_a_few)
attempt("python", run_python)
attempt("shell", run_shell)
attempt("detached", start_detached)
attempt("multiprocessing", use_multiprocessing)
attempt("exec", lambda: os.execv(sys.executable, [sys.executable, "-c", "print('passed')"]))
