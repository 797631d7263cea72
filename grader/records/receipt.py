"""The stored record of a verdict, schema 1; building, rendering and storing happen elsewhere."""

from __future__ import annotations

from typing import Literal

from pydantic import JsonValue

from grader.records.base import Record
from grader.records.evidence import OutcomeKind
from grader.records.finding import Blame, Finding, VerdictKind


class OutcomePart(Record):
    """How the module ended; `traceback` holds the learner's own frames only."""

    kind: OutcomeKind
    message: str
    line: int | None
    next_step: str = ""
    traceback: list[str] = []


class SubmissionPart(Record):
    """Which file was graded: SHA-256 over the raw bytes, and over those of its siblings by name."""

    name: str
    sha256: str
    size_bytes: int
    format: Literal["py", "ipynb", "other"]
    siblings: dict[str, str] = {}


class Checkpoint(Record):
    """The learner's answer to the lesson's question; tracked apart from the points."""

    answer: str
    correct: bool


class Prediction(Record):
    """Values stored per device: what was predicted beside what was observed."""

    program: str
    predicted: int | None
    observed: int | None
    agrees: bool | None


class Separate(Record):
    """What is tracked apart from the points."""

    prediction: list[Prediction] | None
    checkpoint: Checkpoint | None
    explanation: str | dict[str, str] | None


class LayerPart(Record):
    """One confinement layer as it was during this grade."""

    name: str
    on: bool
    reason: str


class Confinement(Record):
    """The level that held while learner code ran, layer by layer."""

    level: Literal["full", "partial", "none"]
    layers: list[LayerPart]


class Environment(Record):
    """Where and with what the grade was made."""

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


class CompiledRow(Record):
    """One program's collectives, requested beside compiled, and bytes per rank from the latter.

    `stored_shapes` are the per-device shapes of its result, in the order of `stored_devices`.
    """

    program: str
    bytes_per_rank: float | None
    requested: list[CollectivePart]
    compiled: list[CollectivePart]
    stored_devices: list[int]
    stored_shapes: list[list[int]]
    note: str = ""


class CompiledBytes(Record):
    """An analysis of the compiled program under the ring model; not observed traffic."""

    label: str
    rows: list[CompiledRow]


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
    """A line of the submission that a message points at."""

    line: int
    text: str


class Receipt(Record):
    """One grade, complete: schema 1."""

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
    separate: Separate
    environment: Environment
    payload_model: PayloadModel | None
    compiled_bytes: CompiledBytes
    observed_cpu_us: ObservedCpu
    output: OutputPart
    source_lines: list[SourceLine]
    notes: list[str]
    evidence_digest: str
    created_at: str
    wall_s: float


SeedSource = Literal["course secret", "drawn for this grade", "given with --seed"]


class InstructorRecord(Record):
    """What only an instructor may see of a grade: with the seed, in hex, it can be made again."""

    schema_version: Literal[1] = 1
    exercise: str
    submission: SubmissionPart
    rubric_sha256: str
    seed: str
    seed_source: SeedSource
    evidence_digest: str
    created_at: str


def as_json_value(value: object) -> JsonValue:
    """Return `value` as JSON types (tuples as lists); raises TypeError for anything else."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [as_json_value(item) for item in value]
    if isinstance(value, dict):
        return {str(key): as_json_value(item) for key, item in value.items()}
    raise TypeError(f"not JSON: {type(value).__name__}")
