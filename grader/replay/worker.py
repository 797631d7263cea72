"""The replay child: serve requests for programs and hidden inputs, hand out raw per-device arrays.

Runs confined. It never sees source or expected values, and it compares nothing.
"""

from __future__ import annotations

import gc
import os
import queue
import sys
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache, partial
from typing import Any, BinaryIO

import jax
import jax.export
import numpy as np
from jax.sharding import Mesh

from grader import wire
from grader.process import BROKEN_DOWN
from grader.replay.replayer import Refused, Replayer, stored

COMPILERS = 2
Send = Callable[[dict[str, Any]], None]


def main(jobs: BinaryIO, frames: BinaryIO) -> None:
    """Serve requests until the pipe closes: `warm`, `cases`, `program`, `again`.

    Programs are compiled side by side and run one after the other, in the order they came.

    Effects: starts the JAX backend first, so that a spare child waits warm; starts threads.
    """

    def send(message: dict[str, Any]) -> None:
        frames.write(wire.pack(message))
        frames.flush()

    # A short life in limits of its own: collecting would only cost time.
    gc.disable()
    jax.devices()
    send({"t": "ready"})
    replayer = Replayer()
    turns: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
    runner = threading.Thread(target=_take_turns, args=(turns,))
    runner.start()
    with ThreadPoolExecutor(max_workers=COMPILERS) as pool:
        while (job := wire.read(jobs)) is not None:
            if job["t"] == "warm":
                _warm()
            elif job["t"] == "cases":
                replayer.add_cases(job["cases"])
            elif job["t"] == "program":
                loading = pool.submit(replayer.load_job, job)
                turns.put(partial(_serve_program, replayer, job, loading, send))
            elif job["t"] == "again":
                turns.put(partial(_serve_again, replayer, job, send))
        turns.put(None)
    runner.join()


def _take_turns(turns: queue.SimpleQueue[Callable[[], None] | None]) -> None:
    try:
        while (turn := turns.get()) is not None:
            turn()
    except BaseException:  # noqa: BLE001
        # Nobody would answer from here on, and whoever waits should not wait in vain.
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(BROKEN_DOWN)


@cache
def _warm() -> None:
    """Take a tiny program the whole way once, while the learner's module still runs.

    The first export, parse and compilation import and set up a great deal.
    """
    mesh = Mesh(np.asarray(jax.devices()), ("data",))
    argument = {"shape": [4], "dtype": "float32", "split": 0}
    spec = jax.ShapeDtypeStruct((4,), "float32", sharding=stored(mesh, argument))
    blob = jax.export.export(jax.jit(lambda x: x + 1))(spec).serialize()
    replayer = Replayer()
    replayer.load("warm", bytes(blob), [argument])
    replayer.cases["warm"] = {"warm": [np.zeros(4, np.float32)]}
    replayer.run("warm", "warm")


def _serve_program(
    replayer: Replayer, job: dict[str, Any], loading: Future[dict[str, Any]], send: Send
) -> None:
    name = job["name"]
    try:
        # A description too long for a frame is one more way to be refused.
        send({"t": "loaded", "name": name, **loading.result()})
    except Refused as error:
        send({"t": "refused", "name": name, "reason": str(error)})
        return
    except ImportError:
        raise  # ours: packages changed while the server lived, and no program asks for one
    except Exception as error:  # noqa: BLE001 - whatever a stranger's program does is data
        send({"t": "refused", "name": name, "reason": _brief(error)})
        return
    for case in job["cases"]:
        _serve_case(replayer, name, case, send)
    if job["timed"]:
        try:
            send({"t": "timed", "name": name, "us": replayer.time(name, job["timed"])})
        except Exception as error:  # noqa: BLE001
            send({"t": "timed", "name": name, "us": [], "error": _brief(error)})
    send({"t": "end_of_program", "name": name})


def _serve_again(replayer: Replayer, job: dict[str, Any], send: Send) -> None:
    _serve_case(replayer, job["name"], job["case"], send)
    send({"t": "end_of_case", "name": job["name"], "case": job["case"]})


def _serve_case(replayer: Replayer, name: str, case: str, send: Send) -> None:
    try:
        send({"t": "case", "name": name, "case": case, "results": replayer.run(name, case)})
    except ImportError:
        raise
    except Exception as error:  # noqa: BLE001
        send({"t": "case", "name": name, "case": case, "results": [], "error": _brief(error)})


def _brief(error: BaseException) -> str:
    """Return the type and first line: enough to act on, and never an array's content."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:300] if lines else ''}"
