"""Read what the interpreter and XLA print when a process dies: the learner's line, who waited.

The text is the learner's output like any other, so what is found here is a hint and no more.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from grader.records.evidence import Output

_HEAD = re.compile(
    r"(?:Stack|(?:Current thread|Thread) 0x[0-9a-f]+.*) \(most recent call first\):\s*"
)
_FRAME = re.compile(r'  File "(.*)", line (\d+) in (.*?)\s*')
_REST = re.compile(r"  (?:\.\.\.|<.*>)\s*")
# A frame of ours, also where a line of XLA's got in between and tore the dump apart.
_OURS = re.compile(r'(?:File ".*)?grader/(?:sandbox|replay)/\w+\.py", line \d+ in ')
_FATAL = "Fatal Python error: "
# The interpreter's and XLA's talk about themselves; addresses change from run to run.
_NOISE = re.compile(
    r"Fatal Python error: .*|Extension modules: .*|\*\*\* Check failure stack trace: \*\*\*"
    r"|    @ +0x[0-9a-f]+ .*|\[symbolize_elf\.inc : \d+\] RAW: .*"
    r"|E\d{4} .*rendezvous\.cc:\d+\] (?:All thread stack traces.*)?"
)
_STUCK = re.compile(r"[Ee]xpected (\d+) threads? to join.{0,80}?only (\d+)", re.DOTALL)
_STUCK_WORDS = ("Termination timeout", "rendezvous")
_WAITED_FOR = re.compile(r"Termination timeout for `([a-z][a-z ]{2,40}?) RendezvousKey")
_COLLECTIVES = {
    "all reduce": "all-reduce",
    "all gather": "all-gather",
    "all to all": "all-to-all",
    "ragged all to all": "all-to-all",
    "reduce scatter": "reduce-scatter",
    "collective permute": "collective-permute",
    "collective broadcast": "broadcast",
}
_CHECK = re.compile(r"^F\d{4} .*?\] (Check failed: .{1,200})$", re.MULTILINE)
LINES = 100_000_000
TAIL_CHARS = 20_000
Frame = tuple[int, str]


@dataclass(frozen=True, slots=True)
class Stuck:
    """A collective that ended in a deadlock; what XLA did not say is None or empty."""

    arrived: int | None = None
    expected: int | None = None
    collective: str = ""


def frames(name: str, text: str) -> list[Frame]:
    """Return the learner's frames, the innermost last, of the thread that the last dump is about.

    Args:
        name: file name of the submission.
        text: all that the process printed.
    """
    tail = text[-TAIL_CHARS:]
    if _FATAL in tail:
        tail = tail[tail.rindex(_FATAL) :]
    spelled = name.encode("ascii", "backslashreplace").decode("ascii")
    found: list[tuple[bool, list[Frame]]] = []
    inside = False
    for line in tail.splitlines():
        if _HEAD.fullmatch(line):
            inside = True
            found.append((line.startswith(("Current", "Stack")), []))
        elif inside and (frame := _FRAME.fullmatch(line)):
            own = frame[1] == spelled or frame[1].endswith((f"/{spelled}", f"\\{spelled}"))
            if own and int(frame[2][:9]) < LINES:
                found[-1][1].insert(0, (int(frame[2][:9]), frame[3][:80]))
        else:
            inside = False
    own = [(current, lines) for current, lines in found if lines]
    chosen = [lines for current, lines in own if current] or [lines for _, lines in own]
    return chosen[-1] if chosen else []


def stuck(text: str) -> Stuck | None:
    """Return what XLA said about a collective that it gave up, None where it gave up none."""
    counted = _STUCK.search(text)
    if not counted and not all(words in text for words in _STUCK_WORDS):
        return None
    waited = _WAITED_FOR.search(text)
    collective = _COLLECTIVES.get(waited[1], "") if waited else ""
    if not counted:
        return Stuck(collective=collective)
    return Stuck(int(counted[2][:6]), int(counted[1][:6]), collective)


def failed_check(text: str) -> str:
    """Return the condition of XLA's own that did not hold, nothing where it named none."""
    found = _CHECK.findall(text[-TAIL_CHARS:])
    return found[-1].strip() if found else ""


def left_out(output: Output) -> Output:
    """Return what a module printed without what interpreter and XLA print about themselves.

    Their dumps name files of ours and addresses; what they tell is told by the outcome.
    """
    head, tail = _without_noise(output.head), _without_noise(output.tail)
    gone = len(output.head.encode()) + len(output.tail.encode())
    gone -= len(head.encode()) + len(tail.encode())
    return Output(head, tail, max(output.total_bytes - gone, 0)) if gone else output


def _without_noise(text: str) -> str:
    if not any(sign in text for sign in (" 0x", _FATAL, "(most recent call first)")):
        return text
    kept: list[str] = []
    inside = False
    for line in text.splitlines(keepends=True):
        bare = line.rstrip("\r\n")
        if _HEAD.fullmatch(bare) or _OURS.search(bare):
            inside = True
        elif inside and (_FRAME.fullmatch(bare) or _REST.fullmatch(bare)):
            continue
        elif inside and not bare:
            inside = False
        elif not _NOISE.fullmatch(bare):
            inside = False
            kept.append(line)
    return "".join(kept)
