"""The learner child: run the module, then send what it defines as frames.

Runs confined and forked from a server that holds no secret. It must never be believed: every
frame it sends is a claim.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import sys
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, BinaryIO

from grader import wire
from grader.records.cells import unpacked
from grader.sandbox import shell

NAMES = 400
Send = Callable[[dict[str, Any]], None]


def main(jobs: BinaryIO, frames: BinaryIO) -> None:
    """Read one job from `jobs`, run it, write frames to `frames`.

    Effects: starts the JAX backend before any learner code, so that a module's own settings come
    too late to change the number of devices.
    """
    import jax
    import numpy

    def send(message: dict[str, Any]) -> None:
        frames.write(wire.pack(message))
        frames.flush()

    devices = jax.devices()
    kind = " and ".join(sorted({str(one.device_kind) for one in devices}))
    what = {"backend": jax.default_backend(), "kind": kind[:80]}
    send({"t": "ready", "devices": len(devices), **what, "versions": _versions()})
    # By placing a number, which compiles nothing.
    array_type = type(jax.device_put(numpy.float32(0)))
    job = wire.read(jobs)
    if job is None:
        return
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    faulthandler.enable()
    hits = _count_cache_hits()
    overridden: Callable[[], list[str]] = list
    if job["precision"]:
        from grader.sandbox.overrides import Overrides

        overridden = Overrides(jax.config).told
    namespace = _run_module(job, send)
    if namespace is not None:
        _send_names(namespace, job, array_type, send)
        _send_settings(overridden(), job["precision"], send)
        _send_programs(namespace, job, array_type, send)
        if job["round_trips"]:
            from grader.sandbox import round_trips

            round_trips.send_all(job, namespace, array_type, send)
    send({"t": "done", "cache_hits": hits[0]})


def _run_module(job: Mapping[str, Any], send: Send) -> dict[str, Any] | None:
    """Run the module's statements; returns its names, None where it is no Python."""
    from grader.sandbox import statements

    filename = job["filename"]
    sys.argv = [filename]
    path = os.path.join(job["workdir"], filename)
    broken = None
    if job["cells"] is not None:
        texts = unpacked(job["cells"])
        source = shell.stand_in(filename, texts)
        tree, broken = statements.parse_cells(texts, filename)
    else:
        with open(path, "rb") as file:
            source = file.read()
        parsed = statements.parse(source, filename)
        if isinstance(parsed, statements.Stop):
            send(_stop_frame(parsed))
            return None
        tree = parsed
    starts = [statement.lineno for statement in tree.body]
    # Before any of the learner's code runs, so that these can be believed.
    told = {"lines": statements.bindings(tree), "endings": statements.endings(tree, source)}
    send({"t": "parsed", "starts": starts, **told})
    module = statements.new_module(path)
    if job["siblings"]:
        # Last, so that a sibling cannot stand in for JAX or the standard library.
        sys.path.append(job["workdir"])
    with statements.limits():
        stop = statements.run(
            tree, module, filename, job["stop_before"], lambda i: send({"t": "ran", "i": i})
        )
    # As in Jupyter, a cell that is no Python ends the run where it stands, and not before.
    stop = stop or (broken if job["stop_before"] is None else None)
    if stop is not None:
        send(_stop_frame(stop))
    _flush()
    return dict(module.__dict__)


def _send_names(
    namespace: Mapping[str, Any], job: Mapping[str, Any], array_type: type, send: Send
) -> None:
    from grader.sandbox import claims

    where = {"hidden_in": _hidden_in(namespace, job), "inside": _inside(namespace, job)}
    send({"t": "names", "names": _names(namespace), **where})
    for name in job["claims"]:
        send({"t": "claim", **claims.read(name, namespace, array_type)})


def _send_settings(overridden: list[str], precision: str, send: Send) -> None:
    from grader.sandbox import programs

    send({"t": "settings", "settings": overridden + programs.settle(precision)})


def _send_programs(
    namespace: Mapping[str, Any], job: Mapping[str, Any], array_type: type, send: Send
) -> None:
    from grader.sandbox import programs

    for program in job["programs"]:
        name = program["name"]
        if name in job["skip"]:
            continue
        # Said first: where exporting ends the process, the next child must leave it out.
        send({"t": "exporting", "name": name})
        arguments = [
            programs.Argument(tuple(a["shape"]), a["dtype"], a["split"])
            for a in program["arguments"]
        ]
        made = programs.export_one(
            name, namespace, arguments, array_type, job["filename"], program["results"]
        )
        send({"t": "program", **made})


def _count_cache_hits() -> list[int]:
    import jax

    count = [0]

    def on_event(event: str, **_facts: Any) -> None:
        if event == "/jax/compilation_cache/cache_hits":
            count[0] += 1

    jax.monitoring.register_event_listener(on_event)
    return count


def _stop_frame(stop: Any) -> dict[str, Any]:
    return {
        "t": "stop",
        "kind": stop.kind,
        "message": stop.message,
        "line": stop.line,
        "frames": stop.frames,
        "detail": stop.detail,
    }


def _flush() -> None:
    with contextlib.suppress(BaseException):
        sys.stdout.flush()
        sys.stderr.flush()


def _names(namespace: Mapping[str, Any]) -> list[str]:
    public = [n[:80] for n in namespace if isinstance(n, str) and not n.startswith("_")]
    return public[:NAMES]


def _hidden_in(namespace: Mapping[str, Any], job: Mapping[str, Any]) -> str:
    """Return the function whose local variables are the names asked for, or nothing."""
    wanted = _wanted(job)
    if wanted & namespace.keys():
        return ""
    for name, value in namespace.items():
        if len(wanted.intersection(_variables(value))) >= 2:
            return name[:80]
    return ""


def _inside(namespace: Mapping[str, Any], job: Mapping[str, Any]) -> dict[str, str]:
    """Return, for each name asked for and not there, the module's function that has a variable so.

    What a function is called with is no variable of its own.
    """
    lacking = _wanted(job) - namespace.keys()
    found: dict[str, str] = {}
    for name, value in namespace.items():
        code = value.__code__ if type(value) is FunctionType else None
        if code is not None and code.co_filename == job["filename"] and isinstance(name, str):
            given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            for one in lacking.intersection(_variables(value)).difference(given):
                found.setdefault(one, name[:80])
    return found


def _wanted(job: Mapping[str, Any]) -> set[str]:
    wanted = {p["name"] for p in job["programs"]} | set(job["claims"])
    return wanted | {trip[which] for trip in job["round_trips"] for which in ("save", "restore")}


def _variables(value: Any) -> tuple[str, ...]:
    """Return the local variables of a function, its parameters among them; of all else none."""
    # Whatever else may have a `__code__` runs code of its own to give it.
    if type(value) is not FunctionType:
        return ()
    return value.__code__.co_varnames + value.__code__.co_cellvars


def _versions() -> dict[str, str]:
    import jax
    import jaxlib
    import numpy

    found = {
        "python": sys.version.split()[0],
        "jax": jax.__version__,
        "jaxlib": jaxlib.__version__,
        "numpy": numpy.__version__,
    }
    for name in ("scipy", "ml_dtypes", "flatbuffers"):
        version = getattr(sys.modules.get(name), "__version__", None)
        if isinstance(version, str):
            found[name] = version
    return found
