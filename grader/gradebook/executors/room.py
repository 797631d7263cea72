"""What a Dask worker holds during one run: the exercise in a private folder, and a warm engine.

The worker itself never imports JAX, the fork server that it starts does.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import shutil
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from grader import secret
from grader.catalog.course import Course
from grader.catalog.load import Entry
from grader.catalog.load import entry as load
from grader.errors import ContentProblem, EnvironmentProblem
from grader.gradebook import versions
from grader.gradebook.executors import Result, Task
from grader.gradebook.executors.local import Local, Terms
from grader.sandbox import cache
from grader.sandbox.host import Host, open_host

try:
    import distributed
    from distributed import WorkerPlugin as _Plugin
except ImportError:  # the extra is not installed, which the executor says
    distributed = None
    _Plugin = object

Warm = Callable[[Entry, Path | None], Path | None]
MOST_COURSE_BYTES = 64 << 20


def facts() -> dict[str, str]:
    """Return what a grade depends on where this runs: versions, and the grader's own code."""
    found: dict[str, str] = json.loads(versions.environment())
    package = Path(versions.__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        if "course" not in path.relative_to(package).parts[:1]:
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    found["code of grade"] = digest.hexdigest()[:12]
    return found


def differs(here: Mapping[str, str], there: object, worker: str) -> EnvironmentProblem | None:
    """Return why a worker may not grade for this machine, None where it may."""
    if not isinstance(there, dict):
        return unloadable(f"worker {worker}", there)
    unequal = [
        f"{name} {there.get(name) or 'none'} (here {here.get(name) or 'none'})"
        for name in sorted(here.keys() | there.keys())
        if here.get(name) != there.get(name)
    ]
    if not unequal:
        return None
    return EnvironmentProblem(
        f"a worker has {', '.join(unequal)}: its results would not be comparable",
        where=worker,
        next_step="install the same versions here and there, or start that worker in the same "
        "environment",
    )


def unloadable(who: str, error: object) -> EnvironmentProblem:
    """Return that a worker could not import what a task needs."""
    return EnvironmentProblem(
        f"{who} cannot load grade: {type(error).__name__}: {error}",
        next_step="pip install 'shardgrade[dask]' of the same version where the workers run",
    )


@dataclass(frozen=True)
class Shipped:
    """Everything that a worker is sent: the files of the exercise by relative path, and the terms.

    It holds the course secret, so nothing shows it.
    """

    exercise: str
    files: Mapping[str, bytes]
    course_secret: bytes
    only_full: bool
    forbidden: tuple[str, ...]
    facts: Mapping[str, str]

    def __repr__(self) -> str:
        return f"Shipped({self.exercise})"

    @classmethod
    def of(cls, terms: Terms, forbidden: list[str], here: Mapping[str, str]) -> Shipped:
        """Return what the workers need. Raises: ContentProblem: it is too much, or it changed."""
        entry = terms.entry
        files = {
            path.relative_to(entry.course.root).as_posix(): path.read_bytes()
            for folder in (entry.folder, entry.rubric_folder)
            for path in sorted(folder.rglob("*"))
            if path.is_file() and "__pycache__" not in path.parts
        }
        if sum(map(len, files.values())) > MOST_COURSE_BYTES:
            raise ContentProblem(
                f"{entry.exercise.id} has more than {MOST_COURSE_BYTES >> 20} MiB of files, too "
                "many to send to every worker",
                where=str(entry.rubric_folder),
                next_step="move away what the grader does not read, or use --executor local",
            )
        if replace(entry).digest != entry.digest:
            raise ContentProblem(
                f"the files of {entry.exercise.id} changed after they were read",
                where=str(entry.rubric_folder),
                next_step="run the same command again",
            )
        return cls(
            entry.exercise.id, files, terms.course_secret, terms.only_full, tuple(forbidden), here
        )


class Room(_Plugin):  # type: ignore[misc]  # Any, where Dask may be missing
    """One run's engine on one worker; it is made when the first task asks for it.

    Effects: a private folder with the exercise and one fork server, both gone after `teardown`.
    """

    def __init__(self, shipped: Shipped, warm: Warm | None) -> None:
        self._shipped = shipped
        self._warm = warm

    def setup(self, worker: Any) -> None:
        """Note where this is; a failure here would go unseen, so the tasks say what is wrong."""
        self._lock = threading.Lock()
        # Dask removes this folder itself when a worker was killed, once another one starts there.
        self._scratch, self._worker = worker.local_directory, worker.address
        self._folder: Path | None = None
        self._terms: Terms | None = None
        self._cache: str | None = None
        self._server: Host | None = None
        self._closed = False

    async def teardown(self, worker: Any) -> None:
        """End the engine and remove the exercise, beside the worker's loop."""
        await asyncio.to_thread(self._close)

    def grade(self, task: Task) -> Result:
        """Return the result of one task. Raises: EnvironmentProblem, naming this worker."""
        try:
            [result] = Local(self._ready(), self._host, 1).run([task])
        except EnvironmentProblem as error:
            where = "; ".join(filter(None, (error.where, f"worker {self._worker}")))
            raise EnvironmentProblem(error.what, where=where, next_step=error.next_step) from error
        except OSError as error:
            raise EnvironmentProblem(
                f"a worker's machine does not let it go on: {error.strerror or error}",
                where=self._worker,
                next_step="make room on its disk, or give it less to do; the same command goes on "
                "from there",
            ) from error
        return result

    def _ready(self) -> Terms:
        with self._lock:
            if self._terms is None:
                self._refuse_closed()
                problem = differs(self._shipped.facts, facts(), self._worker)
                if problem is not None:
                    raise EnvironmentProblem(problem.what, next_step=problem.next_step)
                self._terms = self._unpacked()
            return self._terms

    def _unpacked(self) -> Terms:
        shipped = self._shipped
        try:
            self._folder = Path(tempfile.mkdtemp(prefix="grade-", dir=self._scratch))
            for name, content in shipped.files.items():
                (self._folder / name).parent.mkdir(parents=True, exist_ok=True)
                (self._folder / name).write_bytes(content)
        except OSError as error:
            raise EnvironmentProblem(
                f"the exercise cannot be unpacked: {error.strerror or error}",
                where=self._scratch,
                next_step="give the worker room there, or another --local-directory",
            ) from error
        entry = load(Course(self._folder), shipped.exercise)
        # Now, because threads that come at once would each load it.
        _ = entry.oracle, entry.digest, entry.given_names
        if self._warm is not None:
            place = self._warm(entry, cache.folder(entry.rubric_folder / "warm"))
            self._cache = cache.usable(place) if place is not None else None
        return Terms(entry, shipped.course_secret, shipped.only_full)

    def _host(self) -> Host:
        """Return the server that all tasks share, a new one where it died."""
        with self._lock:
            self._refuse_closed()
            if self._server is None or not self._server.alive():
                assert self._terms is not None
                forbidden = [*self._terms.entry.course.secrets(), *self._shipped.forbidden]
                with suppress(RuntimeError):  # no home directory, so no keys in it
                    forbidden.append(str(secret.home()))
                self._server = open_host(forbidden, self._cache, many=True)
            return self._server

    def _refuse_closed(self) -> None:
        if self._closed:
            raise EnvironmentProblem(
                "the run was ended while this waited", next_step="run the same command again"
            )

    def _close(self) -> None:
        with self._lock:
            self._closed = True
            server, self._server = self._server, None
            if server is not None:
                server.close()
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)


def grade(room: str, task: Task) -> Result:
    """Return the result of one task, graded on the worker that runs this."""
    found = distributed.get_worker().plugins.get(room)
    if not isinstance(found, Room):
        raise EnvironmentProblem(
            "a worker has no engine for this run",
            next_step="look into its log, then run the same command again",
        )
    return found.grade(task)
