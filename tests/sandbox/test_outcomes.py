from __future__ import annotations

import signal
from typing import Any, get_args

import pytest

from grader.process import Exit, OutputBuffer
from grader.records.evidence import Outcome, OutcomeKind
from grader.sandbox import outcomes

NAME = "my solution.py"
FAULT = f"""Fatal Python error: Segmentation fault

Thread 0x00007f (most recent call first):
  File "/usr/lib/python3/ctypes/__init__.py", line 500 in string_at
  File "{NAME}", line 7 in crash
  File "{NAME}", line 9 in <module>
"""
STUCK = (
    "E0000 rendezvous.cc:102] Termination timeout for `first call to collective` of 4 seconds"
    " exceeded. Exiting to ensure a consistent program state. Expected 4 threads to join the"
    " rendezvous, but only 3 of them arrived on time.\n"
)


def printed(text: str = "", limit: int = 4 << 20) -> OutputBuffer:
    buffer = OutputBuffer(limit, lambda: None)
    buffer.feed(text.encode())
    return buffer


def tell(**given: Any) -> Outcome:
    facts: dict[str, Any] = {
        "stop": None,
        "done": False,
        "named": False,
        "ended": Exit(0, None),
        "output": printed(),
        "timed_out": False,
        "garbled": "",
        "cpu_limit_s": 20,
        **given,
    }
    return outcomes.tell(NAME, **facts)


def stop(kind: str, message: str = "", line: Any = 7, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "message": message, "line": line, "frames": ["line 7, in f"], **more}


IMPORTED = "the grader imports the module to its end"
SIZE = "the lesson's arrays take a few kilobytes: look for a size that grew"

