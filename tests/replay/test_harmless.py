"""Only what computes is run: modules written by hand, each with one thing that must not pass."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.replay import jax_process

SCRIPT = r"""
import json
from jax.interpreters import mlir
from jaxlib.mlir import ir
from grader.replay import harmless
from tests.replay import crafting as make


def told(text):
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        return harmless.problem(module.operation)


KIND = make.EXCHANGED


def call(target, more=""):
    return f'%r = stablehlo.custom_call @"{target}"(%arg0) {{{more}}} : {KIND}'


found = {"plain": told(make.module(make.KEEP))}
found["unstable sort"] = told(make.module(make.big("8").replace(", is_stable = true", "")))
for target in (
    "xla_ffi_python_cpu_callback", "xla_python_cpu_callback", "lapack_ssyevd", "lapackx",
    "Sharding", "SPMDFullToShardShape", "annotate_device_placement", "shape_assertion",
    "xla.sdy.GlobalToLocalShape", "mhlo.topk", "ApproxTopK", "stablehlo.dynamic_top_k",
    "__gpu$xla.gpu.triton", "", "lapack_spotrf_ffi\\0Aevil", "lapack_spotrf_ffi\\00",
    "\\D0\\BBapack_spotrf_ffi", "lapack_spotrf_ffi ",
):
    found["call " + target] = told(make.module(call(target)))
found["call with an effect"] = told(make.module(call("evil", "has_side_effect = true")))
found["call of a computation"] = told(make.module(call("evil", "called_computations = [@main]")))
for version in (1, 2, 3):
    found[f"call of version {version}"] = told(
        make.module(call("evil", f"api_version = {version} : i32"))
    )
found["call typed"] = told(make.module(call("evil", "api_version = 4 : i32, backend_config = {}")))

EVIL = f"stablehlo.custom_call @evil(%arg0) : {KIND}"
other = f'''  func.func private @other(%arg0: tensor<8xf32>) -> tensor<8xf32> {{
    %0 = {EVIL}
    return %0 : tensor<8xf32>
  }}
'''
found["in an unused function"] = told(make.module(make.KEEP, other))
choice = f'''%p = stablehlo.constant dense<true> : tensor<i1>
    %r = "stablehlo.if"(%p) ({{
      %a = LEFT
      stablehlo.return %a : tensor<8xf32>
    }}, {{ stablehlo.return %arg0 : tensor<8xf32> }}) : (tensor<i1>) -> tensor<8xf32>'''
found["in a branch"] = told(make.module(choice.replace("LEFT", EVIL)))
manual = f'''%r = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{{}}]>]
      out_shardings=[<@mesh, [{{}}]>] manual_axes={{"data"}} (%arg1: tensor<8xf32>) {{
        %a = stablehlo.custom_call @evil(%arg1) : {KIND}
        sdy.return %a : tensor<8xf32>
      }} : (tensor<8xf32>) -> tensor<8xf32>'''
found["in a manual computation"] = told(make.module(manual))
composite = '%r = stablehlo.composite "NAME" %arg0 {MOREdecomposition = @other} : ' + KIND
found["in a decomposition"] = told(make.module(
    composite.replace("NAME", "chlo.erf").replace("MORE", ""), other))
good = other.replace("custom_call @evil(%arg0)", "abs %arg0").replace(KIND, "tensor<8xf32>")
for name, more in {
    "chlo.erf": "", "my.own": "", "chlo.$x": "",
    "chlo.y": 'composite_attributes = {k = "}\\0AENTRY %main"}, ',
    "chlo.z": "composite_attributes = {k = 3 : i64, is_stable = true}, ",
}.items():
    found["composite " + name] = told(make.module(
        composite.replace("NAME", name).replace("MORE", more), good))

ABS = "%r = stablehlo.abs %arg0 {MORE} : tensor<8xf32>"
for more in (
    'mhlo.frontend_attributes = {k = "}\\0AENTRY %zz"}', 'mhlo.sharding = "{manual}"',
    'mhlo.frontend_attributes = {num_batch_dims = "0"}', 'mhlo.layout_mode = "{0}"',
    'xla_shape = "f32[1]"', 'mhlo.original_value = "x"', 'mhlo.backend_config = "x"',
    'sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=8}>',
    'sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}]>]>',
):
    found["attribute " + more.split(" = ")[0] + ("" if "num_" not in more else " own")] = told(
        make.module(ABS.replace("MORE", more)))
plain = make.module(make.KEEP)
found["module attribute"] = told(plain.replace(
    "mhlo.num_replicas = 1 : i32", 'mhlo.num_replicas = 1 : i32, mhlo.spmd_output_sharding = "x"'))
found["argument attribute"] = told(plain.replace(
    '[{"data"}]>}', '[{"data"}]>, mhlo.memory_kind = "pinned_host"}'))

CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 5, type = TYPE>"
OUT, IN = CHANNEL.replace("TYPE", "2"), CHANNEL.replace("TYPE", "3")
TOKEN = "!stablehlo.token"
HOST = {
    "infeed": f'%r, %u = "stablehlo.infeed"(%t) : ({TOKEN}) -> (tensor<8xf32>, {TOKEN})',
    "outfeed": f'%u = "stablehlo.outfeed"(%arg0, %t) : (tensor<8xf32>, {TOKEN}) -> {TOKEN}',
    "send": f'%u = "stablehlo.send"(%arg0, %t) <{{{OUT}, is_host_transfer = true}}> '
            f": (tensor<8xf32>, {TOKEN}) -> {TOKEN}",
    "recv": f'%r, %u = "stablehlo.recv"(%t) <{{{IN}, is_host_transfer = true}}> '
            f": ({TOKEN}) -> (tensor<8xf32>, {TOKEN})",
}
for name, body in HOST.items():
    for start, token in (("%t = stablehlo.create_token : " + TOKEN, ""),
                         ("%t = stablehlo.after_all : " + TOKEN, " after all"),
                         ("", " of an argument")):
        argument = "" if start else f", %t: {TOKEN}"
        found[name + token] = told(
            "module { func.func public @main(%arg0: tensor<8xf32>" + argument + ") {\n"
            + start + "\n" + body + "\nreturn } }")
found["dynamic"] = told('''module { func.func public @main(%arg0: tensor<?xf32>) {
  %0 = stablehlo.abs %arg0 : tensor<?xf32>
  return } }''')
found["bounded"] = told('''module { func.func public @main(%arg0: tensor<2xf32>) {
  %n = stablehlo.constant dense<9> : tensor<i32>
  %0 = stablehlo.set_dimension_size %arg0, %n, dim = 0
    : (tensor<2xf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<2>>
  return } }''')
found["overflowing"] = told(make.module(make.big(f"{1 << 33}x{1 << 33}")))
found["empty and overflowing"] = told(
    f"module {{ func.func public @main(%arg0: tensor<0x{1 << 50}xf32>) {{ return }} }}")
found["large"] = told(make.module(make.big(str(1 << 30))))
found["nested"] = told(make.module(make.nested(120)))
found["many"] = told(make.module(make.chain(100_001)))
print(json.dumps(found))
"""
PLAIN = "which is not plain XLA"
REFUSED = {
    "call of a computation": "calls evil",
    "call of version 1": "calls evil",
    "call of version 2": "calls evil",
    "call of version 3": "calls evil",
    "call typed": "calls evil",
    "call with an effect": "calls evil",
    "in a branch": "calls evil",
    "in a decomposition": "calls evil",
    "in a manual computation": "calls evil",
    "in an unused function": "calls evil",
    "composite my.own": r"the composite my\.own",
    "composite chlo.$x": r"the composite chlo\.\$x",
    "composite chlo.y": "composite_attributes",
    "attribute mhlo.frontend_attributes": "set_xla_metadata",
    "attribute mhlo.frontend_attributes own": "set_xla_metadata",
    "attribute mhlo.sharding": "mhlo.sharding",
    "attribute mhlo.layout_mode": "mhlo.layout_mode",
    "attribute mhlo.original_value": "mhlo.original_value",
    "attribute mhlo.backend_config": "mhlo.backend_config",
    "attribute xla_shape": "xla_shape",
    "attribute sdy.sharding_rule": "sdy.sharding_rule",
    "module attribute": "mhlo.spmd_output_sharding",
    "argument attribute": "mhlo.memory_kind",
    "dynamic": "no array of fixed shape",
    "bounded": "set_dimension_size",
    "overflowing": "no machine can hold",
    "empty and overflowing": "no machine can hold",
    "nested": "deeper than 100 levels",
    "many": "more than 100000 operations",
}


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    read: dict[str, Any] = jax_process.run(SCRIPT)
    return read


def test_every_thing_that_does_more_than_compute_is_refused_and_named(
    found: dict[str, str],
) -> None:
    assert {n: found[n] for n, w in REFUSED.items() if not re.search(w, found[n])} == {}


@pytest.mark.parametrize(
    "name",
    ["plain", "large", "composite chlo.erf", "composite chlo.z", "attribute sdy.sharding"],
)
def test_what_only_computes_is_let_through(found: dict[str, str], name: str) -> None:
    assert found[name] == ""


def test_a_call_of_any_other_name_is_refused(found: dict[str, str]) -> None:
    calls = {name: why for name, why in found.items() if name.startswith("call ")}
    assert len(calls) > 15
    assert {name: why for name, why in calls.items() if not why.startswith("it calls ")} == {}


def test_no_reason_holds_what_could_end_its_line(found: dict[str, str]) -> None:
    assert all(why.isprintable() and len(why) < 300 for why in found.values())


@pytest.mark.parametrize("name", ["infeed", "outfeed", "send", "recv"])
def test_exchange_with_the_host_is_refused(found: dict[str, str], name: str) -> None:
    assert "its host" in found[name]
    assert "its host" in found[f"{name} after all"]
    assert "!stablehlo.token" in found[f"{name} of an argument"]


def test_a_sort_that_may_leave_its_buffer_is_refused(found: dict[str, str]) -> None:
    assert found["unstable sort"] == "it sorts without is_stable"
