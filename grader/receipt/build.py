"""Put one grade together as a receipt; pure, and it adds no fact of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from grader import __version__, compare, intake
from grader.case import as_number
from grader.catalog.models import Exercise, Rubric
from grader.receipt import capped, recalled
from grader.receipt.digest import evidence_digest
from grader.receipt.stored import stored_values
from grader.records.evidence import Claim, Evidence, confinement_level
from grader.records.finding import Finding, Verdict
from grader.records.observation import Collective, Observation
from grader.records.receipt import (
    Checkpoint,
    CollectivePart,
    CompiledBytes,
    CompiledRow,
    Confinement,
    Environment,
    Execution,
    LayerPart,
    ObservedCpu,
    OutcomePart,
    OutputPart,
    PayloadModel,
    PayloadRow,
    Prediction,
    Receipt,
    Separate,
    SourceLine,
    SubmissionPart,
    TimingRow,
)
from grader.records.submission import Submission

COMPILED_LABEL = "Bytes in the compiled program (an analysis under the ring model, not traffic)"
TIMING_LABEL = "Observed CPU timings on logical devices of one host (no network, no accelerator)"


@dataclass(frozen=True)
class Parts:
    """Everything a receipt is made of."""

    exercise: Exercise
    rubric: Rubric
    rubric_sha256: str
    seed_sha256: str
    submission: Submission
    evidence: Evidence
    observations: Mapping[str, Observation]
    findings: list[Finding]
    verdict: Verdict
    platform: str
    notes: list[str]
    created_at: str
    wall_s: float
    execution: Execution | None = None


def build(parts: Parts) -> Receipt:
    """Return the receipt of one grade."""
    compiled = _compiled(parts)
    outcome = parts.evidence.outcome
    source, cut = _source(parts)
    return Receipt(
        exercise=parts.exercise.id,
        exercise_title=parts.exercise.title,
        verdict=parts.verdict.verdict,
        points=parts.verdict.points,
        max_points=parts.verdict.max_points,
        blame=parts.verdict.blame,
        outcome=OutcomePart(
            kind=outcome.kind,
            message=capped.text(outcome.message),
            line=outcome.line,
            next_step=capped.text(outcome.next_step),
            traceback=capped.frames(outcome.frames),
        ),
        checks=[capped.finding(_told(parts.rubric, found)) for found in parts.findings],
        submission=SubmissionPart(
            name=parts.submission.name,
            sha256=parts.submission.sha256,
            size_bytes=parts.submission.size_bytes,
            format=parts.submission.format,
            siblings=_digests(parts.submission),
            cells=list(parts.submission.cells.starts) if parts.submission.cells else [],
        ),
        separate=_separate(parts),
        environment=_environment(parts),
        payload_model=_payload(parts.rubric),
        compiled_bytes=compiled,
        observed_cpu_us=_timings(parts),
        output=_output(parts.evidence),
        source_lines=source,
        source_cut=cut,
        notes=parts.notes,
        evidence_digest=evidence_digest(
            exercise=parts.exercise.id,
            submission_sha256=parts.submission.sha256,
            siblings=_digests(parts.submission),
            rubric_sha256=parts.rubric_sha256,
            seed_sha256=parts.seed_sha256,
            outcome=outcome.kind,
            verdict=parts.verdict,
            findings=parts.findings,
            compiled=compiled,
        ),
        created_at=parts.created_at,
        wall_s=parts.wall_s,
    )


def _digests(submission: Submission) -> dict[str, str]:
    return {name: hashlib.sha256(raw).hexdigest() for name, raw in submission.siblings}


def _environment(parts: Parts) -> Environment:
    versions = dict(parts.evidence.versions)
    named = {key: versions.pop(key, "") for key in ("python", "jax", "jaxlib", "numpy")}
    return Environment(
        **named,
        packages=versions,
        platform=parts.platform,
        devices=parts.evidence.devices,
        confinement=_confinement(parts.evidence),
        grader=__version__,
        rubric_sha256=parts.rubric_sha256,
        seed_sha256=parts.seed_sha256,
        execution=parts.execution,
    )


def _confinement(evidence: Evidence) -> Confinement:
    layers = [LayerPart(name=x.name, on=x.on, reason=x.reason) for x in evidence.layers]
    level = confinement_level(layer.name for layer in layers if layer.on)
    return Confinement(level=level, layers=layers)


def _payload(rubric: Rubric) -> PayloadModel | None:
    model = rubric.payload_model
    if model is None:
        return None
    return PayloadModel(
        label=model.label,
        assumptions=list(model.assumptions),
        rows=[PayloadRow(**row.model_dump()) for row in model.rows],
    )


def _compiled(parts: Parts) -> CompiledBytes:
    rows = []
    for program in parts.exercise.programs:
        seen = parts.observations.get(program.name)
        if seen is None:
            continue
        rows.append(_with_stored(parts, _row(seen), seen) if not program.results else _row(seen))
        for name in program.judged() if program.results else ():
            empty = CompiledRow(
                program=name,
                bytes_per_rank=None,
                requested=[],
                compiled=[],
                stored_devices=[],
                stored_shapes=[],
            )
            rows.append(_with_stored(parts, empty, parts.observations[name]))
    return CompiledBytes(label=COMPILED_LABEL, rows=rows)


def _row(seen: Observation) -> CompiledRow:
    return CompiledRow(
        program=seen.name,
        bytes_per_rank=seen.bytes_per_rank() if seen.replayed else None,
        requested=[_collective(one) for one in seen.requested],
        compiled=[_collective(one) for one in seen.compiled],
        stored_devices=[],
        stored_shapes=[],
        note=_note(seen),
    )


def _with_stored(parts: Parts, row: CompiledRow, seen: Observation) -> CompiledRow:
    """Return a row with what one array of a program's is stored as on every device."""
    return row.model_copy(
        update={
            "stored_devices": sorted(shard.device for shard in seen.any_shards()),
            "stored_shapes": compare.stored(seen.any_shards()),
            "stored_values": stored_values(parts.rubric.checks, parts.findings, seen),
        }
    )


