"""Runs the real `grade` in a process of its own, away from the user's home and cache."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOLUTIONS = ROOT / "solutions" / "distributed-03"
STARTER_FILLED = SOLUTIONS / "accepted" / "starter_filled.py"
EXERCISE = "distributed-03"
# Of a whole audit on two busy cores; a hang is found, only later.
TIMEOUT_S = 900


@dataclass(frozen=True)
class Ran:
    """What one command did; `receipt` is the JSON receipt it printed or wrote, if any."""

    code: int
    stdout: str
    stderr: str
    receipt: dict[str, Any] | None

    @property
    def said(self) -> str:
        """Return everything it printed, on one line."""
        return " ".join(f"{self.stdout}\n{self.stderr}".split())

    @property
    def graded(self) -> dict[str, Any]:
        """Return the receipt; a command that left none fails here, with what it said."""
        assert self.receipt is not None, self.said
        return self.receipt

    def check(self, check_id: str) -> dict[str, Any]:
        return next(check for check in self.graded["checks"] if check["id"] == check_id)


@functools.cache
def _session() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="grade-tests-")


def home() -> Path:
    """Return the home folder that every command of this test session has."""
    return Path(_session().name)


def environment(**changes: str) -> dict[str, str]:
    """Return the caller's environment with a home, a cache and a scratch of the session's own.

    What `grade` remembers of a learner is each test's own: nothing may come of another one's.
    """
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    state = home() / "state" / hashlib.sha256(test.encode()).hexdigest()[:16]
    scratch = home() / "tmp"
    scratch.mkdir(exist_ok=True)
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("GRADE_", "JAX_", "XLA_"))
        and name not in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "COLUMNS", "TERM")
    }
    return {
        **kept,
        "HOME": str(home()),
        "XDG_CACHE_HOME": str(home() / "cache"),
        "XDG_STATE_HOME": str(state),
        "TMPDIR": str(scratch),
        "PYTHONDONTWRITEBYTECODE": "1",
        "LANGUAGE": "en",
        **changes,
    }


def command(*args: str | Path) -> list[str]:
    """Return the command line of `grade ARGS...`."""
    return [sys.executable, "-m", "grader", *map(str, args)]


def run(*args: str | Path, cwd: Path, env: Mapping[str, str] | None = None) -> Ran:
    """Run `grade ARGS...` in `cwd` with no input, and return what it did."""
    before = _receipts(cwd)
    done = subprocess.run(
        command(*args),
        cwd=cwd,
        env=environment(**(env or {})),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    stdout = done.stdout.decode("utf-8")
    stderr = done.stderr.decode("utf-8")
    receipt = json.loads(stdout) if "--json" in args and stdout else _new(before, _receipts(cwd))
    return Ran(done.returncode, stdout, stderr, receipt)


def grade(file: str | Path, *options: str, cwd: Path, env: Mapping[str, str] | None = None) -> Ran:
    """Grade one file without the cache of compiled programs, so that no test depends on another."""
    return run(EXERCISE, "--no-cache", *options, "--", file, cwd=cwd, env=env)


def _receipts(cwd: Path) -> dict[Path, bytes]:
    found = cwd.glob("receipts/*/[!.]*.json")
    others = (".instructor.json", ".dsse.json")
    return {p: p.read_bytes() for p in found if not p.name.endswith(others)}


def _new(before: Mapping[Path, bytes], after: Mapping[Path, bytes]) -> dict[str, Any] | None:
    changed = [raw for path, raw in after.items() if before.get(path) != raw]
    assert len(changed) <= 1, "one command wrote several receipts"
    return json.loads(changed[0]) if changed else None
