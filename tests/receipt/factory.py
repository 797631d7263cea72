"""Builds receipts as real grades leave them: passed, failed, error, undecided."""

from __future__ import annotations

from typing import Any

from pydantic import JsonValue

from grader.records.finding import Finding, Item, Source, Status
from grader.records.receipt import (
    Checkpoint,
    CollectivePart,
    CompiledBytes,
    CompiledRow,
    Confinement,
    DeviceValues,
    Environment,
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
    StoredValues,
    SubmissionPart,
    TimingRow,
)

Evidence = list[dict[str, JsonValue]]

ALL_REDUCE = CollectivePart(
    op="all-reduce",
    operand="f32[8]",
    operand_bytes=32,
    group_size=4,
    trip_count=1,
    bytes_per_rank=48.0,
    by_compiler=False,
)
REDUCE_SCATTER = CollectivePart(
    op="reduce-scatter",
    operand="f32[8]",
    operand_bytes=32,
    group_size=4,
    trip_count=1,
    bytes_per_rank=24.0,
    by_compiler=False,
)
ALL_GATHER = CollectivePart(
    op="all-gather",
    operand="f32[2]",
    operand_bytes=8,
    group_size=4,
    trip_count=1,
    bytes_per_rank=24.0,
    by_compiler=False,
)

TITLES = {
    "values": "The three programs give the global gradient on every device",
    "shard_shapes": "Each device stores the piece it should",
    "collectives": "The programs communicate the way they were asked to",
    "momentum": "The sharded momentum update equals the formula",
    "permutation": "Rows and labels reversed together leave the gradient as it was",
    "label_reversal": "Labels reversed alone give another gradient",
    "byte_budget": "Bytes per rank, by the ring model and in the programs",
}
POINTS = {
    "values": (8, 8, 4),
    "shard_shapes": (5, 5, 4),
    "collectives": (6, 6, 4),
    "momentum": (8, 6),
    "permutation": (4, 4, 4),
    "label_reversal": (10,),
    "byte_budget": (4, 4, 6),
}
ITEMS = {
    "values": ("all_gradient", "shard_gradient", "gather"),
    "shard_shapes": ("all_gradient", "shard_gradient", "gather"),
    "collectives": ("all_gradient", "shard_gradient", "gather"),
    "momentum": ("new_v", "updated"),
    "permutation": ("rows_and_labels", "weights", "gradient"),
    "label_reversal": ("wrong_labels",),
    "byte_budget": ("ring", "rows", "compiled"),
}
CLAIMED = ("momentum", "permutation", "label_reversal")


def item(check: str, index: int, status: Status = "passed", **more: Any) -> Item:
    """Return one item of a check, with its points when it passed."""
    full = POINTS[check][index]
    source: Source = "claimed" if check in CLAIMED or more.get("claimed") else "replayed"
    more.pop("claimed", None)
    return Item(
        id=ITEMS[check][index],
        status=status,
        points=full if status == "passed" else 0,
        max_points=full,
        source=source,
        **more,
    )


def finding(
    check: str,
    items: list[Item] | None = None,
    evidence: Evidence | None = None,
    **more: Any,
) -> Finding:
    """Return a check's finding, passed unless `more` says otherwise."""
    parts = items or [item(check, index) for index in range(len(POINTS[check]))]
    given: dict[str, Any] = {
        "status": "passed",
        "message": "Everything asked for was observed.",
        "mistake": None,
        "hint": "",
        "line": None,
        **more,
    }
    return Finding(
        id=check,
        kind=f"{check}_kind",
        title=TITLES[check],
        points=sum(part.points for part in parts),
        max_points=sum(part.max_points for part in parts),
        items=parts,
        evidence=evidence if evidence is not None else EVIDENCE.get(check, []),
        **given,
    )


PROGRAMS = ("all_gradient", "shard_gradient", "gather")


def stored(program: str, shape: list[JsonValue], layout: str) -> dict[str, JsonValue]:
    """Return what a check says about the shapes it saw."""
    return {
        "what": "values stored on each device",
        "program": program,
        "global_shape": [8],
        "layout": layout,
        "device_ids": [0, 1, 2, 3],
        "shapes": [shape] * 4,
    }


