"""Say what the sandbox refused, and what a solution does instead."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from grader.records.evidence import Outcome
from grader.sandbox.words import at, code, plain

PATH_CHARS = 120
_WHAT = {
    "network": "a network connection",
    "process": "a new process",
    "loop": "an asyncio event loop, which needs a socket",
    "signal": "a signal",
    "limit": "a change of its limits",
    "call": "a system call",
}
_STEPS = {
    "network": "there is no network while grading: put what is needed into the file itself",
    "process": "a solution is one process: leave out subprocess, multiprocessing and os.fork",
    "loop": "call the functions directly: a solution needs no asyncio",
    "signal": "leave that call out: a module may signal only itself, and not with SIGKILL",
    "limit": "leave that call out: the limits of a module stay as they are",
    "call": "leave that call out: a solution needs jax, numpy and plain Python",
}
_VERBS = frozenset(
    {
        "opening",
        "opening a database",
        "making a temporary file",
        "making the folder",
        "making",
        "deleting",
        "renaming",
        "listing",
        "changing",
    }
)


def told(
    facts: Mapping[str, Any], line: int | None, frames: tuple[str, ...], scratch_mib: int | None
) -> Outcome:
    """Return the outcome of a module that tried what it may not.

    Args:
        facts: what the child sent: `what` is the kind, `path`, `verb` and `way` belong to a file,
            `call` is the learner's own.
        line: where it was tried.
        frames: the way there.
        scratch_mib: what the working directory may hold, None where nothing can be written.
    """
    what = str(facts.get("what"))
    call = code(facts.get("call") or "")
    where = at(line) + (f", in {call}" if call else "")
    path = plain(facts.get("path") or "", PATH_CHARS).replace("'", "’")
    if what in ("full", "too_large"):
        return _full(what, path, where, line, frames, scratch_mib)
    step = _STEPS.get(what, _STEPS["call"])
    tried = _WHAT.get(what, _WHAT["call"])
    if what == "file":
        verb = str(facts.get("verb"))
        tried = (verb if verb in _VERBS else "opening") + (f" '{path}'" if path else " a file")
        if verb.partition(" ")[2] and not path:
            tried = verb
        way = facts.get("way")
        tried += f" for {way}" if way in ("reading", "writing") else ""
        step = _files(verb, way == "writing", scratch_mib)
    message = f"the sandbox refused {tried}{where}"
    return Outcome("blocked", message, line, frames, step)


def _full(
    what: str,
    path: str,
    where: str,
    line: int | None,
    frames: tuple[str, ...],
    scratch_mib: int | None,
) -> Outcome:
    named = f" '{path}'" if path else ""
    holds = f"the working directory holds {scratch_mib} MiB" if scratch_mib else ""
    if what == "full":
        message = f"the module filled its working directory with files{where}"
    else:
        message = f"the module wrote the file{named} beyond the size that a file may have{where}"
    return Outcome(
        "blocked",
        message + (f": {holds}" if holds else ""),
        line,
        frames,
        "write less, or nothing: no file is needed for a solution, and none is kept",
    )


def _files(verb: str, writing: bool, scratch_mib: int | None) -> str:
    """Return what to do in place of an act on a file, by what was tried."""
    if verb == "listing" or (verb == "opening" and not writing):
        return "a solution needs no file of this machine: put what it needs into the module itself"
    if not scratch_mib:
        if sys.platform != "linux":
            return "leave it out: a solution needs no file"
        return (
            "nothing may be written on this machine, which gives a module no folder of its own:"
            " leave it out; a solution needs no file"
        )
    if verb == "changing":
        return (
            "a file's mode, owner and times cannot be changed: copy with shutil.copyfile;"
            " a solution needs no file"
        )
    if verb == "making":
        return "links and pipes cannot be made: leave that call out; a solution needs no file"
    return (
        f"write only into the working directory, which holds {scratch_mib} MiB and is thrown"
        " away; a solution needs no file"
    )
