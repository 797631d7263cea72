"""What a check may look at, and the sentences that all checks need when a program is not there."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from grader import compare
from grader.catalog.models import Mistake, Rubric
from grader.records.evidence import Claim, Evidence, Program
from grader.records.finding import Finding, Item, Source, Status
from grader.records.observation import Observation
from grader.records.truth import Array, Truth

_CAUSES = {
    "host_code": "it computes with NumPy or Python on the host, so it is not a pure JAX program",
    "callback": "it calls back into Python, so it is not a pure JAX program",
    "unfilled": "it is not filled in yet",
    "signature": "it does not take the arguments it is called with",
    "result": "it does not return one array",
    "size": "it is too large",
    "stuck": "exporting it did not come to an end",
}


@dataclass(frozen=True)
class Case:
    """Evidence, observations and truth of one grade, with the findings made so far."""

    rubric: Rubric
    evidence: Evidence
    observations: Mapping[str, Observation]
    truth: Truth
    findings: Mapping[str, Finding] = field(default_factory=dict)

    def line(self, name: str) -> int | None:
        """Return the learner's line that binds `name` last."""
        return self.evidence.lines.get(name)

    def passed(self, check: str) -> bool:
        """Return whether an earlier check passed."""
        return check in self.findings and self.findings[check].status == "passed"

    def mistake(self, mistake_id: str | None) -> Mistake | None:
        """Return the words for a mistake."""
        return self.rubric.mistake(mistake_id) if mistake_id else None


@dataclass(frozen=True)
class Decision:
    """One item decided: its status, a sentence, a mistake where one matches, and evidence."""

    status: Status
    message: str
    mistake: str | None = None
    line: int | None = None
    source: Source = "replayed"


def absent(case: Case, name: str) -> Decision | None:
    """Return why there is nothing to judge of a program, None when it was replayed."""
    program = case.evidence.programs.get(name) or Program(name, "missing")
    line = program.line or case.line(name)
    if program.status == "missing":
        return Decision("failed", not_defined(case, name), line=line)
    if program.status == "not_callable":
        what = "still empty" if program.reason in ("NoneType", "ellipsis") else "not a function"
        message = f"`{name}` is {what} (it is a {program.reason})"
        return Decision("failed", message, line=line)
    if program.status == "refused":
        cause = _CAUSES.get(program.cause, "it could not be exported")
        reason = f": {program.reason}" if program.reason else ""
        host = "host-round-trip" if program.cause in ("host_code", "callback") else None
        return Decision("failed", f"`{name}`: {cause}{reason}", host, line)
    seen = case.observations.get(name)
    if seen is None or seen.fate == "undecided":
        why = seen.reason if seen else "it was not replayed"
        return Decision("undecided", f"`{name}` could not be judged: {why}")
    if not seen.replayed:
        return Decision("failed", f"`{name}`: {_fate(seen)}", line=line)
    return None


def _fate(seen: Observation) -> str:
    sentences = {
        "deadlock": "a collective was not reached by every device",
        "cpu_limit": "it used up its CPU seconds",
        "wall_limit": "it did not end in time",
        "crashed": "it ended the process that ran it",
        "refused": "the clean room does not run it",
    }
    reason = f" ({seen.reason})" if seen.reason else ""
    return sentences.get(seen.fate, seen.fate) + reason


def not_defined(case: Case, name: str) -> str:
    """Say that a name is missing, with the nearest one there is and the reason if known."""
    outcome = case.evidence.outcome
    hidden = case.evidence.hidden_in
    if hidden:
        return f"`{name}` is not visible: everything sits inside {hidden}()"
    text = f"`{name}` is not defined"
    close = difflib.get_close_matches(name, case.evidence.names, n=1, cutoff=0.75)
    if close:
        return f"{text}; did you mean your `{close[0]}`?"
    if outcome.kind not in ("finished", "syntax_error"):
        where = f" at line {outcome.line}" if outcome.line else ""
        return f"{text}: the module stopped{where} before it"
    return text


def claim(case: Case, name: str) -> Claim:
    """Return a written answer, a missing one where there is none."""
    return case.evidence.claims.get(name) or Claim(name, "missing")


def as_array(found: Claim) -> Array | None:
    """Return the numbers of a claim as a global array, None where it holds none."""
    if found.kind == "device_array":
        return compare.assemble(found.shards, found.shape)
    if found.kind == "array" and np.issubdtype(found.value.dtype, np.number):
        return np.asarray(found.value)
    if found.kind in ("number", "list"):
        try:
            listed = np.asarray(found.value, dtype=np.float64)
        except (TypeError, ValueError):
            return None
        return listed if np.all(np.isfinite(listed)) else None
    return None


def as_number(found: Claim) -> float | None:
    """Return a claim as one finite number: a scalar of any kind, or a one-element array."""
    if found.kind == "number":
        return None if isinstance(found.value, bool) else float(found.value)
    values = as_array(found)
    if values is None or values.size != 1 or not np.isrealobj(values):
        return None
    number = float(values.reshape(-1)[0])
    return number if np.isfinite(number) else None


def item(spec_id: str, points: int, decision: Decision) -> Item:
    """Return the item a decision makes: all of its points, or none."""
    return Item(
        id=spec_id,
        status=decision.status,
        points=points if decision.status == "passed" else 0,
        max_points=points,
        source=decision.source,
        message=decision.message,
        mistake=decision.mistake,
        line=decision.line,
    )
