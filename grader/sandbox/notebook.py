"""Have a notebook opened in a throw-away process, and say in plain words why it cannot be.

This is the seam: what that process sends is validated here once. The coordinator itself never
parses a notebook, nor the code in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from grader import wire
from grader.errors import EnvironmentProblem, Undecided, WireProblem
from grader.process import SIGKILL, Child, Deadline, Exit
from grader.records.cells import Cells, unpacked
from grader.records.evidence import Layer, Outcome
from grader.records.submission import Submission
from grader.sandbox.client import insist_on_full
from grader.sandbox.frames import read_layers
from grader.sandbox.host import Host
from grader.sandbox.launching import Allowance
from grader.sandbox.words import code, plain

OPEN_S = 120.0
_ALLOWANCE = Allowance(cpu_s=20, memory_bytes=3 << 30, output_bytes=1 << 16)
MOST_FRAME_CHARS = wire.FRAME_BYTES
MOST_SHOWN = 8
_SAVE = "open it in Jupyter, run all cells, save it, and grade that file"
_PYTHON = "open it in Jupyter and save it as nbformat 4 with a Python kernel"
_WHAT = {
    "runs": "of these the Python ran once, and nothing else",
    "nothing": "these did nothing, as they are commands of IPython and no Python",
    "skipped": "these cells were left out whole, as they are no Python",
}


def opened(
    host: Host, submission: Submission, workdir: str, *, only_full: bool = False
) -> Submission | Outcome:
    """Return the notebook with its cells, or why it cannot be read.

    Args:
        host: starts the process that parses.
        submission: the notebook's bytes.
        workdir: a private folder that holds them under the submission's name.
        only_full: whether to open nothing where a required layer of confinement is missing.

    Raises:
        EnvironmentProblem: confinement is not full, and has to be; or a cell needs IPython's
            transformer, and IPython is not installed.
        Undecided: no process could be started, or something else than a limit ended it.
    """
    allowance = replace(_ALLOWANCE, only_full=only_full)
    child = host.start("cells", workdir, allowance)
    child.send({"filename": submission.name, "workdir": workdir})
    frame, layers, late = _answer(child)
    child.kill()
    ended = child.finish()
    if only_full and layers:
        insist_on_full(layers)
    if frame is None:
        _insist_on_an_end(bool(layers) and not late, child, ended, allowance.cpu_s)
        return _refused(
            f"{submission.name} cannot be read as a notebook: the process that tried did not come"
            " to an end with it",
            _SAVE,
        )
    try:
        if frame["t"] == "cells":
            return replace(submission, cells=_cells(frame))
        why = wire.text(frame["why"], 40)
        details = [plain(one, 80) for one in frame["details"][:4]]
    except (WireProblem, *wire.MALFORMED):
        return _refused(f"{submission.name} cannot be read as a notebook", _SAVE)
    return _told(submission.name, why, details)


def _answer(child: Child) -> tuple[dict[str, Any] | None, tuple[Layer, ...], bool]:
    """Return what the process answered, the layers that held, and whether its time was up."""
    deadline = Deadline(OPEN_S)
    layers: tuple[Layer, ...] = ()
    try:
        first = child.receive(deadline)
        if first is None:
            return None, layers, False
        layers = read_layers(first)
        return child.receive(deadline), layers, False
    except TimeoutError:
        return None, layers, True
    except (WireProblem, *wire.MALFORMED):
        return None, layers, False


def _insist_on_an_end(started: bool, child: Child, ended: Exit | None, cpu_s: float) -> None:
    """Raise Undecided where it was not the notebook that the process could not end with."""
    outside = ended is None or (ended.signal == SIGKILL and not ended.by_cpu_limit(cpu_s))
    if started and not outside:
        return
    words = child.output.result().text.strip().splitlines()
    raise Undecided(
        "the process that opens notebooks did not come to an end",
        where=plain(words[-1], 300) if words else "",
        next_step="run it again; `grade doctor` shows what this machine lacks",
    )


def _cells(frame: Mapping[str, Any]) -> Cells:
    texts, python = _texts(frame["texts"]), _texts(frame["python"])
    for written, run in zip(texts, python, strict=True):
        if written.count("\n") != run.count("\n"):
            raise WireProblem("a cell was given other lines")
    commands = tuple(
        (wire.integer(cell), wire.integer(line), plain(command, 80), _known(what))
        for cell, line, command, what in frame["commands"]
    )
    return Cells(texts, python, commands)


def _texts(packed: object) -> tuple[str, ...]:
    return unpacked(wire.text(packed, MOST_FRAME_CHARS))


def _known(what: object) -> str:
    if what not in _WHAT:
        raise WireProblem("a command was made into something unknown")
    return str(what)


def notes(cells: Cells) -> list[str]:
    """Return what a receipt says of a notebook: how cells are counted, what became of commands."""
    if not cells.texts:
        return []
    told = [
        "cells are counted from the top, those with code alone: cell 1 is the first of them,"
        " whatever number stands in its brackets"
    ]
    for what, meaning in _WHAT.items():
        first: dict[str, str] = {}
        for cell, line, command, made in cells.commands:
            if made == what and code(command):
                first.setdefault(code(command), f"{code(command)} (cell {cell}, line {line})")
        if first:
            shown = [*first.values()][:MOST_SHOWN]
            more = f" and {len(first) - len(shown)} more" if len(first) > len(shown) else ""
            told.append(f"{meaning}: {', '.join(shown)}{more}")
    return told


def _refused(message: str, next_step: str) -> Outcome:
    return Outcome("syntax_error", message, next_step=next_step)


_Sentence = Callable[[Sequence[str]], tuple[str, str]]
_WHY: dict[str, _Sentence] = {
    "json": lambda d: (
        f"is no notebook that can be read: it is not JSON at line {d[0]}, column {d[1]} ({d[2]})",
        f"it was cut off, merged or edited by hand; {_SAVE}",
    ),
    "form": lambda d: (f"is no notebook: {d[0]}", _SAVE),
    "encoding": lambda d: (
        f"is no notebook that can be read: the byte {d[0]} at {d[1]} is not UTF-8",
        _SAVE,
    ),
    "twice": lambda d: (
        f"is no notebook that can be read: it says {code(d[0])} twice in one place",
        f"it was merged or edited by hand; {_SAVE}",
    ),
    "version": lambda d: (f"is of nbformat {d[0]}, and 3 and 4 are read", _PYTHON),
    "language": lambda d: (f"says that it is written in {d[0]}, not in Python", _PYTHON),
    "many": lambda d: (
        f"has {d[0]} code cells, more than a notebook may have",
        "keep the cells that belong to the exercise",
    ),
    "large": lambda _: (
        "holds more than 1 MiB of code",
        "keep the cells that belong to the exercise, and move data out of them",
    ),
    "cell": lambda d: (f"has no text in cell {d[0]}", _SAVE),
    "text": lambda d: (
        f"holds {d[2]} in cell {d[0]}, line {d[1]}: that is no character of a program",
        "delete it there: it cannot be seen; type the line again",
    ),
    "commands": lambda d: (
        f"has more commands in cell {d[0]} than can be taken out",
        "delete the lines that begin with % or ! there",
    ),
    "deep": lambda _: ("is nested deeper than any notebook", _SAVE),
    "memory": lambda _: (
        "took more memory to open than any notebook needs",
        "clear all outputs, save it, and grade that file",
    ),
}

REASONS = frozenset(_WHY)


def _told(name: str, why: str, details: Sequence[str]) -> Outcome:
    if why == "lacking":
        raise EnvironmentProblem(
            f"{name} has commands of IPython, and IPython is not installed here",
            next_step="install it: python -m pip install ipython",
        )
    try:
        says, step = _WHY[why](details)
    except LookupError:
        says, step = "cannot be read as a notebook", _SAVE
    return _refused(f"{name} {says}", step)