TOLD: dict[str, tuple[dict[str, Any], OutcomeKind, str, str, int | None]] = {
    "everything sent": ({"done": True}, "finished", "", "", None),
    "stopped only while exporting": ({"named": True, "timed_out": True}, "finished", "", "", None),
    "an exception": (
        {"stop": stop("raised", "ValueError: no")},
        "raised",
        "ValueError: no",
        "run the file with python, mend that line, and grade again",
        7,
    ),
    "a part that is not filled in": (
        {"stop": stop("raised", "NotImplementedError: TODO")},
        "raised",
        "NotImplementedError: TODO",
        "a part is not filled in yet; what needs it must wait",
        7,
    ),
    "a name that is not there": (
        {"stop": stop("raised", "NameError: name 'g' is not defined")},
        "raised",
        "NameError: name 'g' is not defined",
        "define that name above, or move the line below its definition",
        7,
    ),
    "a module that is not there": (
        {"stop": stop("raised", "ModuleNotFoundError: No module named 'mine'")},
        "raised",
        "ModuleNotFoundError: No module named 'mine'",
        "use only jax, numpy and the standard library; other files are not beside yours here",
        7,
    ),
    "another number of devices": (
        {"stop": stop("raised", "RuntimeError: jax_num_cpu_devices config should be updated")},
        "raised",
        "RuntimeError: jax_num_cpu_devices config should be updated",
        "remove that line: the grader always gives four CPU devices",
        7,
    ),
    "a refusal of the sandbox": (
        {"stop": stop("raised", "PermissionError: no", detail={"denied": True})},
        "blocked",
        "the sandbox refused what the module tried at line 7: PermissionError: no",
        "remove file, network and process calls: a solution needs none, nor may it write files",
        7,
    ),
    "an exit": (
        {"stop": stop("exited", "exit code 0")},
        "exited",
        "the module ended itself at line 7 (exit code 0)",
        f"remove the call that exits: {IMPORTED}",
        7,
    ),
    "an exit without a word": (
        {"stop": stop("exited", "", None)},
        "exited",
        "the module ended itself",
        f"remove the call that exits: {IMPORTED}",
        None,
    ),
    "the CPU limit": (
        {"stop": stop("cpu_limit")},
        "cpu_limit",
        "the module used up its CPU seconds at line 7",
        "look for a loop that does not end at that line",
        7,
    ),
    "the wall limit": (
        {"stop": stop("wall_limit")},
        "wall_limit",
        "the module did not end in time at line 7",
        "look for a wait, a sleep or an input that never comes",
        7,
    ),
    "no memory": (
        {"stop": stop("out_of_memory", "MemoryError: ")},
        "out_of_memory",
        "the module asked for more memory than it may have at line 7",
        SIZE,
        7,
    ),
    "a syntax error": (
        {"stop": stop("syntax_error", "'(' was never closed")},
        "syntax_error",
        "my solution.py is not Python at line 7: '(' was never closed",
        "run `python -m py_compile 'my solution.py'` and mend that line",
        7,
    ),
    "a smart quote": (
        {"stop": stop("syntax_error", "invalid character '\u201c' (U+201C)")},
        "syntax_error",
        "my solution.py is not Python at line 7: it has the character '\u201c' (U+201C)",
        'type " there instead; word processors put the other in',
        7,
    ),
    "a smart quote that closes nothing": (
        {
            "stop": stop(
                "syntax_error",
                "unterminated string literal (detected at line 7)",
                detail={"text": "x = 'a\u2019"},
            )
        },
        "syntax_error",
        "my solution.py is not Python at line 7: it has the character '\u2019' (U+2019)",
        "type ' there instead; word processors put the other in",
        7,
    ),
    "a hard space": (
        {"stop": stop("syntax_error", "invalid non-printable character U+00A0")},
        "syntax_error",
        "my solution.py is not Python at line 7: it has the character '\\xa0' (U+00A0)",
        "type a plain space there instead; word processors put the other in",
        7,
    ),
    "another error on a line with a smart quote": (
        {"stop": stop("syntax_error", "invalid syntax", detail={"text": "def f(: # it\u2019s"})},
        "syntax_error",
        "my solution.py is not Python at line 7: invalid syntax",
        "run `python -m py_compile 'my solution.py'` and mend that line",
        7,
    ),
    "killed for the wall clock": (
        {"timed_out": True, "ended": Exit(None, 9), "output": printed(FAULT)},
        "wall_limit",
        "the module did not end in time at line 7",
        "look for a wait, a sleep or an input that never comes",
        7,
    ),
    "a flood": (
        {"output": printed("x" * (5 << 20)), "ended": Exit(None, 9)},
        "output_flood",
        "the module printed more than 4 MiB and was stopped",
        "remove the print inside the loop; head and tail of the output are kept",
        None,
    ),
    "nonsense on the pipe": (
        {"garbled": "a frame was cut short"},
        "no_result",
        "the module's process sent something that is no result (a frame was cut short)",
        "remove code that writes to file descriptors it did not open",
        None,
    ),
    "a deadlock": (
        {"ended": Exit(None, 6), "output": printed(STUCK + FAULT)},
        "deadlock",
        "a collective was not reached by every device at line 7: 3 of 4 devices arrived",
        "every device must run the same collectives: move them out of a cond or an if",
        7,
    ),
    "a deadlock without numbers": (
        {"ended": Exit(None, 6), "output": printed("rendezvous: Termination timeout")},
        "deadlock",
        "a collective was not reached by every device",
        "every device must run the same collectives: move them out of a cond or an if",
        None,
    ),
    "an abort for memory": (
        {"ended": Exit(None, 6), "output": printed("std::bad_alloc")},
        "out_of_memory",
        "the module asked for more memory than it may have",
        SIZE,
        None,
    ),
    "the CPU limit inside compiled code": (
        {"ended": Exit(None, 24, 20.1), "output": printed(FAULT)},
        "cpu_limit",
        "the module used up its CPU seconds at line 7",
        "look for a loop that does not end",
        7,
    ),
    "a crash": (
        {"ended": Exit(None, 11), "output": printed(FAULT)},
        "killed",
        "the module's process was ended by SIGSEGV (signal 11) at line 7",
        "look for code that ends the process or reaches into memory (ctypes, os.kill)",
        7,
    ),
    "a kill that used no CPU": (
        {"ended": Exit(None, 9, 0.2)},
        "killed",
        "the module's process was ended by SIGKILL (signal 9)",
        "look for code that ends the process or reaches into memory (ctypes, os.kill)",
        None,
    ),
    "a signal without a name": (
        {"ended": Exit(None, 200)},
        "killed",
        "the module's process was ended by signal 200",
        "look for code that ends the process or reaches into memory (ctypes, os.kill)",
        None,
    ),
    "an end without a result": (
        {"ended": Exit(0, None)},
        "no_result",
        "the module's process ended without leaving a result (exit code 0)",
        f"remove calls such as os._exit: {IMPORTED}",
        None,
    ),
    "an end nobody saw": (
        {"ended": None},
        "no_result",
        "the module's process ended without leaving a result",
        f"remove calls such as os._exit: {IMPORTED}",
        None,
    ),
}


