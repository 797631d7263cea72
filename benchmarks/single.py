"""How long one grade takes beside a plain run of the same file: whole processes, in turn.

    python benchmarks/single.py [-n RUNS] [FILE]

Prints the median, minimum and maximum of both, the ratio run by run, and where the time goes
inside one grade. The first grade of a machine fills the cache and is not counted.
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

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "solutions" / "distributed-03" / "accepted" / "starter_filled.py"


def timed(command: list[str], folder: str) -> tuple[float, str]:
    """Return the wall seconds of a whole process and what it said on stderr."""
    start = time.perf_counter()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return seconds, done.stderr


def summary(label: str, seconds: list[float]) -> str:
    """Return one row: median, minimum and maximum in milliseconds."""
    ms = [1000 * s for s in seconds]
    return f"{label:34s} {statistics.median(ms):7.0f} {min(ms):7.0f} {max(ms):7.0f}"


def processor() -> str:
    """Return the processor's name, as far as this platform tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    return next((x.split(":")[1].strip() for x in lines if x.startswith("model name")), "unknown")


def main() -> None:
    """Run both commands in turn and print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path, default=REFERENCE)
    parser.add_argument("-n", type=int, default=15, help="counted runs of each (default 15)")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "my_solution.py")
        file.write_bytes(chosen.file.read_bytes())
        grade = [sys.executable, "-m", "grader", "distributed-03", file.name]
        plain = [sys.executable, file.name]
        for _ in range(2):
            timed(grade, folder)
            timed(plain, folder)
        grades, plains = [], []
        for _ in range(chosen.n):
            grades.append(timed(grade, folder)[0])
            plains.append(timed(plain, folder)[0])
        _, stages = timed([*grade, "--timings"], folder)
    ratios = [g / p for g, p in zip(grades, plains, strict=True)]
    print(f"{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print(f"{chosen.n} runs each, in turn{'':19s}  median     min     max  (ms)")
    print(summary("grade distributed-03 FILE", grades))
    print(summary("python FILE", plains))
    middle, low, high = statistics.median(ratios), min(ratios), max(ratios)
    print(f"ratio, run by run: median {middle:.2f}, min {low:.2f}, max {high:.2f}")
    print("where the time goes in one grade:")
    print("\n".join("  " + line for line in stages.splitlines()))


if __name__ == "__main__":
    main()