def told(program: str, part: CollectivePart) -> Evidence:
    """Return what a check says about one collective, requested and compiled."""
    figures = part.model_dump(exclude={"operand_bytes"})
    return [
        {"what": f"{where} collective", "program": program, **figures}
        for where in ("requested", "compiled")
    ]


EVIDENCE: dict[str, Evidence] = {
    "values": [
        {
            "what": "largest difference as a share of the largest value",
            "program": program,
            "case": case,
            "share": 1.2e-07 if program != "gather" else 0.0,
            "allowed": 4e-06,
            "wrong_devices": [],
        }
        for program in PROGRAMS
        for case in ("hidden-1", "hidden-2", "lesson")
    ],
    "shard_shapes": [
        stored("all_gradient", [8], "replicated"),
        stored("shard_gradient", [2], "split"),
        stored("gather", [8], "replicated"),
    ],
    "collectives": [
        *told("all_gradient", ALL_REDUCE),
        *told("shard_gradient", REDUCE_SCATTER),
        *told("gather", ALL_GATHER),
    ],
    "momentum": [
        {
            "what": "written answer",
            "name": "new_v",
            "type": "ArrayImpl",
            "global_shape": [8],
            "layout": "split",
            "device_ids": [0, 1, 2, 3],
            "shapes": [[2]] * 4,
        }
    ],
    "byte_budget": [
        {
            "what": "bytes per rank in the compiled program",
            "program": program,
            "bytes_per_rank": found,
            "chosen_by_compiler": False,
        }
        for program, found in (("all_gradient", 48.0), ("shard_gradient", 24.0), ("gather", 24.0))
    ],
}


GRADIENT = (0.00293, 0.0022, 0.00146, 0.00073, -4.7e-09, -0.00073, -0.00146, -0.0022)
REVERSED = (0.1674, 0.1671, 0.1668, 0.1665, 0.1662, 0.1659, 0.1656, 0.1653)


def on_devices(program: str, case: str = "lesson", *off: int) -> StoredValues:
    """Return what a program stores on four devices; those in `off` hold four times too much."""
    whole = GRADIENT if case == "lesson" else REVERSED
    devices = []
    for device in range(4):
        start, stop = (2 * device, 2 * device + 2) if program == "shard_gradient" else (0, 8)
        factor = 4 if device in off else 1
        values = [factor * value for value in whole[start:stop]]
        devices.append(
            DeviceValues(
                device=device, shape=[stop - start], index=[[start, stop]], values=list(values)
            )
        )
    inputs: Any = "lesson" if case == "lesson" else "learner"
    return StoredValues(case=case, inputs=inputs, devices=devices)


def drawn(program: str, *off: int) -> list[StoredValues]:
    """Return what a program stores in the lesson's own case and on the reversed arrays."""
    return [on_devices(program, "lesson", *off), on_devices(program, "reversed")]


def row(program: str, *parts: CollectivePart, shape: list[int], **more: Any) -> CompiledRow:
    """Return one program's collectives, compiled as requested."""
    given: dict[str, Any] = {
        "bytes_per_rank": sum(part.bytes_per_rank or 0.0 for part in parts),
        "requested": list(parts),
        "compiled": list(parts),
        "stored_devices": [0, 1, 2, 3],
        "stored_shapes": [shape] * 4,
        **more,
    }
    return CompiledRow(program=program, **given)


def environment() -> Environment:
    """Return where and with what the grade was made."""
    return Environment(
        python="3.11.9",
        jax="0.10.2",
        jaxlib="0.10.2",
        numpy="2.4.1",
        packages={"flatbuffers": "25.12.19", "jinja2": "3.1.6", "pydantic": "2.14.4"},
        platform="Linux x86_64",
        devices=4,
        confinement=Confinement(
            level="partial",
            layers=[
                LayerPart(name="landlock", on=True, reason=""),
                LayerPart(name="seccomp", on=True, reason=""),
                LayerPart(name="network namespace", on=False, reason="not allowed on this kernel"),
            ],
        ),
        grader="0.1.0",
        rubric_sha256="6b" * 32,
        seed_sha256="1f" * 32,
    )


