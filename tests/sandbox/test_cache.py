"""The cache of compiled programs: only our own is used, and no learner sees a program in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from grader import warming
from grader.records.submission import Submission
from grader.sandbox import cache

OWNED = pytest.mark.skipif(not hasattr(os, "getuid"), reason="this platform has no user ids")


@OWNED
def test_a_folder_that_others_may_write_to_is_not_used(tmp_path: Path) -> None:
    cache.mark(tmp_path, cache.WORKS)
    tmp_path.chmod(0o700)
    assert cache.usable(tmp_path) == str(tmp_path)
    tmp_path.chmod(0o777)
    assert cache.usable(tmp_path) is None


@OWNED
def test_a_folder_that_was_never_hit_is_not_used(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    cache.mark(tmp_path, cache.NEVER_HITS)
    assert cache.usable(tmp_path) is None


def test_what_a_warming_program_defines_is_not_left_for_a_learners_child(tmp_path: Path) -> None:
    for name in ("jit_reduce_all-00-cache", "jit__lambda-01-cache", "jit_add-02-cache"):
        (tmp_path / name).write_bytes(b"")
    program = Submission("warm.py", "warm.py", b"def reduce_all(x):\n    return x\n")
    warming.prune(tmp_path, [program])
    assert [path.name for path in tmp_path.iterdir()] == ["jit_add-02-cache"]
