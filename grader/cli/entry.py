"""The first lines that run: make the process tidy, start early, then read the command line."""

from __future__ import annotations

import os
import signal
import sys
import threading

# Longer than tidying up takes.
INSIST_S = 4.0


def main() -> None:
    """Run the command line and leave with its code.

    Effects: opens what the caller closed of descriptors 0 to 2, so that no pipe of ours takes such
    a number; makes a polite end from outside a tidy one.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if os.name == "posix":
        signal.signal(signal.SIGINT, _interrupt)
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _leave)
    try:
        from grader.cli import early

        early.start(sys.argv[1:])
        from grader.cli.main import main as command_line
    except KeyboardInterrupt:
        # So soon that nothing else is there yet to say it.
        os.write(2, b"interrupted; nothing was written\n")
        sys.exit(130)
    command_line()


def _leave(number: int, _frame: object) -> None:
    sys.exit(128 + number)


def _interrupt(_number: int, _frame: object) -> None:
    """Raise KeyboardInterrupt, and once more soon: code in C that clears errors may lose one."""
    again = threading.Timer(INSIST_S, os.kill, (os.getpid(), signal.SIGINT))
    again.daemon = True
    again.start()
    raise KeyboardInterrupt
