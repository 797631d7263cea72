from __future__ import annotations

import textwrap
from typing import Any

import pytest

from grader.records.observation import Collective
from grader.replay import hlo
from grader.replay.hlo import TooDeep, UnknownSpelling
from tests.replay import jax_process


def module(body: str, rest: str = "") -> str:
    """Return the text of a module whose entry computation holds `body`."""
    entry = textwrap.indent(textwrap.dedent(body).strip(), "  ")
    more = textwrap.dedent(rest).strip()
    return (
        "HloModule jit_f, is_scheduled=true, entry_computation_layout={(f32[8]{0})->f32[8]{0}}\n\n"
        "%add (a: f32[], b: f32[]) -> f32[] {\n"
        "  %a = f32[] parameter(0)\n  %b = f32[] parameter(1)\n"
        "  ROOT %sum = f32[] add(f32[] %a, f32[] %b)\n}\n\n"
        f"{more}\n\nENTRY %main (p: f32[8]) -> f32[8] {{\n"
        f"  %p = f32[8]{{0}} parameter(0), sharding={{devices=[4]<=[4]}}\n{entry}\n}}\n"
    )


def read(body: str, rest: str = "", participants: int = 4) -> tuple[Collective, ...]:
    return hlo.collectives(module(body, rest), participants)


def one(body: str, rest: str = "") -> Collective:
    (found,) = read(body, rest)
    return found


def reduced(groups: str) -> Collective:
    return one(
        f"ROOT %r = f32[8]{{0}} all-reduce(f32[8]{{0}} %p), channel_id=1, {groups}"
        "use_global_device_ids=true, to_apply=%add"
    )


# --------------------------------------------------------------------------------- replica groups


@pytest.mark.parametrize(
    ("groups", "size"),
    [
        ("replica_groups={{0,1,2,3}}, ", 4),
        ("replica_groups={{0,1},{2,3}}, ", 2),
        ("replica_groups={{0},{1},{2},{3}}, ", 1),
        ("replica_groups={{0, 2}, {1, 3}}, ", 2),
        ("replica_groups={{0,1,2},{3}}, ", None),
        ("replica_groups={}, ", 4),
        ("", 4),
        ("replica_groups=[1,4]<=[4], ", 4),
        ("replica_groups=[2,2]<=[4], ", 2),
        ("replica_groups=[2,2]<=[2,2]T(1,0), ", 2),
        ("replica_groups=mesh['data'=4] {'data'}, ", 4),
        ("replica_groups=mesh['axis_0'=4,'axis_1'=1] {'axis_0'}, ", 4),
        ("replica_groups=mesh['axis_0'=4,'axis_1'=1] {'axis_1'}, ", 1),
        ("replica_groups=mesh['x'=2,'y'=2] {'x'}, ", 2),
        ("replica_groups=mesh['x'=2,'y'=2] {'x','y'}, ", 4),
        ("replica_groups=mesh['x'=2, 'y'=2] {'y', 'x'}, ", 4),
        ("replica_groups=@mesh_0['data'=4] {'data'}, ", 4),
    ],
)
def test_every_spelling_of_the_participants_is_read(groups: str, size: int | None) -> None:
    assert reduced(groups).group_size == size


@pytest.mark.parametrize(
    "groups",
    [
        "replica_groups=mesh['data'=4] {'data':(1)2}, ",
        "replica_groups=mesh['data'=4] {'other'}, ",
        "replica_groups=mesh['data'=4, device_ids=([3,2,1,0])] {'data'}, ",
        "replica_groups=[4]<=[4], ",
        "replica_groups=all, ",
        "replica_groups=(0,1), ",
    ],
)
def test_a_spelling_that_is_not_known_is_never_guessed(groups: str) -> None:
    with pytest.raises(UnknownSpelling, match="replica groups"):
        reduced(groups)


def test_a_group_of_unequal_parts_has_no_number_of_bytes() -> None:
    assert reduced("replica_groups={{0,1,2},{3}}, ").bytes_per_rank is None


# ------------------------------------------------------------------------------------------ bytes


@pytest.mark.parametrize(
    ("op", "operand", "sent"),
    [
        ("all-reduce", 32, 48.0),
        ("reduce-scatter", 32, 24.0),
        ("all-gather", 8, 24.0),
        ("all-to-all", 32, 24.0),
        ("collective-permute", 8, 8.0),
    ],
)
def test_the_ring_model_gives_the_bytes_of_one_rank(op: str, operand: int, sent: float) -> None:
    assert hlo.ring_bytes(op, operand, 4) == sent


