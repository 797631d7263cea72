"""The processes of one grade as seen from outside: the server, and the children it forked."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass

# A bound for a test that fails; nothing is timed by it.
PATIENCE_S = 90.0


@dataclass(frozen=True)
class Seen:
    """One process: what it calls itself, its parent, when it began and the CPU it has used."""

    pid: int
    name: str
    state: str
    parent: int
    cpu_ticks: int
    began: int


def look(pid: int) -> Seen | None:
    """Return what there is to see of a process, None where it has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            before, _, after = file.read().rpartition(")")
    except OSError:
        return None
    facts = after.split()
    if facts[0] in ("Z", "X"):
        return None
    cpu = int(facts[11]) + int(facts[12])
    return Seen(pid, before.partition("(")[2], facts[0], int(facts[1]), cpu, int(facts[19]))


def children(pid: int) -> list[Seen]:
    """Return the children of a process, the oldest first."""
    every = (look(int(name)) for name in os.listdir("/proc") if name.isdigit())
    found = [one for one in every if one is not None and one.parent == pid]
    return sorted(found, key=lambda one: (one.began, one.pid))


def server_of(command: int) -> int | None:
    """Return the fork server of a running command."""
    found = children(command)
    return found[0].pid if found else None


def forks_of(command: int) -> list[Seen]:
    """Return what the server has forked: the learner child comes first, then the clean room."""
    server = server_of(command)
    return children(server) if server is not None else []


def until(holds: Callable[[], object], within_s: float = PATIENCE_S) -> bool:
    """Wait until `holds` is true; returns whether it ever was."""
    deadline = time.monotonic() + within_s
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
