"""Collectives as XLA's compilers for GPU and TPU print them: in halves, wrapped, or fused.

The forms are those of XLA's own texts: the parser's tests (`hlo_parser_test.cc`), what
openxla.org/xla shows of dumps, and the printer, which writes an asynchronous operation either as
`reduce-scatter-start` or as `async-start` with `calls=`. None was printed by a device here.
"""

from __future__ import annotations

import textwrap

import pytest

from grader.replay.hlo import UnknownSpelling
from tests.replay.test_hlo import BODY, loop, one, read

ALL = "replica_groups={{0,1,2,3}}, use_global_device_ids=true"
RING = "source_target_pairs={{0,1},{1,2},{2,3},{3,0}}"


@pytest.mark.parametrize(
    ("body", "seen"),
    [
        (
            f"""
            %s = f32[8]{{0:T(256)}} all-reduce-start(f32[8]{{0:T(256)}} %p), {ALL}, to_apply=%add
            ROOT %r = f32[8]{{0:T(256)}} all-reduce-done(f32[8]{{0:T(256)}} %s)
            """,
            ("all-reduce", "f32[8]", 48.0),
        ),
        (
            f"""
            %s = (f32[8]{{0}}, f32[]) all-reduce-start(f32[8]{{0}} %p, f32[] %n), {ALL},
            to_apply=%add
            ROOT %r = (f32[8]{{0}}, f32[]) all-reduce-done((f32[8]{{0}}, f32[]) %s)
            """,
            ("all-reduce", "f32[8], f32[]", 54.0),
        ),
        (
            f"""
            %s = (f32[2]{{0:S(1)}}, f32[8]{{0}}) all-gather-start(f32[2]{{0:S(1)}} %q), {ALL},
            dimensions={{0}}
            ROOT %r = f32[8]{{0}} all-gather-done((f32[2]{{0:S(1)}}, f32[8]{{0}}) %s)
            """,
            ("all-gather", "f32[2]", 24.0),
        ),
        (
            f"""
            %s = ((f32[2]{{0}}, f32[4]{{0}}), (f32[8]{{0}}, f32[16]{{0}})) all-gather-start(
            f32[2]{{0}} %q, f32[4]{{0}} %t), {ALL}, dimensions={{0}}
            ROOT %r = (f32[8]{{0}}, f32[16]{{0}}) all-gather-done(((f32[2]{{0}}, f32[4]{{0}}),
            (f32[8]{{0}}, f32[16]{{0}})) %s)
            """,
            ("all-gather", "f32[2], f32[4]", 72.0),
        ),
        (
            f"""
            %s = (f32[2]{{0}}, f32[2]{{0}}, u32[]{{:S(2)}}, u32[]{{:S(2)}})
            collective-permute-start(f32[2]{{0}} %q), {RING}
            ROOT %r = f32[2]{{0}} collective-permute-done(
            (f32[2]{{0}}, f32[2]{{0}}, u32[]{{:S(2)}}, u32[]{{:S(2)}}) %s)
            """,
            ("collective-permute", "f32[2]", 8.0),
        ),
        (
            f"""
            %s = ((f32[8]{{0}}), f32[2]{{0}}) reduce-scatter-start(f32[8]{{0}} %p), {ALL},
            dimensions={{0}}, to_apply=%add
            %u = ((f32[8]{{0}}), f32[2]{{0}}) reduce-scatter-update(((f32[8]{{0}}), f32[2]{{0}}) %s)
            ROOT %r = f32[2]{{0}} reduce-scatter-done(((f32[8]{{0}}), f32[2]{{0}}) %u)
            """,
            ("reduce-scatter", "f32[8]", 24.0),
        ),
        (
            f"""
            %s = ((f32[2]{{0}}, f32[2]{{0}}, f32[2]{{0}}, /*index=3*/f32[2]{{0}}), (f32[2]{{0}},
            f32[2]{{0}}, f32[2]{{0}}, f32[2]{{0}})) all-to-all-start(f32[2]{{0}} %a, f32[2]{{0}} %b,
            f32[2]{{0}} %c, f32[2]{{0}} %d), {ALL}
            ROOT %r = (f32[2]{{0}}, f32[2]{{0}}, f32[2]{{0}}, f32[2]{{0}}) all-to-all-done(
            ((f32[2]{{0}}, f32[2]{{0}}, f32[2]{{0}}, f32[2]{{0}}), (f32[2]{{0}}, f32[2]{{0}},
            f32[2]{{0}}, f32[2]{{0}})) %s)
            """,
            ("all-to-all", "f32[2], f32[2], f32[2], f32[2]", 24.0),
        ),
    ],
    ids=["reduce", "two reduced", "gather", "two gathered", "permute", "scatter", "exchange"],
)
def test_a_start_and_its_done_are_one(body: str, seen: tuple[str, str, float]) -> None:
    found = one(_lines(body))
    assert (found.op, found.operand, found.bytes_per_rank) == seen
    assert found.trip_count == 1


