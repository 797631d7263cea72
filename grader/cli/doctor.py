"""`grade doctor`: what this machine has, found by trying it."""

from __future__ import annotations

import contextlib
import platform
import sys
import tempfile
from pathlib import Path
from typing import Any

import click

from grader import __version__
from grader.catalog import course as courses
from grader.catalog import needs
from grader.catalog.load import entry as load
from grader.catalog.models import Limits
from grader.cli import early, options
from grader.errors import ContentProblem, GradeError, WireProblem
from grader.process import Deadline
from grader.records.evidence import confinement_level
from grader.sandbox import cache
from grader.sandbox.host import fork_is_safe, open_host
from grader.sandbox.launching import DEVICES, Allowance

ALLOWANCE = Allowance(20, Limits().memory_mib << 20, 1 << 20, Limits().scratch_mib << 20)


@click.command("doctor")
@options.course
def command(course: str | None) -> int:
    """Show Python, JAX, the four devices, each layer of confinement, and the cache.

    Example: grade doctor
    """
    found = courses.find(course)
    click.echo(f"grade        {__version__}")
    click.echo(f"python       {platform.python_version()} on {sys.platform} {platform.machine()}")
    click.echo(f"course       {found.root} ({len(found.ids())} exercise(s))")
    frames, words = _try_child(found)
    ready = frames.get("ready")
    healthy = _say_jax(ready, words)
    _say_layers(frames.get("layers"))
    _say_needs(found)
    _say_cache(found)
    return 0 if healthy else 4


def _try_child(found: courses.Course) -> tuple[dict[str, dict[str, Any]], str]:
    """Return the first frames of a real confined child, and what it printed."""
    host = open_host(early.forbidden(found), None)
    frames: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(prefix="run-", dir=host.room) as folder:
        try:
            child = host.start("learner", folder, ALLOWANCE)
            deadline = Deadline(60)
            while "ready" not in frames:
                frame = child.receive(deadline)
                if frame is None:
                    break
                frames[str(frame["t"])] = frame
            child.kill()
            child.finish()
            return frames, child.output.result().text
        except (TimeoutError, WireProblem, GradeError) as error:
            return frames, str(error)
        finally:
            host.close()


def _say_jax(ready: dict[str, Any] | None, words: str) -> bool:
    if ready is None:
        last = words.strip().splitlines()[-1:] or ["no word"]
        click.echo(f"jax          does not start in the sandbox: {last[0]}")
        click.echo("  Next: pip install 'jax>=0.9.2' in this environment, then run this again")
        return False
    versions = ready["versions"]
    click.echo(
        f"jax          {versions['jax']} (jaxlib {versions['jaxlib']}, numpy {versions['numpy']})"
    )
    right = bool(ready["devices"] == DEVICES)
    click.echo(
        f"devices      {ready['devices']} logical CPU devices"
        + ("" if right else f", {DEVICES} are needed")
    )
    return right


def _say_layers(frame: dict[str, Any] | None) -> None:
    layers = frame["layers"] if frame else []
    level = confinement_level(layer["name"] for layer in layers if layer["on"])
    how = "forked from a warm server" if fork_is_safe() else "spawned one by one (slower)"
    click.echo(f"confinement  {level}; children are {how}")
    for layer in layers:
        state = "on " if layer["on"] else "OFF"
        reason = f"  {layer['reason']}" if layer["reason"] else ""
        click.echo(f"    {state} {layer['name']}{reason}")


def _say_needs(found: courses.Course) -> None:
    """Say which packages exercises of the course use; one that is missing stops only those."""
    exercises = []
    for exercise in found.ids():
        # One that is wrong is `grade audit`'s to tell.
        with contextlib.suppress(ContentProblem):
            exercises.append(load(found, exercise).exercise)
    for need, ids in needs.of_all(exercises).items():
        there = needs.version(need)
        state = there if there else f"missing; {needs.install(need)}"
        click.echo(f"package      {need.package} {state} (for {', '.join(ids)})")


def _say_cache(found: courses.Course) -> None:
    click.echo(f"cache        {_home()}")
    for exercise in found.ids():
        folder = cache.folder(found.root / "rubrics" / exercise / "warm")
        state = cache.state(folder) if folder else "nothing to fill it with"
        told = {"": "not filled yet; the first grade fills it", cache.NEVER_HITS: "off: never hit"}
        click.echo(f"    {exercise}: {told.get(state, state)}")


def _home() -> str:
    try:
        return f"~/{cache.home().relative_to(Path.home())}"
    except (ValueError, RuntimeError):
        return str(cache.home())
