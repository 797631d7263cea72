"""Notice that a file was saved, however its editor writes: in place, by a rename, or in pieces.

watchfiles sees nearly everything at once. A look at the files twice a second finds what it cannot
see: a folder that was replaced or was not there yet, and a drive that another machine writes to.
It must never read a file, and never print.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from grader.process import start

# An editor's save is several events; this long without another one, and it counts as done.
QUIET_MS = 10
# A folder in which something is always being written is not waited for longer than this.
MOST_MS = 100
LOOK_MS = 500
WAIT_S = 1.0
Signs = tuple[tuple[int, ...], ...]


class Saves:
    """Follows some files, of which one may be missing, from a thread of its own.

    Args:
        paths: the files, absolute.
        at_once: called in that thread each time one of them may be another one now.
    """

    def __init__(self, paths: Sequence[Path], at_once: Callable[[], None]) -> None:
        self._paths = [*paths]
        self._at_once = at_once
        self._changed = threading.Event()
        self._stop = threading.Event()
        self._looked = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def start(self) -> None:
        """Begin to follow. Raises: EnvironmentProblem where this machine gives no more threads."""
        start(self._thread)

    @property
    def ready(self) -> bool:
        """Whether what is done to the files from now on is noticed."""
        return self._looked.is_set()

    def stop(self) -> None:
        """End the thread."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(WAIT_S)

    def wait(self, seconds: float | None = None) -> bool:
        """Return True as soon as a file may have been saved, False after `seconds` without.

        What was noticed once is not told again.
        """
        left = seconds
        # In short turns: on Windows nothing interrupts a wait.
        while not self._changed.wait(WAIT_S if left is None else min(left, WAIT_S)):
            if left is not None:
                left -= WAIT_S
                if left <= 0:
                    return False
        self._changed.clear()
        return True

    def _follow(self) -> None:
        seen = self._signs()
        self._looked.set()
        while not self._stop.is_set():
            folders = self._folders()
            try:
                for touched in self._events(folders):
                    now = self._signs()
                    if touched or now != seen:
                        seen = now
                        self._tell()
                    if self._folders() != folders:
                        break  # what is followed is no longer what has this name
            except (OSError, RuntimeError):
                # Such as a folder that went away just now, or no more inotify instances.
                self._stop.wait(LOOK_MS / 1000)
            if self._signs() != seen:
                seen = self._signs()
                self._tell()

    def _events(self, folders: dict[str, tuple[int, int]]) -> Iterator[bool]:
        """Give, once for each save and twice a second without one, whether a file was touched."""
        import watchfiles

        if not folders:
            self._stop.wait(LOOK_MS / 1000)
            return
        for changes in watchfiles.watch(
            *folders,
            watch_filter=None,
            debounce=MOST_MS,
            step=QUIET_MS,
            stop_event=self._stop,
            rust_timeout=LOOK_MS,
            yield_on_timeout=True,
            raise_interrupt=False,
            recursive=False,
            debug=False,
        ):
            yield any(os.path.basename(path) in self._names() for _change, path in changes)

    def _names(self) -> set[str]:
        return {path.name for path in self._paths}

    def _tell(self) -> None:
        # In this order: whoever waits is not disturbed again by the same save.
        self._at_once()
        self._changed.set()

    def _folders(self) -> dict[str, tuple[int, int]]:
        """Return the folders to follow with what identifies each; a link's own, and its file's."""
        found = {}
        for path in self._paths:
            for folder in (path.parent, Path(os.path.realpath(path)).parent):
                with contextlib.suppress(OSError):
                    state = folder.stat()
                    found[str(folder)] = (state.st_dev, state.st_ino)
        return found

    def _signs(self) -> Signs:
        return tuple(signs(path) for path in self._paths)


def signs(path: Path) -> tuple[int, ...]:
    """Return what changes with each save of a file, nothing where there is no file."""
    try:
        state = path.stat()
    except (OSError, ValueError):
        return ()
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_mode
