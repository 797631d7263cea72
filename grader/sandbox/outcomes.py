"""Say how a module ended: from its last frames, its exit and what it printed, one Outcome.

What a learner's process did is data here, whatever it was; nothing in this file raises.
"""

from __future__ import annotations

import re
import shlex
import signal
from collections.abc import Mapping
from typing import Any

from grader.process import BROKEN_DOWN, Exit, OutputBuffer
from grader.records.evidence import Outcome

_STUCK = re.compile(r"[Ee]xpected (\d+) threads? to join.{0,80}?only (\d+)", re.DOTALL)
_STUCK_WORDS = ("Termination timeout", "rendezvous")
_FAULT_LINE = re.compile(r'File "([^"\n]+)", line (\d+) in (\S+)')
_NO_MEMORY = re.compile(r"bad_alloc|Out of memory|RESOURCE_EXHAUSTED|Cannot allocate memory")
LINES = 100_000_000
_SMART = {
    "\u2018": "'",
    "\u2019": "'",
    "\u201c": '"',
    "\u201d": '"',
    "\u2013": "-",
    "\u2014": "-",
    "\u00a0": "a plain space",
    "\u2026": "...",
}


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
    """
    text = output.result().text
    line = _fault_line(name, text) or unfinished
    if output.flooded:
        return _flood(output, line)
    if stop is not None:
        return _stopped(name, stop)
    if done or named:
        return Outcome("finished")
    if timed_out:
        return _wall(line)
    if garbled:
        return Outcome(
            "no_result",
            f"the module's process sent something that is no result ({garbled})",
            line,
            next_step="remove code that writes to file descriptors it did not open",
        )
    return _died(ended, text, line, cpu_limit_s)


def _fault_line(name: str, text: str) -> int | None:
    """Return the learner's line from faulthandler's dump, the innermost one."""
    for file, line, _function in _FAULT_LINE.findall(text[-20_000:]):
        if file.rsplit("/", 1)[-1] == name:
            return int(line)
    return None


def _flood(output: OutputBuffer, line: int | None) -> Outcome:
    return Outcome(
        "output_flood",
        f"the module printed more than {output.limit >> 20} MiB and was stopped",
        line,
        next_step="remove the print inside the loop; head and tail of the output are kept",
    )


def _stopped(name: str, stop: Mapping[str, Any]) -> Outcome:
    kind, message = str(stop.get("kind")), str(stop.get("message", ""))[:1500]
    raw_line, raw_frames = stop.get("line"), stop.get("frames")
    line = raw_line if type(raw_line) is int and 0 < raw_line < LINES else None
    listed = raw_frames if isinstance(raw_frames, list) else []
    frames = tuple(str(frame)[:200] for frame in listed[:12])
    raw_detail = stop.get("detail")
    detail: Mapping[str, Any] = raw_detail if isinstance(raw_detail, dict) else {}
    at = f" at line {line}" if line else ""
    if kind == "syntax_error":
        return _syntax(name, message, line, detail)
    if kind == "exited":
        return Outcome(
            "exited",
            f"the module ended itself{at}" + (f" ({message})" if message else ""),
            line,
            frames,
            "remove the call that exits: the grader imports the module to its end",
        )
    if kind == "cpu_limit":
        return Outcome(
            "cpu_limit",
            f"the module used up its CPU seconds{at}",
            line,
            frames,
            "look for a loop that does not end at that line",
        )
    if kind == "wall_limit":
        return _wall(line, frames)
    if kind == "out_of_memory":
        return Outcome(
            "out_of_memory",
            f"the module asked for more memory than it may have{at}",
            line,
            frames,
            "the lesson's arrays take a few kilobytes: look for a size that grew",
        )
    if detail.get("denied") is True:
        return Outcome(
            "blocked",
            f"the sandbox refused what the module tried{at}: {message}",
            line,
            frames,
            "remove file, network and process calls: a solution needs none, nor may it write files",
        )
    return Outcome("raised", message, line, frames, _advice(message))


def _wall(line: int | None, frames: tuple[str, ...] = ()) -> Outcome:
    at = f" at line {line}" if line else ""
    return Outcome(
        "wall_limit",
        f"the module did not end in time{at}",
        line,
        frames,
        "look for a wait, a sleep or an input that never comes",
    )


def _smart(message: str, text: str) -> str | None:
    """Return the character that a word processor left, if that is what the error is about."""
    named = next((char for char in _SMART if f"U+{ord(char):04X}" in message), None)
    if named or "unterminated string" not in message:
        return named
    return next((char for char in text if _SMART.get(char) in ("'", '"')), None)


def _syntax(name: str, message: str, line: int | None, detail: Mapping[str, Any]) -> Outcome:
    smart = _smart(message, str(detail.get("text", "")))
    where = f" at line {line}" if line else ""
    if smart is not None:
        return Outcome(
            "syntax_error",
            f"{name} is not Python{where}: it has the character {smart!r} (U+{ord(smart):04X})",
            line,
            next_step=f"type {_SMART[smart]} there instead; word processors put the other in",
        )
    return Outcome(
        "syntax_error",
        f"{name} is not Python{where}: {message}",
        line,
        next_step=f"run `python -m py_compile {shlex.quote(name)}` and mend that line",
    )


def _died(ended: Exit | None, text: str, line: int | None, cpu_limit_s: float) -> Outcome:
    at = f" at line {line}" if line else ""
    stuck = _STUCK.search(text)
    if stuck or all(words in text for words in _STUCK_WORDS):
        arrived = f": {stuck[2]} of {stuck[1]} devices arrived" if stuck else ""
        return Outcome(
            "deadlock",
            f"a collective was not reached by every device{at}{arrived}",
            line,
            (),
            "every device must run the same collectives: move them out of a cond or an if",
        )
    if _NO_MEMORY.search(text):
        return Outcome(
            "out_of_memory",
            f"the module asked for more memory than it may have{at}",
            line,
            (),
            "the lesson's arrays take a few kilobytes: look for a size that grew",
        )
    if ended is not None and _ran_out(ended, cpu_limit_s):
        return Outcome(
            "cpu_limit",
            f"the module used up its CPU seconds{at}",
            line,
            (),
            "look for a loop that does not end",
        )
    if ended is not None and ended.signal:
        return Outcome(
            "killed",
            f"the module's process was ended by {_signal(ended.signal)}{at}",
            line,
            (),
            "look for code that ends the process or reaches into memory (ctypes, os.kill)",
        )
    if ended is not None and ended.code == BROKEN_DOWN:
        return Outcome(
            "no_result",
            f"the module's process broke down{at} while its results were being read",
            line,
            next_step="remove code that changes NumPy, JAX or builtins: they are needed afterwards",
        )
    how = f" (exit code {ended.code})" if ended is not None and ended.code is not None else ""
    return Outcome(
        "no_result",
        f"the module's process ended{at} without leaving a result{how}",
        line,
        next_step="remove calls such as os._exit: the grader imports the module to its end",
    )


def _ran_out(ended: Exit, cpu_limit_s: float) -> bool:
    """Return whether it was the CPU limit that ended a process, and not some other kill."""
    over = getattr(signal, "SIGXCPU", None)
    kill = getattr(signal, "SIGKILL", None)
    if ended.signal is None or ended.signal not in (over, kill):
        return False
    return ended.signal == over or ended.cpu_s >= cpu_limit_s - 0.5


def _signal(number: int) -> str:
    try:
        return f"{signal.Signals(number).name} (signal {number})"
    except ValueError:
        return f"signal {number}"


def _advice(message: str) -> str:
    """Return the next step for the errors that learners of this field meet most."""
    if "jax_num_cpu_devices" in message:
        return "remove that line: the grader always gives four CPU devices"
    if message.startswith("NotImplementedError"):
        return "a part is not filled in yet; what needs it must wait"
    if message.startswith("NameError"):
        return "define that name above, or move the line below its definition"
    if "ModuleNotFoundError" in message:
        return "use only jax, numpy and the standard library; other files are not beside yours here"
    return "run the file with python, mend that line, and grade again"
