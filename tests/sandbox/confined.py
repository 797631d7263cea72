"""Fork confined children that each try one act, and tell what came of it.

Run as a script it is the forking process: one thread, JAX imported on request and no device
touched, because pytest itself may have threads. Imported, `Confined` is how a test asks it.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from grader.sandbox import landlock, seccomp
from grader.sandbox.confine import LayerState, Limits, Profile, confine
from grader.sandbox.paths import readable_paths
from tests.sandbox import probes, wanted_probes

ROOT = Path(__file__).parents[2]
NOBODY = 65534
USERS = [os.getuid(), *([NOBODY] if os.getuid() == 0 else [])]
_KEPT = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "PATH")
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


class Confined:
    """A forking process; `layers` is "all", "landlock" (with an ABI), "seccomp" or "none"."""

    def __init__(
        self, uid: int, *, layers: str = "all", with_jax: bool = False, cpu_s: int = 30
    ) -> None:
        self.uid = uid
        self._place = tempfile.TemporaryDirectory()
        outside, workdir = Path(self._place.name), Path(self._place.name, "work")
        workdir.mkdir()
        # Open to every user, so that it is the confinement that refuses.
        for directory, mode in ((outside, 0o755), (workdir, 0o777)):
            directory.chmod(mode)
        for file in (outside / "canary", workdir / "present"):
            file.write_text("canary")
            file.chmod(0o666)
        private = workdir / "private"
        private.write_text("own")
        private.chmod(0o600)
        os.chown(private, uid, -1)
        (workdir / "way-out").symlink_to(outside / "canary")
        settings = Settings(str(outside), str(workdir), uid, layers, with_jax, cpu_s)
        self._settings = json.dumps(asdict(settings))

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
        self._place.cleanup()

    def ask(self, act: str) -> Answer:
        """Try an act of probes.py, wanted_probes.py or jax_probes.py in a child of its own."""
        assert self._server.stdin is not None and self._server.stdout is not None
        self._server.stdin.write(act + "\n")
        self._server.stdin.flush()
        told = json.loads(self._server.stdout.readline())
        layers = tuple(LayerState(**layer) for layer in told.pop("layers", ()))
        return Answer(**told, layers=layers)


def _serve(settings: Settings) -> None:
    acts = {**probes.FORBIDDEN, **wanted_probes.WANTED, **wanted_probes.LIMITS}
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
            states = _put_on(settings, readable, scene.parent, writing)
            told = {**_attempt(act, scene), "layers": [asdict(state) for state in states]}
            os.write(writing, json.dumps(told, default=str).encode())
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading) as answers:
        told_text = answers.read()
    _, status = os.waitpid(child, 0)
    died = {"outcome": "died", "value": os.waitstatus_to_exitcode(status)}
    return told_text or json.dumps(died)


def _put_on(
    settings: Settings, readable: tuple[str, ...], parent: int, writing: int
) -> tuple[LayerState, ...]:
    if settings.layers == "all":
        profile = Profile(readable, settings.workdir, Limits(cpu_s=settings.cpu_s))
        return confine(profile, (0, 1, 2, writing), parent)
    landlock.libc("prctl", 38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    if settings.layers == "seccomp":
        seccomp.install()
    elif settings.layers.startswith("landlock"):
        newest = int(settings.layers.removeprefix("landlock") or landlock.NEWEST_ABI)
        landlock.restrict((*readable, settings.workdir), ("/dev/null",), newest_abi=newest)
    return ()


def _attempt(act: probes.Act, scene: probes.Scene) -> dict[str, Any]:
    try:
        return {"outcome": "done", "value": act(scene)}
    except OSError as error:
        return {"outcome": "refused", "value": str(error), "errno": error.errno or 0}
    except Exception as error:  # noqa: BLE001 - the test shows what it was
        return {"outcome": "raised", "value": repr(error)}


if __name__ == "__main__":
    _serve(Settings(**json.loads(sys.argv[1])))
