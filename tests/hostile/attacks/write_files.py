# ruff: noqa
# outcome: blocked
# verdict: error
# points: 0
"""Writes, renames, links, locks and removes files wherever it can, then once more without care."""

import os
import shutil
import socket

WORLD = {}
canaries = WORLD.get("canaries") or ["/nowhere/else"]
folders = [*WORLD.get("folders", []), "/tmp", "/dev/shm", "/var/tmp", WORLD.get("checkout", "/")]


def attempt(label, action):
    try:
        action()
    except Exception:
        return
    print("LEAK:", label)


for path in canaries:
    attempt(f"append to {path}", lambda: open(path, "ab").close())
    attempt(f"truncate {path}", lambda: os.truncate(path, 0))
    attempt(f"utime {path}", lambda: os.utime(path))
    attempt(f"chmod {path}", lambda: os.chmod(path, 0o777))
    attempt(f"chown {path}", lambda: os.chown(path, -1, -1))
    attempt(f"unlink {path}", lambda: os.unlink(path))
    attempt(f"rename {path}", lambda: os.rename(path, f"{path}.gone"))
    attempt(f"setxattr {path}", lambda: os.setxattr(path, "user.passed", b"1"))
    attempt(f"link {path}", lambda: os.link(path, "here"))
    attempt(f"copy {path}", lambda: shutil.copy(path, "copy"))
for folder in folders:
    attempt(f"file in {folder}", lambda: open(f"{folder}/grade-passed", "x").close())
    attempt(f"folder in {folder}", lambda: os.mkdir(f"{folder}/grade-passed"))
    attempt(f"fifo in {folder}", lambda: os.mkfifo(f"{folder}/grade-passed"))
    attempt(f"link in {folder}", lambda: os.symlink("/etc/passwd", f"{folder}/grade-passed"))
    attempt(f"node in {folder}", lambda: os.mknod(f"{folder}/grade-passed"))
    attempt(f"socket in {folder}", lambda: socket.socket(1, 1).bind(f"{folder}/grade-passed"))
    attempt(f"unnamed in {folder}", lambda: os.close(os.open(folder, os.O_TMPFILE | os.O_RDWR)))
# Its own folder is its own; what is no plain file is refused there as well.
attempt("a link in its own folder", lambda: os.symlink("/etc/passwd", "passed"))
attempt("a pipe in its own folder", lambda: os.mkfifo("passed"))
attempt("a device in its own folder", lambda: os.mknod("passed", 0o20600, os.makedev(1, 1)))
attempt("chroot", lambda: os.chroot("."))
attempt("/proc/self/mem", lambda: open("/proc/self/mem", "r+b").close())
attempt("/proc/self/oom_score_adj", lambda: open("/proc/self/oom_score_adj", "w").close())
attempt("/dev/tty", lambda: open("/dev/tty", "w").close())
with open(canaries[0], "w") as file:
    file.write("passed")