def test_reduce_scatter_and_all_gather_together_are_one_all_reduce() -> None:
    for ranks in (2, 3, 4, 8):
        whole = 840
        scatter = hlo.ring_bytes("reduce-scatter", whole, ranks)
        gather = hlo.ring_bytes("all-gather", whole // ranks, ranks)
        assert scatter is not None and gather is not None
        assert scatter + gather == hlo.ring_bytes("all-reduce", whole, ranks)


@pytest.mark.parametrize("op", ["all-reduce", "reduce-scatter", "all-gather", "all-to-all"])
def test_alone_a_rank_sends_nothing_and_an_unknown_group_is_unknown(op: str) -> None:
    assert hlo.ring_bytes(op, 32, 1) == 0.0
    assert hlo.ring_bytes(op, 32, None) is None


def test_an_operation_without_a_ring_model_is_unknown() -> None:
    assert hlo.ring_bytes("collective-broadcast", 32, 4) is None
    assert hlo.ring_bytes("ragged-all-to-all", 32, 4) is None


def test_a_collective_is_told_with_operand_group_trips_and_bytes() -> None:
    assert reduced("replica_groups={{0,1,2,3}}, ") == Collective(
        "all-reduce", "f32[8]", 32, 4, 1, 48.0
    )


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        ("f32[8]{0}", 32),
        ("f32[2,4]{1,0:T(2,4)}", 32),
        ("f32[]", 4),
        ("bf16[8]{0}", 16),
        ("f16[8]{0}", 16),
        ("f64[8]{0}", 64),
        ("s32[8]{0}", 32),
        ("u8[8]{0}", 8),
        ("pred[8]{0}", 8),
        ("c64[8]{0}", 64),
        ("s4[8]{0}", 4),
        ("f8e4m3fn[8]{0}", 8),
        ("f32[0]{0}", 0),
        ("f32[<=8]{0}", 32),
    ],
)
def test_operand_bytes_follow_the_element_type(shape: str, size: int) -> None:
    found = one(f"ROOT %r = {shape} all-reduce({shape} %p), replica_groups={{}}, to_apply=%add")
    assert found.operand_bytes == size


@pytest.mark.parametrize("shape", ["token[]", "opaque[]", "f32", "f32[a]{0}"])
def test_a_shape_that_is_not_known_is_never_guessed(shape: str) -> None:
    with pytest.raises(UnknownSpelling):
        read(f"ROOT %r = {shape} all-reduce({shape} %p[]), replica_groups={{}}, to_apply=%add")


# ----------------------------------------------------------------------------------- what they are


def test_a_reduction_of_several_arrays_counts_them_all() -> None:
    found = one(
        "ROOT %r = (f32[4]{0}, f32[]) all-reduce(f32[4]{0} %p, f32[] %s), channel_id=1,"
        " replica_groups={{0,1,2,3}}, to_apply=%add"
    )
    assert (found.operand, found.operand_bytes, found.bytes_per_rank) == ("f32[4], f32[]", 20, 30.0)
    assert not found.scalar


def test_only_a_reduction_of_single_numbers_is_scalar() -> None:
    def shown(operand: str) -> bool:
        return Collective("all-reduce", operand, 4, 4, 1, 6.0).scalar

    assert shown("f32[]") and shown("f32[], f32[]")
    assert not shown("f32[8], f32[]") and not shown("f32[], f32[2,4]") and not shown("f32[1]")


def test_an_operand_that_is_a_tuple_is_taken_apart() -> None:
    found = one(
        "ROOT %r = (f32[8]{0}, f32[2]{0}) all-reduce((f32[8]{0}, f32[2]{0}) %t),"
        " replica_groups={}, to_apply=%add"
    )
    assert (found.operand, found.operand_bytes) == ("f32[8], f32[2]", 40)


def test_many_operands_are_read_past_their_index_comments() -> None:
    parts = ", ".join(f"{'/*index=5*/' if n == 5 else ''}f32[2]{{0}} %p{n}" for n in range(8))
    kinds = ", ".join(f"{'/*index=5*/' if n == 5 else ''}f32[2]{{0}}" for n in range(8))
    found = one(f"ROOT %r = ({kinds}) all-to-all({parts}), replica_groups={{{{0,1,2,3}}}}")
    assert (found.operand_bytes, found.bytes_per_rank) == (64, 48.0)


