from __future__ import annotations

import json
import signal
import sys
from dataclasses import asdict
from typing import Any, get_args

import pytest

from grader.process import Exit, OutputBuffer
from grader.records.evidence import Outcome, OutcomeKind, Output
from grader.sandbox import fault_dump, outcomes, statements
from grader.sandbox.outcomes import Known

NAME = "my solution.py"
FAULT = f"""Fatal Python error: Segmentation fault

Thread 0x00007f (most recent call first):
  File "/usr/lib/python3/ctypes/__init__.py", line 500 in string_at
  File "{NAME}", line 7 in crash
  File "{NAME}", line 9 in <module>
"""
STUCK = (
    "E0000 rendezvous.cc:102] Termination timeout for `all reduce RendezvousKey{run_id=1}` of 4 s"
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
RUN_IT = "run the file with python, mend that line, and grade again"
CHECK = "`python -m py_compile 'my solution.py'`"
ALL = f"{CHECK} tells whether that was all"
NOWHERE = (
    "nothing may be written on this machine, which gives a module no folder of its own:"
    " leave it out; a solution needs no file"
    if sys.platform == "linux"
    else "leave it out: a solution needs no file"
)
WITHIN = (
    "write only into the working directory, which holds 8 MiB and is thrown away; a solution"
    " needs no file"
)
NO_FILE = "a solution needs no file of this machine: put what it needs into the module itself"
NO_MODES = (
    "a file's mode, owner and times cannot be changed: copy with shutil.copyfile; a solution"
    " needs no file"
)
NO_LINKS = "links and pipes cannot be made: leave that call out; a solution needs no file"
SOURCE = "\n" * 6 + "    stuck(x).block_until_ready()  # here\nother()\n"
READS = "remove that call: " + IMPORTED
Told = tuple[dict[str, Any], OutcomeKind, str, str, int | None]


def refused(**facts: str) -> dict[str, Any]:
    return {"stop": stop("raised", "PermissionError: no", detail={"refused": facts})}


def misspelt(message: str, text: str = "", offset: int = 0) -> dict[str, Any]:
    return {"stop": stop("syntax_error", message, detail={"text": text, "offset": offset})}


TOLD: dict[str, Told] = {
    "everything sent": ({"done": True}, "finished", "", "", None),
    "stopped only while exporting": ({"named": True, "timed_out": True}, "finished", "", "", None),
    "an exception": (
        {"stop": stop("raised", "ValueError: no")},
        "raised",
        "ValueError: no",
        RUN_IT,
        7,
    ),
    "a part that is not filled in": (
        {"stop": stop("raised", "NotImplementedError: TODO")},
        "raised",
        "a part that is needed here is not filled in yet: TODO",
        "fill it in, or put the # back in front of the lines that need it",
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
        "do without `mine`: use only jax, numpy and the standard library",
        7,
    ),
    "another number of devices": (
        {"stop": stop("raised", "RuntimeError: jax_num_cpu_devices config should be updated")},
        "raised",
        "RuntimeError: jax_num_cpu_devices config should be updated",
        "remove that line: the grader always gives four CPU devices",
        7,
    ),
    "an assertion without words": (
        {"stop": stop("raised", "AssertionError", detail={"call": "assert x == 3"})},
        "raised",
        "AssertionError: `assert x == 3` does not hold",
        "print both sides of that assert, and mend what differs",
        7,
    ),
    "a warning that became an error": (
        {"stop": stop("raised", "RuntimeWarning: overflow encountered")},
        "raised",
        "RuntimeWarning: overflow encountered",
        "mend what it warns of: the module turns warnings into errors",
        7,
    ),
    "a file that is refused": (
        refused(what="file", path="x.txt", verb="opening", way="writing", call="open('x.txt','w')"),
        "blocked",
        "the sandbox refused opening 'x.txt' for writing at line 7, in `open('x.txt','w')`",
        NOWHERE,
        7,
    ),
    "a file that is refused, with a place for others": (
        {
            **refused(what="file", path="/etc/x", verb="deleting", way=""),
            "known": Known(scratch_mib=8),
        },
        "blocked",
        "the sandbox refused deleting '/etc/x' at line 7",
        WITHIN,
        7,
    ),
    "a temporary file": (
        refused(what="file", verb="making a temporary file", call="tempfile.mkdtemp()"),
        "blocked",
        "the sandbox refused making a temporary file at line 7, in `tempfile.mkdtemp()`",
        NOWHERE,
        7,
    ),
    "a full directory": (
        {**refused(what="full", path="x", call="save()"), "known": Known(scratch_mib=8)},
        "blocked",
        "the module filled its working directory with files at line 7, in `save()`:"
        " the working directory holds 8 MiB",
        "write less, or nothing: no file is needed for a solution, and none is kept",
        7,
    ),
    "a file that grew": (
        refused(what="too_large", path="x"),
        "blocked",
        "the module wrote the file 'x' beyond the size that a file may have at line 7",
        "write less, or nothing: no file is needed for a solution, and none is kept",
        7,
    ),
    "the network": (
        refused(what="network", call="urlopen(url)"),
        "blocked",
        "the sandbox refused a network connection at line 7, in `urlopen(url)`",
        "there is no network while grading: put what is needed into the file itself",
        7,
    ),
    "a process": (
        refused(what="process", call="os.fork()"),
        "blocked",
        "the sandbox refused a new process at line 7, in `os.fork()`",
        "a solution is one process: leave out subprocess, multiprocessing and os.fork",
        7,
    ),
    "an event loop": (
        refused(what="loop", call="asyncio.run(main())"),
        "blocked",
        "the sandbox refused an asyncio event loop, which needs a socket at line 7,"
        " in `asyncio.run(main())`",
        "call the functions directly: a solution needs no asyncio",
        7,
    ),
    "a signal": (
        refused(what="signal", call="os.kill(1, 9)"),
        "blocked",
        "the sandbox refused a signal at line 7, in `os.kill(1, 9)`",
        "leave that call out: a module may signal only itself, and not with SIGKILL",
        7,
    ),
    "a limit": (
        refused(what="limit", call="setrlimit(kind, most)"),
        "blocked",
        "the sandbox refused a change of its limits at line 7, in `setrlimit(kind, most)`",
        "leave that call out: the limits of a module stay as they are",
        7,
    ),
    "another refusal": (
        refused(what="call"),
        "blocked",
        "the sandbox refused a system call at line 7",
        "leave that call out: a solution needs jax, numpy and plain Python",
        7,
    ),
    "an exit": (
        {"stop": stop("exited", "exit code 0", detail={"call": "sys.exit(0)"})},
        "exited",
        "the module ended itself at line 7 by `sys.exit(0)`",
        f"remove the call that exits: {IMPORTED}",
        7,
    ),
    "an exit whose code is somewhere else": (
        {"stop": stop("exited", "exit code 3", detail={"call": "main()"})},
        "exited",
        "the module ended itself at line 7 by `main()` (exit code 3)",
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
        "the module used up its CPU seconds at line 7: all 20",
        "look for a loop that does not end at that line",
        7,
    ),
    "the wall limit": (
        {"stop": stop("wall_limit"), "known": Known(SOURCE, wall_limit_s=30)},
        "wall_limit",
        "the module did not end in time at line 7, in `stuck(x).block_until_ready()`:"
        " 30 seconds were allowed",
        "look for a wait, a sleep or an input that never comes",
        7,
    ),
    "no memory": (
        {"stop": stop("out_of_memory", "MemoryError")},
        "out_of_memory",
        "the module asked for more memory than it may have at line 7",
        SIZE,
        7,
    ),
    "no memory for an array": (
        {
            "stop": stop("out_of_memory", "_ArrayMemoryError: Unable to allocate 8.00 TiB"),
            "known": Known(memory_mib=3072),
        },
        "out_of_memory",
        "the module asked for more memory than it may have (3072 MiB) at line 7:"
        " Unable to allocate 8.00 TiB",
        SIZE,
        7,
    ),
    "no memory in XLA": (
        {
            "stop": stop(
                "out_of_memory",
                "JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 4398046511104 bytes",
            )
        },
        "out_of_memory",
        "the module asked for more memory than it may have at line 7:"
        " Out of memory allocating 4 TiB",
        SIZE,
        7,
    ),
    "a syntax error": (
        misspelt("'(' was never closed", "x = (1,\n", 5),
        "syntax_error",
        "my solution.py is not Python at line 7: '(' was never closed in column 5, at `(1,`",
        f"close that bracket; {ALL}",
        7,
    ),
    "a syntax error without a name": (
        misspelt("invalid syntax"),
        "syntax_error",
        "my solution.py is not Python at line 7: invalid syntax",
        f"run {CHECK} and mend that line",
        7,
    ),
    "a smart quote": (
        misspelt("invalid character '\u201c' (U+201C)", "x = \u201ca\u201d", 5),
        "syntax_error",
        "my solution.py is not Python at line 7: it has the character '\u201c' (U+201C)"
        " in column 5",
        'type " there instead; word processors put the other in',
        7,
    ),
    "a smart quote that closes nothing": (
        misspelt("unterminated string literal (detected at line 7)", "x = 'a\u2019", 5),
        "syntax_error",
        "my solution.py is not Python at line 7: it has the character '\u2019' (U+2019)"
        " in column 7",
        "type ' there instead; word processors put the other in",
        7,
    ),
    "a hard space": (
        misspelt("invalid non-printable character U+00A0", "x =\u00a01", 4),
        "syntax_error",
        "my solution.py is not Python at line 7: it has the character '\\xa0' (U+00A0) in column 4",
        "type a plain space there instead; word processors put the other in",
        7,
    ),
    "a minus of mathematics": (
        misspelt("invalid character '\u2212' (U+2212)", "x = \u22121", 5),
        "syntax_error",
        "my solution.py is not Python at line 7: it has the character '\u2212' (U+2212)"
        " in column 5",
        "type - there instead; word processors put the other in",
        7,
    ),
    "a wide bracket": (
        misspelt("invalid character '\uff08' (U+FF08)", "f\uff081)", 2),
        "syntax_error",
        "my solution.py is not Python at line 7: it has the character '\uff08' (U+FF08)"
        " in column 2",
        "type ( there instead: this one is a wide or decorated form of it",
        7,
    ),
    "a space without width": (
        misspelt("invalid non-printable character U+200B", "x\u200b = 1", 2),
        "syntax_error",
        "my solution.py is not Python at line 7: it has the invisible character U+200B"
        " (zero width space) in column 2",
        "delete it: it cannot be seen; copying from a web page or a chat puts it in",
        7,
    ),
    "a second byte order mark": (
        misspelt("invalid non-printable character U+FEFF", "\ufeffx = 1", 1),
        "syntax_error",
        "my solution.py is not Python at line 7: it has the invisible character U+FEFF"
        " (zero width no-break space) in column 1",
        "delete it: it cannot be seen; copying from a web page or a chat puts it in",
        7,
    ),
    "a picture": (
        misspelt("invalid character '\U0001f600' (U+1F600)", "x = \U0001f600", 5),
        "syntax_error",
        "my solution.py is not Python at line 7: it has the character '\U0001f600'"
        " (U+1F600, grinning face) in column 5",
        "delete it, or put it between quotes: only texts and comments may have it",
        7,
    ),
    "another error on a line with a smart quote": (
        misspelt("invalid syntax", "def f(: # it\u2019s"),
        "syntax_error",
        "my solution.py is not Python at line 7: invalid syntax",
        f"run {CHECK} and mend that line",
        7,
    ),
    "tabs and spaces": (
        misspelt("inconsistent use of tabs and spaces in indentation", "\ty = 1\n", 8),
        "syntax_error",
        "my solution.py is not Python at line 7:"
        " inconsistent use of tabs and spaces in indentation in column 8",
        f"indent with four spaces, and with no tab anywhere; {ALL}",
        7,
    ),
    "a print of Python 2": (
        misspelt(
            "Missing parentheses in call to 'print'. Did you mean print(...)?", 'print "a"', 1
        ),
        "syntax_error",
        "my solution.py is not Python at line 7: Missing parentheses in call to 'print'."
        ' Did you mean print(...)? in column 1, at `print "a"`',
        f"write print(…): this is Python 3; {ALL}",
        7,
    ),
    "a command of a notebook": (
        misspelt("invalid syntax", "!pip install jax\n", 1),
        "syntax_error",
        "my solution.py is not Python at line 7: invalid syntax; the line is a command of a"
        " notebook, no Python in column 1, at `!pip install jax`",
        "delete that line",
        7,
    ),
    "killed for the wall clock": (
        {
            "timed_out": True,
            "ended": Exit(None, 9, 0.3),
            "output": printed(FAULT),
            "known": Known(wall_limit_s=30),
        },
        "wall_limit",
        "the module did not end in time at line 7: 30 seconds were allowed,"
        " it used 0.3 of the processor",
        "look for a wait, a sleep or an input that never comes",
        7,
    ),
    "killed for the wall clock while it was busy": (
        {"timed_out": True, "ended": Exit(None, 9, 19.0), "known": Known(wall_limit_s=30)},
        "wall_limit",
        "the module did not end in time: 30 seconds were allowed, it used 19.0 of the processor",
        "look for a loop that does not end, or for a size that grew",
        None,
    ),
    "an alarm that ended the process": (
        {"ended": Exit(None, 14), "unfinished": 3},
        "wall_limit",
        "the module did not end in time at line 3",
        "look for a wait, a sleep or an input that never comes",
        3,
    ),
    "a flood": (
        {"output": printed("x" * (5 << 20)), "ended": Exit(None, 9), "unfinished": 3},
        "output_flood",
        "the module printed more than 4 MiB and was stopped at line 3 after 5 MiB;"
        " the first 16 and the last 16 KiB are kept",
        "remove the print inside the loop, or print only every hundredth step",
        3,
    ),
    "nonsense on the pipe": (
        {"garbled": "a frame was cut short"},
        "no_result",
        "the module's process sent something that is no result (a frame was cut short)",
        "remove code that writes to file descriptors it did not open",
        None,
    ),
    "a deadlock": (
        {"ended": Exit(None, 6), "output": printed(STUCK + FAULT), "known": Known(SOURCE)},
        "deadlock",
        "a collective was not reached by every device at line 7,"
        " in `stuck(x).block_until_ready()`: 3 of 4 devices arrived at the all-reduce",
        "every device must run the same collectives (psum, pmean or pmax): move them out of a"
        " cond or an if",
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
        "the module used up its CPU seconds at line 7: 20.1 of 20",
        "look for a loop that does not end at that line",
        7,
    ),
    "a crash": (
        {"ended": Exit(None, 11), "output": printed(FAULT), "known": Known(SOURCE)},
        "killed",
        "the module's process was ended by a segmentation fault, SIGSEGV (signal 11) at line 7,"
        " in `stuck(x).block_until_ready()`",
        "look for code that reaches into memory, such as ctypes",
        7,
    ),
    "an abort of XLA": (
        {
            "ended": Exit(None, 6),
            "output": printed("F1130 01:37:32 7161 raw_buffer.h:106] Check failed: a == b \n"),
        },
        "killed",
        "the module's process was ended by an abort, SIGABRT (signal 6);"
        " XLA gave up with: Check failed: a == b",
        "look for a size that grew at that line; this is a fault that XLA cannot survive",
        None,
    ),
    "a kill of its own": (
        {
            "ended": Exit(None, 9, 0.2),
            "known": Known(endings=[(5, "os._exit(1)"), (6, "os.kill(os.getpid(), 9)")]),
        },
        "killed",
        "the module's process was ended by a kill, SIGKILL (signal 9) at line 6,"
        " by `os.kill(os.getpid(), 9)`",
        READS,
        6,
    ),
    "a kill that used no CPU": (
        {"ended": Exit(None, 9, 0.2)},
        "killed",
        "the module's process was ended by a kill, SIGKILL (signal 9)",
        "look for os.kill; this machine ends a process too when its memory is full",
        None,
    ),
    "a signal without a name": (
        {"ended": Exit(None, 200)},
        "killed",
        "the module's process was ended by signal 200",
        "look for code that ends the process or reaches into memory (ctypes, os.kill)",
        None,
    ),
    "an end by a call": (
        {"ended": Exit(0, None), "known": Known(endings=[(4, "os._exit(0)")]), "unfinished": 3},
        "no_result",
        "the module ended its process at line 4 by `os._exit(0)` (exit code 0), without a result",
        READS,
        4,
    ),
    "an end by one of several calls": (
        {
            "ended": Exit(1, None),
            "known": Known(SOURCE, [(4, "os._exit(0)"), (5, "os._exit(1)")]),
            "unfinished": 8,
        },
        "no_result",
        "the module's process ended at line 8, in `other()`, without leaving a result"
        " (exit code 1)",
        f"remove calls such as os._exit: {IMPORTED}",
        8,
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


def test_the_frames_of_a_dump_are_the_learners_own_innermost_last() -> None:
    found = tell(ended=Exit(None, 11), output=printed(FAULT))
    assert found.frames == ("line 9, in <module>", "line 7, in crash")


def test_of_several_dumps_the_last_one_counts_and_in_it_the_current_thread() -> None:
    first = f'Current thread 0x01 (most recent call first):\n  File "{NAME}", line 1 in a\n\n'
    last = (
        "Fatal Python error: Aborted\n\n"
        f'Current thread 0x01 (most recent call first):\n  File "{NAME}", line 5 in b\n\n'
        f'Thread 0x02 (most recent call first):\n  File "{NAME}", line 6 in c\n'
    )
    assert fault_dump.frames(NAME, first + last) == [(5, "b")]
    assert fault_dump.frames(NAME, first + last.replace("Current t", "T")) == [(6, "c")]
    assert fault_dump.frames(NAME, first) == [(1, "a")]


def test_a_name_that_is_not_ascii_is_found_in_a_dump() -> None:
    dump = 'Thread 0x1 [python] (most recent call first):\n  File "l\\xf6sung.py", line 3 in f\n'
    assert fault_dump.frames("l\u00f6sung.py", dump) == [(3, "f")]


def test_words_that_a_module_printed_itself_make_no_crash() -> None:
    assert tell(ended=Exit(1, None), output=printed("Out of memory")).kind == "no_result"
    assert tell(ended=Exit(1, None), output=printed(STUCK)).kind == "no_result"


def test_a_dump_that_another_line_tore_apart_is_left_out_too() -> None:
    said = (
        "hello\nCurrent thread 0x00007f (most recent call first):\n"
        '  File "s.py", line 1 in <module>\n'
        "E1130 rendezvous.cc:12] All thread stack traces: in/grader/sandbox/statements.py"
        '", line 139 in _run_one\n'
        '  File "/a/grader/sandbox/learner.py", line 43 in main\nbye\n'
    )
    assert fault_dump.left_out(Output(said, "", len(said))) == Output("hello\nbye\n", "", 10)


def test_the_dumps_are_left_out_of_what_the_module_printed() -> None:
    dump = FAULT.replace("Thread", "Current thread") + "\nExtension modules: numpy (total: 1)\n"
    xla = "*** Check failure stack trace: ***\n    @     0x7f8f78040634  (unknown)\n"
    said = Output(f"mine\n{xla}{dump}", "", 1000)
    left = fault_dump.left_out(said)
    assert left.head.split() == ["mine"]
    assert left.total_bytes == 1000 - len(said.head) + len(left.head)
    own = Output('mine at 0x12\n  File "a.py", line 3 in f\n', "", 50)
    assert fault_dump.left_out(own) is own


def test_what_cannot_be_printed_is_spelled_out() -> None:
    found = tell(stop=stop("raised", "ValueError: \x1b[2J\ud800\u202e a\nb"))
    assert found.message == r"ValueError: \x1b[2J\ud800\u202e a b"


# ------------------------------------------------------- from the module's text to the sentence


def said(source: str | bytes) -> Outcome:
    """Return what is told of a module that this process runs itself."""
    raw = source.encode() if isinstance(source, str) else source
    tree = statements.parse(raw, NAME)
    found: statements.Stop | None
    if isinstance(tree, statements.Stop):
        found = tree
    else:
        module = statements.new_module(NAME)
        found = statements.run(tree, module, NAME, None, lambda _index: None)
        del sys.modules[statements.MODULE_NAME]
    assert found is not None
    return tell(stop=json.loads(json.dumps(asdict(found))))


SAID = {
    "an exception without words": ("raise ValueError\n", "ValueError", RUN_IT),
    "an assertion": ("x = 1\nassert x == 2\n", "AssertionError: `", "print both sides"),
    "a module that is not there": (
        "import my_helpers\n",
        "ModuleNotFoundError: No module named 'my_helpers'",
        "do without `my_helpers`",
    ),
    "a file that is not there": (
        "open('data.csv')\n",
        "FileNotFoundError: [Errno 2] No such file or directory: 'data.csv'",
        "put the data into the module itself",
    ),
    "a refusal of its own": ("raise PermissionError('x')\n", "PermissionError: x", RUN_IT),
    "an address": ("def f(): ...\nraise ValueError(f)\n", "ValueError: <function f>", RUN_IT),
    "half a character": ("raise ValueError('\\ud800')\n", r"ValueError: \ud800", RUN_IT),
    "a liar": (
        "class E(Exception):\n    def __str__(self): raise SystemExit\n"
        "    __class__ = property(lambda self: 1 / 0)\nraise E\n",
        "E: (its message cannot be shown)",
        RUN_IT,
    ),
    "a recursion": ("def f(): f()\nf()\n", "RecursionError: maximum", "give the function that"),
    "an exit": ("raise SystemExit(3)\n", "at line 1 by `raise SystemExit(3)`", "remove the call"),
    "a print of Python 2": (
        'print "a"\n',
        "is not Python at line 1: Missing parentheses in call to 'print'."
        ' Did you mean print(...)? in column 1, at `print "a"`',
        "write print(…): this is Python 3",
    ),
    "a minus of mathematics": (
        "x = 3\ny = x \u2212 1\n",
        "at line 2: it has the character '\u2212' (U+2212) in column 7",
        "type - there instead",
    ),
    "wide brackets": (
        "print\uff081\uff09\n",
        "at line 1: it has the character '\uff08' (U+FF08) in column 6",
        "type ( there instead",
    ),
    "a space without width": (
        "x = 3\ny\u200b = 1\n",
        "at line 2: it has the invisible character U+200B (zero width space) in column 2",
        "delete it: it cannot be seen",
    ),
    "two byte order marks": (
        b"\xef\xbb\xbf\xef\xbb\xbfx = 1\n",
        "at line 1: it has the invisible character U+FEFF",
        "delete it: it cannot be seen",
    ),
    "a smart quote": (
        "x = 1\ny = \u2018a\u2019\n",
        "at line 2: it has the character '\u2018' (U+2018) in column 5",
        "type ' there instead",
    ),
    "a bracket that stays open": (
        "x = (1, 2\ny = 3\n",
        "at line 1: '(' was never closed in column 5, at `(1, 2`",
        "close that bracket",
    ),
    "a bracket too many": (
        "x = 1)\n",
        "at line 1: unmatched ')' in column 6",
        "delete that bracket",
    ),
    "a bracket of another kind": (
        "x = (1]\n",
        "closing parenthesis ']' does not match opening parenthesis '('",
        "close the inner bracket first",
    ),
    "tabs and spaces": (
        "if 1:\n        x = 1\n\ty = 2\n",
        "at line 3: inconsistent use of tabs and spaces in indentation",
        "indent with four spaces",
    ),
    "an indentation too many": (
        "x = 1\n  y = 2\n",
        "at line 2: unexpected indent",
        "take the blanks at the beginning of that line away",
    ),
    "a block that is missing": (
        "def f():\nx = 1\n",
        "at line 2: expected an indented block",
        "indent what belongs to it",
    ),
    "a path of Windows": (
        "x = 'C:\\Users\\me'\n",
        "at line 1: (unicode error) 'unicodeescape'",
        "write r before the quotes",
    ),
    "a text that stays open": (
        "x = 'abc\n",
        "at line 1: unterminated string literal",
        "close the quotes of that text",
    ),
    "a command of a notebook": (
        "x = 1\n%time x = 2\n",
        "at line 2: invalid syntax; the line is a command of a notebook, no Python",
        "delete that line",
    ),
    "a prompt": (
        ">>> x = 1\n",
        "at line 1: invalid syntax; the line begins with a prompt, `>>>`",
        "delete the prompts",
    ),
    "a conflict": (
        "x = 1\n<<<<<<< HEAD\n",
        "at line 2: invalid syntax; the line is a mark of a merge conflict",
        "keep one version",
    ),
    "a fence": (
        "```python\nx = 1\n```\n",
        "at line 1: invalid syntax; the line is a mark of Markdown",
        "delete that line",
    ),
    "an encoding nobody knows": (b"# coding: no-such\n", "no-such", "correct the coding line"),
    "bytes that are no UTF-8": (
        b"x = '\xff'\n",
        "can't decode byte 0xff",
        "save the file as UTF-8",
    ),
    "NUL bytes": (b"x = 1\0\n", "null byte", "save the file as plain text"),
}


@pytest.mark.parametrize(("source", "message", "step"), SAID.values(), ids=SAID)
def test_a_module_is_told_what_is_wrong_with_it(
    source: str | bytes, message: str, step: str
) -> None:
    found = said(source)
    assert message in found.message
    assert step in found.next_step


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
    stop("raised", detail={"refused": "yes"}),
    stop("raised", detail={"call": 5}),
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


TRIED = [
    # What was tried and how; what is said of it where there is a scratch, and where there is none.
    ("opening", "reading", NO_FILE, NO_FILE),
    ("opening", "", NO_FILE, NO_FILE),
    ("listing", "", NO_FILE, NO_FILE),
    ("opening", "writing", WITHIN, NOWHERE),
    ("opening a database", "", WITHIN, NOWHERE),
    ("making a temporary file", "", WITHIN, NOWHERE),
    ("making the folder", "", WITHIN, NOWHERE),
    ("deleting", "", WITHIN, NOWHERE),
    ("renaming", "", WITHIN, NOWHERE),
    ("changing", "", NO_MODES, NOWHERE),
    ("making", "", NO_LINKS, NOWHERE),
]


@pytest.mark.parametrize(("verb", "way", "with_scratch", "without"), TRIED)
def test_the_next_step_fits_what_was_tried_with_a_file(
    verb: str, way: str, with_scratch: str, without: str
) -> None:
    tried = refused(what="file", path="x", verb=verb, way=way)
    assert tell(**tried, known=Known(scratch_mib=8)).next_step == with_scratch
    for scratch_mib in (None, 0):
        assert tell(**tried, known=Known(scratch_mib=scratch_mib)).next_step == without


REFUSED = [
    {},
    {"what": None},
    {"what": "file", "path": 5, "verb": ["x"], "way": {}},
    {"what": "file", "path": "x" * 10**6, "verb": "<b>", "way": "crying", "call": "c" * 10**6},
    {"what": "full", "path": {"a": 1}},
]


@pytest.mark.parametrize("facts", REFUSED, ids=lambda f: str(f)[:40])
def test_a_forged_refusal_is_said_in_our_words(facts: dict[str, Any]) -> None:
    found = tell(stop=stop("raised", detail={"refused": facts}))
    assert found.kind == "blocked"
    assert len(found.message) < 400 and "<b>" not in found.message and "crying" not in found.message


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
