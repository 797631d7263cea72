"""How long `grade watch` takes from a save to the verdict on the screen.

    python benchmarks/watch.py [-n SAVES] [FILE]

Runs the real command on a terminal of its own, saves FILE again and again with a line that differs,
and reads what appears. In turn with the saves it runs a whole `grade` of the same file. The first
verdict, which loads JAX, is told apart; the first grade of a machine fills the cache and is not
counted.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pexpect

ROOT = Path(__file__).resolve().parents[1]
SOLUTIONS = ROOT / "solutions" / "distributed-03"
REFERENCE = SOLUTIONS / "accepted" / "starter_filled.py"
WAITING = "to grade again"
# As the headline of a further try begins; what is drawn before it stays out of the time.
VERDICT = r"\d\d:\d\d:\d\d  (Passed|Not passed yet|Stopped before its end): "
PAUSE_S = 1.0


class Session:
    """One `grade watch` on a terminal."""

    def __init__(self, folder: str, exercise: str, file: Path) -> None:
        started = time.perf_counter()
        self.file = file
        self._child = pexpect.spawn(
            sys.executable,
            ["-m", "grader", "watch", exercise, file.name],
            cwd=folder,
            encoding="utf-8",
            dimensions=(50, 100),
            timeout=120,
        )
        self._child.expect(WAITING)
        self.first_s = time.perf_counter() - started

    def save(self, text: str, *, by_rename: bool) -> float:
        """Save the file and return the seconds until its verdict was on the screen."""
        new = self.file.with_name("new.txt")
        new.write_text(text)
        started = time.perf_counter()
        if by_rename:
            os.replace(new, self.file)
        else:
            self.file.write_text(text)
        self._child.expect(VERDICT)
        seconds = time.perf_counter() - started
        self._child.expect(WAITING)
        return seconds

    def stop(self) -> float:
        """Return the seconds from Ctrl-C to the end of the command."""
        started = time.perf_counter()
        self._child.sendintr()
        self._child.expect(pexpect.EOF)
        self._child.close()
        return time.perf_counter() - started


def whole(folder: str, exercise: str, file: Path) -> float:
    """Return the wall seconds of a whole `grade`."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "grader", exercise, file.name, "--out", "others"]
    subprocess.run(command, cwd=folder, capture_output=True, check=False)
    return time.perf_counter() - started


def summary(label: str, seconds: list[float]) -> str:
    """Return one row: median, the least and the most in milliseconds, and how many under 0.5 s."""
    ms = [1000 * s for s in seconds]
    quick = sum(s < 0.5 for s in seconds)
    return (
        f"{label:34s} {statistics.median(ms):7.0f} {min(ms):7.0f} {max(ms):7.0f}"
        f"   {quick}/{len(seconds)}"
    )


def load() -> str:
    """Return how many threads wanted a core in the last minute, as far as this platform tells."""
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"


def main() -> None:
    """Save in turn, in place and by rename, right and wrong, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path, default=REFERENCE)
    parser.add_argument("-n", type=int, default=10, help="saves of each kind (default 10)")
    chosen = parser.parse_args()
    exercise = chosen.file.resolve().parents[1].name
    right = chosen.file.read_text(encoding="utf-8")
    wrong = right.replace("lax.psum(", "lax.pmean(")
    kinds = {
        "right, saved in place": (right, False),
        "right, saved by rename": (right, True),
        "a mean for a sum, in place": (wrong, False),
        "a syntax error, by rename": (f"x = (\n{right}", True),
    }
    taken: dict[str, list[float]] = {name: [] for name in kinds}
    grades: list[float] = []
    before = load()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "my_solution.py")
        file.write_text(wrong)
        whole(folder, exercise, file)
        session = Session(folder, exercise, file)
        for number in range(chosen.n):
            for name, (text, by_rename) in kinds.items():
                time.sleep(PAUSE_S)
                # A line more each time, so that no two saves are of equal bytes.
                taken[name].append(
                    session.save(f"{text}\n# {number} {name}\n", by_rename=by_rename)
                )
            grades.append(whole(folder, exercise, file))
        ended = session.stop()
    print(f"{os.cpu_count()} cores, Python {platform.python_version()}, load {before} to {load()}")
    print(f"{chosen.n} of each, in turn{'':17s}  median     min     max (ms)  under 0.5 s")
    for name, seconds in taken.items():
        print(summary(name, seconds))
    print(summary("a whole `grade` (syntax error)", grades))
    print(f"first verdict after {session.first_s:.2f} s; ended {ended:.2f} s after Ctrl-C")


if __name__ == "__main__":
    main()