@pytest.mark.parametrize(
    ("pairs", "senders", "sent"),
    [
        ("{{0,1},{1,2},{2,3},{3,0}}", 4, 8.0),
        ("{{0,1},{1,2},{2,3}}", 3, 8.0),
        ("{{0,0},{1,1}}", 0, 0.0),
        ("{}", 0, 0.0),
    ],
)
def test_a_permute_counts_who_sends_to_another(pairs: str, senders: int, sent: float) -> None:
    found = one(
        "ROOT %r = f32[2]{0} collective-permute(f32[2]{0} %q), channel_id=1,"
        f" source_target_pairs={pairs}"
    )
    assert (found.group_size, found.bytes_per_rank) == (senders, sent)


def test_a_permute_without_its_pairs_is_unknown() -> None:
    with pytest.raises(UnknownSpelling, match="pairs"):
        read("ROOT %r = f32[2]{0} collective-permute(f32[2]{0} %q), channel_id=1")


@pytest.mark.parametrize(
    "body",
    [
        """
        %s = f32[8]{0} all-reduce-start(f32[8]{0} %p), replica_groups={{0,1,2,3}}, to_apply=%add
        ROOT %r = f32[8]{0} all-reduce-done(f32[8]{0} %s)
        """,
        """
        %s = ((f32[8]{0}), f32[8]{0}) async-start(f32[8]{0} %p), calls=%wrapped
        %u = ((f32[8]{0}), f32[8]{0}) async-update(((f32[8]{0}), f32[8]{0}) %s), calls=%wrapped
        ROOT %r = f32[8]{0} async-done(((f32[8]{0}), f32[8]{0}) %u), calls=%wrapped
        """,
    ],
    ids=["start and done", "async"],
)
def test_an_asynchronous_collective_is_counted_once(body: str) -> None:
    wrapped = """
        %wrapped (x: f32[8]) -> f32[8] {
          %x = f32[8]{0} parameter(0)
          ROOT %y = f32[8]{0} all-reduce(f32[8]{0} %x), replica_groups={{0,1,2,3}}, to_apply=%add
        }
    """
    assert one(body, wrapped).bytes_per_rank == 48.0


def test_a_gather_start_counts_what_goes_in() -> None:
    found = one(
        """
        %s = (f32[2]{0}, f32[8]{0}) all-gather-start(f32[2]{0} %q), replica_groups=[1,4]<=[4]
        ROOT %r = f32[8]{0} all-gather-done((f32[2]{0}, f32[8]{0}) %s)
        """
    )
    assert (found.op, found.operand, found.bytes_per_rank) == ("all-gather", "f32[2]", 24.0)


def test_a_program_without_collectives_has_none() -> None:
    assert read("ROOT %r = f32[8]{0} multiply(f32[8]{0} %p, f32[8]{0} %p)") == ()


# ------------------------------------------------------------------------------- what holds them

BODY = textwrap.dedent("""
    %body (b: (s32[], f32[8])) -> (s32[], f32[8]) {
      %b = (s32[], f32[8]{0}) parameter(0)
      %x = f32[8]{0} get-tuple-element((s32[], f32[8]{0}) %b), index=1
      %y = f32[8]{0} all-reduce(f32[8]{0} %x), replica_groups={{0,1,2,3}}, to_apply=%add
      ROOT %t = (s32[], f32[8]{0}) tuple(s32[] %i, f32[8]{0} %y)
    }

    %cond (c: (s32[], f32[8])) -> pred[] {
      %c = (s32[], f32[8]{0}) parameter(0)
      ROOT %l = pred[] compare(s32[] %i, s32[] %n), direction=LT
    }
""")


def loop(config: str = "") -> str:
    return (
        "ROOT %w = (s32[], f32[8]{0}) while((s32[], f32[8]{0}) %t), condition=%cond,"
        f" body=%body{config}"
    )


def test_a_loop_multiplies_by_its_known_number_of_trips() -> None:
    config = ', backend_config={"known_trip_count":{"n":"10"},"known_init_step":{"init":"0"}}'
    found = one(loop(config), BODY)
    assert (found.trip_count, found.bytes_per_rank) == (10, 480.0)


def test_a_loop_whose_trips_are_not_static_is_unknown_and_never_zero() -> None:
    found = one(loop(), BODY)
    assert (found.trip_count, found.bytes_per_rank) == (None, None)


