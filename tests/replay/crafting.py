"""Make exported programs that JAX would never export. Runs in a process of its own, with JAX."""

from __future__ import annotations

import base64
import dataclasses
import json
from collections.abc import Iterator
from typing import Any

import jax
import jax.export
import numpy as np
from jax.interpreters import mlir
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxlib.mlir import ir

HEAD = """module @crafted attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["data"=4]>
"""
MAIN = """  func.func public @main(
      %arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>}) -> (TYPE) {
BODY
    return %r : TYPE
  }
"""
EIGHT = "tensor<8xf32>"
KEEP = "    %r = stablehlo.abs %arg0 : tensor<8xf32>"
EXCHANGED = "(tensor<8xf32>) -> tensor<8xf32>"


def module(body: str, others: str = "", result: str = EIGHT) -> str:
    """Return a module whose main function holds `body`, which has to define %r."""
    return HEAD + MAIN.replace("TYPE", result).replace("BODY", body) + others + "}\n"


def twice() -> jax.export.Exported:
    """Return an honest program of eight numbers on four devices."""
    mesh = Mesh(np.asarray(jax.devices()), ("data",))
    rows = NamedSharding(mesh, PartitionSpec("data"))
    spec = jax.ShapeDtypeStruct((8,), "float32", sharding=rows)
    mapped = jax.shard_map(
        lambda a: 2 * a, mesh=mesh, in_specs=PartitionSpec("data"), out_specs=PartitionSpec("data")
    )
    return jax.export.export(jax.jit(mapped))(spec)


def serialized(text: str, **changes: Any) -> bytes:
    """Return an export of a hand-made module, with other facts about it changed as well."""
    from jax._src.export import _export

    with mlir.make_ir_context():
        stored = _export._module_to_bytecode(ir.Module.parse(text))
    changed = dataclasses.replace(twice(), mlir_module_serialized=stored, **changes)
    return bytes(changed.serialize())


def nested(levels: int) -> str:
    """Return a body with that many conditions inside one another."""
    body = "stablehlo.return %arg0 : tensor<8xf32>"
    for _ in range(levels):
        inner = f'"stablehlo.if"(%p) ({{ {body} }}, {{ stablehlo.return %arg0 : tensor<8xf32> }})'
        body = f"%x = {inner} : (tensor<i1>) -> tensor<8xf32> stablehlo.return %x : tensor<8xf32>"
    taken = f'"stablehlo.if"(%p) ({{ {body} }}, {{ stablehlo.return %arg0 : tensor<8xf32> }})'
    return (
        f"%p = stablehlo.constant dense<true> : tensor<i1>\n%r = {taken} : (tensor<i1>) -> {EIGHT}"
    )


def chain(operations: int) -> str:
    """Return a body of that many additions."""
    lines = ["%v0 = stablehlo.abs %arg0 : tensor<8xf32>"]
    for n in range(1, operations):
        lines.append(f"%v{n} = stablehlo.add %v{n - 1}, %arg0 : tensor<8xf32>")
    return "\n".join([*lines, f"%r = stablehlo.abs %v{operations - 1} : tensor<8xf32>"])


def big(extents: str) -> str:
    """Return a body with an intermediate of these extents, which XLA may not leave out."""
    whole = f"tensor<{extents}xf32>"
    rank = extents.count("x") + 1
    first = ", ".join(["0:1"] * rank)
    one = "x".join(["1"] * rank)
    return f"""    %a = stablehlo.iota dim = 0 : {whole}
    %b = "stablehlo.sort"(%a) <{{dimension = 0 : i64, is_stable = true}}> ({{
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %z = stablehlo.compare GT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %z : tensor<i1>
    }}) : ({whole}) -> {whole}
    %c = stablehlo.slice %b [{first}] : ({whole}) -> tensor<{one}xf32>
    %d = stablehlo.reshape %c : (tensor<{one}xf32>) -> tensor<f32>
    %r = stablehlo.broadcast_in_dim %d, dims = [] : (tensor<f32>) -> tensor<8xf32>"""


ENDLESS = """    %r = stablehlo.while(%x = %arg0) : tensor<8xf32>
      cond {
        %t = stablehlo.constant dense<true> : tensor<i1>
        stablehlo.return %t : tensor<i1>
      } do {
        %y = stablehlo.add %x, %x : tensor<8xf32>
        stablehlo.return %y : tensor<8xf32>
      }"""