def payload_model() -> PayloadModel:
    """Return the ring model's figures."""
    return PayloadModel(
        label="Idealised ring model: an algorithmic count, not a measurement",
        assumptions=[
            "a ring of p = 4 ranks, each sending and receiving one chunk per step",
            "float32, 4 bytes per value; no protocol overhead, no overlap",
        ],
        rows=[
            PayloadRow(program="all_gradient", model_bytes_per_rank=48.0, values_per_device=8),
            PayloadRow(program="shard_gradient", model_bytes_per_rank=24.0, values_per_device=2),
            PayloadRow(
                program="shard_gradient + gather", model_bytes_per_rank=48.0, values_per_device=8
            ),
        ],
    )


def compiled(*rows: CompiledRow) -> CompiledBytes:
    """Return the section on compiled bytes."""
    label = "Bytes in the compiled program: an analysis under the ring model, not observed traffic"
    return CompiledBytes(label=label, rows=list(rows))


def observed_cpu(*programs: str) -> ObservedCpu:
    """Return the section on timings."""
    samples = [91.2, 88.4, 90.1, 95.7, 89.9, 90.6, 131.0]
    return ObservedCpu(
        label="Observed CPU timings on logical devices that share one host: no network, no TPU",
        rows=[TimingRow(program=name, median_us=90.6, samples_us=samples) for name in programs],
    )


def passed(**more: Any) -> Receipt:
    """Return a receipt with full marks."""
    given: dict[str, Any] = {
        "exercise": "distributed-03",
        "exercise_title": "Communication-efficient algorithms",
        "verdict": "passed",
        "blame": None,
        "outcome": OutcomePart(kind="finished", message="The module ran to its end.", line=None),
        "checks": [finding(check) for check in TITLES],
        "submission": SubmissionPart(
            name="my_solution.py", sha256="a3" * 32, size_bytes=5120, format="py"
        ),
        "separate": Separate(
            prediction=[
                Prediction(program="all_gradient", predicted=8, observed=8, agrees=True),
                Prediction(program="shard_gradient", predicted=2, observed=2, agrees=True),
                Prediction(program="gather", predicted=2, observed=8, agrees=False),
            ],
            checkpoint=Checkpoint(
                answer="c",
                correct=True,
                because="Both phases together move what one all-reduce moves.",
            ),
            explanation={
                "prediction": "Each rank keeps its own two of the eight sums.",
                "labels": "Reversing y alone pairs every row with a stranger's label.",
                "storage": "The gather gives back the bytes that the scatter saved.",
            },
        ),
        "environment": environment(),
        "payload_model": payload_model(),
        "compiled_bytes": compiled(
            row("all_gradient", ALL_REDUCE, shape=[8], stored_values=drawn("all_gradient")),
            row("shard_gradient", REDUCE_SCATTER, shape=[2], stored_values=drawn("shard_gradient")),
            row("gather", ALL_GATHER, shape=[8], stored_values=drawn("gather")),
        ),
        "observed_cpu_us": observed_cpu("all_gradient", "shard_gradient", "gather"),
        "output": OutputPart(
            text="all_gradient shards: [(8,), (8,), (8,), (8,)]\nmax difference 1.2e-07\n",
            total_bytes=70,
            cut=False,
        ),
        "source_lines": source(),
        "source_cut": False,
        "notes": [],
        "evidence_digest": "0d" * 32,
        "created_at": "2026-03-01T10:20:30Z",
        "wall_s": 1.84,
        **more,
    }
    checks = given["checks"]
    given.setdefault("points", sum(check.points for check in checks))
    given.setdefault("max_points", sum(sum(points) for points in POINTS.values()))
    return Receipt(**given)


def source(**lines: str) -> list[SourceLine]:
    """Return a submission of sixty lines; `l41="x"` says what line 41 is."""
    told = {1: "import jax", 40: "def shard_gradient(x, y, w):", **_numbered(lines)}
    return [SourceLine(line=n, text=told.get(n, f"a{n} = {n}")) for n in range(1, 61)]


def _numbered(lines: dict[str, str]) -> dict[int, str]:
    return {int(name[1:]): text for name, text in lines.items()}


