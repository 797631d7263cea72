"""What a scratch promises, what it must still refuse, and where it ends, by name.

The modules that an act uses are imported here: a child may be a user that cannot read them.
"""

from __future__ import annotations

import asyncio
import concurrent.futures.thread
import encodings.cp437
import errno
import fcntl
import mmap
import os
import shutil
import socket
import stat
import struct
import tempfile
import urllib.request
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from grader.sandbox.landlock import libc
from tests.sandbox.probes import Act, Scene

# NumPy imports some of them when it first needs them, a loop of asyncio the last.
assert zipfile and encodings.cp437 and urllib.request and concurrent.futures.thread
_PAGE = 4096
_F_OFD_SETLK = 37
_NOT_A_DIRECTORY_DESCRIPTOR = -100  # AT_FDCWD


def _here(act: Callable[[Path], object]) -> Act:
    return lambda scene: act(Path(scene.workdir))


def _numpy(here: Path) -> object:
    array = np.arange(6.0).reshape(2, 3)
    np.save(here / "one.npy", array)
    np.savez(here / "more.npz", a=array, b=array + 1)
    np.savetxt(here / "text.csv", array)
    mapped = np.lib.format.open_memmap(here / "map.npy", mode="w+", dtype=np.float32, shape=(8,))
    mapped[:] = 2
    mapped.flush()
    assert (np.load(here / "one.npy", mmap_mode="r") == array).all()
    assert (np.load(here / "more.npz")["b"] == array + 1).all()
    assert (np.loadtxt(here / "text.csv") == array).all()
    return float(np.load(here / "map.npy").sum())


def _tempfile(here: Path) -> object:
    descriptor, name = tempfile.mkstemp()
    os.write(descriptor, b"x")
    os.close(descriptor)
    os.unlink(name)
    with tempfile.TemporaryFile() as unnamed, tempfile.NamedTemporaryFile("w+") as named:
        unnamed.write(b"x")
        named.write("x")
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "deep/er").mkdir(parents=True)
        Path(directory, "deep/er/file").write_text("x")
    return sorted(os.listdir(here))


def _modes(here: Path) -> object:
    file = here / "log"
    for mode in ("w", "a", "r+", "x"):
        with open(file if mode != "x" else here / "fresh", mode) as opened:
            opened.write("ab")
    return file.read_text() + (here / "fresh").read_text()


def _names(here: Path) -> object:
    (here / "a/b").mkdir(parents=True)
    os.makedirs(here / "c/d")
    (here / "a/file").write_text("x")
    (here / "a/file").rename(here / "a/other")
    os.replace(here / "a/other", here / "a/b/third")
    (here / "a/b/third").unlink()
    os.rmdir(here / "a/b")
    os.removedirs(here / "c/d")
    return sorted(os.listdir(here / "a"))


def _rename_between_directories(here: Path) -> object:
    for name in ("from", "to"):
        (here / name).mkdir()
    (here / "from/file").write_text("x")
    (here / "from/file").rename(here / "to/file")
    return (here / "to/file").read_text()


def _shutil(here: Path) -> object:
    (here / "tree/deep").mkdir(parents=True)
    (here / "tree/deep/file").write_text("x" * 100_000)
    shutil.copyfile(here / "tree/deep/file", here / "copy")
    with open(here / "copy", "rb") as source, open(here / "again", "wb") as target:
        shutil.copyfileobj(source, target)
    shutil.move(here / "tree/deep/file", here / "moved")
    shutil.rmtree(here / "tree")
    return len((here / "again").read_text()) + len((here / "moved").read_text())


def _descriptors(here: Path) -> object:
    file = os.open(here / "file", os.O_RDWR | os.O_CREAT)
    other = os.open(here / "other", os.O_RDWR | os.O_CREAT)
    os.write(file, b"abcdef")
    os.ftruncate(file, 4)
    os.posix_fallocate(file, 0, 5)
    os.lseek(file, 0, os.SEEK_SET)
    os.sendfile(other, file, 0, 2)
    os.copy_file_range(file, other, 2)
    os.fsync(other)
    return os.pread(other, 9, 0).decode()


def _overwrite_the_copy(here: Path) -> object:
    assert (here / "present").read_text() == "canary"
    (here / "present").write_text("mine")
    return (here / "present").read_text()


