from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from grader.records.evidence import Program
from grader.records.finding import Item
from grader.records.observation import Collective
from tests.checks.factory import (
    COLLECTIVES,
    GATHER,
    PERMUTE,
    PROGRAMS,
    PSUM,
    SCALAR,
    SCATTER,
    asked,
    case,
    judge,
    observed,
    part,
)

WHOLE_GATHER = Collective("all-gather", "f32[4,8]", 128, 4, 1, 384.0)
EXCHANGE = Collective("all-to-all", "f32[4,2]", 32, 4, 1, 24.0)
LOOPED = replace(PERMUTE, trip_count=3, bytes_per_rank=24.0)


def ran(program: str, *compiled: Collective, requested: Any = None, **more: Any) -> Item:
    """Return the item of one program that runs (and asks for) other collectives."""
    wanted = asked(*[c for c in compiled if not c.by_compiler]) if requested is None else requested
    seen = observed(program, compiled=compiled, requested=wanted, **more)
    return part(judge("collectives", case({program: seen})), program)


def by_compiler(one: Collective) -> Collective:
    return replace(one, by_compiler=True)


# ----------------------------------------------------------------------------------------- passing


def test_the_collectives_of_the_lesson_pass() -> None:
    finding = judge("collectives", case())
    assert (finding.status, finding.points) == ("passed", 15)
    assert [item.message for item in finding.items] == [
        "`all_gradient` reduces across the devices: all-reduce of f32[8]",
        "`shard_gradient` reduces and scatters: reduce-scatter of f32[8]",
        "`gather` gathers: all-gather of f32[2]",
    ]
    assert {item.source for item in finding.items} == {"replayed"}


def test_requested_and_compiled_collectives_are_evidence_apart() -> None:
    rows = [r for r in judge("collectives", case()).evidence if r["program"] == "all_gradient"]
    requested, compiled = rows
    assert (requested["what"], compiled["what"]) == ("requested collective", "compiled collective")
    assert (compiled["op"], compiled["operand"], compiled["group_size"]) == (
        "all-reduce",
        "f32[8]",
        4,
    )
    assert (compiled["trip_count"], compiled["bytes_per_rank"]) == (1, 48.0)
    assert "bytes_per_rank" not in requested


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_right_collective_chosen_by_the_compiler_passes_and_is_told(program: str) -> None:
    item = ran(program, by_compiler(COLLECTIVES[program]))
    assert item.status == "passed"
    assert "(chosen by the compiler)" in item.message


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_scalar_on_the_side_is_forgiven(program: str) -> None:
    assert ran(program, COLLECTIVES[program], SCALAR).status == "passed"


def test_a_scalar_joined_to_the_vector_is_forgiven() -> None:
    joined = Collective("all-reduce", "f32[8], f32[]", 36, 4, 1, 54.0)
    assert ran("all_gradient", joined).status == "passed"


@pytest.mark.parametrize(
    ("program", "compiled"),
    [
        ("all_gradient", (SCATTER, GATHER)),
        ("all_gradient", (PERMUTE,) * 6),
        ("all_gradient", (LOOPED, LOOPED)),
        ("all_gradient", (EXCHANGE, replace(EXCHANGE, operand="f32[8]"))),
        ("shard_gradient", (PERMUTE,) * 3),
        ("shard_gradient", (LOOPED,)),
        ("shard_gradient", (EXCHANGE,)),
        ("gather", (PERMUTE,) * 3),
        ("gather", (replace(LOOPED, group_size=3),)),
    ],
    ids=lambda value: value if isinstance(value, str) else "+".join(c.op for c in value),
)
def test_what_does_the_same_with_the_same_bytes_passes(
    program: str, compiled: tuple[Collective, ...]
) -> None:
    item = ran(program, *compiled)
    assert item.status == "passed"
    assert " by " in item.message


def test_trips_are_counted_in_what_is_told() -> None:
    assert "3 × collective-permute of f32[2]" in ran("shard_gradient", LOOPED).message


def test_what_the_compiler_adds_to_the_right_collective_is_told() -> None:
    item = ran("all_gradient", PSUM, by_compiler(WHOLE_GATHER))
    assert item.status == "passed"
    assert "the compiler adds all-gather of f32[4,8] (see the bytes)" in item.message


# ------------------------------------------------------------------------------------------ failing


@pytest.mark.parametrize(
    ("program", "compiled", "mistake"),
    [
        ("shard_gradient", (PSUM,), "psum-then-slice"),
        ("shard_gradient", (PSUM, SCALAR), "psum-then-slice"),
        ("shard_gradient", (WHOLE_GATHER,), "gather-then-sum"),
        ("all_gradient", (WHOLE_GATHER,), "gather-then-sum"),
        ("all_gradient", (by_compiler(WHOLE_GATHER),), "replicated-inputs"),
        ("shard_gradient", (by_compiler(WHOLE_GATHER),), "replicated-inputs"),
        ("all_gradient", (SCATTER,), None),
        ("gather", (PSUM,), None),
        ("gather", (SCATTER,), None),
        ("shard_gradient", (SCATTER, GATHER), None),
        ("shard_gradient", (PSUM, SCATTER), None),
    ],
    ids=lambda value: "+".join(c.op for c in value) if isinstance(value, tuple) else str(value),
)
def test_another_collective_fails_and_is_told(
    program: str, compiled: tuple[Collective, ...], mistake: str | None
) -> None:
    item = ran(program, *compiled)
    assert (item.status, item.points, item.mistake) == ("failed", 0, mistake)
    assert compiled[0].op in item.message
    assert item.line == 10 + PROGRAMS.index(program)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("compiled", [(), (SCALAR,)], ids=["none", "a scalar"])
