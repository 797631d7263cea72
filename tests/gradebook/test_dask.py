from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from grader.catalog import course as courses
from grader.catalog.load import entry as load
from grader.errors import ContentProblem, EnvironmentProblem, UsageProblem
from grader.gradebook.executors import Executor, Result, Task
from grader.gradebook.executors import room as rooms
from grader.gradebook.executors.dask import Dask, Patience
from grader.gradebook.executors.local import Local, Terms
from grader.gradebook.executors.room import Shipped, differs, facts
from grader.records.receipt import Receipt
from grader.records.submission import Submission
from grader.sandbox.host import open_host
from tests import command
from tests.gradebook import classes

distributed = pytest.importorskip("distributed", reason="the extra [dask] is not installed")
psutil = pytest.importorskip("psutil")

SECRET = b"a course secret of the tests"
ENTRY = load(courses.Course(command.ROOT), command.EXERCISE)
TERMS = Terms(ENTRY, SECRET, only_full=False)
FORBIDDEN = ENTRY.course.secrets()
FILES = [
    *sorted((command.SOLUTIONS / "accepted").glob("[a-d]*.py")),
    *sorted((command.SOLUTIONS / "rejected").glob("momentum*.py")),
]


def tasks(files: list[Path] = FILES) -> list[Task]:
    found = [Submission(path.name, str(path), path.read_bytes()) for path in files]
    return [Task(one.sha256, one) for one in found]