def _mount_options(here: Path) -> object:
    seen, directory = os.statvfs(here), here.stat()
    assert Path.cwd() == here and not (here / "way-out").is_symlink()
    flags = os.ST_NOSUID | os.ST_NODEV | os.ST_NOEXEC
    return seen.f_flag & flags == flags and stat.S_IMODE(directory.st_mode) == 0o700


def _event_loop(here: Path) -> object:
    """Wake a loop from another thread, as what saves checkpoints does all the time."""

    async def woken() -> int:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, os.getpid)

    return asyncio.run(woken()) == os.getpid()


def _locked(file: int) -> int:
    """Take the exclusive lock of an open file description; raises OSError."""
    whole = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    return len(fcntl.fcntl(file, _F_OFD_SETLK, whole))


def _locks(here: Path) -> object:
    file = os.open(here / "own-lock", os.O_RDWR | os.O_CREAT)
    assert _locked(file)
    # Not of a file that it may only read: there it would be in somebody's way.
    assert _error_of(lambda: _locked(os.open(here / "own-lock", os.O_RDONLY))) == "EBADF"
    os.close(file)
    os.unlink(here / "own-lock")
    return True


# Of an exercise that asks for functions which save and restore.
CHECKPOINTS: dict[str, Act] = {"event_loop": _here(_event_loop), "locks": _here(_locks)}
PROMISED: dict[str, Act] = {
    "numpy": _here(_numpy),
    "tempfile": _here(_tempfile),
    "modes": _here(_modes),
    "names": _here(_names),
    "rename_between_directories": _here(_rename_between_directories),
    "shutil": _here(_shutil),
    "descriptors": _here(_descriptors),
    "overwrite_the_copy": _here(_overwrite_the_copy),
    "mount_options": _here(_mount_options),
}


def _victim(scene: Scene) -> str:
    return f"{scene.outside}/open/victim"


def _own(scene: Scene, mode: int = 0o600) -> str:
    path = f"{scene.workdir}/own"
    file = os.open(path, os.O_WRONLY | os.O_CREAT, mode)
    os.write(file, b"#!/bin/sh\n")
    os.close(file)
    return path


def _renameat2(source: str, target: str, flags: int) -> int:
    here = _NOT_A_DIRECTORY_DESCRIPTOR
    return libc("syscall", 316, here, os.fsencode(source), here, os.fsencode(target), flags)


def _link_out_and_open(scene: Scene) -> str:
    os.symlink(_victim(scene), f"{scene.workdir}/way")
    return Path(scene.workdir, "way").read_text()


def _reopen_for_writing(scene: Scene) -> int:
    file = os.open(os.__file__, os.O_RDONLY) if os.access(os.__file__, os.R_OK) else 1
    if file == 1:
        file = os.open("/etc/ld.so.cache", os.O_RDONLY)
    return os.open(f"/proc/self/fd/{file}", os.O_WRONLY)


def _leave_and_remove(scene: Scene) -> None:
    os.chdir(f"{scene.outside}/open")
    os.unlink("victim")


def _from_path_descriptor(scene: Scene) -> int:
    outside = os.open(f"{scene.outside}/open", os.O_PATH)
    return os.open("victim", os.O_RDONLY, dir_fd=outside)


def _make_through_path_descriptor(scene: Scene) -> int:
    outside = os.open(f"{scene.outside}/open", os.O_PATH)
    return os.open("new", os.O_WRONLY | os.O_CREAT, dir_fd=outside)


def _remove_through_path_descriptor(scene: Scene) -> None:
    os.unlink("victim", dir_fd=os.open(f"{scene.outside}/open", os.O_PATH))


def _reopen_path_descriptor(scene: Scene) -> int:
    file = os.open(_victim(scene), os.O_PATH)
    return os.open(f"/proc/self/fd/{file}", os.O_WRONLY)


def _map_for_execution(scene: Scene) -> object:
    file = os.open(_own(scene), os.O_RDWR)
    return mmap.mmap(file, 10, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)


def _turn_executable(scene: Scene) -> int:
    file = os.open(_own(scene), os.O_RDWR)
    address = libc("mmap", 0x10000000, _PAGE, mmap.PROT_READ, mmap.MAP_PRIVATE, file, 0)
    return libc("mprotect", address, _PAGE, mmap.PROT_READ | mmap.PROT_EXEC)


