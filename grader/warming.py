"""Fill the cache of compiled programs once per machine, and test that it is ever hit.

Only the course's own warming program runs here, never a submission.
"""

from __future__ import annotations

from pathlib import Path

from grader import engine
from grader.catalog.load import Entry
from grader.records.submission import Submission
from grader.sandbox import cache
from grader.sandbox.host import ForkServer, SpawnHost, fork_is_safe


def source(entry_folder: Path) -> Submission | None:
    """Return the exercise's warming program, None where it has none."""
    path = entry_folder / "warm.py"
    try:
        return Submission("warm.py", str(path), path.read_bytes())
    except OSError:
        return None


def warm(entry: Entry, program: Submission, place: Path) -> str:
    """Fill `place`, test it, and return its state.

    Effects: writes the cache folder. Raises OSError where it cannot be written, Undecided where
    the warming program could not be run.
    """
    if not fork_is_safe() or cache.state(place):
        return cache.state(place)
    with cache.filling(place) as fresh:
        writer = SpawnHost(str(fresh), fill=True)
        try:
            engine.grade(entry, program, writer)
        finally:
            writer.close()
        cache.mark(fresh, cache.WORKS if _hits(entry, program, fresh) else cache.NEVER_HITS)
    return cache.state(place)


def _hits(entry: Entry, program: Submission, place: Path) -> bool:
    reader = ForkServer(entry.course.secrets(), str(place))
    try:
        return engine.grade(entry, program, reader).cache_hits > 0
    finally:
        reader.close()
