"""The files of a course as records: `exercise.toml` and `rubric.toml`."""

from __future__ import annotations

import sys
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints, model_validator

from grader.records.base import Record
from grader.results import names_of, program_of

Identifier = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z]*-[0-9]{2}$")]
Points = Annotated[int, Field(ge=0)]
Tolerance = Annotated[float, Field(ge=0)]
Letter = Literal["a", "b", "c", "d"]
_DEVICES = 4
_TAKEN = sys.stdlib_module_names | {
    *("jax", "jaxlib", "numpy", "scipy", "ml_dtypes", "opt_einsum", "flatbuffers", "orbax"),
    *("grader", "submission"),
}


def _shadows_nothing(name: str) -> str:
    module = name.partition(".")[0]
    if name.endswith((".py", ".pyc", ".so")) and module in _TAKEN:
        raise ValueError(f"{name} has the name of the module {module}, which it may not stand for")
    return name


Sibling = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.\-]{0,99}$"),
    AfterValidator(_shadows_nothing),
]
Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_\-]*$")]
_Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class Content(Record):
    """A record read from TOML, where arrays arrive as lists."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=False, allow_inf_nan=False, validate_default=True
    )


def in_order(floor: float, ceiling: float) -> None:
    """Insist that something can lie between two numbers of bytes. Raises: ValueError."""
    if floor > ceiling:
        raise ValueError(f"floor = {floor:g} lies above ceiling = {ceiling:g}, so nothing passes")


class Argument(Content):
    """One argument: global shape, dtype, and the dimension split over the four devices."""

    name: str
    shape: tuple[int, ...]
    dtype: Literal["float32", "float64", "int32", "uint32"]
    split: int | None = None

    @model_validator(mode="after")
    def _lies_on_four_devices(self) -> Argument:
        none = next((extent for extent in self.shape if extent < 1), None)
        if none is not None:
            raise ValueError(f"shape = {list(self.shape)} has the extent {none}")
        if self.split is None:
            return self
        if not 0 <= self.split < len(self.shape):
            last = len(self.shape) - 1
            has = f"has the dimensions 0 to {last}" if last > 0 else "has dimension 0 alone"
            if last < 0:
                has = "has no dimension"
            raise ValueError(f"split = {self.split}, and shape = {list(self.shape)} {has}")
        if self.shape[self.split] % _DEVICES:
            cut = f"split = {self.split} cuts {self.shape[self.split]} of {list(self.shape)}"
            raise ValueError(f"{cut}, which four devices cannot share evenly")
        return self


class Program(Content):
    """A program that a solution must define; it takes `arguments` in order, gives one array.

    With `results` it gives that many, as a tuple in this order or a dict with these keys; a rubric
    calls each `program.result`.
    """

    name: str
    arguments: tuple[Argument, ...]
    results: tuple[_Name, ...] = ()

    def judged(self) -> tuple[str, ...]:
        """Return the name of each array that it gives: the program's own where that is one."""
        return names_of(self.name, self.results)


class RoundTrip(Content):
    """Two functions of a solution that keep a state and give it back.

    `save(folder, state)` puts a dict of arrays on the devices into a folder that is not there yet;
    `restore(folder, like)` gives a dict with the arrays of `leaves` back, stored as `like` says. A
    rubric calls what comes back `name.leaf`.
    """

    name: _Name
    save: _Name = "save"
    restore: _Name = "restore"
    leaves: tuple[Argument, ...] = Field(min_length=1)

    def judged(self) -> tuple[str, ...]:
        """Return the name of each array that comes back."""
        return names_of(self.name, [leaf.name for leaf in self.leaves])


class Need(Content):
    """A package that an exercise uses; `extra` is the extra of ours that brings it, if one does."""

    package: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._\-]{0,99}$")]
    extra: Annotated[str, StringConstraints(pattern=r"^[a-z]*$")] = ""


class Limits(Content):
    """What a submission may use."""

    cpu_s: int = Field(default=20, ge=1, le=600)
    wall_s: int = Field(default=60, ge=1, le=3600)
    memory_mib: int = Field(default=3072, ge=1536)
    output_mib: int = Field(default=4, ge=1, le=64)
    scratch_mib: int = Field(default=16, ge=0, le=1024)


