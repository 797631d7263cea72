"""The file `questions.toml` of an exercise: what `grade predict` and `grade quiz` ask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from grader.catalog.models import Content, Exercise, Letter, Rubric, Slug

Kind = Literal["values_per_device", "replicated", "equal_storage", "yes_no", "text"]
_PROGRAMS: dict[Kind, tuple[int, int]] = {
    "values_per_device": (1, 1),
    "replicated": (1, 1),
    "equal_storage": (2, 99),
    "yes_no": (0, 0),
    "text": (0, 0),
}
Said = Annotated[str, StringConstraints(min_length=1, max_length=400)]


class Question(Content):
    """One question before the first run; its kind says what is observed, if anything.

    `values_per_device` wants a whole number, `text` a sentence, the others a yes or a no:
    `replicated` whether each device holds the whole result, `equal_storage` whether the programs
    store equally many values on a device. `yes_no` and `text` are held against nothing.
    """

    id: Slug
    ask: Said
    kind: Kind
    programs: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _fits(self) -> Question:
        least, most = _PROGRAMS[self.kind]
        if not least <= len(self.programs) <= most:
            wanted = "none" if not most else "two or more" if most > 1 else "one"
            raise ValueError(f"{self.kind} takes {wanted} in programs, not {len(self.programs)}")
        return self


class CheckpointQuestion(Content):
    """The checkpoint with its choices by letter; which one is right stands in the rubric."""

    ask: Said
    choices: dict[Letter, Said] = Field(min_length=2)


class Questions(Content):
    """All questions of an exercise; there need not be any."""

    predictions: tuple[Question, ...] = ()
    checkpoint: CheckpointQuestion | None = None

    @model_validator(mode="after")
    def _apart(self) -> Questions:
        ids = [one.id for one in self.predictions]
        twice = next((one for one in ids if ids.count(one) > 1), None)
        if twice is not None:
            raise ValueError(f"two predictions are called {twice!r}")
        return self


def problems(questions: Questions, exercise: Exercise, rubric: Rubric) -> Iterator[str]:
    """Yield where the questions and the rest of an exercise do not fit each other."""
    known = exercise.judged()
    for one in questions.predictions:
        for program in one.programs:
            if program not in known:
                yield f"questions.toml: {one.id}: there is no program {program!r}"
    asked, told = questions.checkpoint, rubric.checkpoint
    if asked is None:
        return
    if told is None:
        yield "questions.toml has a checkpoint, and rubric.toml has no answer to it"
        return
    if told.answer not in asked.choices:
        yield f"rubric.toml: the checkpoint's answer {told.answer!r} is no choice of questions.toml"
    for letter in sorted(set(asked.choices) ^ set(told.feedback)):
        where = "rubric.toml has no feedback for" if letter in asked.choices else (
            "questions.toml does not have"
        )  # fmt: skip
        yield f"{where} the checkpoint's choice {letter!r}"
