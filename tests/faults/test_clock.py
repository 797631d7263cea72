"""The wall clock may jump: it dates a receipt and decides nothing."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

import grader
from grader.records.receipt import Receipt
from tests.command import EXERCISE
from tests.faults.aftermath import the_next_run_works
from tests.faults.moments import FILLED, NAME
from tests.hostile.stage import Stage

PACKAGE = Path(grader.__file__).parent
_WALL_CLOCK = {"time.time", "time.time_ns", "time.localtime", "time.gmtime", "time.ctime"}
_NOW = ("now", "utcnow", "today")
# The dates of receipts, attempts, overrides and portfolios; the age of a lock, told by a file's own
# date.
ALLOWED = {
    "cli/portfolio.py": {"datetime.now"},
    # The name under which an old file is kept aside.
    "cli/reset.py": {"datetime.now"},
    "engine.py": {"datetime.now"},
    "receipt/lock.py": {"time.time"},
}
# Whenever it is asked, the wall clock has jumped: an hour on, a day back, ten years on, and so on.
_JUMPY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
#include <sys/time.h>

static long jump(void) {
    static const long steps[] = {3600, -86400, 315360000, -315360000, 0, 59, -1};
    static unsigned asked;
    return steps[__atomic_fetch_add(&asked, 1, __ATOMIC_RELAXED) % 7];
}

int clock_gettime(clockid_t clock, struct timespec *at) {
    static int (*genuine)(clockid_t, struct timespec *);
    if (!genuine)
        genuine = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = genuine(clock, at);
    if (result == 0 && clock == CLOCK_REALTIME) at->tv_sec += jump();
    return result;
}

time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval *at, void *zone) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}
"""


def wall_clock_calls(path: Path) -> set[str]:
    """Return the calls in a file that ask for the time of day."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = ast.unparse(node.func)
            if name in _WALL_CLOCK or node.func.attr in _NOW:
                found.add(name)
    return found


@pytest.mark.once
@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_nothing_but_a_date_is_read_from_the_wall_clock(path: Path) -> None:
    assert wall_clock_calls(path) <= ALLOWED.get(path.relative_to(PACKAGE).as_posix(), set())


@pytest.mark.slow
@pytest.mark.once
@pytest.mark.skipif(sys.platform != "linux", reason="preloads a library as Linux does")
@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler to make a jumping clock")
def test_a_clock_that_jumps_changes_no_verdict(tmp_path: Path) -> None:
    source, library = tmp_path / "jumpy.c", tmp_path / "jumpy.so"
    source.write_text(_JUMPY, encoding="utf-8")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    stage = Stage(tmp_path / "stage")
    stage.set()
    stage.put(NAME, FILLED)
    for _again in range(3):
        ended = stage.run(
            EXERCISE, "--no-cache", "--out", stage.out, "--", NAME, LD_PRELOAD=str(library)
        )
        assert (ended.code, ended.left) == (0, []), ended.stderr
        receipt = Receipt.model_validate_json(stage.receipts("solution")["json"])
        assert receipt.points == receipt.max_points
        # A span is no difference of dates.
        assert 0 < receipt.wall_s < 300
        assert datetime.fromisoformat(receipt.created_at).tzinfo is not None
    the_next_run_works(stage)
    kept = [path for path in stage.files() if path.parent.name == "history"]
    assert len([path for path in kept if path.name.startswith("solution.")]) == 9
