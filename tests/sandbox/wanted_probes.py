"""What a confined child must still manage, and how it stands in its own limits, by name."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import threading
from pathlib import Path

from grader.sandbox import landlock
from grader.sandbox.landlock import libc
from tests.sandbox.probes import Act, Scene


def _thread(scene: Scene) -> list[int]:
    seen: list[int] = []
    thread = threading.Thread(target=lambda: seen.append(threading.get_native_id()))
    thread.start()
    thread.join()
    return seen


def _refused_in_thread(scene: Scene) -> bool:
    errors: list[OSError] = []

    def attempt() -> None:
        try:
            os.listdir("/")
        except OSError as error:
            errors.append(error)

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    return isinstance(errors[0], PermissionError)


def _own_signal(scene: Scene) -> int:
    caught: list[int] = []
    signal.signal(signal.SIGUSR1, lambda number, frame: caught.append(number))
    os.kill(os.getpid(), signal.SIGUSR1)
    signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return len(caught)


def _alarm(scene: Scene) -> list[int]:
    caught: list[int] = []
    signal.signal(signal.SIGALRM, lambda number, frame: caught.append(number))
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    while not caught:
        signal.pause()
    return caught


def _where_it_stands(scene: Scene) -> dict[str, object]:
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    signal_at_death = ctypes.c_int()
    libc("prctl", 2, ctypes.addressof(signal_at_death))  # PR_GET_PDEATHSIG
    return {
        "directory": os.getcwd(),
        "leads_session": os.getsid(0) == os.getpid(),
        "signal_at_death": signal_at_death.value,
        "hard_cpu_s": hard,
        "descriptors": sorted(fd for fd in range(256) if _is_open(fd)),
        "user": os.getuid(),
    }


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _raise_hard_limit(scene: Scene) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (hard, hard + 60))


def _use_too_much_memory(scene: Scene) -> str:
    try:
        return str(len(bytearray(8 << 30)))
    except MemoryError:
        return "MemoryError"


def _spin(scene: Scene) -> None:
    while True:
        pass


WANTED: dict[str, Act] = {
    "read_in_workdir": lambda s: Path(s.workdir, "present").read_text(),
    "list_workdir": lambda s: sorted(os.listdir(s.workdir)),
    "read_own_private_file": lambda s: Path(s.workdir, "private").read_text(),
    "write_to_null": lambda s: Path("/dev/null").write_text("x"),
    "random_device": lambda s: os.read(os.open("/dev/urandom", os.O_RDONLY), 4),
    "thread": _thread,
    "refused_in_thread": _refused_in_thread,
    "own_signal": _own_signal,
    "own_limits": lambda s: resource.getrlimit(resource.RLIMIT_CPU),
    "own_limits_by_pid": lambda s: resource.prlimit(os.getpid(), resource.RLIMIT_CPU),
    "alarm": _alarm,
    "pipe": lambda s: os.pipe(),
    "isatty": lambda s: os.isatty(0),
    "callback": lambda s: ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda n: n + 1)(4),
}

LIMITS: dict[str, Act] = {
    "where_it_stands": _where_it_stands,
    "raise_hard_limit": _raise_hard_limit,
    "too_much_memory": _use_too_much_memory,
    "read_the_grader": lambda s: Path(landlock.__file__).read_text(),
    "read_the_interpreter": lambda s: len(Path(os.__file__).read_text()),
    "spin": _spin,
}
