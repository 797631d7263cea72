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
from grader.process import Child
from grader.sandbox import cache
from grader.sandbox.host import ForkServer
from grader.sandbox.launching import Allowance
from grader.warming import warm

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "solutions" / "distributed-03" / "accepted" / "starter_filled.py"
_BARE = (
    "from grader.sandbox import confine as w;w.confine=lambda p,*_:(__import__('os')"
    ".chdir(p.workdir),tuple(w.LayerState(n,'off','left out') for n in w.LAYERS))[1];"
)


class Counted(ForkServer):
    """A fork server that keeps how many CPU seconds its children took."""

    def start(self, entry: str, workdir: str, allowance: Allowance) -> Child:
        child = super().start(entry, workdir, allowance)
        self.handles = [*getattr(self, "handles", []), child._handle]
        return child


class Bare(Counted):
    """A fork server whose children are not confined."""

    before = _BARE


def one(exercise: Entry, place: str | None, kind: type[Counted]) -> tuple[float, float]:
    """Return wall and CPU seconds of one grade on a fork server that has loaded JAX already."""
    submission = intake.read(str(FILE))
    host = kind(exercise.course.secrets(), place)
    try:
        engine.grade(exercise, submission, host)
        host.handles = []
        began = time.perf_counter()
        receipt = engine.grade(exercise, submission, host).receipt
        took = time.perf_counter() - began
        cpu_s = sum(handle.wait(5.0).cpu_s for handle in host.handles)
    finally:
        host.close()
    level = receipt.environment.confinement.level
    if receipt.points != receipt.max_points or (level == "none") != (kind is Bare):
        sys.exit(f"not what was to be measured: {receipt.points} points, {level} confinement")
    return took, cpu_s


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
            order = (Counted, Bare) if number % 2 else (Bare, Counted)
            took = {kind: one(exercise, kept, kind) for kind in order}
            pairs.append((*took[Counted], *took[Bare]))
            wall, cpu, bare_wall, bare_cpu = pairs[-1]
            print(
                f"{number + 1:3d}  confined {wall:.3f} s (CPU {cpu:.3f})"
                f"  bare {bare_wall:.3f} s (CPU {bare_cpu:.3f})"
            )
    columns = list(zip(*pairs, strict=True))
    for name, with_it, without in (("wall", 0, 2), ("CPU", 1, 3)):
        for what, of in (("median", statistics.median), ("least", min)):
            a, b = of(columns[with_it]), of(columns[without])
            print(f"{name} {what}: confined {a:.3f} s, bare {b:.3f} s, ratio {a / b:.3f}")


if __name__ == "__main__":
    main()
