"""Grading and keeping a class: one figure of docs/performance.md from each of these options.

Without any, a class of different correct submissions is graded with full confinement and receipts
written, in turn with `check_one.py` over some of the same files, one at a time and two at a time.
`--scale` shows how cost and memory grow with a class, `--again` how fast a run over an unchanged
folder is, `--exports` what the ledger, the files of a class and each export cost.

Wall seconds say little on a busy machine: CPU seconds stand beside them, of the command and of
everything that it started, and of several runs the least counts.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import classes
from classes import EXERCISE, ROOT

# /proc, because a process begins with its parent's peak in what getrusage tells.
PEAK = (
    "import resource,re,sys;u=resource.getrusage(resource.RUSAGE_SELF);"
    "sys.stderr.write('\\n%s %s' % (re.search(r'VmHWM:\\s+(\\d+)',"
    "open('/proc/self/status').read())[1], u.ru_utime+u.ru_stime))"
)
OWN_FORMS = ("gradescope", "github-classroom")  # of one learner, named with --learner


@dataclass(frozen=True)
class Cost:
    """What something took: wall seconds, and CPU seconds of all processes."""

    wall: float
    cpu: float


@contextlib.contextmanager
def measured(into: list[Cost]) -> Iterator[None]:
    """Add what the block costs, with the processes that it starts and waits for."""

    def spent() -> float:
        both = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return sum(one.ru_utime + one.ru_stime for one in both)

    wall, cpu = time.perf_counter(), spent()
    yield
    into.append(Cost(time.perf_counter() - wall, spent() - cpu))


def least(action: Callable[[], object], times: int) -> Cost:
    """Return the least wall and CPU seconds of several runs."""
    taken: list[Cost] = []
    for _ in range(times):
        with measured(taken):
            action()
    return Cost(min(one.wall for one in taken), min(one.cpu for one in taken))


def call(command: list[str], env: dict[str, str]) -> bytes:
    """Run one command, which must end well; returns what it said to stderr."""
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"{command[:6]} ended with {done.returncode}: {done.stderr.decode()[-500:]}")
    return done.stderr


def timed(command: list[str], env: dict[str, str]) -> float:
    """Return the seconds of one command, which must end well."""
    began = time.perf_counter()
    call(command, env)
    return time.perf_counter() - began


def say_machine(when: str) -> None:
    """Print what the figures are of, and how busy it is."""
    with contextlib.suppress(OSError):
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        model = next((line for line in text.splitlines() if line.startswith("model name")), "")
        load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
        print(
            f"{when}: {os.cpu_count()} cores, {model.partition(': ')[2]}, {platform.release()}, "
            f"Python {platform.python_version()}, load {load}",
            flush=True,
        )


# ----------------------------------------------------------------------------------- plain beside


def plain(files: list[Path], at_once: int, env: dict[str, str]) -> float:
    """Return the seconds of checking files the plain way, some at a time."""

    def one(file: Path) -> float:
        return timed([sys.executable, str(ROOT / "benchmarks" / "check_one.py"), str(file)], env)

    began = time.perf_counter()
    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(one, files))
    return time.perf_counter() - began


def compare(args: argparse.Namespace, home: Path) -> None:
    """Print rates and ratios of interleaved rounds."""
    env, rows = classes.environment(home), []
    files = classes.write_class(home / "class", args.count, classes.forms(args.forms))
    sample = files[: args.sample]
    jobs = ["--jobs", str(args.jobs)] if args.jobs else []
    # The first fills the cache of compiled programs.
    timed(classes.grade(home / "class", home / "warm", *jobs), env)
    for number in range(args.rounds):
        alone = len(sample) / plain(sample, 1, env)
        out = home / f"out{number}"
        graded = len(files) / timed(classes.grade(home / "class", out, *jobs), env)
        paired = len(sample) / plain(sample, 2, env)
        rows.append((graded, alone, paired))
        print(
            f"round {number + 1}: graded {graded:.2f}/s, plain {alone:.2f}/s "
            f"({graded / alone:.1f} x), two at a time {paired:.2f}/s ({graded / paired:.1f} x)",
            flush=True,
        )
    graded, alone, paired = (statistics.median(column) for column in zip(*rows, strict=True))
    print(f"median: {graded / alone:.1f} x one at a time, {graded / paired:.1f} x two at a time")


# ----------------------------------------------------------------------------------- as it grows


def scale(args: argparse.Namespace, home: Path) -> None:
    """Print cost per submission and peak memory of the coordinator, for each size of class.

    Starting up is shared by all, so what the class grows by is told besides: that has to stay flat.
    """
    env, texts = classes.environment(home), classes.forms(args.forms)
    classes.write_class(home / "warm", len(texts), texts)
    call(classes.grade(home / "warm", home / "warm-out"), env)
    before: tuple[int, float, float] | None = None
    for count in args.scale:
        folder, out = home / f"class{count}", home / f"out{count}"
        classes.write_class(folder, count, texts)
        words = classes.grade(folder, out)[3:]
        program = f"import sys;sys.argv[1:]={words!r};from grader.cli.main import run;run();{PEAK}"
        for name in ("first", "second"):
            taken: list[Cost] = []
            with measured(taken):
                said = call([sys.executable, "-c", program], env)
            peak, own = said.split()[-2:]
            cost, each = taken[0], 1000 * taken[0].cpu / count
            mib = int(peak) / 1024
            print(
                f"{count:5d} {name:6s} run: {cost.wall:7.1f} s, {1000 * cost.wall / count:7.1f} ms "
                f"each; CPU {each:6.1f} ms each, of which coordinator "
                f"{1000 * float(own) / count:5.1f}; coordinator's peak {mib:.0f} MiB",
                end="",
            )
            if name == "first":
                if before is not None:
                    more = 1000 * (cost.cpu - before[1]) / (count - before[0])
                    grown = mib - before[2]
                    print(f" ({grown:+.0f} MiB; each further one {more:.1f} ms of CPU)", end="")
                before = count, cost.cpu, mib
            print(flush=True)


# ------------------------------------------------------------------------------- what is known


def again(args: argparse.Namespace, home: Path) -> None:
    """Print how fast a run over an unchanged folder is."""
    env = classes.environment(home)
    known = classes.learn(home, classes.forms(args.forms), env)
    for count in args.again:
        folder, out = home / f"class{count}", home / f"out{count}"
        files = classes.write_class(folder, count, known.texts)
        classes.keep(out, classes.entered(known, files))
        line = classes.grade(folder, out)
        before: list[Cost] = []
        with measured(before):
            call(line, env)  # writes the receipts and the files of the class
        cost = least(lambda line=line: call(line, env), args.rounds)  # type: ignore[misc]
        print(
            f"{count:5d} unchanged: {cost.wall:6.2f} s, {count / cost.wall:6.0f}/s; CPU "
            f"{cost.cpu:6.2f} s, {count / cost.cpu:6.0f}/s; writing all of their receipts before "
            f"took {before[0].wall:.1f} s, CPU {before[0].cpu:.1f} s",
            flush=True,
        )


def exports(args: argparse.Namespace, home: Path) -> None:
    """Print what the ledger, the files of a class and each export cost."""
    env, count = classes.environment(home), args.exports
    known = classes.learn(home, classes.forms(args.forms), env)
    every: list[tuple[str, Cost]] = []

    def say(name: str, cost: Cost) -> None:
        every.append((name, cost))
        print(f"{name:32s} {cost.wall:6.2f} s, CPU {cost.cpu:6.2f} s", flush=True)

    for layout in ("canvas", "moodle"):
        folder, out = home / f"in-{layout}", home / f"out-{layout}"
        attempts = classes.entered(
            known, classes.write_class(folder, count, known.texts, layout=layout)
        )
        taken: list[Cost] = []
        with measured(taken):
            classes.keep(out, attempts)
        call(classes.grade(folder, out), env)
        if layout == "canvas":
            say("ledger", taken[0])
            for name, cost in of_class(out, args.rounds).items():
                say(name, cost)
        filled = classes.template(home / f"{layout}.csv", layout, count)
        for form, options in wanted(layout, str(filled), out).items():
            line = [sys.executable, "-m", "grader", "export", str(out), "--to", form, *options]
            say(f"export --to {form}", least(lambda line=line: call(line, env), args.rounds))  # type: ignore[misc]
    parts = [one for name, one in every if not name.startswith("export")]
    for name, chosen in (("ledger and files", parts), ("all", [one for _, one in every])):
        total = Cost(sum(one.wall for one in chosen), sum(one.cpu for one in chosen))
        print(f"{name:32s} {total.wall:6.2f} s, CPU {total.cpu:6.2f} s")


def of_class(out: Path, rounds: int) -> dict[str, Cost]:
    """Return what the gradebook and each file of the class cost once the ledger is there."""
    from grader.catalog import course
    from grader.catalog.load import entry as load
    from grader.cli import settle
    from grader.gradebook import exports as formats
    from grader.gradebook import report
    from grader.gradebook.book import gradebook, told
    from grader.gradebook.ledger import Ledger

    found = course.find(str(ROOT))
    entry = load(found, EXERCISE)
    with Ledger(out / EXERCISE / "ledger.sqlite") as ledger:
        book = gradebook(ledger, entry, each=told)
        return {
            "gradebook out of the ledger": least(
                lambda: gradebook(ledger, entry, each=told), rounds
            ),
            "gradebook.csv": least(lambda: formats.export("csv", book), rounds),
            "report.html": least(lambda: report.report(book, found.templates), rounds),
            "summary.json": least(lambda: settle.summary(book), rounds),
        }


def wanted(layout: str, filled: str, out: Path) -> dict[str, list[str]]:
    """Return the exports of a class of this layout with their options."""
    if layout == "moodle":
        return {"moodle": ["--template", filled], "moodle-feedback": []}
    one = sorted(place.name for place in (out / EXERCISE / "receipts").iterdir())[0]
    return {
        "csv": [],
        "json": [],
        "junit": [],
        "canvas": ["--template", filled],
        "canvas-feedback": [],
        **{form: ["--learner", one] for form in OWN_FORMS},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--sample", type=int, default=12, help="files checked the plain way")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--forms", choices=["all", "starter", "mixed", "cheap"], default="all")
    parser.add_argument("--scale", type=int, nargs="+", metavar="COUNT")
    parser.add_argument("--again", type=int, nargs="+", metavar="COUNT")
    parser.add_argument("--exports", type=int, metavar="COUNT")
    args = parser.parse_args()
    chosen = scale if args.scale else again if args.again else exports if args.exports else compare
    say_machine("before")
    with tempfile.TemporaryDirectory(prefix="grade-benchmark-") as folder:
        chosen(args, Path(folder))
    say_machine("after")


if __name__ == "__main__":
    main()
