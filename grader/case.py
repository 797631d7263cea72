"""What a check may look at, and the sentences that all checks need when a program is not there."""

from __future__ import annotations

import difflib
import re
import textwrap
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from grader import compare
from grader.catalog.models import Mistake, Rubric
from grader.errors import ContentProblem
from grader.records.evidence import Claim, Evidence, Program
from grader.records.finding import Finding, Item, Source, Status
from grader.records.observation import Observation
from grader.records.truth import Array, Truth
from grader.results import program_of
from grader.sandbox import plainly
from grader.sandbox.meaning import Raised
from grader.sandbox.near import bare

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
# Cases whose inputs no learner has seen have names that begin so.
HIDDEN = "hidden_"
EMPTY = ("NoneType", "ellipsis")
# Mistakes that a kind of check names by itself, each in plain words: its `NAMES` is made of these.
BY_ANY_PROGRAM = {"host-round-trip": "the program leaves JAX and goes through the host"}
ONE_REPLICA = {"one-replica-only": "one device alone holds the right result"}
FILL_IN = "fill in this part; the steps stand in the starter, the idea in the prompt"
_UNRUN = (
    'move it to module level: nothing under `if __name__ == "__main__":` runs while the grader'
    " imports the module"
)
_TRY_IT = "call it on the arrays of the starter, look at the whole error, and mend that line"
_PURE = "compute with jax.numpy and jax.lax only; take prints and NumPy out of the program"
# Each goes on after a program's name, and begins with a word that several names can share.
_CAUSES = {
    "host_code": ("does not stay in JAX", _PURE),
    "callback": ("calls back into Python, so it is not a pure JAX program", _PURE),
    "unfilled": ("is not filled in yet", FILL_IN),
    "signature": (
        "does not take the arguments it is called with",
        "give it the parameters that the prompt names, in that order",
    ),
    "result": ("does not give one array", "return the array alone"),
    "size": ("is too large", "remove large constants from the program"),
    "stuck": (
        "has an export that did not come to an end",
        "look for a loop or an exit inside the function, or for a patched library",
    ),
    "own": ("raises an error of its own", "mend what makes it raise, or take that `raise` out"),
}
_RESULTS = {
    "None": (
        "returns nothing",
        "end the function in `return` and the array: without it Python gives None",
    ),
    "tuple": ("returns a tuple", "return the array alone: no comma, no brackets round it"),
    "list": ("returns a list", "return the array alone: no comma, no brackets round it"),
    "dict": ("returns a dict", "return the array alone"),
}
_NO_ARRAY = re.compile(r"returned a value of type <class '(?:\w+\.)*(\w{1,40})'>, which is not")
_OWN_TYPE = re.compile(r"containing an unregistered type `<class '(?:\w+\.)*(\w{1,40})'>`")
_OTHER_MESH = "it was built for "
_FATE_HINTS = {
    "deadlock": "every device must run the same collectives: move them out of a cond or an if",
    "cpu_limit": "look for a loop in the program that does not end",
    "wall_limit": "look for a loop in the program that does not end",
    "crashed": "look for sizes that grew, and for calls that are not plain JAX",
    "refused": "use jax.numpy and jax.lax only, on the four devices given",
}


@dataclass(frozen=True)
class Case:
    """Evidence, observations and truth of one grade, with the findings made so far."""

    rubric: Rubric
    evidence: Evidence
    observations: Mapping[str, Observation]
    truth: Truth
    findings: Mapping[str, Finding] = field(default_factory=dict)
    given_names: frozenset[str] = frozenset()

    def line(self, name: str) -> int | None:
        """Return the learner's line that binds `name`, or the program of that result, last."""
        return self.evidence.lines.get(program_of(name))

    def passed(self, check: str) -> bool:
        """Return whether an earlier check passed."""
        return check in self.findings and self.findings[check].status == "passed"

    def mistake(self, mistake_id: str | None) -> Mistake | None:
        """Return the words for a mistake."""
        return self.rubric.mistake(mistake_id) if mistake_id else None


@dataclass(frozen=True)
class Decision:
    """One item decided: its status, a sentence, and a mistake where one matches.

    `hint` is what to try where the check's own hint would miss the point.
    """

    status: Status
    message: str
    mistake: str | None = None
    line: int | None = None
    source: Source = "replayed"
    hint: str = ""


def known(table: Mapping[Key, Value], key: Key, function: str) -> Value:
    """Return what the oracle says of `key`.

    Raises:
        ContentProblem: its `function` gives nothing for a key that the rubric asks about.
    """
    if key not in table:
        raise ContentProblem(
            f"oracle.py: {function}() gives nothing for {key!r}, which rubric.toml asks about",
            where="oracle.py",
            next_step="add it there, or take it out of the rubric",
        )
    return table[key]


