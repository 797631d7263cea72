"""What a check may still say of a program whose result has another shape than the one asked for.

Its collectives, its bytes and what each device stores then follow from that, and a mistake that is
told by them would be a guess.
"""

from __future__ import annotations

from dataclasses import replace

from grader.case import Case, Decision
from grader.records.observation import Observation

# A mistake that the shape itself tells stays: it is what made the shape.
_FIRST = "mend the shape of `{name}` first: it gives {found}, and {wanted} is asked for"


def misshapen(case: Case, seen: Observation) -> tuple[int, ...] | None:
    """Return the global shape that was asked for, None where the result has it or nobody knows."""
    for (_case, name), answer in case.truth.answers.items():
        if name == seen.name:
            wanted: tuple[int, ...] = answer.value.shape
            return wanted if seen.replayed and seen.shape != wanted else None
    return None


def no_guess(case: Case, seen: Observation, decision: Decision) -> Decision:
    """Return a failed decision without its mistake where the shape has to be mended first."""
    wanted = misshapen(case, seen)
    if wanted is None or decision.status != "failed":
        return decision
    hint = _FIRST.format(name=seen.name, found=seen.shape, wanted=wanted)
    return replace(decision, mistake=None, hint=hint)
