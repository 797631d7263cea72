"""One grade on a stage of its own: a home, a scratch folder, and eyes on all that lies there."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.command import EXERCISE, ROOT, command
from tests.hostile import unprivileged

# Of one grade while others use both cores; a hang is found, only later.
TIMEOUT_S = 300
WARDEN = Path(__file__).with_name("warden.py")
TREES = tuple(dict.fromkeys(map(Path, (sys.prefix, sys.base_prefix, ROOT))))
# Modules of these names beside a submission must run nowhere.
SHADOWS = ("jax.py", "numpy.py", "json.py", "random.py", "sitecustomize.py")
_PASSED_ON = ("PATH", "PYTHONPATH", "LANG", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


def users() -> list[int | None]:
    """Return who grades: this user, and where that is root an ordinary one as well."""
    return [None, unprivileged.NOBODY] if os.geteuid() == 0 else [None]


def as_user(uid: int | None, *trees: Path) -> list[str]:
    """Return what stands before a command that `uid` is to run; nothing for this user."""
    return [] if uid is None else unprivileged.prefix(uid, [*TREES, *trees])


@dataclass(frozen=True)
class Ended:
    """How one command ended, what it printed, and what outlived it."""

    code: int
    stdout: str
    stderr: str
    left: list[str]


@dataclass
class Stage:
    """A folder of one grade's own, with files and processes that nobody may touch."""

    folder: Path
    uid: int | None = None
    secret: str = field(default_factory=lambda: secrets.token_hex(16))
    before: dict[Path, bytes] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def work(self) -> Path:
        return self.folder / "work"

    @property
    def scratch(self) -> Path:
        return self.folder / "tmp"

    @property
    def out(self) -> Path:
        return self.folder / "out"

    def set(self) -> None:
        """Make the folders and what lies in them."""
        for place in ("home/.ssh", "work", "tmp", f"out/{EXERCISE}/history"):
            (self.folder / place).mkdir(parents=True)
        history = f"{EXERCISE}/history/neighbour.2026-01-01T00-00-00Z.json"
        canaries = [
            self.home / ".ssh" / "id_ed25519",
            self.home / ".netrc",
            self.scratch / "notes.txt",
            self.work / "beside.txt",
            self.out / EXERCISE / "neighbour.json",
            self.out / EXERCISE / "neighbour.md",
            self.out / history,
        ]
        for path in canaries:
            path.write_text(f"{self.secret} of {path.name}\n", encoding="utf-8")
        for name in SHADOWS:
            shadow = f"open(__file__ + '.ran', 'w')\nraise SystemExit('{self.secret}')\n"
            (self.work / name).write_text(shadow, encoding="utf-8")
        self.own()
        self.before = self.files()

    def own(self) -> None:
        """Give everything here to the user who grades."""
        if self.uid is not None:
            for path in (self.folder, *self.folder.rglob("*")):
                os.chown(path, self.uid, self.uid, follow_symlinks=False)

    def put(self, name: str, text: str) -> Path:
        """Write a submission."""
        path = self.work / name
        path.write_text(text, encoding="utf-8")
        self.own()
        self.before[path] = path.read_bytes()
        return path

    def files(self) -> dict[Path, bytes]:
        """Return everything that lies here and its content, but for our own cache and memory."""
        ours = {self.home / "cache", self.home / "state"}
        return {
            path: path.read_bytes() if path.is_file() else b""
            for path in sorted(self.folder.rglob("*"))
            if ours.isdisjoint((path, *path.parents))
        }

    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        return {
            **kept,
            "HOME": str(self.home),
            "XDG_CACHE_HOME": str(self.home / "cache"),
            "XDG_STATE_HOME": str(self.home / "state"),
            "TMPDIR": str(self.scratch),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TOKEN": self.secret,
        }

    def run(self, *args: str | Path, trees: tuple[Path, ...] = (), **more: str) -> Ended:
        """Run `grade ARGS...` under the warden and wait for its end."""
        with self.started(*args, trees=trees, **more) as grade:
            return grade.ended()

    @contextlib.contextmanager
    def started(
        self,
        *args: str | Path,
        trees: tuple[Path, ...] = (),
        before: tuple[str, ...] = (),
        **more: str,
    ) -> Iterator[Running]:
        """Give `grade ARGS...` while it runs; afterwards nothing of it is left."""
        ours, theirs = os.pipe()
        line = [*as_user(self.uid, self.folder, *trees), *before, *command(*args)]
        printed = [self.folder.with_name(name) for name in ("stdout", "stderr")]
        with printed[0].open("wb") as out, printed[1].open("wb") as err:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(WARDEN), str(theirs), "--", *line],
                cwd=self.work,
                env={**self.environment(), **more},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                pass_fds=[theirs],
                start_new_session=True,
            )
        os.close(theirs)
        with open(ours, encoding="utf-8") as told:
            grade = Running(self, process, told, json.loads(told.readline())["pid"])
            try:
                yield grade
            finally:
                if process.poll() is None:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(grade.pid, signal.SIGKILL)
                process.wait(60)

    def receipts(self, stem: str) -> dict[str, bytes]:
        """Return the forms of a receipt that were written, by their ending."""
        return {
            path.name.removeprefix(f"{stem}."): path.read_bytes()
            for path in (self.out / EXERCISE).glob(f"{stem}.*")
        }


@dataclass
class Running:
    """A grade that runs; `pid` is the command's own, which leads a session and a group."""

    stage: Stage
    warden: subprocess.Popen[bytes]
    told: Any
    pid: int

    def ended(self, timeout_s: float = TIMEOUT_S) -> Ended:
        """Wait for the end of the command, and of all that it started."""
        try:
            self.warden.wait(timeout_s)
        except subprocess.TimeoutExpired:
            os.kill(self.pid, signal.SIGKILL)
            raise
        last = json.loads(self.told.readline())
        out, err = (
            self.stage.folder.with_name(name).read_bytes().decode("utf-8", "surrogateescape")
            for name in ("stdout", "stderr")
        )
        return Ended(last["code"], out, err, last["left"])