@dataclass
class Cluster:
    """A scheduler and workers as processes of their own, started the way a user starts them."""

    address: str
    folder: Path
    workers: list[subprocess.Popen[bytes]]
    scheduler: subprocess.Popen[bytes]
    certificates: Mapping[str, str] = field(default_factory=dict)

    def start_worker(self, **environment: str) -> subprocess.Popen[bytes]:
        arguments = [self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
        place = self.folder / f"worker-{len(self.workers)}"
        started = _dask("worker", *arguments, "--local-directory", str(place), **environment)
        self.workers.append(started)
        return started

    def client(self) -> Any:
        return distributed.Client(self.address, set_as_default=False)

    def wait(self, workers: int) -> None:
        """Wait until that many are there: a busy machine takes its time to start them."""
        security = distributed.Security(**self.certificates)
        with distributed.Client(self.address, set_as_default=False, security=security) as client:
            if workers:
                client.wait_for_workers(workers, timeout=300)

    def left_behind(self) -> list[Path]:
        return [path for path in self.folder.rglob("grade-*") if path.is_dir()]


def _dask(*arguments: str, **environment: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *arguments],
        env=command.environment(**environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=command.ROOT,
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextlib.contextmanager
def cluster(
    folder: Path,
    workers: int,
    certificates: Mapping[str, str] | None = None,
    **environment: str,
) -> Iterator[Cluster]:
    told = folder / "scheduler.json"
    protocol = "tls" if certificates else "tcp"
    scheduler = _dask(
        "scheduler", "--protocol", protocol, "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
        "--scheduler-file", str(told), **environment,
    )  # fmt: skip
    made = Cluster("", folder, [], scheduler, certificates or {})
    try:
        while not told.exists() or not told.read_text():
            assert scheduler.poll() is None, "the scheduler did not start"
            time.sleep(0.05)
        made.address = json.loads(told.read_text())["address"]
        for _ in range(workers):
            made.start_worker(**environment)
        made.wait(workers)
        yield made
    finally:
        for process in (*made.workers, scheduler):
            _end(process)


def by_key(executor: Executor, wanted: list[Task]) -> dict[str, Result]:
    try:
        results = list(executor.run(wanted))
    finally:
        executor.close()
    found = {one.key: one for one in results}
    assert len(found) == len(results), "a result came twice"
    return found


def canonical(results: dict[str, Result]) -> dict[str, tuple[Any, ...]]:
    """Return what must not depend on where a submission was graded."""
    found = {}
    for key, result in results.items():
        assert result.receipt, result.problem
        receipt = Receipt.model_validate_json(result.receipt)
        found[key] = (receipt.evidence_digest, result.seed, receipt.verdict, receipt.points)
    return found


def local() -> Local:
    return Local(TERMS, lambda: open_host(FORBIDDEN, None), 2)


@pytest.mark.slow
def test_a_lost_worker_costs_no_result_and_results_are_those_of_one_machine(tmp_path: Path) -> None:
    with cluster(tmp_path, 2) as made, made.client() as watching:
        pids = watching.run(os.getpid)
        executor = Dask(TERMS, made.address, FORBIDDEN)
        results = executor.run(tasks())
        found = [next(results)]
        busy = next(worker for worker, keys in watching.processing().items() if keys)
        folders = made.left_behind()
        servers = psutil.Process(pids[busy]).children(recursive=True)
        os.kill(pids[busy], signal.SIGKILL)
        found += results
        jax = watching.run(eval, "'jax' in __import__('sys').modules")
        executor.close()
        assert folders and servers
        assert not psutil.wait_procs(servers, timeout=60)[1]
        assert jax and not any(jax.values())
        # The folder of the killed one stays until Dask cleans up after it.
        assert len(made.left_behind()) <= 1
    assert sorted(one.key for one in found) == sorted(task.key for task in tasks())
    assert canonical({one.key: one for one in found}) == canonical(by_key(local(), tasks()))


@pytest.mark.slow
def test_a_submission_whose_workers_are_all_lost_is_undecided(tmp_path: Path) -> None:
    none = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
    with cluster(tmp_path, 1, **none) as made, made.client() as watching:
        pids = watching.run(os.getpid)
        executor = Dask(TERMS, made.address, FORBIDDEN)
        results = executor.run(tasks(FILES[:3]))
        found = [next(results)]
        os.kill(*pids.values(), signal.SIGKILL)
        made.start_worker()
        found += results
        executor.close()
    assert len(found) == 3
    lost = [one for one in found if not one.receipt]
    assert lost
    for one in lost:
        assert one.problem == "every worker that had it was lost, 1 in all"
        assert "look into the workers' logs" in one.next_step


@pytest.mark.slow
def test_a_run_that_is_interrupted_leaves_nothing_on_the_workers(tmp_path: Path) -> None:
    with cluster(tmp_path, 1) as made, made.client() as watching:
        executor = Dask(TERMS, made.address, FORBIDDEN)
        results = executor.run(tasks())
        assert next(results).receipt
        [pid] = watching.run(os.getpid).values()
        servers = psutil.Process(pid).children()
        assert servers and made.left_behind()
        results.close()
        executor.close()
        assert not psutil.wait_procs(servers, timeout=60)[1]
        assert made.left_behind() == []
        while any(watching.processing().values()):
            time.sleep(0.1)


@pytest.mark.slow
def test_the_command_grades_a_class_on_a_cluster_and_leaves_nothing_there(tmp_path: Path) -> None:
    files = {f"{path.stem}/my_solution.py": path.read_bytes() for path in FILES[:3]}
    classes.write(tmp_path / "class", files)
    with cluster(tmp_path, 1) as made:
        done = command.run(
            command.EXERCISE, "--no-cache", "class", "--executor", "dask", "--scheduler",
            made.address, cwd=tmp_path,
        )  # fmt: skip
        assert done.code == 0, done.said
        assert "3 of 3 passed" in done.said
        assert made.left_behind() == []


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a certificate")
def test_a_cluster_with_tls_needs_nothing_but_dasks_own_configuration(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
         "/CN=grade-tests", "-keyout", str(key), "-out", str(certificate)],
        check=True, capture_output=True,
    )  # fmt: skip
    tls = {"DASK_DISTRIBUTED__COMM__TLS__CA_FILE": str(certificate)}
    for role in ("SCHEDULER", "WORKER", "CLIENT"):
        tls[f"DASK_DISTRIBUTED__COMM__TLS__{role}__KEY"] = str(key)
        tls[f"DASK_DISTRIBUTED__COMM__TLS__{role}__CERT"] = str(certificate)
    tls["DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION"] = "true"
    classes.write(tmp_path / "class", {"jane/my_solution.py": FILES[0].read_bytes()})
    files = {"tls_ca_file": certificate, "tls_client_key": key, "tls_client_cert": certificate}
    with cluster(tmp_path, 1, {name: str(path) for name, path in files.items()}, **tls) as made:
        assert made.address.startswith("tls://")
        arguments = ("class", "--executor", "dask", "--scheduler", made.address)
        done = command.run(command.EXERCISE, "--no-cache", *arguments, cwd=tmp_path, env=tls)
        assert done.code == 0, done.said
        assert "1 of 1 passed" in done.said
        without = command.run(command.EXERCISE, *arguments, "--out", "other", cwd=tmp_path)
        assert without.code == 2, without.said
        assert "name the certificates in Dask's own configuration" in without.said


@pytest.mark.slow
def test_a_worker_with_another_python_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with cluster(tmp_path, 1) as made:
        other = replace(Shipped.of(TERMS, [], facts()), facts={**facts(), "jax": "0.0.1"})
        room = rooms.Room(other, None)
        executor = Dask(TERMS, made.address, FORBIDDEN)
        with made.client() as client:
            # Such a worker may come while others are at work already.
            client.register_plugin(room, executor._name)
            with pytest.raises(EnvironmentProblem) as caught:
                list(executor.run(tasks(FILES[:1])))
            executor.close()
    assert "a worker has jax" in caught.value.what
    assert "(here 0.0.1): its results would not be comparable" in caught.value.what
    assert "worker tcp://127.0.0.1" in caught.value.where
    assert "install the same versions here and there" in caught.value.next_step


@pytest.mark.slow
def test_a_scheduler_without_workers_is_said(tmp_path: Path) -> None:
    with cluster(tmp_path, 0) as made, pytest.raises(EnvironmentProblem) as caught:
        Dask(TERMS, made.address, FORBIDDEN, patience=Patience(workers_s=0.5))
    assert "the scheduler has no worker that answers" in caught.value.what
    assert f"dask worker {made.address}" in caught.value.next_step


@pytest.mark.slow
def test_workers_that_all_go_away_end_the_run_and_what_is_finished_is_kept(tmp_path: Path) -> None:
    with cluster(tmp_path, 1) as made:
        executor = Dask(TERMS, made.address, FORBIDDEN, patience=Patience(workers_s=0.5))
        results = executor.run(tasks())
        assert next(results).receipt
        made.workers[0].kill()
        with pytest.raises(EnvironmentProblem) as caught:
            list(results)
        executor.close()
    assert "every worker of the cluster is gone" in caught.value.what
    assert "the same command goes on from there" in caught.value.next_step


@pytest.mark.slow
def test_a_scheduler_that_goes_away_ends_the_run(tmp_path: Path) -> None:
    with cluster(tmp_path, 1) as made:
        executor = Dask(TERMS, made.address, FORBIDDEN)
        results = executor.run(tasks())
        assert next(results).receipt
        made.scheduler.kill()
        with pytest.raises(EnvironmentProblem) as caught:
            list(results)
        executor.close()
    assert "the scheduler is gone" in caught.value.what


@pytest.mark.slow
def test_what_was_sent_for_another_submission_does_not_count(tmp_path: Path) -> None:
    with cluster(tmp_path, 1) as made:
        executor = Dask(TERMS, made.address, FORBIDDEN)
        [one] = executor.run(tasks(FILES[:1]))
        task, other = tasks(FILES[:2])
        assert executor._checked(task, one) == one
        for forged in (
            one.receipt,
            replace(one, key=other.key),
            replace(one, key=other.key, receipt=b"{}"),
            replace(one, seed=b"another"),
        ):
            wanted = other if getattr(forged, "key", "") == other.key else task
            refused = executor._checked(wanted, forged)
            assert not refused.receipt
            assert refused.problem == "what a worker sent back is no receipt of this submission"
        executor.close()


def test_no_scheduler_at_an_address_is_said(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem) as caught:
        Dask(TERMS, "tcp://127.0.0.1:9", [], patience=Patience(connect_s=0.5))
    assert "no Dask scheduler answers" in caught.value.what
    assert caught.value.where == "tcp://127.0.0.1:9"
    assert "see that it runs and can be reached from here" in caught.value.next_step


def test_a_scheduler_has_to_be_named() -> None:
    with pytest.raises(UsageProblem) as caught:
        Dask(TERMS, None, [])
    assert caught.value.what == "the executor dask needs the address of a scheduler"
    assert "--scheduler tcp://HOST:8786" in caught.value.next_step


def test_what_is_no_address_is_said() -> None:
    with pytest.raises(UsageProblem) as caught:
        Dask(TERMS, "carrier-pigeon://coop", [], patience=Patience(connect_s=0.5))
    assert "--scheduler 'carrier-pigeon://coop' cannot be used" in caught.value.what
    assert "for example --scheduler tcp://HOST:8786" in caught.value.next_step


def test_without_dask_the_command_says_what_to_install(tmp_path: Path) -> None:
    classes.write(tmp_path / "class", {"jane/my_solution.py": "x = 1"})
    (tmp_path / "path" / "distributed").mkdir(parents=True)
    (tmp_path / "path" / "distributed" / "__init__.py").write_text("raise ImportError('none')\n")
    done = command.run(
        command.EXERCISE, "class", "--executor", "dask", "--scheduler", "tcp://127.0.0.1:9",
        cwd=tmp_path, env={"PYTHONPATH": str(tmp_path / "path")},
    )  # fmt: skip
    assert done.code == 4
    assert "the executor dask needs Dask, which is not installed here" in done.said
    assert "pip install 'shardgrade[dask]'" in done.said


def test_what_differs_between_machines_is_named() -> None:
    assert differs(facts(), facts(), "w") is None
    problem = differs({**facts(), "jax": "1.0"}, {**facts(), "jax": "2.0"}, "tcp://there")
    assert problem is not None
    assert problem.what == "a worker has jax 2.0 (here 1.0): its results would not be comparable"
    assert problem.where == "tcp://there"
    broken = differs(facts(), ModuleNotFoundError("No module named 'grader'"), "tcp://there")
    assert broken is not None
    assert "worker tcp://there cannot load grade: ModuleNotFoundError" in broken.what
    assert "pip install 'shardgrade[dask]' of the same version" in broken.next_step


def test_an_exercise_travels_whole_and_its_secret_is_not_shown() -> None:
    shipped = Shipped.of(TERMS, [], facts())
    assert f"rubrics/{command.EXERCISE}/oracle.py" in shipped.files
    assert f"exercises/{command.EXERCISE}/starter.py" in shipped.files
    assert not [name for name in shipped.files if "__pycache__" in name or "solutions" in name]
    content = shipped.files[f"rubrics/{command.EXERCISE}/rubric.toml"]
    digest = hashlib.sha256((ENTRY.rubric_folder / "rubric.toml").read_bytes()).digest()
    assert hashlib.sha256(content).digest() == digest
    assert "secret" not in repr(shipped)


def test_an_exercise_that_is_too_large_to_send_is_said(tmp_path: Path) -> None:
    classes.write(tmp_path / "exercises" / command.EXERCISE, {"exercise.toml": "x"})
    classes.write(tmp_path / "rubrics" / command.EXERCISE, {"rubric.toml": "x"})
    with (tmp_path / "rubrics" / command.EXERCISE / "data.bin").open("wb") as file:
        file.truncate(rooms.MOST_COURSE_BYTES + 1)
    terms = replace(TERMS, entry=replace(ENTRY, course=courses.Course(tmp_path)))
    with pytest.raises(ContentProblem) as caught:
        Shipped.of(terms, [], {})
    assert "has more than 64 MiB of files, too many to send to every worker" in caught.value.what
    assert "--executor local" in caught.value.next_step


def test_an_exercise_that_changes_between_reading_and_sending_is_not_sent(tmp_path: Path) -> None:
    classes.write(tmp_path / "exercises" / command.EXERCISE, {"exercise.toml": "x"})
    classes.write(tmp_path / "rubrics" / command.EXERCISE, {"rubric.toml": "x", "oracle.py": "x"})
    terms = replace(TERMS, entry=replace(ENTRY, course=courses.Course(tmp_path)))
    assert Shipped.of(terms, [], {}).files
    (tmp_path / "rubrics" / command.EXERCISE / "oracle.py").write_text("y")
    with pytest.raises(ContentProblem) as caught:
        Shipped.of(terms, [], {})
    assert "changed after they were read" in caught.value.what
    assert caught.value.next_step == "run the same command again"