def absent(case: Case, name: str) -> Decision | None:
    """Return why there is nothing to judge of a program, None when it was replayed."""
    found = _not_exported(case, program_of(name))
    if found is not None:
        return found
    line = case.line(name)
    seen = case.observations.get(name)
    if seen is None or seen.fate == "undecided":
        why = seen.reason if seen else "it was not replayed"
        return Decision("undecided", f"`{name}` could not be judged: {why}")
    if seen.fate == "refused" and seen.reason.startswith(_OTHER_MESH):
        told = f"`{name}` is {seen.reason.removeprefix('it was ')}"
        hint = "build its mesh from all four devices: jax.devices() gives them"
        return Decision("failed", told, line=line, hint=hint)
    if not seen.replayed:
        return Decision(
            "failed", f"`{name}`: {_fate(seen)}", line=line, hint=_FATE_HINTS[seen.fate]
        )
    return None


def _not_exported(case: Case, name: str) -> Decision | None:
    program = case.evidence.programs.get(name) or Program(name, "missing")
    line = program.line or case.line(name)
    if program.status == "missing":
        return undefined(case, name)
    if program.status == "not_callable":
        if program.reason in EMPTY:
            return Decision("failed", f"`{name}` is still empty", line=line, hint=FILL_IN)
        message = f"`{name}` is not a function (it is {with_article(program.reason)})"
        hint = f"bind {name} to the program itself, not to a result of calling it"
        return Decision("failed", message, line=line, hint=hint)
    return _refused(case, name, program, line) if program.status == "refused" else None


def _refused(case: Case, name: str, program: Program, line: int | None) -> Decision:
    message, hint = _why(program, _results(case, name))
    mistake = "host-round-trip" if _through_host(program) else None
    # A text that the learner raises by hand is no word of JAX.
    rules = case.rubric.refusals if program.cause != "own" else ()
    told = (rule.mistake for rule in rules if rule.says in program.reason)
    return Decision("failed", f"`{name}` {message}", next(told, mistake), line, hint=hint)


def _through_host(program: Program) -> bool:
    numpy = program.reason.startswith("TracerArrayConversionError")
    return program.cause == "callback" or (program.cause == "host_code" and numpy)


def _results(case: Case, name: str) -> tuple[str, ...]:
    """Return what the results of a program are called, in order; nothing where it gives one."""
    judged = dict.fromkeys(one for _, one in case.truth.answers if program_of(one) == name)
    return tuple(one.partition(".")[2] for one in judged if one != name)


def _why(program: Program, results: tuple[str, ...]) -> tuple[str, str]:
    """Return why a program could not be exported, as it goes on after its name, and what to try."""
    cause, hint = _CAUSES.get(program.cause, ("cannot be traced", _TRY_IT))
    own_type = _OWN_TYPE.search(program.reason) if program.cause == "raised" else None
    if own_type:
        what = f"returns its result in a type of your own ({own_type[1]})"
        return what, _side_by_side(results) if results else "return the array alone"
    if program.cause == "result" and results:
        return _several(program.reason, results)
    if program.cause == "result":
        kind, _, count = program.reason.partition(" of ")
        found = _RESULTS.get(kind)
        if found is not None:
            of = f" of {count}" if count.isdecimal() and count != "1" else ""
            return f"{found[0]}{of}, not one array", found[1]
    no_array = _NO_ARRAY.search(program.reason)
    if no_array:
        return f"returns {with_article(no_array[1])}, not one array", "return an array of JAX"
    # What the learner raised by hand speaks for itself.
    own = program.cause in ("own", "unfilled")
    plain = None if own else plainly.meaning(Raised(program.reason))
    if plain is not None:
        kind = program.reason.partition(":")[0]
        named = f" ({kind})" if plain.quoted and kind.isidentifier() else ""
        return f"cannot be traced: {plain.what}{named}", plain.step
    said = program.reason
    if program.cause == "unfilled":
        said = said.removeprefix("NotImplementedError").removeprefix(": ")
    return cause + (f": {textwrap.shorten(said, 240, placeholder=' …')}" if said else ""), hint


def _several(reason: str, results: tuple[str, ...]) -> tuple[str, str]:
    """Return what a program gives in place of its several results, and what to return."""
    kind, _, count = reason.partition(" of ")
    asked = f"{', '.join(results[:-1])} and {results[-1]}"
    found = {"None": "nothing", "structure": "one array" if count == "1" else "another structure"}
    what = found.get(kind, f"a {kind} of {count}")
    told = f"returns {what}, not {asked}"
    if kind == "None":
        return told, f"end the function in `return {', '.join(results)}`, in this order"
    if kind == "dict":
        told = f"returns a dict of {count}, not one with the keys {asked}, each an array"
    elif kind in ("tuple", "list") and count == str(len(results)):
        told = f"returns {asked} in another form: one of them is not an array but holds some"
    return told, _side_by_side(results)


def _side_by_side(results: tuple[str, ...]) -> str:
    return f"return {', '.join(results)} in this order, each an array, or a dict with these keys"


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