def _lines(body: str) -> str:
    """Return HLO lines that are broken here to fit as XLA prints them, one for each operation."""
    joined: list[str] = []
    for line in textwrap.dedent(body).strip().splitlines():
        if " = " in line:
            joined.append(line)
        else:
            joined[-1] += f" {line.strip()}"
    return "\n".join(line.replace("( ", "(") for line in joined)


WRAPPED = """
    %wrapped (x: f32[8]) -> f32[2] {
      %x = f32[8]{0} parameter(0)
      ROOT %y = f32[2]{0} reduce-scatter(f32[8]{0} %x), replica_groups=[1,4]<=[4], to_apply=%add
    }, execution_thread="parallel"
"""


@pytest.mark.parametrize("calls", ["", ", calls=%wrapped"], ids=["at the start", "at each"])
@pytest.mark.parametrize("context", ["", ", u32[]"])
def test_a_wrapped_collective_counts_where_it_starts(calls: str, context: str) -> None:
    bundle = f"((f32[8]{{0}}), f32[2]{{0}}{context})"
    thread = ', async_execution_thread="parallel"'
    found = one(
        f"%s = {bundle} async-start(f32[8]{{0}} %p){thread}, calls=%wrapped\n"
        f"%u = {bundle} async-update({bundle} %s){calls}\n"
        f"ROOT %r = f32[2]{{0}} async-done({bundle} %u){thread}{calls}",
        WRAPPED,
    )
    assert (found.op, found.operand, found.bytes_per_rank) == ("reduce-scatter", "f32[8]", 24.0)


def test_a_done_that_names_the_computation_again_does_not_count_again() -> None:
    bundle = "((f32[8]{0}), f32[2]{0})"
    found = one(
        f"%s = {bundle} reduce-scatter-start(f32[8]{{0}} %p), {ALL}, to_apply=%add,"
        " calls=%wrapped\n"
        f"ROOT %r = f32[2]{{0}} reduce-scatter-done({bundle} %s), calls=%wrapped",
        WRAPPED,
    )
    assert found.bytes_per_rank == 24.0


def test_a_pair_in_a_loop_counts_once_for_each_trip() -> None:
    halves = BODY.replace(
        "all-reduce(f32[8]{0} %x), replica_groups={{0,1,2,3}}, to_apply=%add",
        "all-reduce-done(f32[8]{0} %h)",
    ).replace(
        "  %y =",
        "  %h = f32[8]{0} all-reduce-start(f32[8]{0} %x), replica_groups={{0,1,2,3}}, "
        "to_apply=%add\n  %y =",
    )
    found = one(loop(', backend_config={"known_trip_count":{"n":"10"}}'), halves)
    assert (found.trip_count, found.bytes_per_rank) == (10, 480.0)


def fused(body: str, result: str = "f32[2]{0}") -> tuple[str, str]:
    """Return a fusion as a TPU's compiler makes it of a sum and a cut, and what it calls."""
    return (
        f"ROOT %f = {result} fusion(f32[8]{{0}} %p), kind=kCustom, calls=%all-reduce-scatter.3",
        "%all-reduce-scatter.3 (x: f32[8]) -> f32[2] {\n"
        "  %x = f32[8]{0} parameter(0)\n"
        f"{body}"
        "  %n = s32[] constant(2)\n"
        f"  ROOT %cut = {result} dynamic-slice(f32[8]{{0}} %all, s32[] %n), "
        "dynamic_slice_sizes={2}\n}\n",
    )


SUM = f"  %all = f32[8]{{0}} all-reduce(f32[8]{{0}} %x), {ALL}, to_apply=%add\n"


def test_a_sum_that_is_cut_within_one_fusion_is_a_reduce_scatter() -> None:
    found = one(*fused(SUM))
    assert (found.op, found.operand, found.bytes_per_rank) == ("reduce-scatter", "f32[8]", 24.0)


def test_a_sum_that_is_cut_into_other_pieces_is_never_guessed() -> None:
    with pytest.raises(UnknownSpelling, match="a sum that is cut"):
        read(*fused(SUM, "f32[4]{0}"))
    with pytest.raises(UnknownSpelling, match="beside a sum that is cut"):
        read(*fused(f"{SUM}  %more = f32[32]{{0}} all-gather(f32[8]{{0}} %x), {ALL}\n"))


@pytest.mark.parametrize(
    "line",
    [
        "%s = (f32[8]{0}, u32[], token[]) send(f32[8]{0} %p, token[] %t), channel_id=1",
        "%s = (f32[8]{0}, u32[], token[]) recv(token[] %t), channel_id=1",
        f"%s = f32[8]{{0}} collective-permute(f32[8]{{0}} %p, f32[8]{{0}} %o, s32[] %a, s32[] %b),"
        f" {RING}, slice_sizes={{{{2}}}}",
    ],
    ids=["send", "receive", "parts"],
)
def test_what_moves_data_in_another_way_is_unknown_and_never_zero(line: str) -> None:
    with pytest.raises(UnknownSpelling):
        read(f"{line}\nROOT %r = f32[8]{{0}} copy(f32[8]{{0}} %p)")
