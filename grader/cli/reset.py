"""`grade reset EXERCISE [FILE]`: begin a file again from the starter; the old one is kept aside."""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
import shutil
import stat
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import count
from pathlib import Path

import click

from grader.catalog import course as courses
from grader.catalog.load import entry
from grader.cli import options
from grader.cli.early import EXERCISE
from grader.cli.paragraphs import say
from grader.cli.start import grading, starter
from grader.errors import EnvironmentProblem, UsageProblem
from grader.receipt.escape import visible_line

Link = Callable[[Path, Path], None]
_ENDINGS = (".py", ".ipynb")
# A name may have 255 bytes; the date, a number and the ending need the rest.
_MOST_STEM_BYTES = 200


@click.command("reset")
@click.argument("exercise")
@click.argument("file", required=False, metavar="[FILE]")
@options.course
def command(exercise: str, file: str | None, course: str | None) -> None:
    """Begin the file of EXERCISE again from the starter; the old file is kept beside it.

    FILE is EXERCISE.py or EXERCISE.ipynb, whichever lies here. Receipts, hints and answers stay.

    Example: grade reset distributed-03
    """
    found = entry(courses.find(course), exercise)
    place = Path(file) if file is not None else _here(exercise)
    state = _ordinary(place, exercise)
    data = starter(found, place.suffix.lower())
    name = visible_line(str(place))
    if state.st_size == len(data) and _content(place) == data:
        say(f"{name} is still as the starter was: there is nothing to reset")
        say(f"  Fill in a part, then: {grading(exercise, str(place))}")
        return
    aside = begin_again(place, state, data)
    say(f"{name} begins again from the starter")
    say(f"  your file is kept as {visible_line(str(aside))}")
    say("  receipts, hints and answers stay as they are")
    say(f"  Fill in a part, then: {grading(exercise, str(place))}")


def _here(exercise: str) -> Path:
    """Return the one file of an exercise that lies in this folder."""
    found = [
        name for name in (f"{exercise}{ending}" for ending in _ENDINGS) if os.path.lexists(name)
    ]
    if len(found) == 1:
        return Path(found[0])
    if found:
        raise UsageProblem(
            f"{found[0]} and {found[1]} both lie here",
            next_step=f"name one: grade reset {exercise} {found[0]}",
        )
    raise UsageProblem(
        f"there is no {exercise}.py and no {exercise}.ipynb in this folder",
        next_step=f"to begin: grade start {exercise}; of another name: grade reset {exercise} FILE",
    )


def _ordinary(place: Path, exercise: str) -> os.stat_result:
    """Return the state of a file that can be reset. Raises: UsageProblem, EnvironmentProblem."""
    name = visible_line(str(place))
    try:
        state = place.lstat()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        # `grade start` makes a folder that is not there yet.
        folder = shlex.quote(visible_line(str(place.parent)))
        start = f"grade start {exercise}{'' if folder == '.' else f' {folder}'}"
        raise UsageProblem(f"there is no file {name}", next_step=f"to begin: {start}") from None
    except OSError as error:
        raise _untouched(f"{name} cannot be read", error) from error
    if stat.S_ISLNK(state.st_mode):
        raise UsageProblem(
            f"{name} is a link, and is left as it is",
            next_step=f"name the file that it points to: {visible_line(os.path.realpath(place))}",
        )
    if stat.S_ISDIR(state.st_mode):
        raise UsageProblem(
            f"{name} is a folder, and one file is wanted here",
            next_step=f"grade reset {exercise} {shlex.quote(f'{name}/{exercise}.py')}",
        )
    if not stat.S_ISREG(state.st_mode):
        raise UsageProblem(f"{name} is no ordinary file", next_step="name a .py or .ipynb file")
    if place.suffix.lower() not in _ENDINGS:
        raise UsageProblem(
            f"{name} is neither a .py nor a .ipynb file", next_step="name the file you work in"
        )
    if EXERCISE.match(place.stem) and place.stem != exercise:
        raise UsageProblem(
            f"{name} has the name of another exercise, {place.stem}",
            next_step=f"grade reset {place.stem} {shlex.quote(name)}",
        )
    return state


def _content(place: Path) -> bytes:
    try:
        return place.read_bytes()
    except OSError as error:
        raise _untouched(f"{visible_line(str(place))} cannot be read", error) from error


def _untouched(what: str, error: OSError) -> EnvironmentProblem:
    return EnvironmentProblem(
        f"{what}: {error.strerror}; nothing was changed",
        next_step="check the permissions of the file and its folder",
    )


def begin_again(place: Path, state: os.stat_result, data: bytes, link: Link = os.link) -> Path:
    """Put the starter in a file's place and return where the file is kept now.

    The file stays under its own name until the starter, written whole, takes that name in one step.

    Raises: UsageProblem where the file is not what `state` says any more, EnvironmentProblem;
        nothing has changed then.
    """
    fresh = place.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with _written(fresh, data):
            aside = _kept(place, link)
            try:
                _refuse_saved(place, state)
                os.replace(fresh, place)
            except BaseException:
                _drop(aside, place, state)
                raise
    except OSError as error:
        raise _untouched(f"{visible_line(str(place))} cannot be reset", error) from error
    return aside


def _refuse_saved(place: Path, then: os.stat_result) -> None:
    now = place.lstat()
    same = (now.st_mtime_ns, now.st_size) == (then.st_mtime_ns, then.st_size)
    if not same or not os.path.samestat(now, then):
        raise UsageProblem(
            f"{visible_line(str(place))} was saved just now; nothing was changed",
            next_step="close it in your editor, then run it again",
        )


def _drop(aside: Path, place: Path, state: os.stat_result) -> None:
    """Remove the second name again, but only while the file still has its first."""
    with contextlib.suppress(OSError):
        if os.path.samestat(place.lstat(), state):
            aside.unlink()


@contextlib.contextmanager
def _written(path: Path, data: bytes, *, keep: bool = False) -> Iterator[None]:
    """Write a new file whole; remove it when the block ends, with `keep` only when it fails.

    Raises: FileExistsError where there is one, which is left as it is.
    """
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
    handle = os.open(path, flags, 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        yield
    except BaseException:
        keep = False
        raise
    finally:
        if not keep:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)


def _kept(place: Path, link: Link) -> Path:
    """Give a file a second name, beside its own, that no file has yet; return it."""
    stem = place.stem.encode(errors="surrogateescape")[:_MOST_STEM_BYTES].decode(errors="ignore")
    when = datetime.now().strftime("%Y-%m-%dT%H-%M-%S")
    for number in count(1):
        again = f"-{number}" if number > 1 else ""
        aside = place.with_name(f"{stem}.{when}{again}{place.suffix}")
        try:
            _second(place, aside, link)
        except FileExistsError:
            continue
        return aside
    raise AssertionError


def _second(place: Path, aside: Path, link: Link) -> None:
    try:
        link(place, aside)
    except FileExistsError:
        raise
    except OSError:
        # A file system without hard links.
        with _written(aside, place.read_bytes(), keep=True):
            shutil.copystat(place, aside)