@pytest.mark.skipif(not hasattr(signal, "SIGXCPU"), reason="names of signals differ")
@pytest.mark.parametrize(("facts", "kind", "message", "step", "line"), TOLD.values(), ids=TOLD)
def test_every_end_has_its_sentence_and_next_step(
    facts: dict[str, Any], kind: OutcomeKind, message: str, step: str, line: int | None
) -> None:
    found = tell(**facts)
    assert (found.kind, found.message) == (kind, message)
    assert (found.next_step, found.line) == (step, line)


def test_every_kind_of_outcome_is_told_by_some_end() -> None:
    assert {kind for _facts, kind, *_rest in TOLD.values()} == set(get_args(OutcomeKind))


def test_a_stop_keeps_the_learners_frames() -> None:
    assert tell(stop=stop("raised", "x")).frames == ("line 7, in f",)


def test_a_flood_is_told_even_when_everything_was_sent() -> None:
    assert tell(done=True, output=printed("x" * 11, limit=10)).kind == "output_flood"


def test_a_stop_is_told_even_when_everything_was_sent() -> None:
    assert tell(done=True, stop=stop("raised", "x")).kind == "raised"


def test_exit_code_0_and_printed_success_are_no_result() -> None:
    found = tell(ended=Exit(0, None), output=printed("100 points, passed\n"))
    assert found.kind == "no_result"


def test_a_dump_of_another_file_tells_no_line() -> None:
    assert tell(ended=Exit(None, 11), output=printed(FAULT.replace(NAME, "x.py"))).line is None


HOSTILE = [
    {},
    {"kind": None},
    {"kind": ["raised"]},
    {"kind": "finished"},
    stop("raised", line=-5),
    stop("raised", line=10**40),
    stop("raised", line=True),
    stop("raised", line="7"),
    stop("raised", frames=5),
    stop("raised", frames={"a": 1}),
    stop("raised", frames=[None, 1, {}] * 100),
    stop("raised", message={"a": 1}),
    stop("raised", message="x" * 10**6),
    stop("raised", detail=[]),
    stop("raised", detail={"denied": "yes"}),
    stop("syntax_error", detail={"text": {"a": 1}}),
    stop("syntax_error", message="unterminated string", detail={"text": 5}),
]


@pytest.mark.parametrize("frame", HOSTILE, ids=lambda f: str(f)[:40])
def test_a_forged_stop_is_data_like_any_other(frame: dict[str, Any]) -> None:
    found = tell(stop=frame)
    assert found.kind in ("raised", "syntax_error")
    assert found.line is None or found.line == 7
    assert len(found.message) <= 1600 and len(found.frames) <= 12
    assert all(len(line) <= 200 for line in found.frames)


def test_a_kill_before_the_cpu_limit_is_no_cpu_limit() -> None:
    assert tell(ended=Exit(None, 9, cpu_s=3.0)).kind == "killed"
    assert tell(ended=Exit(None, 9, cpu_s=21.0)).kind == "cpu_limit"


def test_the_statement_that_never_ended_is_the_line_where_nothing_else_tells_it() -> None:
    assert tell(ended=Exit(0, None), unfinished=12).line == 12
    assert tell(ended=Exit(None, 11), output=printed(FAULT), unfinished=12).line != 12


def test_a_process_that_broke_down_in_our_code_blames_no_exit_call() -> None:
    found = tell(ended=Exit(70, None))
    assert found.kind == "no_result"
    assert found.message.endswith("broke down while its results were being read")
    assert "changes NumPy, JAX or builtins" in found.next_step