def test_loops_inside_loops_multiply() -> None:
    config = ', backend_config={"known_trip_count":{"n":"3"}}'
    outer = textwrap.dedent("""
        %outer (o: (s32[], f32[8])) -> (s32[], f32[8]) {
          %t = (s32[], f32[8]{0}) parameter(0)
          LOOP
        }
    """).replace("LOOP", loop(config))
    found = one(loop(config).replace("%body", "%outer"), BODY + outer)
    assert (found.trip_count, found.bytes_per_rank) == (9, 432.0)
    unknown = one(loop().replace("%body", "%outer"), BODY + outer)
    assert (unknown.trip_count, unknown.bytes_per_rank) == (None, None)


@pytest.mark.parametrize(
    "branches",
    ["true_computation=%yes, false_computation=%no", "branch_computations={%yes, %no}"],
)
def test_a_branch_runs_an_unknown_number_of_times(branches: str) -> None:
    both = """
        %yes (x: f32[8]) -> f32[8] {
          %x = f32[8]{0} parameter(0)
          ROOT %y = f32[8]{0} all-reduce(f32[8]{0} %x), replica_groups={{0,1,2,3}}, to_apply=%add
        }

        %no (x: f32[8]) -> f32[8] {
          ROOT %x = f32[8]{0} parameter(0)
        }
    """
    found = one(f"ROOT %r = f32[8]{{0}} conditional(pred[] %q, f32[8]{{0}} %p), {branches}", both)
    assert (found.op, found.trip_count, found.bytes_per_rank) == ("all-reduce", None, None)


@pytest.mark.parametrize(
    "how", ["call(f32[8]{0} %p), to_apply=%inner", "fusion(f32[8]{0} %p), kind=kLoop, calls=%inner"]
)
def test_a_called_computation_counts_at_every_call(how: str) -> None:
    inner = """
        %inner (x: f32[8]) -> f32[8] {
          %x = f32[8]{0} parameter(0)
          ROOT %y = f32[8]{0} all-reduce(f32[8]{0} %x), replica_groups={{0,1,2,3}}, to_apply=%add
        }
    """
    found = read(f"%q = f32[8]{{0}} {how}\nROOT %r = f32[8]{{0}} {how}", inner)
    assert [collective.bytes_per_rank for collective in found] == [48.0, 48.0]


def test_a_computation_that_nothing_calls_does_not_count() -> None:
    assert read("ROOT %r = f32[8]{0} copy(f32[8]{0} %p)", BODY) == ()


def test_a_name_or_a_string_that_looks_like_a_collective_is_none() -> None:
    body = (
        "%all-reduce.1 = f32[8]{0} multiply(f32[8]{0} %p, f32[8]{0} %p)\n"
        "ROOT %r = f32[8]{0} custom-call(f32[8]{0} %all-reduce.1),"
        ' custom_call_target="all-reduce(",'
        ' backend_config="x = all-gather(f32[8] y), \\"{[("'
    )
    assert read(body) == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "HloModule x\n",
        "%f (a: f32[]) -> f32[] {\n  ROOT %a = f32[] parameter(0)\n}\n",
        "ENTRY %f (a: f32[]) -> f32[] {\n  ROOT %a = f32[] ???\n}\n",
        "ENTRY %f (a: f32[]) -> f32[] {\n  ROOT %a = f32[] add(f32[] %b, (f32[] %c\n}\n",
        "ENTRY %f (a: f32[]) -> f32[] {\n  ROOT %a = f32[] all-reduce()\n}\n",
    ],
    ids=["nothing", "no computation", "no entry", "no operation", "open bracket", "no operand"],
)
def test_a_text_that_is_no_module_is_unknown(text: str) -> None:
    with pytest.raises(UnknownSpelling):
        hlo.collectives(text, 4)


def test_computations_that_call_each_other_without_end_are_told_apart() -> None:
    endless = """
        %again (x: f32[8]) -> f32[8] {
          %x = f32[8]{0} parameter(0)
          ROOT %y = f32[8]{0} call(f32[8]{0} %x), to_apply=%again
        }
    """
    # Not unknown, which would be our fault: a stranger may nest at will.
    with pytest.raises(TooDeep):
        read("ROOT %r = f32[8]{0} call(f32[8]{0} %p), to_apply=%again", endless)


# ---------------------------------------------------------------------------------- who chose them


def collective(op: str) -> Collective:
    return Collective(op, "f32[8]", 32, 4, 1, 48.0)


def test_what_the_program_did_not_ask_for_was_added_by_the_compiler() -> None:
    compiled = tuple(map(collective, ["all-gather", "all-reduce", "all-reduce"]))
    marked = hlo.mark_compiler_made(compiled, (collective("all-reduce"),))
    assert [c.by_compiler for c in marked] == [True, False, True]


