"""The stored record of a verdict, schema 1; building, rendering and storing happen elsewhere."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import JsonValue, SerializerFunctionWrapHandler, model_serializer

from grader.records.base import Record
from grader.records.evidence import OutcomeKind
from grader.records.finding import Blame, Finding, VerdictKind
from grader.results import program_of

_REMEMBERED = ("predicted", "quiz", "hints")


class OutcomePart(Record):
    """How the module ended; `traceback` holds the learner's own frames only."""

    kind: OutcomeKind
    message: str
    line: int | None
    next_step: str = ""
    traceback: list[str] = []


class SubmissionPart(Record):
    """Which file was graded: SHA-256 over the raw bytes, and over those of its siblings by name.

    Lines of a notebook are those of its code cells as one text; `cells` are the numbers of the
    first line of each cell there, and empty for any other file.
    """

    name: str
    sha256: str
    size_bytes: int
    format: Literal["py", "ipynb", "other"]
    siblings: dict[str, str] = {}
    cells: list[int] = []


class LearnerPart(Record):
    """Whose submission it is: a name, and what a platform or a roster calls this learner."""

    name: str = ""
    id: str = ""
    email: str = ""


class Checkpoint(Record):
    """The learner's answer to the lesson's question; tracked apart from the points."""

    answer: str
    correct: bool
    because: str = ""


class Prediction(Record):
    """Values stored per device: what was predicted beside what was observed."""

    program: str
    predicted: int | None
    observed: int | None
    agrees: bool | None


class Answered(Record):
    """One more answer to `grade predict`; `observed` is None where nothing tells."""

    question: str
    answer: str
    observed: str | None
    agrees: bool | None


class Predicted(Record):
    """What was answered to `grade predict`, and when: by the first graded try of that machine.

    `counts` are empty where the submission's own prediction stands.
    """

    when: Literal["before", "partly after", "after", "changed after"]
    counts: list[Prediction]
    answers: list[Answered]


class Quiz(Checkpoint):
    """The latest answer to `grade quiz`, the first one, and which number the latest is."""

    first: str
    tries: int


