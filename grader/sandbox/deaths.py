"""Say how a process ended that could not tell it itself: from its exit and its last words.

Nothing in this file raises; a sentence that cannot be made more exact stays a general one.
"""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from grader.process import BROKEN_DOWN, Exit
from grader.records.evidence import Outcome
from grader.sandbox import fault_dump
from grader.sandbox.words import at, code, plain

SMALL = "the lesson's arrays take a few kilobytes: look for a size that grew"
IMPORTED = "the grader imports the module to its end"
_NO_MEMORY = re.compile(r"bad_alloc|Out of memory|RESOURCE_EXHAUSTED|Cannot allocate memory")
_FUNCTIONS = {
    "all-reduce": "psum, pmean or pmax",
    "all-gather": "all_gather",
    "all-to-all": "all_to_all",
    "reduce-scatter": "psum_scatter",
    "collective-permute": "ppermute",
}
_NAMES = {
    "SIGSEGV": "a segmentation fault, ",
    "SIGABRT": "an abort, ",
    "SIGBUS": "a bus error, ",
    "SIGFPE": "an arithmetic fault, ",
    "SIGILL": "an illegal instruction, ",
    "SIGKILL": "a kill, ",
    "SIGTERM": "a request to end, ",
}
_EXITS = ("_exit",)


@dataclass(frozen=True, slots=True)
class Death:
    """What is known of a process that ended without a word.

    `text` is all that it printed, `line` and `frames` are the learner's own, `statement` the
    source at that line, and `calls` are the calls in the unfinished statement, with their lines,
    that would end a process.
    """

    ended: Exit | None
    text: str
    line: int | None
    frames: tuple[str, ...] = ()
    statement: str = ""
    calls: Sequence[tuple[int, str]] = ()
    cpu_limit_s: float = 0.0
    memory_mib: int | None = None

    def where(self) -> str:
        """Return line and statement as a part of a sentence."""
        shown = code(self.statement)
        return at(self.line) + (f", in {shown}" if shown and self.line else "")


def told(death: Death) -> Outcome:
    """Return the outcome of a process that is gone."""
    ended = death.ended
    crashed = ended is None or ended.signal is not None or sys.platform == "win32"
    stuck = fault_dump.stuck(death.text) if crashed else None
    if stuck is not None:
        return _deadlock(death, stuck)
    if crashed and _NO_MEMORY.search(death.text):
        return no_memory(death.line, death.frames, memory_mib=death.memory_mib)
    if ended is not None and ended.by_cpu_limit(death.cpu_limit_s):
        return cpu(death.line, death.frames, ended.cpu_s, death.cpu_limit_s)
    if ended is not None and ended.signal:
        return _killed(death, ended.signal)
    if ended is not None and ended.code == BROKEN_DOWN:
        return Outcome(
            "no_result",
            f"the module's process broke down{at(death.line)} while its results were being read",
            death.line,
            death.frames,
            "remove code that changes NumPy, JAX or builtins: they are needed afterwards",
        )
    return _gone(death)


def no_memory(
    line: int | None,
    frames: tuple[str, ...] = (),
    wanted: str = "",
    memory_mib: int | None = None,
) -> Outcome:
    """Return the outcome of a module that asked for too much memory."""
    limit = f" ({memory_mib} MiB)" if memory_mib else ""
    more = f": {wanted}" if wanted else ""
    message = f"the module asked for more memory than it may have{limit}{at(line)}{more}"
    return Outcome("out_of_memory", message, line, frames, SMALL)


def cpu(line: int | None, frames: tuple[str, ...], used_s: float | None, limit_s: float) -> Outcome:
    """Return the outcome of a module that used up its CPU seconds."""
    more = used_s is not None and used_s >= limit_s > 0
    used = f": {used_s:.1f} of {limit_s:g}" if more else f": all {limit_s:g}" if limit_s else ""
    return Outcome(
        "cpu_limit",
        f"the module used up its CPU seconds{at(line)}{used}",
        line,
        frames,
        "look for a loop that does not end" + (" at that line" if line else ""),
    )


def _deadlock(death: Death, stuck: fault_dump.Stuck) -> Outcome:
    what = stuck.collective
    arrived = ""
    if stuck.arrived is not None:
        arrived = f": {stuck.arrived} of {stuck.expected} devices arrived"
        arrived += f" at the {what}" if what else ""
    message = f"a collective was not reached by every device{death.where()}{arrived}"
    means = f" ({_FUNCTIONS[what]})" if what in _FUNCTIONS else ""
    step = f"every device must run the same collectives{means}: move them out of a cond or an if"
    return Outcome("deadlock", message, death.line, death.frames, step)


def _killed(death: Death, number: int) -> Outcome:
    name = _signal(number)
    call = _call(death, exits=False)
    line = call[0] if call else death.line
    message = f"the module's process was ended by {name}{at(line)}"
    check = fault_dump.failed_check(death.text)
    if call:
        message += f", by {code(call[1])}"
        step = f"remove that call: {IMPORTED}"
    elif check:
        message += f"; XLA gave up with: {plain(check, 220)}"
        step = "look for a size that grew at that line; this is a fault that XLA cannot survive"
    else:
        shown = code(death.statement)
        message += f", in {shown}" if shown and line else ""
        step = _ADVICE.get(name.partition("SIG")[2][:4], _ANY_SIGNAL)
    return Outcome("killed", message, line, death.frames, step)


_ANY_SIGNAL = "look for code that ends the process or reaches into memory (ctypes, os.kill)"
_ADVICE = {
    "SEGV": "look for code that reaches into memory, such as ctypes",
    "ABRT": "look for os.abort, or for a library that gives up at that line",
    "KILL": "look for os.kill; this machine ends a process too when its memory is full",
}


def _call(death: Death, *, exits: bool) -> tuple[int, str] | None:
    """Return the one call of the unfinished statement that ends a process in this way."""
    ends = [one for one in death.calls if (_name(one[1]) in _EXITS) == exits]
    here = [one for one in ends if one[0] == death.line]
    chosen = here if len(here) == 1 else ends
    return chosen[0] if len(chosen) == 1 else None


def _name(call: str) -> str:
    return call.partition("(")[0].rpartition(".")[2]


def _gone(death: Death) -> Outcome:
    exit_code = death.ended.code if death.ended is not None else None
    how = f" (exit code {exit_code})" if exit_code is not None else ""
    call = _call(death, exits=True)
    if call:
        return Outcome(
            "no_result",
            f"the module ended its process{at(call[0])} by {code(call[1])}{how}, without a result",
            call[0],
            death.frames,
            f"remove that call: {IMPORTED}",
        )
    comma = "," if "," in death.where() else ""
    return Outcome(
        "no_result",
        f"the module's process ended{death.where()}{comma} without leaving a result{how}",
        death.line,
        death.frames,
        f"remove calls such as os._exit: {IMPORTED}",
    )


def _signal(number: int) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
    return f"{_NAMES.get(name, '')}{name} (signal {number})"