# -------------------------------------------------------------------------------- really compiled

SCRIPT = """
import json
import jax, numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from grader.replay.replayer import _compiled_collectives

devices = np.array(jax.devices())
line = Mesh(devices, ("data",))
square = Mesh(devices.reshape(2, 2), ("x", "y"))
turned = Mesh(devices[::-1], ("data",))
ring = [(d, (d + 1) % 4) for d in range(4)]


def loop(a):
    return lax.fori_loop(0, 10, lambda i, c: lax.psum(c, "data") / 4, a)


def until(a):
    return lax.while_loop(lambda c: c.sum() < 100, lambda c: lax.psum(c, "data") + 1, a)


def branch(a):
    return lax.cond(lax.psum(a.sum(), "data") > 0, lambda v: lax.psum(v, "data"), lambda v: v, a)


def both(a):
    vector, scalar = lax.psum((a, a.sum()), "data")
    return vector + scalar


PROGRAMS = {
    "psum": (line, lambda a: lax.psum(a, "data")),
    "turned": (turned, lambda a: lax.psum(a, "data")),
    "scatter": (line, lambda a: lax.psum_scatter(a, "data", tiled=True)),
    "gather": (line, lambda a: lax.all_gather(a, "data", tiled=True)),
    "permute": (line, lambda a: lax.ppermute(a, "data", ring)),
    "to_all": (line, lambda a: lax.all_to_all(a, "data", 0, 0, tiled=True)),
    "half": (square, lambda a: lax.psum(a, "x")),
    "square": (square, lambda a: lax.psum(a, ("x", "y"))),
    "loop": (line, loop),
    "until": (line, until),
    "branch": (line, branch),
    "both": (line, both),
    "none": (line, lambda a: 2 * a),
}
found = {}
for name, (mesh, function) in PROGRAMS.items():
    split = P(mesh.axis_names)
    mapped = jax.shard_map(function, mesh=mesh, in_specs=split, out_specs=split, check_vma=False)
    argument = jax.ShapeDtypeStruct((32,), "float32", sharding=NamedSharding(mesh, split))
    collectives, unknown = _compiled_collectives(jax.jit(mapped).lower(argument).compile(), 4)
    assert not unknown, (name, unknown)
    found[name] = [
        [c.op, c.operand, c.group_size, c.trip_count, c.bytes_per_rank] for c in collectives
    ]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def compiled() -> dict[str, list[list[Any]]]:
    found: dict[str, list[list[Any]]] = jax_process.run(SCRIPT)
    return found


@pytest.mark.parametrize(
    ("program", "collectives"),
    [
        ("psum", [["all-reduce", "f32[8]", 4, 1, 48.0]]),
        ("turned", [["all-reduce", "f32[8]", 4, 1, 48.0]]),
        ("scatter", [["reduce-scatter", "f32[8]", 4, 1, 24.0]]),
        ("gather", [["all-gather", "f32[8]", 4, 1, 96.0]]),
        ("permute", [["collective-permute", "f32[8]", 4, 1, 32.0]]),
        ("half", [["all-reduce", "f32[8]", 2, 1, 32.0]]),
        ("square", [["all-reduce", "f32[8]", 4, 1, 48.0]]),
        ("loop", [["all-reduce", "f32[8]", 4, 10, 480.0]]),
        ("until", [["all-reduce", "f32[8]", 4, None, None]]),
        ("none", []),
    ],
)
def test_a_compiled_program_is_read(
    compiled: dict[str, list[list[Any]]], program: str, collectives: list[list[Any]]
) -> None:
    assert compiled[program] == collectives


def test_a_compiled_exchange_sends_three_quarters(compiled: dict[str, list[list[Any]]]) -> None:
    ((op, _operand, group, trips, sent),) = compiled["to_all"]
    assert (op, group, trips, sent) == ("all-to-all", 4, 1, 24.0)


def test_a_compiled_branch_is_unknown_and_what_is_outside_it_is_not(
    compiled: dict[str, list[list[Any]]],
) -> None:
    trips = {operand: trips for _op, operand, _group, trips, _sent in compiled["branch"]}
    assert trips == {"f32[]": 1, "f32[8]": None}


def test_a_vector_and_a_scalar_reduced_together_are_36_bytes(
    compiled: dict[str, list[list[Any]]],
) -> None:
    assert sum(sent for *_rest, sent in compiled["both"]) == 54.0
