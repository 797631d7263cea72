"""Name the lines of a notebook as a reader finds them: by cell, and by line in the cell.

Inside, everything counts the lines of all cells as one text. Here, at the seam, sentences of ours
and of Python are given the cell, so that nothing behind it has to know.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from grader.records.cells import reworded, said
from grader.records.evidence import Evidence, Outcome
from grader.records.submission import Submission
from grader.sandbox.words import at

_DIGITS = r"(\d{1,7})"
_AT = re.compile(re.escape(at(1)).replace("1", _DIGITS))
_FRAME = re.compile(rf"line {_DIGITS}(?=, in )")
# What helps with a module does not help with a notebook.
_STEPS = (
    (re.compile(r"run `python -m py_compile [^`]*`"), "run that cell in Jupyter"),
    (re.compile(r"`python -m py_compile [^`]*` tells"), "running that cell in Jupyter tells"),
    (re.compile(r"run the file with python"), "run the notebook from its top"),
    (
        re.compile(r"leave await out, or put it into an async function.*"),
        "leave await out, or put it into an async function: Jupyter takes it in a cell, Python"
        " does not",
    ),
)


def in_cells(found: Evidence, submission: Submission) -> Evidence:
    """Return the evidence of a notebook with its lines named by cell; that of a module as it is."""
    if submission.cells is None:
        return found
    starts, name = submission.cells.starts, submission.name
    return replace(
        found,
        outcome=_outcome(found.outcome, starts, name),
        programs={
            key: replace(program, reason=reworded(starts, name, program.reason))
            for key, program in found.programs.items()
        },
        output=replace(
            found.output,
            head=reworded(starts, name, found.output.head),
            tail=reworded(starts, name, found.output.tail),
        ),
    )


def _outcome(outcome: Outcome, starts: Sequence[int], name: str) -> Outcome:
    if outcome.kind == "finished":
        return outcome
    message, step = reworded(starts, name, outcome.message), outcome.next_step
    # The words of an exception are the learner's own; all others are ours.
    if outcome.kind != "raised":
        message = _AT.sub(
            lambda found: at(1).replace("line 1", said(starts, int(found[1]))), message
        )
    for pattern, better in _STEPS:
        step = pattern.sub(better, step)
    return replace(
        outcome,
        message=message,
        frames=tuple(_FRAME.sub(lambda f: said(starts, int(f[1])), one) for one in outcome.frames),
        next_step=step,
        place=said(starts, outcome.line) if outcome.line else "",
    )