def undefined(case: Case, name: str, source: Source = "replayed") -> Decision:
    """Say that a name is missing, with the nearest one there is and the reason if known."""
    outcome = case.evidence.outcome
    if case.evidence.hidden_in:
        inside = f"{case.evidence.hidden_in}()"
        message = f"`{name}` is not visible: everything sits inside {inside}"
        hint = f"move the definitions out of {inside} to module level"
        return Decision("failed", message, source=source, hint=hint)
    if name in case.evidence.names:
        message = f"`{name}` is defined, but could not be taken out of the module"
        hint = "look for code that ends or blocks the process once the module has run"
        return Decision("failed", message, None, case.line(name), source, hint)
    message = f"`{name}` is not defined"
    if outcome.kind == "syntax_error" and not outcome.place:
        told = "nothing of the file could run, so no name is defined"
        return Decision("failed", told, source=source, hint="mend what is said above first")
    if outcome.kind != "finished":
        place = outcome.place or (f"line {outcome.line}" if outcome.line else "")
        where = f" at {place}" if place else ""
        told = f"{message}: the module stopped{where} first"
        hint = "mend what is said above; the rest of the file did not run"
        return Decision("failed", told, source=source, hint=hint)
    if name in case.evidence.lines:
        line = case.line(name)
        told = f"`{name}` is given a value only in a part of the module that did not run"
        return Decision("failed", told, None, line, source, _UNRUN)
    if name in case.evidence.inside:
        inside = f"{case.evidence.inside[name]}()"
        told = f"`{name}` is given a value only inside `{inside}`"
        hint = f"move that out of {inside} to module level, where the starter has it"
        return Decision("failed", told, source=source, hint=hint)
    own = [n for n in case.evidence.names if n not in case.given_names]
    near = _nearest(name, own)
    if near:
        told = f"{message}; did you mean your `{near}`?"
        step = f"call it {name}, exactly so"
        return Decision("failed", told, None, case.line(near), source, step)
    if not own and not _has_begun(case):
        # Nothing but what the starter brings: not a mistake, a beginning.
        told = f"`{name}` is open: nothing is filled in yet"
        return Decision("failed", told, source=source, hint=FILL_IN)
    if name in case.given_names:
        return Decision("failed", message, source=source, hint=FILL_IN)
    hint = "define at module level what is missing, as the starter has it"
    return Decision("failed", message, source=source, hint=hint)


def _has_begun(case: Case) -> bool:
    """Return whether a module defines anything that the exercise asks for."""
    programs = any(one.status != "missing" for one in case.evidence.programs.values())
    return programs or any(one.kind != "missing" for one in case.evidence.claims.values())


def _nearest(name: str, own: list[str]) -> str:
    """Return the learner's name that was meant for `name`, nothing where none is near."""
    plain = {bare(one): one for one in reversed(own)}
    if bare(name) in plain:
        return plain[bare(name)]
    return next(iter(difflib.get_close_matches(name, own, n=1, cutoff=0.75)), "")


def idle(case: Case, name: str) -> Decision | None:
    """Return why a replayed program earns nothing for its form: its result ignores its input.

    None where two hidden inputs give different results, as they do for every honest program.
    """
    seen = case.observations[name]
    results = [r.shards for case_name, r in seen.replays.items() if case_name.startswith(HIDDEN)]
    first = results[0] if results else ()
    same = all(
        len(shards) == len(first)
        and all(np.array_equal(a.data, b.data) for a, b in zip(shards, first, strict=True))
        for shards in results
    )
    if len(results) < 2 or not first or not same:
        return None
    message = f"`{name}` gives the same result whatever its input"
    hint = "compute the result from the arguments"
    return Decision("failed", message, line=case.line(name), hint=hint)


def claim(case: Case, name: str) -> Claim:
    """Return a written answer, a missing one where there is none."""
    return case.evidence.claims.get(name) or Claim(name, "missing")


def a_type(found: Claim) -> str:
    """Return the type of a claim with its article, for a sentence."""
    return with_article(found.type_name)


def with_article(type_name: str) -> str:
    """Return the name of a type with its article: `an ArrayImpl`, `a list`."""
    vowel = type_name[:1].lower() in "aeiou" or type_name == "ndarray"
    return f"{'an' if vowel else 'a'} {type_name}"


def as_array(found: Claim) -> Array | None:
    """Return the numbers of a claim as a global array of reals, None where it holds none."""
    if found.kind == "device_array":
        return _reals(compare.assemble(found.shards, found.shape))
    if found.kind == "array":
        return _reals(found.value)
    if found.kind in ("number", "list"):
        try:
            # NumPy would read the numbers that strings spell.
            listed = np.asarray(found.value)
            if listed.dtype.kind not in "biuf":
                return None
            listed = listed.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            return None
        return listed if np.all(np.isfinite(listed)) else None
    return None


def _reals(array: Array | None) -> Array | None:
    if array is None or array.dtype.kind not in "biufc":
        return None
    if array.dtype.kind == "b":
        return array.astype(np.float32)  # as a list of them is read
    return array if np.isrealobj(array) else None if np.any(array.imag) else array.real


def as_number(found: Claim) -> float | None:
    """Return a claim as one finite number: a scalar of any kind, or a one-element array."""
    if found.kind == "number":
        number = np.nan if isinstance(found.value, bool) else float(found.value)
        return number if np.isfinite(number) else None
    values = as_array(found)
    if values is None or values.size != 1:
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
        hint=decision.hint,
        line=decision.line,
    )
