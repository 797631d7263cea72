"""What confinement costs: whole grades with it and without it, in turn, on a warm cache.

Without it, the same children are forked and run, and no layer is put on. Nothing in the program can
do that: the fork server is started here with the layers taken out.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

from grader import engine, intake
from grader.catalog.course import Course
from grader.catalog.load import Entry, entry
from grader.sandbox import cache
from grader.sandbox.host import ForkServer
from grader.warming import warm

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "solutions" / "distributed-03" / "accepted" / "starter_filled.py"
_BARE = (
    "from grader.sandbox import confine as w;w.confine=lambda p,*_:(__import__('os')"
    ".chdir(p.workdir),tuple(w.LayerState(n,'off','left out') for n in w.LAYERS))[1];"
)


class Bare(ForkServer):
    """A fork server whose children are not confined."""

    before = _BARE


def one(exercise: Entry, place: str | None, kind: type[ForkServer]) -> float:
    """Return the seconds of one grade on a fork server that has loaded JAX already."""
    submission = intake.read(str(FILE))
    host = kind(exercise.course.secrets(), place)
    try:
        engine.grade(exercise, submission, host)
        began = time.perf_counter()
        receipt = engine.grade(exercise, submission, host).receipt
        took = time.perf_counter() - began
    finally:
        host.close()
    level = receipt.environment.confinement.level
    if receipt.points != receipt.max_points or (level == "none") != (kind is Bare):
        sys.exit(f"not what was to be measured: {receipt.points} points, {level} confinement")
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    exercise = entry(Course(ROOT), "distributed-03")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "cache")
        filled = warm(exercise, place) == cache.WORKS
        kept = str(place) if filled else None
        pairs = []
        for number in range(runs):
            # Each first in turn, so that a drift of the machine favours neither.
            order = (ForkServer, Bare) if number % 2 else (Bare, ForkServer)
            took = {kind: one(exercise, kept, kind) for kind in order}
            pairs.append((took[ForkServer], took[Bare]))
            print(f"{number + 1:3d}  confined {pairs[-1][0]:.3f} s  bare {pairs[-1][1]:.3f} s")
    confined, bare = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratios = sorted(a / b for a, b in pairs)
    print(f"median confined {confined:.3f} s, bare {bare:.3f} s, ratio {confined / bare:.3f}")
    print(f"ratio of pairs: {ratios[0]:.3f} to {ratios[-1]:.3f}, median {ratios[runs // 2]:.3f}")


if __name__ == "__main__":
    main()