def _note(seen: Observation) -> str:
    if not seen.replayed:
        return f"not replayed: {seen.fate.replace('_', ' ')}"
    if seen.compiled_unknown:
        return f"unknown: {seen.compiled_unknown}"
    if any(one.by_compiler for one in seen.compiled):
        return "the compiler chose the collective"
    return ""


def _collective(one: Collective) -> CollectivePart:
    return CollectivePart(
        op=one.op,
        operand=one.operand,
        operand_bytes=one.operand_bytes,
        group_size=one.group_size,
        trip_count=one.trip_count,
        bytes_per_rank=one.bytes_per_rank,
        by_compiler=one.by_compiler,
    )


def _timings(parts: Parts) -> ObservedCpu:
    rows = []
    for program in parts.exercise.programs:
        seen = parts.observations.get(program.name)
        if seen is not None and seen.cpu_us:
            ordered = sorted(seen.cpu_us)
            median = ordered[len(ordered) // 2]
            samples = list(seen.cpu_us)
            rows.append(TimingRow(program=program.name, median_us=median, samples_us=samples))
    return ObservedCpu(label=_timing_label(parts), rows=rows)


def _timing_label(parts: Parts) -> str:
    if parts.execution is None:
        return TIMING_LABEL
    return (
        f"Observed timings of an accelerator execution on {parts.evidence.devices} devices of "
        f"{parts.execution.kind} (as timed by one host)"
    )


def _output(evidence: Evidence) -> OutputPart:
    output = evidence.output
    return OutputPart(text=output.text, total_bytes=output.total_bytes, cut=bool(output.tail))


def _source(parts: Parts) -> tuple[list[SourceLine], bool | None]:
    """Return the submission's lines, and whether some are cut; of what is no text, those told."""
    wanted = {parts.evidence.outcome.line}
    wanted |= {item.line for finding in parts.findings for item in finding.items}
    opened = parts.submission.format != "ipynb" or parts.submission.cells is not None
    is_text = opened and b"\0" not in parts.submission.source
    whole = range(1, capped.MOST_LINES + 2) if is_text else ()
    found = intake.lines(parts.submission, {*wanted, *whole})
    kept, left = [], capped.MOST_SOURCE_BYTES
    for line, said in found.items():
        left -= len(said.encode(errors="replace")) + 1
        if line in wanted or (line <= capped.MOST_LINES and left >= 0):
            kept.append(SourceLine(line=line, text=said))
    short = any(len(said) >= capped.MOST_OF_A_LINE for said in found.values())
    return kept, (len(kept) < len(found) or short) if is_text else None


def _told(rubric: Rubric, found: Finding) -> Finding:
    """Return a finding whose items have words for each mistake that is not the check's own."""
    items = []
    for item in found.items:
        other = item.mistake if item.status != "passed" and item.mistake != found.mistake else None
        words = rubric.mistake(other) if other else None
        told = {"mistake_title": words.title, "hint": words.hint} if words else {}
        items.append(item.model_copy(update=told))
    return found.model_copy(update={"items": items})


def _separate(parts: Parts) -> Separate:
    names, claims = parts.exercise.separate, parts.evidence.claims
    missing = Claim("", "missing")
    return Separate(
        prediction=_predictions(parts, claims.get(names.prediction, missing)),
        checkpoint=_checkpoint(parts.rubric, claims.get(names.checkpoint, missing)),
        explanation=_explanation(claims.get(names.explanation, missing)),
    )


def _predictions(parts: Parts, found: Claim) -> list[Prediction] | None:
    if found.kind != "mapping" or not isinstance(found.value, Mapping):
        return None
    rows = []
    for name in parts.exercise.judged():
        predicted = _whole(found.value.get(name))
        rows.append(recalled.beside(name, predicted, parts.observations))
    return rows


def _whole(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Beyond this a float holds no exact count, and a number of a million digits is no prediction.
    return int(value) if abs(value) < 2**53 and float(value).is_integer() else None


def _checkpoint(rubric: Rubric, found: Claim) -> Checkpoint | None:
    if found.kind != "text" or rubric.checkpoint is None:
        return None
    answer = str(found.value).strip().strip("().").lower()[:20]
    correct = answer == rubric.checkpoint.answer
    return Checkpoint(answer=answer, correct=correct, because=rubric.checkpoint.because)


def _explanation(found: Claim) -> str | dict[str, str] | None:
    if found.kind == "text":
        return capped.text(str(found.value))
    if found.kind == "mapping" and isinstance(found.value, Mapping):
        said = {str(k): v if isinstance(v, str) else repr(v) for k, v in found.value.items()}
        return capped.answers(said)
    number = as_number(found)
    return None if number is None else f"{number:g}"