def _execute_descriptor(scene: Scene) -> None:
    os.execve(os.open(_own(scene, 0o755), os.O_RDONLY), ["own"], {})


def _mount_over(scene: Scene) -> int:
    return libc("syscall", 165, b"x", os.fsencode(scene.workdir), b"tmpfs", 0, 0)


def _grow_the_scratch(scene: Scene) -> int:
    place, options = os.fsencode(scene.workdir), b"size=1g"
    return libc("syscall", 165, b"x", place, b"tmpfs", 32, options)  # MS_REMOUNT


def _unmount_the_scratch(scene: Scene) -> int:
    return libc("syscall", 166, os.fsencode(scene.workdir), 2)


# Refused whether there is a scratch or not, and leaving nothing outside.
def _send_by_name(scene: Scene) -> int:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        return ours.sendto(b"x", f"{scene.outside}/open/socket")


def _sent(flags: int) -> Act:
    def act(scene: Scene) -> int:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            return ours.send(b"x", flags)

    return act


NEVER_SENT: dict[str, Act] = {
    "send_by_name": _send_by_name,
    "send_out_of_band": _sent(socket.MSG_OOB),
    "send_zero_copy": _sent(0x4000000),
    "send_with_a_flag_of_the_kernel": _sent(0x8000000),
}

TRESPASSES: dict[str, Act] = {
    "write_outside": lambda s: os.open(_victim(s), os.O_WRONLY),
    "append_outside": lambda s: os.open(_victim(s), os.O_WRONLY | os.O_APPEND),
    "truncate_outside": lambda s: os.truncate(_victim(s), 0),
    "truncating_read_outside": lambda s: os.open(_victim(s), os.O_RDONLY | os.O_TRUNC),
    "truncating_neither_outside": lambda s: os.open(_victim(s), 3 | os.O_TRUNC),
    "make_outside": lambda s: os.open(f"{s.outside}/open/new", os.O_WRONLY | os.O_CREAT),
    "unnamed_outside": lambda s: os.open(f"{s.outside}/open", os.O_WRONLY | os.O_TMPFILE),
    "make_directory_outside": lambda s: os.mkdir(f"{s.outside}/open/new"),
    "remove_outside": lambda s: os.unlink(_victim(s)),
    "remove_directory_outside": lambda s: os.rmdir(f"{s.outside}/open/empty"),
    "rename_outside": lambda s: os.rename(_victim(s), f"{s.outside}/open/new"),
    "rename_inwards": lambda s: os.rename(_victim(s), f"{s.workdir}/in"),
    "rename_outwards": lambda s: os.rename(_own(s), f"{s.outside}/open/new"),
    "exchange": lambda s: _renameat2(_own(s), _victim(s), 2),
    "whiteout": lambda s: _renameat2(_own(s), f"{s.workdir}/moved", 4),
    "remove_workdir": lambda s: os.rmdir(s.workdir),
    "move_workdir": lambda s: os.rename(s.workdir, s.workdir + "-moved"),
    "remove_through_parent": lambda s: os.unlink(f"{s.workdir}/../open/victim"),
    "remove_through_cwd": lambda s: os.unlink("../open/victim"),
    "leave_and_remove": _leave_and_remove,
    "remove_through_proc": lambda s: os.unlink(f"/proc/self/root{_victim(s)}"),
    "link_inwards": lambda s: os.link(_victim(s), f"{s.workdir}/in"),
    "link_outwards": lambda s: os.link(_own(s), f"{s.outside}/open/new"),
    "link_out_and_open": _link_out_and_open,
    "fifo_in_workdir": lambda s: os.mkfifo(f"{s.workdir}/made"),
    "device_in_workdir": lambda s: os.mknod(f"{s.workdir}/made", 0o600 | stat.S_IFCHR, 0x103),
    "disk_in_workdir": lambda s: os.mknod(f"{s.workdir}/made", 0o600 | stat.S_IFBLK, 0x800),
    "socket_in_workdir": lambda s: os.mknod(f"{s.workdir}/made", 0o600 | stat.S_IFSOCK),
    "reopen_for_writing": _reopen_for_writing,
    "open_from_path_descriptor": _from_path_descriptor,
    "make_through_path_descriptor": _make_through_path_descriptor,
    "remove_through_path_descriptor": _remove_through_path_descriptor,
    "reopen_path_descriptor": _reopen_path_descriptor,
    "write_own_memory": lambda s: os.open("/proc/self/mem", os.O_WRONLY),
    "write_through_proc_root": lambda s: os.open(f"/proc/self/root{_victim(s)}", os.O_WRONLY),
    "write_through_parent": lambda s: os.open(f"/proc/{s.parent}/root{_victim(s)}", os.O_WRONLY),
    "enter_parent": lambda s: os.listdir(f"/proc/{s.parent}/cwd"),
    "remap_user": lambda s: os.open("/proc/self/uid_map", os.O_WRONLY),
    "oom_score": lambda s: os.open("/proc/self/oom_score_adj", os.O_WRONLY),
    "own_name": lambda s: os.open("/proc/self/comm", os.O_WRONLY),
    "mount_over": _mount_over,
    "grow_the_scratch": _grow_the_scratch,
    "unmount_the_scratch": _unmount_the_scratch,
    "chmod_victim": lambda s: os.chmod(_victim(s), 0o600),
    "touch_victim": lambda s: os.utime(_victim(s)),
}
# These need a file of their own first, so they are for a scratch.
EXECUTIONS: dict[str, Act] = {
    "execute_file": lambda s: os.execv(_own(s, 0o755), ["own"]),
    "execute_descriptor": _execute_descriptor,
    "map_for_execution": _map_for_execution,
    "turn_executable": _turn_executable,
    "chmod_own": lambda s: os.chmod(_own(s), 0o755),
    "touch_own": lambda s: os.utime(_own(s)),
    "copy_with_mode": lambda s: shutil.copy(_own(s), f"{s.workdir}/copy"),
}


