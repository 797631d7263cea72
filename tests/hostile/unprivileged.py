"""Run a command as a user who may do little, on a machine that only root was set up for.

    python -I -S unprivileged.py UID TREE... -- COMMAND...

An interpreter, a checkout or a scratch folder often lies under a folder that nobody but its owner
may enter. In a mount namespace of its own, this covers each such folder with an empty one that may
be entered, brings the named trees back into it, gives up root and becomes the command. Nothing on
disk changes, and nothing outside the command can see it.
"""

from __future__ import annotations

import ctypes
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

NOBODY = 65534
# What no command of ours ends with: the namespace or a mount was refused.
REFUSED = 113
_NEWNS = 0x00020000
_BIND, _REC, _PRIVATE = 0x1000, 0x4000, 0x40000


def prefix(uid: int, trees: Sequence[Path], python: str = sys.executable) -> list[str]:
    """Return what to put before a command so that `uid` runs it and can read these trees."""
    return [python, "-I", "-S", __file__, str(uid), *map(str, trees), "--"]


def _mount(source: str, target: str, kind: str | None, flags: int, options: str | None) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    words = [None if word is None else os.fsencode(word) for word in (source, target, kind)]
    data = None if options is None else options.encode()
    if libc.mount(*words, ctypes.c_ulong(flags), data) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"mount on {target}: {os.strerror(error)}")


def _own_namespace() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_NEWNS) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"unshare: {os.strerror(error)}")
    _mount("none", "/", None, _REC | _PRIVATE, None)


def _closed(trees: Sequence[Path]) -> Iterator[Path]:
    """Yield the outermost folder above each tree that others may not enter."""
    for tree in trees:
        for folder in reversed(tree.parents):
            if not folder.stat().st_mode & stat.S_IXOTH:
                yield folder
                break


def _open_up(trees: Sequence[Path]) -> None:
    held = {tree: os.open(tree, os.O_PATH) for tree in trees}
    # Each turn opens at least one folder; a tree may lie under several.
    for _ in range(64):
        folder = next(_closed(trees), None)
        if folder is None:
            break
        _mount("none", str(folder), "tmpfs", 0, "mode=0755")
        for tree in sorted(trees, key=lambda tree: len(tree.parts)):
            if folder in tree.parents and not tree.exists():
                tree.mkdir(parents=True)
                _mount(f"/proc/self/fd/{held[tree]}", str(tree), None, _BIND | _REC, None)
    for handle in held.values():
        os.close(handle)


def _become(uid: int) -> None:
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def main(arguments: Sequence[str]) -> None:
    """Open the trees up, give up root, and become the command."""
    cut = list(arguments).index("--")
    uid, trees, command = arguments[0], arguments[1:cut], arguments[cut + 1 :]
    folder = os.getcwd()
    os.umask(0o022)
    try:
        _own_namespace()
        _open_up([Path(os.path.realpath(tree)) for tree in dict.fromkeys(trees)])
        _become(int(uid))
        # The old one may have been covered.
        os.chdir(folder)
    except OSError as error:
        print(f"this machine does not let root prepare another user's run: {error}")
        sys.stdout.flush()
        os._exit(REFUSED)
    os.execv(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
