"""Grade on a Dask cluster: every worker keeps a warm engine, and whatever it needs comes by value.

A Dask worker never imports JAX, the fork server that it starts does. The cluster is trusted; all
the same, what comes back is looked at before it counts, and only the coordinator writes the ledger.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import hashlib
import queue
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from grader.errors import EnvironmentProblem, UsageProblem
from grader.gradebook.executors import Result, Task
from grader.gradebook.executors.local import Terms
from grader.gradebook.executors.room import Room, Shipped, Warm, differs, facts, grade, unloadable
from grader.records.receipt import Receipt

try:
    import dask
    import distributed
except ImportError:  # the extra is not installed, which `Dask` says
    dask = distributed = None

# A submission in flight for every thread and one that waits for it: the rest stays on the disk.
_IN_FLIGHT = 2
_PULSE_S = 1.0
_FETCH_S = 30.0
_CANCELLED = (asyncio.CancelledError, concurrent.futures.CancelledError)


@dataclass(frozen=True)
class Patience:
    """Seconds to wait for the scheduler to answer, and for it to have any worker."""

    connect_s: float = 10.0
    workers_s: float = 30.0


class Dask:
    """The executor; `warm` fills the cache of compiled programs of a worker before its first task.

    Raises:
        EnvironmentProblem: Dask is not installed, the cluster cannot be used, or a worker has
            other versions, so that its results would not be comparable.
        UsageProblem: no scheduler is named, or not as one.
    """

    def __init__(
        self,
        terms: Terms,
        scheduler: str | None,
        forbidden: list[str],
        *,
        warm: Warm | None = None,
        patience: Patience = Patience(),
    ) -> None:
        self._terms = terms
        self._patience = patience
        self._name = f"grade-{secrets.token_hex(8)}"
        self._count = 0
        self._threads, self._asked = 1, 0.0
        here = facts()
        room = Room(Shipped.of(terms, forbidden, here), warm)
        self._address = _address(scheduler)
        self._client = _connect(self._address, patience.connect_s)
        try:
            self._admit(here)
            self._client.register_plugin(room, self._name)
        except BaseException:
            self.close()
            raise

    def run(self, tasks: Iterable[Task]) -> Iterator[Result]:
        """Give results as they come; see `Executor.run`.

        Raises: EnvironmentProblem where a worker may not grade, or the cluster goes away.
        """
        waiting = iter(tasks)
        done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        flying: dict[str, tuple[Task, Any]] = {}
        try:
            while True:
                while len(flying) < self._window() and (task := next(waiting, None)) is not None:
                    future = self._submit(task)
                    flying[future.key] = (task, future)
                    future.add_done_callback(done.put)
                if not flying:
                    return
                future = self._next(done)
                result = self._result(flying[future.key][0], future)
                if result is None:
                    future.add_done_callback(done.put)
                    continue
                # Forgetting the future has the cluster forget the submission.
                del flying[future.key], future
                yield result
        finally:
            self._cancel([future for _, future in flying.values()])

    def close(self) -> None:
        """Have every worker end its engine and remove the course, and leave the cluster."""
        client, self._client = self._client, None
        if client is None:
            return
        try:
            with suppress(Exception):  # a cluster that is gone has nothing left to end
                if client.status == "running":
                    client.unregister_worker_plugin(self._name)
        finally:
            client.close(timeout=5)

    def _admit(self, here: Mapping[str, str]) -> None:
        try:
            self._client.wait_for_workers(1, timeout=self._patience.workers_s)
            answers = self._client.run(facts, on_error="return")
        except OSError as error:  # a timeout is one
            raise EnvironmentProblem(
                "the scheduler has no worker that answers",
                where=self._address,
                next_step=f"start one, `dask worker {self._address}`, then run the same command",
            ) from error
        for worker, there in sorted(answers.items()):
            problem = differs(here, there, worker)
            if problem is not None:
                raise problem

    def _window(self) -> int:
        """Return how many submissions may be on the cluster; workers may come and go."""
        if time.monotonic() - self._asked > _PULSE_S:
            self._threads = sum(self._workers().values())
            self._asked = time.monotonic()
        return max(1, _IN_FLIGHT * self._threads)

    def _workers(self) -> dict[str, int]:
        try:
            found: dict[str, int] = self._client.nthreads()
        except OSError as error:
            raise self._gone() from error
        return found

    def _submit(self, task: Task) -> Any:
        self._count += 1
        key = f"{self._name}-{self._count}"
        # The largest file that is graded at all is no surprise to warn of.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "64MiB"}):
            return self._client.submit(grade, self._name, task, key=key, pure=False)

    def _next(self, done: queue.SimpleQueue[Any]) -> Any:
        """Return the next future that has ended, unless nobody is left who could end one."""
        seen = time.monotonic()
        while True:
            with suppress(queue.Empty):
                return done.get(timeout=_PULSE_S)
            if self._client.status != "running":
                raise self._gone()
            if self._workers():
                seen = time.monotonic()
            elif time.monotonic() - seen > self._patience.workers_s:
                raise EnvironmentProblem(
                    "every worker of the cluster is gone",
                    where=self._address,
                    next_step="look into the workers' logs and start some again; what is finished "
                    "is kept, and the same command goes on from there",
                )

    def _result(self, task: Task, future: Any) -> Result | None:
        """Return what came of a task, None where its result was lost and it runs once more."""
        failed = future.status == "error"
        try:
            answer = (future.exception if failed else future.result)(timeout=_FETCH_S)
        except TimeoutError:
            return None
        except (*_CANCELLED, OSError) as error:
            raise self._gone() from error
        return self._failed(task, answer) if failed else self._checked(task, answer)

    def _failed(self, task: Task, error: Exception) -> Result:
        """Return that nobody could grade a task; raise what concerns every other task as well."""
        if isinstance(error, distributed.KilledWorker):
            return Result(
                task.key,
                problem=f"every worker that had it was lost, {error.allowed_failures + 1} in all",
                next_step="look into the workers' logs, then run the same command again",
            )
        if isinstance(error, ImportError):
            raise unloadable("a worker", error) from error
        raise error

    def _checked(self, task: Task, answer: object) -> Result:
        """Return an answer that belongs to its task; no other may reach the ledger."""
        if (
            isinstance(answer, Result)
            and answer.key == task.key
            and (not answer.receipt or self._belongs(task, answer))
        ):
            return answer
        return Result(
            task.key,
            problem="what a worker sent back is no receipt of this submission",
            next_step="look who else uses this cluster, then run the same command again",
        )

    def _belongs(self, task: Task, answer: Result) -> bool:
        try:
            receipt = Receipt.model_validate_json(answer.receipt)
        except ValidationError:
            return False
        return (
            receipt.exercise == self._terms.entry.exercise.id
            and receipt.submission.sha256 == task.submission.sha256
            and receipt.environment.rubric_sha256 == self._terms.entry.digest
            and receipt.environment.seed_sha256 == hashlib.sha256(answer.seed).hexdigest()
        )

    def _cancel(self, futures: list[Any]) -> None:
        if futures and self._client is not None and self._client.status == "running":
            with suppress(Exception):  # whatever ended the run is told, not this
                self._client.cancel(futures, force=True)

    def _gone(self) -> EnvironmentProblem:
        return EnvironmentProblem(
            "the scheduler is gone, or somebody restarted the cluster",
            where=self._address,
            next_step="see that it runs; what is finished is kept, and the same command goes on "
            "from there",
        )


def _address(scheduler: str | None) -> str:
    if distributed is None:
        raise EnvironmentProblem(
            "the executor dask needs Dask, which is not installed here",
            next_step="pip install 'shardgrade[dask]', here and on every worker",
        )
    found = scheduler or dask.config.get("scheduler-address", None)
    if not found:
        raise UsageProblem(
            "the executor dask needs the address of a scheduler",
            next_step="for example --scheduler tcp://HOST:8786; docs/scaling.md says how to start",
        )
    return str(found)


def _connect(address: str, timeout_s: float) -> Any:
    try:
        return distributed.Client(address, timeout=timeout_s, set_as_default=False, name="grade")
    except OSError as error:
        raise EnvironmentProblem(
            f"no Dask scheduler answers: {str(error).splitlines()[0] if str(error) else error!r}",
            where=address,
            next_step="see that it runs and can be reached from here; for tls:// that Dask's own "
            "configuration names the certificates",
        ) from error
    except (ValueError, TypeError) as error:
        raise UsageProblem(
            f"--scheduler {address!r} cannot be used: {error}",
            next_step="for example --scheduler tcp://HOST:8786; for tls:// name the certificates "
            "in Dask's own configuration",
        ) from error