CALLBACK = f"    %r = stablehlo.custom_call @xla_ffi_python_cpu_callback(%arg0) : {EXCHANGED}"
INFEED = """    %t = stablehlo.create_token : !stablehlo.token
    %r, %u = "stablehlo.infeed"(%t) <{infeed_config = "x", layout = [[0]]}>
      : (!stablehlo.token) -> (tensor<8xf32>, !stablehlo.token)"""
SMALL_CHOLESKY = """    %z = stablehlo.constant dense<2.0> : tensor<6000x2xf32>
    %q:2 = stablehlo.custom_call @lapack_spotrf_ffi(%z) {
      mhlo.backend_config = {uplo = 76 : ui8},
      mhlo.frontend_attributes = {num_batch_dims = "0"},
      operand_layouts = [dense<[0, 1]> : tensor<2xindex>],
      result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>],
      output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0],
        operand_index = 0, operand_tuple_indices = []>]
    } : (tensor<6000x2xf32>) -> (tensor<6000x2xf32>, tensor<i32>)
    %s = stablehlo.convert %q#1 : (tensor<i32>) -> tensor<f32>
    %r = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<8xf32>"""
RECURSIVE = f"    %r = func.call @again(%arg0) : {EXCHANGED}"
AGAIN = f"""  func.func private @again(%arg0: tensor<8xf32>) -> tensor<8xf32> {{
    %0 = func.call @again(%arg0) : {EXCHANGED}
    return %0 : tensor<8xf32>
  }}
"""
FOUR = "    %r = stablehlo.slice %arg0 [0:4] : (tensor<8xf32>) -> tensor<4xf32>"
WHOLE = "    %r = stablehlo.convert %arg0 : (tensor<8xf32>) -> tensor<8xi32>"


def _many() -> str:
    values, types = ", ".join(["%arg0"] * 50), ", ".join([EIGHT] * 50)
    main = MAIN.replace("return %r : TYPE", f"return {values} : {types}")
    return HEAD + main.replace("TYPE", types).replace("BODY", "") + "}\n"


def _constant(elements: int) -> str:
    digits = "".join(f"{n % 251:08X}" for n in range(1, elements + 1))
    first = "[0:8]"
    return f"""    %c = stablehlo.constant dense<"0x{digits}"> : tensor<{elements}xf32>
    %r = stablehlo.slice %c {first} : (tensor<{elements}xf32>) -> tensor<8xf32>"""


def flipped(blob: bytes, seed: int) -> bytes:
    """Return the bytes with a few bits turned over, the same ones for the same seed."""
    changed = bytearray(blob)
    random = np.random.default_rng(seed)
    for _ in range(int(random.integers(1, 6))):
        at = int(random.integers(len(changed)))
        changed[at] ^= 1 << int(random.integers(8))
    return bytes(changed)


def every() -> Iterator[tuple[str, bytes]]:
    """Yield the honest program as "honest", then each crafted one by name."""
    good = bytes(twice().serialize())
    yield "honest", good
    for name, text in {
        "callback": module(CALLBACK),
        "infeed": module(INFEED),
        "small_cholesky": module(SMALL_CHOLESKY),
        "endless": module(ENDLESS),
        "giant": module(big(str(1 << 34))),
        "overflowing": module(big(f"{1 << 33}x{1 << 33}")),
        "recursive": module(RECURSIVE, AGAIN),
        "nested": module(nested(200)),
        "many_operations": module(chain(100_000)),
        "constant": module(_constant(500_000)),
        "lying_shape": module(FOUR, result="tensor<4xf32>"),
        "lying_type": module(WHOLE, result="tensor<8xi32>"),
        "hidden_results": _many(),
    }.items():
        yield name, serialized(text)
    plain = module(KEEP)
    aval = twice().in_avals[0]
    yield "eight_devices", serialized(plain, nr_devices=8)
    yield "one_device", serialized(plain, nr_devices=1)
    yield "other_arguments", serialized(plain, in_avals=(aval.update(shape=(7,)),))
    yield "other_platform", serialized(plain, platforms=("tpu",))
    yield "future_version", serialized(plain, calling_convention_version=10_000)
    yield "empty", b""
    yield "text", b"def all_gradient(x, y, w): ..."
    for part in (8, 100, len(good) // 2, len(good) - 1):
        yield f"cut_{part if part < len(good) - 1 else 'last'}", good[:part]
    for seed in range(6):
        yield f"flipped_{seed}", flipped(good, seed)


def main() -> None:
    """Print every program as JSON of base64, one line."""
    print(json.dumps({name: base64.b64encode(blob).decode() for name, blob in every()}))


if __name__ == "__main__":
    main()
