"""Bulk grading beside the plain way: whole commands in turn, as ratios.

A class of different correct submissions (the accepted solutions, each copy with a line of its own)
is graded with full confinement and receipts written, in turn with `check_one.py` over some of the
same files, one at a time and two at a time. `--scale` measures how cost and memory grow instead.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ACCEPTED = ROOT / "solutions" / "distributed-03" / "accepted"
# It needs its own mesh around the call, which the plain check does not make.
LEFT_OUT = {"explicit_axes.py"}
PEAK = (
    "import resource,sys;sys.stderr.write(str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))"
)


def write_class(folder: Path, count: int, forms: list[Path]) -> list[Path]:
    """Write `count` different submissions of these forms, one folder each."""
    made = []
    for number in range(count):
        form = forms[number % len(forms)]
        place = folder / f"learner-{number:04d}" / "my_solution.py"
        place.parent.mkdir(parents=True)
        text = form.read_text(encoding="utf-8")
        place.write_text(f"{text}\n# handed in by learner {number}\n", encoding="utf-8")
        made.append(place)
    return made


def environment(home: Path) -> dict[str, str]:
    """Return an environment with a cache and keys of this benchmark's own."""
    return {**os.environ, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}


def timed(command: list[str], env: dict[str, str], cwd: Path) -> float:
    """Return the seconds of one command, which must end well."""
    began = time.perf_counter()
    done = subprocess.run(command, env=env, cwd=cwd, capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"{command[:6]} ended with {done.returncode}: {done.stderr.decode()[-500:]}")
    return time.perf_counter() - began


def bulk(folder: Path, out: Path, env: dict[str, str], jobs: int | None) -> float:
    """Return the seconds of grading a class into a new results folder."""
    command = [sys.executable, "-m", "grader", "distributed-03", str(folder), "--out", str(out)]
    return timed([*command, "--quiet", *(["--jobs", str(jobs)] if jobs else [])], env, ROOT)


def plain(files: list[Path], at_once: int, env: dict[str, str]) -> float:
    """Return the seconds of checking files the plain way, some at a time."""

    def one(file: Path) -> float:
        return timed(
            [sys.executable, str(ROOT / "benchmarks" / "check_one.py"), str(file)], env, ROOT
        )

    began = time.perf_counter()
    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(one, files))
    return time.perf_counter() - began


def compare(args: argparse.Namespace, home: Path, forms: list[Path]) -> None:
    """Print rates and ratios of interleaved rounds."""
    env, rows = environment(home), []
    files = write_class(home / "class", args.count, forms)
    sample = files[: args.sample]
    bulk(home / "class", home / "warm", env, args.jobs)  # fills the cache of compiled programs
    for number in range(args.rounds):
        alone = len(sample) / plain(sample, 1, env)
        graded = len(files) / bulk(home / "class", home / f"out{number}", env, args.jobs)
        paired = len(sample) / plain(sample, 2, env)
        rows.append((graded, alone, paired))
        print(
            f"round {number + 1}: graded {graded:.2f}/s, plain {alone:.2f}/s "
            f"({graded / alone:.1f} x), two at a time {paired:.2f}/s ({graded / paired:.1f} x)",
            flush=True,
        )
    graded, alone, paired = (statistics.median(column) for column in zip(*rows, strict=True))
    print(f"median: {graded / alone:.1f} x one at a time, {graded / paired:.1f} x two at a time")


def scale(args: argparse.Namespace, home: Path, forms: list[Path]) -> None:
    """Print cost per submission, peak memory of the coordinator, and the cost of a second run."""
    env = environment(home)
    for count in args.scale:
        folder, out = home / f"class{count}", home / f"out{count}"
        write_class(folder, count, forms)
        words = ["distributed-03", str(folder), "--out", str(out), "--quiet"]
        program = f"import sys;sys.argv[1:]={words!r};from grader.cli.main import run;run();{PEAK}"
        for name in ("first", "second"):
            began = time.perf_counter()
            done = subprocess.run(
                [sys.executable, "-c", program], env=env, cwd=ROOT, capture_output=True, check=True
            )
            took = time.perf_counter() - began
            peak = int(done.stderr.split()[-1]) / 1024
            print(
                f"{count:5d} {name:6s} run: {took:7.1f} s, {1000 * took / count:7.1f} ms each, "
                f"{count / took:7.1f}/s, coordinator {peak:.0f} MiB",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--sample", type=int, default=12, help="files checked the plain way")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--forms", choices=["all", "starter"], default="all")
    parser.add_argument("--scale", type=int, nargs="+", metavar="COUNT")
    args = parser.parse_args()
    forms = [path for path in sorted(ACCEPTED.glob("*.py")) if path.name not in LEFT_OUT]
    if args.forms == "starter":
        forms = [ACCEPTED / "starter_filled.py"]
    with tempfile.TemporaryDirectory(prefix="grade-benchmark-") as folder:
        (scale if args.scale else compare)(args, Path(folder), forms)


if __name__ == "__main__":
    main()
