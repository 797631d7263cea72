"""Fill the cache of compiled programs once per machine, and test that it is ever hit.

Only the course's own warming programs run here, never a submission.
"""

from __future__ import annotations

import ast
from pathlib import Path

from grader import engine
from grader.catalog.load import Entry
from grader.records.submission import Submission
from grader.sandbox import cache
from grader.sandbox.host import ForkServer, SpawnHost, fork_is_safe


def programs(entry: Entry) -> list[Submission]:
    """Return the exercise's warming programs; none where it has none."""
    found = sorted((entry.rubric_folder / "warm").glob("*.py"))
    return [Submission(path.name, str(path), path.read_bytes()) for path in found]


def warm(entry: Entry, place: Path) -> str:
    """Fill `place`, test it, and return its state.

    Effects: writes the cache folder. Raises OSError where it cannot be written, Undecided where
    a warming program could not be run.
    """
    wanted = programs(entry)
    if not fork_is_safe() or not wanted or cache.state(place):
        return cache.state(place)
    with cache.filling(place) as fresh:
        writer = SpawnHost(str(fresh), fill=True)
        try:
            for program in wanted:
                engine.grade(entry, program, writer)
        finally:
            writer.close()
        prune(fresh / "learner", wanted)
        cache.mark(fresh, cache.WORKS if _hits(entry, wanted[0], fresh) else cache.NEVER_HITS)
    return cache.state(place)


def prune(folder: Path, wanted: list[Submission]) -> None:
    """Leave a learner's child nothing but JAX's own small operations.

    What the warming programs define is close to a solution, and compiled code can be read.
    """
    trees = [ast.parse(program.raw) for program in wanted]
    own = {n.name for tree in trees for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
    for path in folder.iterdir() if folder.is_dir() else ():
        name = path.name.partition("-")[0].removeprefix("jit_")
        if name in own or "lambda" in name:
            path.unlink()


def _hits(entry: Entry, program: Submission, place: Path) -> bool:
    reader = ForkServer(entry.course.secrets(), str(place))
    try:
        return engine.grade(entry, program, reader).cache_hits > 0
    finally:
        reader.close()