PSUM_LINE = "    return jax.lax.psum(local_contribution(x, y, w), 'data')[2 * i:2 * i + 2]"


def _slice_instead_of_scatter() -> Finding:
    message = "`shard_gradient` ran an all-reduce of f32[8] among 4 and then kept a slice"
    return finding(
        "collectives",
        [
            item("collectives", 0),
            item("collectives", 1, "failed", message=message, mistake="psum-slice", line=41),
            item("collectives", 2),
        ],
        [
            *told("all_gradient", ALL_REDUCE),
            *told("shard_gradient", ALL_REDUCE),
            *told("gather", ALL_GATHER),
        ],
        status="failed",
        message=message,
        mistake="psum-slice",
        mistake_title="An all-reduce and a slice where a reduce-scatter was asked for",
        hint="Ask for the reduced slice itself: `jax.lax.psum_scatter(..., tiled=True)`.",
        line=41,
    )


def _bits_for_bytes() -> Finding:
    message = "`budget` counts bits in 3 of 3 rows"
    return finding(
        "byte_budget",
        [
            item("byte_budget", 0, claimed=True),
            item("byte_budget", 1, "failed", claimed=True, message=message, mistake="bits"),
            item("byte_budget", 2, "blocked", message="collectives has not passed."),
        ],
        status="failed",
        message=message,
        mistake="bits",
        mistake_title="Bits counted for bytes",
        hint="A float32 value takes 4 bytes.",
    )


def failed(**more: Any) -> Receipt:
    """Return a receipt of a module that ran, with one collective and one budget wrong."""
    wrong = {"collectives": _slice_instead_of_scatter(), "byte_budget": _bits_for_bytes()}
    given: dict[str, Any] = {
        "verdict": "failed",
        "blame": "learner",
        "checks": [wrong.get(check) or finding(check) for check in TITLES],
        "compiled_bytes": compiled(
            row("all_gradient", ALL_REDUCE, shape=[8], stored_values=drawn("all_gradient")),
            row("shard_gradient", ALL_REDUCE, shape=[2], stored_values=drawn("shard_gradient")),
            row("gather", ALL_GATHER, shape=[8], note="The compiler chose this collective."),
        ),
        "source_lines": source(l41=PSUM_LINE),
        **more,
    }
    return passed(**given)


def error(**more: Any) -> Receipt:
    """Return a receipt of a module that raised halfway, keeping the points it had."""
    kept = [finding(check) for check in ("values", "shard_shapes", "collectives")]
    lost = [
        finding(
            check,
            [item(check, index, "failed") for index in range(len(POINTS[check]))],
            [],
            status="failed",
            message=f"{ITEMS[check][0]} is not defined: the module stopped at line 57.",
        )
        for check in ("momentum", "permutation", "label_reversal", "byte_budget")
    ]
    given: dict[str, Any] = {
        "verdict": "error",
        "blame": "learner",
        "outcome": OutcomePart(
            kind="raised",
            message="ValueError: shapes (2,) and (8,) cannot be added",
            line=57,
            next_step="Slice the gradient before adding it to the velocity.",
            traceback=[
                'File "my_solution.py", line 57, in <module>\n    new_v = step(vs, g)',
                'File "my_solution.py", line 52, in step\n    return 0.9 * v + g',
            ],
        ),
        "checks": kept + lost,
        "separate": Separate(prediction=None, checkpoint=None, explanation=None),
        "source_lines": source(l52="    return 0.9 * v + g", l57="new_v = step(vs, g)"),
        **more,
    }
    return passed(**given)


def undecided(**more: Any) -> Receipt:
    """Return a receipt of a grade that our side could not finish."""
    message = "The clean room stopped before it had replayed all_gradient."
    checks = [
        finding(
            check,
            [item(check, index, "undecided") for index in range(len(POINTS[check]))],
            [],
            status="undecided",
            message=message,
        )
        for check in TITLES
    ]
    given: dict[str, Any] = {
        "verdict": "undecided",
        "blame": "grader",
        "checks": checks,
        "payload_model": None,
        "compiled_bytes": compiled(),
        "observed_cpu_us": observed_cpu(),
        "notes": ["Run the same command again; nothing was taken away."],
        **more,
    }
    return passed(**given)
