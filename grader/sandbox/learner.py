"""The learner child: run the module, then send what it defines as frames.

Runs confined and forked from a server that holds no secret. It must never be believed: every
frame it sends is a claim.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import sys
from collections.abc import Mapping
from typing import Any, BinaryIO

from grader import wire

NAMES = 400


def main(jobs: BinaryIO, frames: BinaryIO) -> None:
    """Read one job from `jobs`, run it, write frames to `frames`.

    Effects: starts the JAX backend before any learner code, so that a module's own settings come
    too late to change the number of devices.
    """
    import jax

    from grader.sandbox import claims, programs, statements

    def send(message: dict[str, Any]) -> None:
        frames.write(wire.pack(message))
        frames.flush()

    devices = jax.devices()
    array_type = type(jax.numpy.zeros(()))
    send({"t": "ready", "devices": len(devices), "versions": _versions()})
    header = jobs.read(wire.HEADER.size)
    job = wire.unpack(jobs.read(wire.HEADER.unpack(header)[0]))
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    _watch_faults()
    hits = _count_cache_hits()

    filename = job["filename"]
    path = os.path.join(job["workdir"], filename)
    with open(path, "rb") as file:
        source = file.read()
    tree = statements.parse(source, filename)
    if isinstance(tree, statements.Stop):
        send(_stop_frame(tree))
        send({"t": "done"})
        return
    send({"t": "parsed", "lines": statements.bindings(tree), "statements": len(tree.body)})
    module = statements.new_module(path)
    with statements.limits(job["wall_s"]):
        stop = statements.run(
            tree, module, filename, job["stop_before"], lambda i: send({"t": "ran", "i": i})
        )
    namespace = dict(module.__dict__)
    if stop is not None:
        send(_stop_frame(stop))
    _flush()
    send({"t": "names", "names": _names(namespace), "hidden_in": _hidden_in(namespace, job)})
    for name in job["claims"]:
        send({"t": "claim", **claims.read(name, namespace, array_type)})
    send({"t": "settings", "settings": programs.settle()})
    for program in job["programs"]:
        if program["name"] in job["skip"]:
            continue
        send({"t": "exporting", "name": program["name"]})
        arguments = [
            programs.Argument(tuple(a["shape"]), a["dtype"], a["split"])
            for a in program["arguments"]
        ]
        send(
            {
                "t": "program",
                **programs.export_one(program["name"], namespace, arguments, array_type, filename),
            }
        )
    send({"t": "done", "cache_hits": hits[0]})


def _watch_faults() -> None:
    """Have a crash, and the CPU limit even inside compiled code, print the learner's line."""
    faulthandler.enable()
    if hasattr(signal, "SIGXCPU"):
        faulthandler.register(signal.SIGXCPU, chain=True)


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
    wanted = {p["name"] for p in job["programs"]} | set(job["claims"])
    if wanted & namespace.keys():
        return ""
    for name, value in namespace.items():
        code = getattr(value, "__code__", None)
        local = getattr(code, "co_varnames", ()) + getattr(code, "co_cellvars", ())
        if len(wanted.intersection(local)) >= 2:
            return name[:80]
    return ""


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
