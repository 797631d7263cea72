"""What an oracle says of an exercise: its cases and answers, held against `exercise.toml`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from grader.catalog.models import Exercise, Program
from grader.catalog.oracle import Cases, Oracle
from grader.errors import ContentProblem
from grader.records.truth import Answer, Array
from grader.results import program_of

_DEVICES = 4
Answers = dict[tuple[str, str], Answer]


def cases(oracle: Oracle, exercise: Exercise, seed: bytes) -> Cases:
    """Return the inputs by case and program, drawn from a seed.

    Raises:
        ContentProblem: the oracle fails, or gives inputs of a program that exercise.toml does not
            have, or inputs that are not the arguments of one.
    """
    drawn = oracle.cases(seed)
    programs = {program.name: program for program in exercise.programs}
    for case, given in drawn.items():
        for name, inputs in given.items():
            if name not in programs:
                raise _problem(
                    f"cases() gives inputs of {name!r} in {case!r}, and exercise.toml has no such"
                    " program",
                    "correct the name, or add the program to exercise.toml",
                )
            _fit(programs[name], case, inputs)
    return drawn


def _fit(program: Program, case: str, inputs: list[Array]) -> None:
    if len(inputs) != len(program.arguments):
        raise _problem(
            f"cases() gives {len(inputs)} inputs of {program.name} in {case!r}, and exercise.toml"
            f" says {len(program.arguments)}",
            "give one array for each argument, in order",
        )
    for argument, given in zip(program.arguments, inputs, strict=True):
        found = np.asarray(given)
        if (found.shape, found.dtype.name) != (argument.shape, argument.dtype):
            raise _problem(
                f"cases() gives the argument {argument.name} of {program.name} in {case!r} as"
                f" {found.dtype.name} {found.shape}, and exercise.toml says {argument.dtype}"
                f" {argument.shape}",
                "make the two agree",
            )


def answers(oracle: Oracle, exercise: Exercise, drawn: Cases) -> Answers:
    """Return what is right by case and name, with what each mistake would give.

    Raises:
        ContentProblem: the oracle fails, or answers in several shapes.
    """
    found = {
        (case, name): oracle.answer(name, inputs, case)
        for case, programs in drawn.items()
        for program, inputs in programs.items()
        for name in exercise.program(program).judged()
    }
    first: dict[str, tuple[str, tuple[int, ...]]] = {}
    for (case, name), answer in found.items():
        shape = answer.value.shape
        other, before = first.setdefault(name, (case, shape))
        if shape != before:
            raise _problem(
                f"answer() gives {name} the shape {before} in {other!r} and {shape} in {case!r}",
                "give one shape for every case: a program has one",
            )
    return found


def _problem(what: str, step: str) -> ContentProblem:
    return ContentProblem(f"oracle.py: {what}", where="oracle.py", next_step=step)


def never_told(found: Mapping[tuple[str, str], Answer]) -> Iterator[str]:
    """Yield predictions of mistakes that nothing can ever show, one sentence each."""
    same: dict[tuple[str, str], list[bool]] = {}
    for (case, name), answer in found.items():
        for mistake, value in answer.mistakes.items():
            views = value if isinstance(value, tuple) else (value,)
            if isinstance(value, tuple) and len(value) != _DEVICES:
                yield (
                    f"oracle.py: mistakes() gives {mistake} of {name} in {case!r} as {len(value)}"
                    " views, not one for each of four devices"
                )
            right = all(np.array_equal(view, answer.value) for view in views)
            same.setdefault((program_of(name), mistake), []).append(right)
    for (program, mistake), equal in same.items():
        if all(equal):
            yield (
                f"oracle.py: mistakes() gives for {mistake} of {program} the right answer in every"
                " case, so nothing tells it"
            )
