"""Grade side by side on this machine, all from one warm fork server.

A task that the machine could not do is tried once more on a new server; it must never take another
task down with it.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from grader import engine
from grader.catalog.load import Entry
from grader.errors import Undecided
from grader.gradebook.executors import Result, Task
from grader.process import start
from grader.receipt.render import to_json
from grader.sandbox.host import Host

CLOSE_S = 5.0
OpenHost = Callable[[], Host]


@dataclass(frozen=True)
class Terms:
    """What every task is graded under."""

    entry: Entry
    course_secret: bytes
    only_full: bool


class Local:
    """Worker threads that share one host; the children do the work, so threads are enough."""

    def __init__(self, terms: Terms, open_host: OpenHost, jobs: int) -> None:
        self._terms = terms
        self._open_host = open_host
        self._jobs = jobs
        self._lock = threading.Lock()
        self._host: Host | None = None
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    def run(self, tasks: Iterable[Task]) -> Iterator[Result]:
        """Give results as they come; see `Executor.run`.

        Raises: EnvironmentProblem where confinement has to be full and is not; nothing is graded.
        """
        waiting = iter(tasks)
        done: queue.SimpleQueue[Result | BaseException | None] = queue.SimpleQueue()

        def work() -> None:
            try:
                while not self._stop.is_set():
                    with self._lock:
                        task = next(waiting, None)
                    if task is None:
                        break
                    done.put(self._one(task))
            except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
                done.put(error)
            finally:
                done.put(None)

        self._threads = [threading.Thread(target=work, daemon=True) for _ in range(self._jobs)]
        for thread in self._threads:
            start(thread)
        try:
            left = len(self._threads)
            while left:
                item = done.get()
                if isinstance(item, BaseException):
                    raise item
                if item is None:
                    left -= 1
                else:
                    yield item
        finally:
            self._stop.set()

    def close(self) -> None:
        """End the server and with it every child, and wait until no thread needs it."""
        self._stop.set()
        with self._lock:
            host, self._host = self._host, None
        if host is not None:
            host.close()
        for thread in self._threads:
            thread.join(CLOSE_S)

    def _one(self, task: Task) -> Result:
        problem = Undecided("the grader was told to end")
        for _ in range(2):
            if self._stop.is_set():
                break
            host = self._take_host()
            try:
                return self._grade(task, host)
            except Undecided as error:
                problem = error
                self._drop_if_dead(host)
        return Result(task.key, problem=problem.what, next_step=problem.next_step)

    def _grade(self, task: Task, host: Host) -> Result:
        made = engine.grade(
            self._terms.entry,
            task.submission,
            host,
            course_secret=self._terms.course_secret,
            only_full=self._terms.only_full,
            alone=False,
        )
        return Result(task.key, to_json(made.receipt).encode(), made.seed)

    def _take_host(self) -> Host:
        with self._lock:
            if self._host is None:
                self._host = self._open_host()
            return self._host

    def _drop_if_dead(self, host: Host) -> None:
        """Have the next task open a new server; one that lives has others' children to serve."""
        if host.alive():
            return
        with self._lock:
            if self._host is host:
                self._host = None
        host.close()