def _fill(here: Path) -> dict[str, int]:
    """Write until it is refused; what was written, the errno, and whether removing gives room."""
    written = 0
    for number in range(64):
        file = os.open(here / f"full{number}", os.O_WRONLY | os.O_CREAT)
        try:
            for _ in range(16):
                written += os.write(file, bytes(1 << 16))
        except OSError as error:
            (here / "full0").unlink()
            (here / "again").write_text("there is room")
            return {"written": written, "errno": error.errno or 0}
        os.close(file)
    return {"written": written, "errno": 0}


def _reserve(here: Path) -> dict[str, int]:
    """Ask for blocks beyond the end, which no file size shows."""
    for number in range(64):
        file = os.open(here / f"full{number}", os.O_WRONLY | os.O_CREAT)
        try:
            libc("fallocate", file, 1, 0, 1 << 20)  # FALLOC_FL_KEEP_SIZE
        except OSError as error:
            return {"files": number, "errno": error.errno or 0}
    return {"files": 64, "errno": 0}


def _touch_holes(here: Path) -> int:
    """Make pages by looking at holes: the kernel has no error to give but SIGBUS."""
    for number in range(64):
        file = os.open(here / f"hole{number}", os.O_RDWR | os.O_CREAT)
        os.ftruncate(file, 1 << 20)
        with mmap.mmap(file, 1 << 20) as holes:
            for at in range(0, 1 << 20, _PAGE):
                holes[at] = 1
    return 64 << 20


def _many_files(here: Path) -> dict[str, int]:
    for number in range(1 << 14):
        try:
            os.close(os.open(here / f"f{number}", os.O_WRONLY | os.O_CREAT))
        except OSError as error:
            return {"files": number, "errno": error.errno or 0}
    return {"files": 1 << 14, "errno": 0}


def _error_of(act: Callable[[], object]) -> str:
    try:
        act()
    except OSError as error:
        return errno.errorcode[error.errno] if error.errno else type(error).__name__
    return "none"


def _long_file(here: Path) -> list[str]:
    file = os.open(here / "long", os.O_RDWR | os.O_CREAT)
    return [
        _error_of(lambda: os.pwrite(file, b"x", 1 << 20)),
        _error_of(lambda: os.ftruncate(file, (1 << 20) + 1)),
        _error_of(lambda: os.posix_fallocate(file, 0, (1 << 20) + 1)),
        _error_of(lambda: np.save(here / "big.npy", np.zeros(1 << 20))),
    ]


BRIM: dict[str, Act] = {
    "fill": _here(_fill),
    "reserve": _here(_reserve),
    "touch_holes": _here(_touch_holes),
    "many_files": _here(_many_files),
    "long_file": _here(_long_file),
}