class Separate(Record):
    """What is tracked apart from the points.

    The first three are the submission's own. The others are what `grade predict`, `grade quiz` and
    `grade hint` remember, of one learner's own grade alone; `hints` counts them by check.
    """

    prediction: list[Prediction] | None
    checkpoint: Checkpoint | None
    explanation: str | dict[str, str] | None
    predicted: Predicted | None = None
    quiz: Quiz | None = None
    hints: dict[str, int] = {}

    @model_serializer(mode="wrap")
    def _as_it_was(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # A receipt from before these fields has to come out again as it is.
        facts: dict[str, Any] = write(self)
        return {key: one for key, one in facts.items() if one or key not in _REMEMBERED}


class LayerPart(Record):
    """One confinement layer as it was during this grade."""

    name: str
    on: bool
    reason: str


class Confinement(Record):
    """The level that held while learner code ran, layer by layer."""

    level: Literal["full", "partial", "none"]
    layers: list[LayerPart]


class Execution(Record):
    """On which real devices programs ran, as JAX names them, where it were no CPU devices."""

    platform: str
    kind: str
    matmul_precision: str


class Environment(Record):
    """Where and with what the grade was made; `execution` is None on logical CPU devices."""

    python: str
    jax: str
    jaxlib: str
    numpy: str
    packages: dict[str, str]
    platform: str
    devices: int
    confinement: Confinement
    grader: str
    rubric_sha256: str
    seed_sha256: str
    execution: Execution | None = None

    @model_serializer(mode="wrap")
    def _as_it_was(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # A receipt of a CPU, and one from before this field, comes out again as it is.
        facts: dict[str, Any] = write(self)
        return {key: one for key, one in facts.items() if key != "execution" or one is not None}

    def told_devices(self) -> str:
        """Return how many devices of which kind there were."""
        if self.execution is None:
            return f"{self.devices} logical CPU devices"
        return f"{self.devices} devices of {self.execution.kind}, accelerator execution"


class PayloadRow(Record):
    """Idealised ring payload of one program in bytes per rank, and values stored per device."""

    program: str
    model_bytes_per_rank: float
    values_per_device: int


class PayloadModel(Record):
    """The idealised model: an algorithmic count, never a measurement."""

    label: str
    assumptions: list[str]
    rows: list[PayloadRow]


class CollectivePart(Record):
    """One collective as found in a program; see `grader.records.observation.Collective`."""

    op: str
    operand: str
    operand_bytes: int
    group_size: int | None
    trip_count: int | None
    bytes_per_rank: float | None
    by_compiler: bool


class DeviceValues(Record):
    """What one device stores: shape, place in the global array, and its first values, row by row.

    `index` gives start and stop of each dimension; a value that JSON has no number for is text.
    """

    device: int
    shape: list[int]
    index: list[list[int]]
    values: list[bool | int | float | str]


class StoredValues(Record):
    """A program's result on inputs that the learner knows, for display; never on a hidden case.

    `inputs` says whose they are: the lesson's own, or built on the learner's written answers.
    """

    case: str
    inputs: Literal["lesson", "learner"]
    devices: list[DeviceValues]


class CompiledRow(Record):
    """One program's collectives, requested beside compiled, and bytes per rank from the latter.

    `stored_shapes` are the per-device shapes of its result, in the order of `stored_devices`;
    `stored_values` are what it stores on inputs that the learner knows.
    """

    program: str
    bytes_per_rank: float | None
    requested: list[CollectivePart]
    compiled: list[CollectivePart]
    stored_devices: list[int]
    stored_shapes: list[list[int]]
    note: str = ""
    stored_values: list[StoredValues] = []


class CompiledBytes(Record):
    """An analysis of the compiled program under the ring model; not observed traffic."""

    label: str
    rows: list[CompiledRow]

    def programs(self) -> list[CompiledRow]:
        """Return the rows of whole programs; of one with several results, each has a row too."""
        return [row for row in self.rows if row.program == program_of(row.program)]

    def arrays(self) -> list[CompiledRow]:
        """Return the rows of single arrays: those of programs that give one, and of results."""
        programs = ((row.program, program_of(row.program)) for row in self.rows)
        split = {program for name, program in programs if name != program}
        return [row for row in self.rows if row.program not in split]


class TimingRow(Record):
    """Completed calls of one program on logical CPU devices, in microseconds."""

    program: str
    median_us: float
    samples_us: list[float]


class ObservedCpu(Record):
    """Observed timings on logical devices that share one host; no network is involved."""

    label: str
    rows: list[TimingRow]


class OutputPart(Record):
    """What the module printed: head and tail, the number of bytes, and whether any were cut."""

    text: str
    total_bytes: int
    cut: bool


class SourceLine(Record):
    """A line of the submission, at most its first 400 characters."""

    line: int
    text: str


class Receipt(Record):
    """One grade, complete: schema 1.

    `source_lines` are the submission from its first line on where `source_cut` says whether some
    of it is left out; without that they are only the lines that a message points at.
    """

    schema_version: Literal[1] = 1
    exercise: str
    exercise_title: str
    verdict: VerdictKind
    points: int
    max_points: int
    blame: Blame | None
    outcome: OutcomePart
    checks: list[Finding]
    submission: SubmissionPart
    learner: LearnerPart | None = None
    separate: Separate
    environment: Environment
    payload_model: PayloadModel | None
    compiled_bytes: CompiledBytes
    observed_cpu_us: ObservedCpu
    output: OutputPart
    source_lines: list[SourceLine]
    source_cut: bool | None = None
    notes: list[str]
    evidence_digest: str
    created_at: str
    wall_s: float


def as_json_value(value: object) -> JsonValue:
    """Return `value` as JSON types (tuples as lists); raises TypeError for anything else."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [as_json_value(item) for item in value]
    if isinstance(value, dict):
        return {str(key): as_json_value(item) for key, item in value.items()}
    raise TypeError(f"not JSON: {type(value).__name__}")
