# ruff: noqa
# outcome: finished
# verdict: failed
# points: 0
"""Reads what lies in the home, beside the submission, in the course and on the system."""

import glob
import os
import pathlib

WORLD = {}


def leak(path):
    try:
        with open(path, "rb") as file:
            print("LEAK:", path, file.read(64))
    except (OSError, ValueError):
        pass


for path in WORLD.get("canaries", []):
    leak(path)
    leak(os.path.relpath(path))
    leak(f"/proc/self/root{path}")
    leak(f"/proc/self/cwd/../../{path}")
for folder in [
    *WORLD.get("folders", []),
    "/",
    "/etc",
    "/home",
    "/root",
    "/tmp",
    "/work",
    "/var",
    "..",
]:
    try:
        print("LEAK: listed", folder, os.listdir(folder)[:3])
    except OSError:
        pass
    for path in glob.glob(f"{folder}/*")[:20]:
        print("LEAK: found", path)
checkout, course = (WORLD.get(key, "/nowhere") for key in ("checkout", "course"))
for place in (
    f"{checkout}/grader/engine.py",
    f"{checkout}/grader/sandbox/learner.py",
    f"{checkout}/README.md",
    f"{checkout}/.git/HEAD",
    f"{course}/rubrics/distributed-03/rubric.toml",
    f"{course}/rubrics/distributed-03/oracle.py",
    f"{course}/exercises/distributed-03/exercise.toml",
    f"{checkout}/solutions/distributed-03/accepted/starter_filled.py",
    "/etc/passwd",
    "/etc/shadow",
    "/etc/hostname",
    "/etc/ssh/ssh_host_ed25519_key",
    "/root/.bash_history",
    "/var/run/secrets/kubernetes.io/serviceaccount/token",
    "/dev/mem",
    "/dev/kmsg",
    "/dev/tty",
    "/dev/shm",
    "/proc/kcore",
    "/sys/kernel/security/lsm",
):
    leak(place)
for name, value in os.environ.items():
    home, *_ = WORLD.get("folders") or ["/nowhere"]
    if name in ("TOKEN", "PWD", "USER", "GRADE_COURSE", "PATH") or value == home:
        print("LEAK: the caller's", name)
pathlib.Path.home = lambda: pathlib.Path("/")
