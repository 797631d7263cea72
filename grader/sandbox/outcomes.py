"""Say how a module ended: from its last frames, its exit and what it printed, one Outcome.

What a learner's process did is data here, whatever it was; nothing in this file raises.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.process import HEAD_BYTES, TAIL_BYTES, Exit, OutputBuffer
from grader.records.evidence import Outcome
from grader.sandbox import deaths, fault_dump, misspelt, plainly, refusals
from grader.sandbox.meaning import Raised
from grader.sandbox.words import CODE_CHARS, at, bytes_of, code, line_of, plain

_FRAMES = 12
_BUSY = 0.5
_ALLOCATING = re.compile(r"allocating (\d{1,24}) bytes")


@dataclass(frozen=True, slots=True)
class Known:
    """What the coordinator knows beside the child's words; all of it may be missing.

    `source` is the module's text, `endings` are the calls of the unfinished statement that would
    end a process, with their lines; the rest are the limits of the exercise.
    """

    source: str = ""
    endings: Sequence[tuple[int, str]] = ()
    wall_limit_s: float | None = None
    memory_mib: int | None = None
    scratch_mib: int | None = None


def tell(
    name: str,
    stop: Mapping[str, Any] | None,
    done: bool,
    named: bool,
    ended: Exit | None,
    output: OutputBuffer,
    timed_out: bool,
    garbled: str,
    cpu_limit_s: float,
    unfinished: int | None = None,
    known: Known = Known(),
) -> Outcome:
    """Return the outcome of the first child.

    Args:
        name: file name of the submission, as tracebacks show it.
        stop: the frame that tells why the statements stopped, if one came.
        done: whether the child sent everything.
        named: whether the statements had ended, so that only exporting was left.
        ended: how the process ended, None where that is not known.
        output: what it printed.
        timed_out: whether it was killed for the wall clock.
        garbled: what was wrong with a frame, if one was no frame.
        cpu_limit_s: CPU seconds after which a process is ended.
        unfinished: line of the first statement that did not report its end.
        known: what else there is to say.
    """
    text = output.result().text
    dumped = fault_dump.frames(name, text)
    frames = tuple(f"line {line}, in {plain(where, 80)}" for line, where in dumped[-_FRAMES:])
    line = dumped[-1][0] if dumped else unfinished
    if output.flooded:
        return _flood(output, unfinished)
    if stop is not None:
        return _stopped(name, stop, cpu_limit_s, known)
    if done or named:
        return Outcome("finished")
    statement = line_of(known.source, line)
    if timed_out or _by_alarm(ended):
        cpu_s = ended.cpu_s if ended is not None else None
        return _wall(line, frames, known.wall_limit_s, cpu_s, statement)
    if garbled:
        return Outcome(
            "no_result",
            f"the module's process sent something that is no result ({plain(garbled, 300)})",
            line,
            next_step="remove code that writes to file descriptors it did not open",
        )
    return deaths.told(
        deaths.Death(
            ended, text, line, frames, statement, known.endings, cpu_limit_s, known.memory_mib
        )
    )


def _by_alarm(ended: Exit | None) -> bool:
    """Return whether it was the knock of the coordinator that ended a process which let it."""
    alarm = getattr(signal, "SIGALRM", None)
    return ended is not None and alarm is not None and ended.signal == alarm


def _flood(output: OutputBuffer, line: int | None) -> Outcome:
    cut = output.total - HEAD_BYTES - TAIL_BYTES
    kept = f"; the first {HEAD_BYTES >> 10} and the last {TAIL_BYTES >> 10} KiB are kept"
    return Outcome(
        "output_flood",
        f"the module printed more than {bytes_of(output.limit)} and was stopped{at(line)} after"
        f" {bytes_of(output.total)}" + (kept if cut > 0 else ""),
        line,
        next_step="remove the print inside the loop, or print only every hundredth step",
    )


def _stopped(name: str, stop: Mapping[str, Any], cpu_limit_s: float, known: Known) -> Outcome:
    kind, message = str(stop.get("kind")), plain(stop.get("message", ""))
    raw_line, raw_frames = stop.get("line"), stop.get("frames")
    line = raw_line if type(raw_line) is int and 0 < raw_line < fault_dump.LINES else None
    listed = raw_frames if isinstance(raw_frames, list) else []
    frames = tuple(plain(frame, 200) for frame in listed[:_FRAMES])
    raw_detail = stop.get("detail")
    detail: Mapping[str, Any] = raw_detail if isinstance(raw_detail, dict) else {}
    if kind == "syntax_error":
        return misspelt.told(name, message, line, detail)
    if kind == "exited":
        return _exited(message, line, frames, detail)
    if kind == "cpu_limit":
        return deaths.cpu(line, frames, None, cpu_limit_s)
    if kind == "wall_limit":
        return _wall(line, frames, known.wall_limit_s, None, line_of(known.source, line))
    if kind == "out_of_memory":
        return deaths.no_memory(line, frames, _wanted(message), known.memory_mib)
    refused = detail.get("refused")
    if isinstance(refused, dict):
        return refusals.told(refused, line, frames, known.scratch_mib)
    return _raised(message, line, frames, detail, known.source)


def _exited(
    message: str, line: int | None, frames: tuple[str, ...], detail: Mapping[str, Any]
) -> Outcome:
    call = code(detail.get("call") or "")
    by = f" by {call}" if call else ""
    # What stands in the call already is not said twice.
    said = bool(call) and message.removeprefix("exit code ") in call
    shown = f" ({message})" if message and not said else ""
    return Outcome(
        "exited",
        f"the module ended itself{at(line)}{by}{shown}",
        line,
        frames,
        f"remove the call that exits: {deaths.IMPORTED}",
    )


def _wall(
    line: int | None,
    frames: tuple[str, ...],
    limit_s: float | None,
    cpu_s: float | None,
    statement: str,
) -> Outcome:
    limit = f": {limit_s:g} seconds were allowed" if limit_s else ""
    used = f", it used {cpu_s:.1f} of the processor" if limit_s and cpu_s is not None else ""
    shown = f", in {code(statement)}" if statement and line else ""
    busy = limit_s and cpu_s is not None and cpu_s > _BUSY * limit_s
    return Outcome(
        "wall_limit",
        f"the module did not end in time{at(line)}{shown}{limit}{used}",
        line,
        frames,
        "look for a loop that does not end, or for a size that grew"
        if busy
        else "look for a wait, a sleep or an input that never comes",
    )


def _wanted(message: str) -> str:
    """Return what an error said about the memory that was asked for."""
    said = message.partition(": ")[2].removeprefix("RESOURCE_EXHAUSTED: ")
    return _ALLOCATING.sub(lambda found: f"allocating {bytes_of(int(found[1]))}", said)


def _raised(
    message: str,
    line: int | None,
    frames: tuple[str, ...],
    detail: Mapping[str, Any],
    source: str,
) -> Outcome:
    call = plain(detail.get("call") or "", CODE_CHARS + 2)
    by_hand = detail.get("own") is not False
    found = plainly.told(Raised(message, call, source, by_hand))
    if found is not None:
        return Outcome("raised", found.message, line, frames, found.step)
    if message == "AssertionError" and call:
        message = f"AssertionError: {code(call)} does not hold"
    return Outcome("raised", message, line, frames, _advice(message))


_BY_TYPE = {
    "NotImplementedError": "a part is not filled in yet; what needs it must wait",
    "NameError": "define that name above, or move the line below its definition",
    "UnboundLocalError": "give that name a value first in the function, or pass it as an argument",
    "ModuleNotFoundError": "use only jax, numpy and the standard library",
    "FileNotFoundError": "put the data into the module itself: your own folder is not there",
    "EOFError": "replace input() by a value: nobody types while a module is graded",
    "KeyboardInterrupt": "remove the line that raises it: nobody pressed a key",
    "RecursionError": "give the function that calls itself a case in which it does not",
    "AssertionError": "print both sides of that assert, and mend what differs",
    "TracerBoolConversionError": "use jnp.where or jax.lax.cond: a traced value is neither true"
    " nor false yet",
    "TracerArrayConversionError": "use jnp in place of np there: a traced value has no numbers yet",
    "ConcretizationTypeError": "keep that value out of the traced function, or make it static",
    "UnexpectedTracerError": "return the value from the traced function; do not store it outside",
}
_RUN_IT = "run the file with python, mend that line, and grade again"
_MODULE = re.compile(r"No module named '([^'\s]{1,80})'")


def _advice(message: str) -> str:
    """Return the next step for the errors that learners of this field meet most."""
    if "jax_num_cpu_devices" in message:
        return "remove that line: the grader always gives four CPU devices"
    kind = message.partition(":")[0]
    missing = _MODULE.search(message)
    if missing:
        return f"do without `{missing[1]}`: {_BY_TYPE['ModuleNotFoundError']}"
    if kind.endswith("Warning"):
        return "mend what it warns of: the module turns warnings into errors"
    return _BY_TYPE.get(kind, _RUN_IT)