class Separate(Content):
    """Names tracked apart from the points; a solution may leave them out."""

    prediction: str = "prediction"
    checkpoint: str = "checkpoint"
    explanation: str = "explanation"


class Exercise(Content):
    """What a learner sees, as data; the prompt and the starter stand beside it.

    `siblings` names the files beside a submission that it may import or read; `needs` the packages
    that have to be there before anything of it can run.
    """

    id: Identifier
    title: str
    summary: str
    lesson: str
    minutes: int
    programs: tuple[Program, ...]
    claims: tuple[str, ...]
    round_trips: tuple[RoundTrip, ...] = ()
    siblings: tuple[Sibling, ...] = ()
    needs: tuple[Need, ...] = ()
    separate: Separate = Separate()
    limits: Limits = Limits()

    @model_validator(mode="after")
    def _names_differ(self) -> Exercise:
        names = [*(p.name for p in self.programs), *(t.name for t in self.round_trips)]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice:
            raise ValueError(f"two programs or round trips are called {twice}")
        return self

    def program(self, name: str) -> Program:
        """Return the program called `name`, or that gives the result `name`; raises KeyError."""
        for program in self.programs:
            if program.name == program_of(name):
                return program
        raise KeyError(name)

    def judged(self) -> tuple[str, ...]:
        """Return the names of all arrays that the programs give, in order."""
        return tuple(name for program in self.programs for name in program.judged())


class Mistake(Content):
    """A named misconception, in words."""

    id: Slug
    title: str
    hint: str


class Refusal(Content):
    """A mistake that JAX itself refuses to trace, told by a part of what JAX says."""

    mistake: str
    says: str


class Explanation(Content):
    """The idea behind a mistake, an example of its own, and what to read again.

    `read` is a heading of the exercise's prompt.
    """

    mistake: Slug
    idea: str
    example: str
    read: str


class Explanations(Content):
    """The file `mistakes.toml` of a rubric."""

    explanations: tuple[Explanation, ...] = ()

    def of(self, mistake_id: str) -> Explanation | None:
        """Return the explanation of one mistake, None where there is none."""
        return next((one for one in self.explanations if one.mistake == mistake_id), None)


class CheckSpec(Content):
    """One check of a rubric; `params` belong to its kind and are read by it.

    `hint` stands in a receipt where no mistake is named; `hints` are shown one at a time, from a
    nudge to nearly the answer, by `grade hint`.
    """

    id: Slug
    kind: str
    title: str
    hint: str
    hints: tuple[str, ...] = Field(default=(), max_length=9)
    params: dict[str, Any] = {}
    items: tuple[dict[str, Any], ...] = Field(min_length=1)


class PayloadRowSpec(Content):
    """One bar of the idealised model."""

    program: str
    model_bytes_per_rank: float
    values_per_device: int


class PayloadSpec(Content):
    """The idealised payload model that the receipt shows beside what was compiled."""

    label: str
    assumptions: tuple[str, ...]
    rows: tuple[PayloadRowSpec, ...]


class CheckpointSpec(Content):
    """The right letter of the lesson's question, and the sentence shown with it.

    `feedback` says of each choice why it is right or not, for `grade quiz`.
    """

    answer: Letter
    because: str
    feedback: dict[Letter, str] = {}


class Rubric(Content):
    """The checks, their points, the mistakes they can name, and what is tracked apart."""

    exercise: Identifier
    max_points: int = Field(ge=1)
    checks: tuple[CheckSpec, ...] = Field(min_length=1)
    mistakes: tuple[Mistake, ...]
    refusals: tuple[Refusal, ...] = ()
    payload_model: PayloadSpec | None = None
    checkpoint: CheckpointSpec | None = None

    def mistake(self, mistake_id: str) -> Mistake | None:
        """Return the words for a mistake, None for an id without any.

        An id of the form `a-or-b` names mistakes that nothing tells apart: both are worded.
        """
        for mistake in self.mistakes:
            if mistake.id == mistake_id:
                return mistake
        known = [m for m in self.mistakes if m.id in mistake_id.split("-or-")]
        if not known:
            return None
        return Mistake(
            id=mistake_id,
            title="; or ".join(m.title for m in known),
            hint=" ".join(m.hint for m in known),
        )