def test_a_program_that_exchanges_nothing_of_weight_fails(
    program: str, compiled: tuple[Collective, ...]
) -> None:
    item = ran(program, *compiled, requested=asked(COLLECTIVES[program]))
    assert item.status == "failed"
    assert "runs no collective: nothing is exchanged" in item.message


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_collective_among_some_of_the_devices_fails(program: str) -> None:
    for group in (1, 2, None):
        item = ran(program, replace(COLLECTIVES[program], group_size=group))
        assert item.status == "failed"
        assert "does not span all devices" in item.message


@pytest.mark.parametrize("senders", [0, 2])
def test_a_permute_that_leaves_devices_out_fails(senders: int) -> None:
    assert ran("shard_gradient", *[replace(PERMUTE, group_size=senders)] * 3).status == "failed"


@pytest.mark.parametrize(
    ("program", "compiled"),
    [
        ("all_gradient", (PERMUTE,) * 3),
        ("all_gradient", (PERMUTE,) * 9),
        ("all_gradient", (EXCHANGE,)),
        ("shard_gradient", (PERMUTE,) * 2),
        ("shard_gradient", (PERMUTE,) * 6),
        ("gather", (PERMUTE,)),
        ("shard_gradient", (replace(PERMUTE, trip_count=None, bytes_per_rank=None),)),
    ],
    ids=lambda value: value if isinstance(value, str) else f"{len(value)} {value[0].op}",
)
def test_an_equivalent_with_other_bytes_fails(
    program: str, compiled: tuple[Collective, ...]
) -> None:
    assert ran(program, *compiled).status == "failed"


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(
    "change",
    [
        {"operand": "f32[1]", "operand_bytes": 4, "bytes_per_rank": 3.0},
        {"trip_count": None, "bytes_per_rank": None},
        {"trip_count": 0, "bytes_per_rank": 0.0},
    ],
    ids=["of one value", "that may never run", "that never runs"],
)
@pytest.mark.parametrize("beside", [(), (by_compiler(WHOLE_GATHER),)], ids=["alone", "beside"])
def test_a_decoy_of_the_right_kind_is_no_pass(
    program: str, change: dict[str, Any], beside: tuple[Collective, ...]
) -> None:
    if beside and program == "gather":
        beside = (by_compiler(PSUM),)
    decoy = replace(COLLECTIVES[program], **change)
    assert ran(program, decoy, *beside).status == "failed"


def test_a_collective_in_16_bits_is_a_mistake_of_another_check() -> None:
    narrow = Collective("all-reduce", "bf16[8]", 16, 4, 1, 24.0)
    assert ran("all_gradient", narrow).status == "passed"


def test_a_spelling_that_is_not_known_is_undecided() -> None:
    item = ran("all_gradient", compiled_unknown="replica groups spelled ?")
    assert (item.status, item.points) == ("undecided", 0)
    assert "replica groups spelled ?" in item.message


def test_a_program_of_the_host_names_the_round_trip() -> None:
    program = Program("gather", "refused", cause="host_code", reason="TracerArrayConversionError")
    finding = judge("collectives", case({"gather": program}))
    assert part(finding, "gather").mistake == "host-round-trip"
    assert (finding.status, finding.points) == ("failed", 10)
    assert finding.mistake == "host-round-trip"


def test_a_gather_by_a_sum_is_more_than_the_reduction_asked_for() -> None:
    """Rows put into zeros of full size and summed: every row travels, in an all-reduce."""
    rows = replace(PSUM, operand="f32[16,8]", operand_bytes=512, bytes_per_rank=768.0)
    seen = observed("all_gradient", requested=asked(rows), compiled=(rows,))
    item = part(judge("collectives", case({"all_gradient": seen})), "all_gradient")
    assert item.status == "failed"
    assert item.message == (
        "`all_gradient` runs all-reduce of f32[16,8], more than an all-reduce of its result sends"
    )


def test_rows_that_travel_one_number_at_a_time_beside_a_decoy_count() -> None:
    single = replace(PERMUTE, operand="f32[]", operand_bytes=4, bytes_per_rank=4.0, trip_count=90)
    many = replace(single, bytes_per_rank=360.0)
    seen = observed("all_gradient", requested=asked(PSUM, many), compiled=(PSUM, many))
    item = part(judge("collectives", case({"all_gradient": seen})), "all_gradient")
    assert item.status == "failed"
    assert "90 × collective-permute of f32[]" in item.message
