"""Everything is read in one process with JAX: exports first, then modules written by hand."""

from __future__ import annotations

from typing import Any

import pytest

from tests.replay import jax_process

SCRIPT = '''
import json
import jax, jax.export, numpy as np
import jax.numpy as jnp
from jax import lax
from jax.interpreters import mlir
from jaxlib.mlir import ir
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from grader.replay import requested

mesh = Mesh(np.array(jax.devices()), ("data",))
ring = [(d, (d + 1) % 4) for d in range(4)]
twice = jax.jit(lambda a: lax.psum(a, "data"))


def all_reduce(a):
    return 2 * a


def calls_a_liar(a):
    return jax.jit(all_reduce)(a)


def scan(a):
    return lax.scan(lambda c, _: (twice(c), None), a, None, length=10)[0]


def until(a):
    return lax.while_loop(lambda c: c.sum() < 100, lambda c: lax.psum(c, "data") + 1, a)


def called(a):
    return twice(a) + twice(3 * a)


EXPORTED = {
    "psum": lambda a: lax.psum(a, "data"),
    "scatter": lambda a: lax.psum_scatter(a, "data", tiled=True),
    "gather": lambda a: lax.all_gather(a, "data", tiled=True),
    "permute": lambda a: lax.ppermute(a, "data", ring),
    "to_all": lambda a: lax.all_to_all(a, "data", 0, 0, tiled=True),
    "scalar": lambda a: a + lax.psum(a.sum(), "data"),
    "none": lambda a: 2 * a,
    "liar": calls_a_liar,
    "scan": scan,
    "until": until,
    "called": called,
    "half": lambda a: (a.astype(jnp.bfloat16) * 2).astype(a.dtype),
    "f16": lambda a: (a.astype(jnp.float16) * 2).astype(a.dtype),
    "linear": lambda a: jnp.linalg.eigh(jnp.outer(a, a))[0],
    "sorted": lambda a: lax.top_k(a, 8)[0],
}


def read(text):
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        return requested.read_module(module.operation)


def told(text):
    asked = read(text)
    collectives = [
        [c.op, c.operand, c.operand_bytes, c.group_size, c.trip_count, c.bytes_per_rank]
        for c in asked.collectives
    ]
    return {"c": collectives, "r": asked.refused, "t": list(asked.element_types)}


def export(function, dtype="float32"):
    mapped = jax.shard_map(function, mesh=mesh, in_specs=P("data"), out_specs=P("data"),
                           check_vma=False)
    argument = jax.ShapeDtypeStruct((32,), dtype, sharding=NamedSharding(mesh, P("data")))
    return jax.export.export(jax.jit(mapped))(argument).mlir_module()


found = {name: told(export(function)) for name, function in EXPORTED.items()}
sharded = NamedSharding(mesh, P("data"))
automatic = jax.jit(lambda a: a.sum(), in_shardings=sharded)
argument = jax.ShapeDtypeStruct((32,), "float32", sharding=sharded)
found["automatic"] = told(jax.export.export(automatic)(argument).mlir_module())
jax.config.update("jax_enable_x64", True)
found["double"] = told(export(lambda a: 2 * a, "float64"))
found["inside"] = told(export(lambda a: (a.astype("float64") * 2).astype("float32")))

TAIL = "    return %0 : tensor<8xf32>\\n  }\\n"


GROUPS = "replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>"
REDUCES = """    %0 = "stablehlo.all_reduce"(%arg0) <{GROUPS}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<8xf32>) -> tensor<8xf32>
""".replace("GROUPS", GROUPS)


def function(name, body, kind="private"):
    head = f"  func.func {kind} @{name}(%arg0: tensor<8xf32>) -> tensor<8xf32> {{\\n"
    return head + body + TAIL


def calling(name, result="0", argument="arg0"):
    return f"    %{result} = func.call @{name}(%{argument}) : (tensor<8xf32>) -> tensor<8xf32>\\n"


unused = function("main", "    %0 = stablehlo.abs %arg0 : tensor<8xf32>\\n", "public")
found["unused"] = told("module {\\n" + unused + function("other", REDUCES) + "}\\n")
doubling = "".join(
    function(f"f{n}", calling(f"f{n + 1}", "1") + calling(f"f{n + 1}", "0", "1")) for n in range(60)
)
bomb = function("main", calling("f0"), "public") + doubling + function("f60", REDUCES)
found["bomb"] = {"c": len(read("module {\\n" + bomb + "}\\n").collectives)}
endless = function("main", calling("again"), "public") + function("again", calling("again"))
found["endless"] = told("module {\\n" + endless + "}\\n")
print(json.dumps(found))
'''


@pytest.fixture(scope="module")
def found() -> dict[str, dict[str, Any]]:
    read: dict[str, dict[str, Any]] = jax_process.run(SCRIPT)
    return read


@pytest.mark.parametrize(
    ("program", "op"),
    [
        ("psum", "all-reduce"),
        ("scatter", "reduce-scatter"),
        ("gather", "all-gather"),
        ("permute", "collective-permute"),
        ("to_all", "all-to-all"),
    ],
)
def test_each_collective_is_told_by_its_operation(
    found: dict[str, dict[str, Any]], program: str, op: str
) -> None:
    # Who takes part and what that sends is read from the compiled module, and only there.
    assert found[program]["c"] == [[op, "f32[8]", 32, None, 1, None]]


def test_a_scalar_is_told_as_one(found: dict[str, dict[str, Any]]) -> None:
    assert found["scalar"]["c"] == [["all-reduce", "f32[]", 4, None, 1, None]]


@pytest.mark.parametrize("program", ["none", "liar", "automatic", "unused"])
def test_what_asks_for_no_collective_has_none(
    found: dict[str, dict[str, Any]], program: str
) -> None:
    assert found[program]["c"] == []


@pytest.mark.parametrize("program", ["scan", "until"])
def test_inside_a_loop_the_number_of_trips_is_left_open(
    found: dict[str, dict[str, Any]], program: str
) -> None:
    assert found[program]["c"] == [["all-reduce", "f32[8]", 32, None, None, None]]


def test_a_function_that_is_called_twice_asks_twice(found: dict[str, dict[str, Any]]) -> None:
    assert found["called"]["c"] == [["all-reduce", "f32[8]", 32, None, 1, None]] * 2


def test_functions_that_call_each_other_again_and_again_come_to_an_end(
    found: dict[str, dict[str, Any]],
) -> None:
    assert found["bomb"]["c"] <= 100_000
    assert found["endless"]["c"] == []


EVERY = ("psum", "scatter", "gather", "permute", "to_all", "scan", "called", "linear", "sorted")


@pytest.mark.parametrize("program", EVERY)
def test_nothing_of_an_honest_program_is_refused(
    found: dict[str, dict[str, Any]], program: str
) -> None:
    assert found[program]["r"] == ""


@pytest.mark.parametrize(
    ("program", "wide"),
    [("half", "bf16"), ("f16", "f16"), ("double", "f64"), ("inside", "f64")],
)
def test_the_element_types_of_every_intermediate_are_seen(
    found: dict[str, dict[str, Any]], program: str, wide: str
) -> None:
    assert wide in found[program]["t"]
    assert not {"bf16", "f16", "f64"} & set(found["psum"]["t"])
