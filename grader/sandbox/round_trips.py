"""Have a module save and restore states, and say what came back.

Runs inside the confined child, after everything else was sent. Whatever it sends is only a claim:
the coordinator compares it with the states that were to be saved.
"""

from __future__ import annotations

import ast
import contextlib
import os
import pathlib
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding

from grader import placement, wire
from grader.sandbox import claims, denials, programs, statements, stops
from grader.sandbox.raised import brief, by_hand, describe, learner_lines, type_name

MOST_FILES = 10_000
SETTLE_S = 2.0
_LIMITS = (stops.CpuLimit, stops.WallLimit)


def travel(
    trip: Mapping[str, Any],
    namespace: Mapping[str, Any],
    array_type: type,
    workdir: str,
    filename: str,
) -> dict[str, Any]:
    """Return what came of one round trip as a JSON object.

    Each state is saved in a folder of its own; then they are restored, the last one first.

    Args:
        trip: its name, the names of its two functions, its leaves, and the states.
        namespace: the module's own dictionary.
        array_type: JAX's concrete array type.
        workdir: where the folders are made.
        filename: the learner's file, as tracebacks show it.
    """
    name = trip["name"]
    # First, for where nothing can be written a module may have stopped before it came this far.
    try:
        folders = _folders(workdir, name, len(trip["states"]))
    except OSError as error:
        return {"name": name, "status": "no_folder", "reason": os.strerror(error.errno or 0)}
    for function in (trip["save"], trip["restore"]):
        if function not in namespace:
            return {"name": name, "status": "missing", "function": function}
        if not callable(namespace[function]):
            kind = type_name(namespace[function])
            return {"name": name, "status": "not_callable", "function": function, "reason": kind}
    whole = _Travelling(trip, namespace, folders, _mesh(namespace, array_type))
    try:
        with statements.limits():
            whole.save()
            whole.restore()
            return {"name": name, "status": "done", **whole.found(array_type)}
    except BaseException as error:  # noqa: BLE001 - a stranger's function may raise anything
        why = _why(whole, error, filename)
        whole.settle()
        return {"name": name, "status": "refused", **whole.counts(), **why}


class _Wrong(Exception):
    """A function gave something else than was asked; `kind` is its type."""

    def __init__(self, kind: str) -> None:
        self.kind = kind


class _Travelling:
    """One round trip on its way: which function runs now, and what there is so far."""

    def __init__(
        self,
        trip: Mapping[str, Any],
        namespace: Mapping[str, Any],
        folders: list[pathlib.Path],
        mesh: Mesh,
    ) -> None:
        self._trip, self._namespace, self._folders = trip, namespace, folders
        self._shardings: dict[str, NamedSharding] = {
            leaf["name"]: placement.sharding(mesh, len(leaf["shape"]), leaf["split"])
            for leaf in trip["leaves"]
        }
        self._at_once = [0] * len(folders)
        self._back: list[dict[str, Any]] = [{} for _ in folders]
        self.function = ""

    def save(self) -> None:
        for number, state in enumerate(self._trip["states"]):
            placed = {
                leaf: jax.device_put(wire.array_from_json(array)[0], self._shardings[leaf])
                for leaf, array in state.items()
            }
            self._call(self._trip["save"], self._folders[number], placed)
            # What is still being written when saving has returned is lost if the process ends.
            self._at_once[number] = _files(self._folders[number])

    def restore(self) -> None:
        for number in reversed(range(len(self._folders))):
            like = {
                leaf["name"]: jax.ShapeDtypeStruct(
                    tuple(leaf["shape"]), leaf["dtype"], sharding=self._shardings[leaf["name"]]
                )
                for leaf in self._trip["leaves"]
            }
            back = self._call(self._trip["restore"], self._folders[number], like)
            if not issubclass(type(back), dict):
                raise _Wrong(type_name(back))
            self._back[number] = {k: v for k, v in dict.items(back) if type(k) is str}

    def _call(self, function: str, folder: pathlib.Path, state: dict[str, Any]) -> Any:
        self.function = function
        with stops.GUARD:
            # A path of its own for each call, whatever becomes of it.
            return self._namespace[function](pathlib.Path(folder), state)

    def found(self, array_type: type) -> dict[str, Any]:
        leaves = [leaf["name"] for leaf in self._trip["leaves"]]
        states = [[claims.read(leaf, one, array_type) for leaf in leaves] for one in self._back]
        return {**self.counts(), "states": states}

    def settle(self) -> None:
        """Wait a little for what is still being written, which may be why restoring failed."""
        begun = len(self._folders) if self.function == self._trip["restore"] else 0
        end = time.monotonic() + SETTLE_S
        while not all(map(_files, self._folders[:begun])) and time.monotonic() < end:
            time.sleep(0.05)

    def counts(self) -> dict[str, Any]:
        return {"at_once": self._at_once, "in_the_end": [_files(one) for one in self._folders]}


def _mesh(namespace: Mapping[str, Any], array_type: type) -> Mesh:
    own = programs.meshes(namespace, array_type)
    whole = [mesh for mesh in own if mesh.size == jax.device_count()]
    return whole[0] if whole else Mesh(np.asarray(jax.devices()), ("data",))


def _folders(workdir: str, name: str, count: int) -> list[pathlib.Path]:
    """Return paths that are not there yet, in a new folder. Raises: OSError."""
    around = pathlib.Path(workdir, f"round_trip_{name}")
    # Where there is no scratch, a process that ended may have left one.
    shutil.rmtree(around, ignore_errors=True)
    around.mkdir()
    return [around / f"state_{number + 1}" for number in range(count)]


def _files(folder: pathlib.Path) -> int:
    """Return how many files with content lie under a folder."""
    count = 0
    with contextlib.suppress(OSError):
        for path in _walk(folder):
            count += bool(os.path.getsize(path))
            if count >= MOST_FILES:
                break
    return count


def _walk(folder: pathlib.Path) -> Iterator[str]:
    if folder.is_file():
        yield str(folder)
    for where, _folders, names in os.walk(folder):
        yield from (os.path.join(where, name) for name in names)


def _why(whole: _Travelling, error: BaseException, filename: str) -> dict[str, Any]:
    """Return which function failed, at which line, and why, in words for the coordinator."""
    told: dict[str, Any] = {"function": whole.function}
    if issubclass(type(error), _Wrong):
        return {**told, "cause": "result", "reason": str(error.args[0] if error.args else "")}
    lines = learner_lines(error, filename)
    told["line"] = lines[-1][0] if lines else None
    if issubclass(type(error), _LIMITS):
        return {**told, "cause": "limit"}
    with contextlib.suppress(BaseException):
        refused = denials.refused(error, filename, ast.Module([], type_ignores=[]))
        if refused is not None:
            return {**told, "cause": "refused_by_sandbox", "facts": refused.facts}
    own = by_hand(error, filename)
    unfilled = own and isinstance(error, NotImplementedError)
    cause = "unfilled" if unfilled else "own" if own else "raised"
    return {**told, "cause": cause, "reason": brief(describe(error))}


def send_all(
    job: Mapping[str, Any],
    namespace: Mapping[str, Any],
    array_type: type,
    send: Callable[[dict[str, Any]], None],
) -> None:
    """Travel each round trip of a job that is not to be left out, and send what came of it."""
    for trip in job["round_trips"]:
        if trip["name"] in job["skip"]:
            continue
        # Said first: where one ends the process, the next child must leave it out.
        send({"t": "travelling", "name": trip["name"]})
        came = travel(trip, namespace, array_type, job["workdir"], job["filename"])
        send({"t": "round_trip", **came})
