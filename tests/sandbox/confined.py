"""Fork confined children that each try one act, and tell what came of it.

Run as a script it is the forking process: one thread, JAX imported on request and no device
touched, because pytest itself may have threads. Imported, `Confined` is how a test asks it.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from grader.sandbox import landlock, seccomp
from grader.sandbox.confine import LayerState, Limits, Profile, confine
from grader.sandbox.paths import readable_paths
from tests.sandbox import hindered, probes, scratch_probes, wanted_probes

ROOT = Path(__file__).parents[2]
NOBODY = 65534
USERS = [os.getuid(), *([NOBODY] if os.getuid() == 0 else [])]
_KEPT = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "PATH")
SCRATCH_BYTES = 4 << 20
FILE_BYTES = 1 << 20
_COLLECTIVE_TIMEOUTS = (
    "--xla_cpu_collective_call_warn_stuck_timeout_seconds=2"
    " --xla_cpu_collective_call_terminate_timeout_seconds=4"
)
ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",
    "NPROC": "8",
    "JAX_PLATFORMS": "cpu",
    "JAX_NUM_CPU_DEVICES": "4",
    "XLA_FLAGS": _COLLECTIVE_TIMEOUTS,
    "MALLOC_ARENA_MAX": "2",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONPATH": str(ROOT),
}


@dataclass(frozen=True)
class Answer:
    """What one act came to: refused, done, raised, or died with its exit code as value."""

    outcome: str
    value: Any = None
    errno: int = 0
    kind: str = ""
    layers: tuple[LayerState, ...] = ()


@dataclass(frozen=True)
class Settings:
    """What the forking process is told at its start."""

    outside: str
    workdir: str
    uid: int
    layers: str
    with_jax: bool
    cpu_s: int
    scratch: bool
    checkpoints: bool
    hindrance: str


class Confined:
    """A forking process; `layers` is "all", "landlock" (with an ABI), "seccomp" or "none".

    With a `hindrance` of hindered.py its children confine themselves on a machine that gives less.
    """

    def __init__(
        self,
        uid: int,
        *,
        layers: str = "all",
        with_jax: bool = False,
        cpu_s: int = 30,
        scratch: bool = False,
        checkpoints: bool = False,
        hindrance: str = "",
    ) -> None:
        self.uid = uid
        self._place = tempfile.TemporaryDirectory()
        outside, workdir = Path(self._place.name), Path(self._place.name, "work")
        # Open to every user, so that it is the confinement that refuses.
        for directory in (workdir, workdir / "folder", outside / "open", outside / "open/empty"):
            directory.mkdir()
            directory.chmod(0o777)
        outside.chmod(0o755)
        for file in (outside / "canary", outside / "open/victim", workdir / "present"):
            file.write_text("canary")
            file.chmod(0o666)
        private = workdir / "private"
        private.write_text("own")
        private.chmod(0o600)
        os.chown(private, uid, -1)
        (workdir / "way-out").symlink_to(outside / "canary")
        places = (str(outside), str(workdir))
        settings = Settings(*places, uid, layers, with_jax, cpu_s, scratch, checkpoints, hindrance)
        self._settings = json.dumps(asdict(settings))
        # A single layer need not protect it, and a scratch without a mount is the directory itself.
        self._open = workdir if layers != "all" else None
        self._before = sorted(_traces(outside, self._open))

    def __enter__(self) -> Self:
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        self._server = subprocess.Popen(
            [sys.executable, __file__, self._settings],
            env={**ENVIRONMENT, **kept},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(self, *exception: object) -> None:
        assert self._server.stdin is not None and self._server.stdout is not None
        self._server.stdin.close()
        self._server.stdout.close()
        self._server.wait(30)
        after = sorted(_traces(Path(self._place.name), self._open))
        self._place.cleanup()
        assert after == self._before

    def tidy(self) -> None:
        """Remove what acts have made in a working directory that is not mounted."""
        for path in Path(self._place.name, "work").iterdir():
            if path.name not in ("folder", "present", "private", "way-out"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def ask(self, act: str) -> Answer:
        """Try an act of one of the files of probes in a child of its own."""
        assert self._server.stdin is not None and self._server.stdout is not None
        self._server.stdin.write(act + "\n")
        self._server.stdin.flush()
        told = json.loads(self._server.stdout.readline())
        layers = tuple(LayerState(**layer) for layer in told.pop("layers", ()))
        return Answer(**told, layers=layers)


def _traces(place: Path, besides: Path | None) -> Iterator[tuple[object, ...]]:
    """What an act could leave behind: names, kinds, modes, owners, links, times and contents."""
    for path in (place, *place.rglob("*")):
        if besides is not None and besides in (path, *path.parents):
            continue
        seen = path.lstat()
        content = path.read_text() if path.is_file() and not path.is_symlink() else ""
        links = seen.st_nlink, seen.st_size
        yield str(path), seen.st_mode, seen.st_uid, *links, seen.st_mtime_ns, content


def _serve(settings: Settings) -> None:
    acts = {**probes.FORBIDDEN, **probes.BARE, **wanted_probes.WANTED, **wanted_probes.LIMITS}
    acts |= {
        **scratch_probes.PROMISED,
        **scratch_probes.TRESPASSES,
        **scratch_probes.CHECKPOINTS,
        **scratch_probes.NEVER_SENT,
        **probes.PAIR,
        **scratch_probes.EXECUTIONS,
        **scratch_probes.BRIM,
    }
    if settings.with_jax:
        for name in ("jax", "scipy.linalg"):
            importlib.import_module(name)
        from tests.sandbox import jax_probes

        acts |= jax_probes.ACTS
    readable = readable_paths(())
    if settings.uid != os.getuid():
        os.setgroups([])
        os.setgid(settings.uid)
        os.setuid(settings.uid)
    scene = probes.Scene(os.getpid(), settings.workdir, settings.outside)
    for line in sys.stdin:
        print(_answer(acts[line.strip()], scene, settings, readable), flush=True)


def _answer(
    act: probes.Act, scene: probes.Scene, settings: Settings, readable: tuple[str, ...]
) -> str:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            # What an act prints must not be taken for an answer.
            os.dup2(os.open(os.devnull, os.O_RDWR), 1)
            told = _confined(act, scene, settings, readable, writing)
            os.write(writing, json.dumps(told, default=str).encode())
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading) as answers:
        told_text = answers.read()
    _, status = os.waitpid(child, 0)
    died = {"outcome": "died", "value": os.waitstatus_to_exitcode(status)}
    return told_text or json.dumps(died)


def _confined(
    act: probes.Act,
    scene: probes.Scene,
    settings: Settings,
    readable: tuple[str, ...],
    writing: int,
) -> dict[str, Any]:
    # As the fork server does: what was found before belongs to another process.
    tempfile.tempdir = settings.workdir
    hindered.HINDRANCES[settings.hindrance]()
    try:
        states = _put_on(settings, readable, scene.parent, writing)
    except Exception as error:  # noqa: BLE001 - the test shows what it was
        return {"outcome": "unconfined", "value": repr(error)}
    return {**_attempt(act, scene), "layers": [asdict(state) for state in states]}


def _put_on(
    settings: Settings, readable: tuple[str, ...], parent: int, writing: int
) -> tuple[LayerState, ...]:
    if settings.layers == "all":
        profile = Profile(
            readable,
            settings.workdir,
            Limits(cpu_s=settings.cpu_s, file_size_bytes=FILE_BYTES),
            scratch_bytes=SCRATCH_BYTES if settings.scratch else 0,
            checkpoints=settings.checkpoints,
        )
        return confine(profile, (0, 1, 2, writing), parent)
    os.chdir(settings.workdir)
    landlock.libc("prctl", 38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    if settings.layers == "seccomp":
        seccomp.install(scratch=settings.scratch, checkpoints=settings.checkpoints)
    elif settings.layers.startswith("landlock"):
        newest = int(settings.layers.removeprefix("landlock") or landlock.NEWEST_ABI)
        scratch = settings.workdir if settings.scratch else None
        paths = (*readable, settings.workdir)
        landlock.restrict(paths, ("/dev/null",), scratch, newest_abi=newest)
    return ()


def _attempt(act: probes.Act, scene: probes.Scene) -> dict[str, Any]:
    try:
        return {"outcome": "done", "value": act(scene)}
    except OSError as error:
        kind, code = type(error).__name__, error.errno or 0
        return {"outcome": "refused", "value": str(error), "errno": code, "kind": kind}
    except Exception as error:  # noqa: BLE001 - the test shows what it was
        return {"outcome": "raised", "value": repr(error)}


if __name__ == "__main__":
    _serve(Settings(**json.loads(sys.argv[1])))
