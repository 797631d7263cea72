"""Write LAPACK calls as JAX does, and wrong in one thing each. Needs JAX, in its own process."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jax.interpreters import mlir
from jaxlib.mlir import ir

from grader.replay import custom_calls

Shapes = tuple[tuple[int, ...], ...]
ALIAS = (
    "#stablehlo.output_operand_alias<output_tuple_indices = {}, "
    "operand_index = {}, operand_tuple_indices = []>"
)


@dataclass(frozen=True)
class Call:
    """One call: its target, types with a vector's or a matrix's own dimensions, and the rest."""

    target: str
    operands: tuple[tuple[Sequence[int], str], ...]
    results: tuple[tuple[Sequence[int], str], ...]
    config: str = ""
    aliased: int | None = 0
    batch: tuple[int, ...] = ()
    batches: str = ""
    layouts: tuple[str, ...] | None = None
    extra: str = ""

    def text(self) -> str:
        """Return a module whose main function holds the call."""
        operands, results = self._types(self.operands), self._types(self.results)
        names = [f"%arg{n}" for n in range(len(operands))]
        arguments = ", ".join(f"{n}: {t}" for n, t in zip(names, operands, strict=True))
        many = f"({', '.join(results)})" if len(results) != 1 else results[0]
        count = f":{len(results)}" if len(results) != 1 else ""
        return (
            f"module {{ func.func public @main({arguments}) {{\n"
            f"  %0{count} = stablehlo.custom_call @{self.target}({', '.join(names)}) "
            f"{{{self._attributes()}}} : ({', '.join(operands)}) -> {many}\n  return }} }}"
        )

    def _types(self, items: Sequence[tuple[Sequence[int], str]]) -> list[str]:
        return [
            f"tensor<{''.join(f'{n}x' for n in (*self.batch, *dims))}{element}>"
            for dims, element in items
        ]

    def _attributes(self) -> str:
        batches = self.batches or f'{{num_batch_dims = "{len(self.batch)}"}}'
        whole = [self._layout(len(dims)) for dims, _ in (*self.operands, *self.results)]
        layouts = list(self.layouts or whole)
        operands = len(self.operands)
        told = [
            f"mhlo.backend_config = {{{self.config}}}",
            f"mhlo.frontend_attributes = {batches}",
            f"operand_layouts = [{', '.join(layouts[:operands])}]",
            f"result_layouts = [{', '.join(layouts[operands:])}]",
        ]
        if self.aliased is not None:
            index = "[0]" if len(self.results) > 1 else "[]"
            told.append(f"output_operand_aliases = [{ALIAS.format(index, self.aliased)}]")
        return ", ".join([*told, *([self.extra] if self.extra else [])])

    def _layout(self, own: int) -> str:
        rank, batch = len(self.batch) + own, len(self.batch)
        order = [*range(rank)][::-1]
        if own == 2:
            order = [batch, batch + 1, *range(batch)[::-1]]
        return f"dense<{order if rank else ''}> : tensor<{rank}xindex>"


def flags(**letters: str) -> str:
    """Return options as JAX writes them: letters by their number."""
    return ", ".join(f"{name} = {ord(letter)} : ui8" for name, letter in letters.items())


INFO = ((), "i32")
F, C = "f32", "complex<f32>"
GOOD = {
    "potrf": Call("lapack_spotrf_ffi", (((6, 6), F),), (((6, 6), F), INFO), flags(uplo="L")),
    "getrf": Call("lapack_sgetrf_ffi", (((6, 5), F),), (((6, 5), F), ((5,), "i32"), INFO)),
    "geqrf": Call("lapack_sgeqrf_ffi", (((5, 6), F),), (((5, 6), F), ((5,), F))),
    "orgqr": Call("lapack_sorgqr_ffi", (((6, 5), F), ((5,), F)), (((6, 5), F),)),
    "ungqr": Call("lapack_cungqr_ffi", (((6, 5), C), ((5,), C)), (((6, 5), C),)),
    "gesdd": Call(
        "lapack_cgesdd_ffi",
        (((6, 5), C),),
        (((6, 5), C), ((5,), F), ((6, 6), C), ((5, 5), C), INFO),
        flags(mode="A"),
    ),
    "gesdd_thin": Call(
        "lapack_sgesdd_ffi",
        (((6, 5), F),),
        (((6, 5), F), ((5,), F), ((6, 5), F), ((5, 5), F), INFO),
        flags(mode="S"),
    ),
    "syevd": Call(
        "lapack_dsyevd_ffi",
        (((6, 6), "f64"),),
        (((6, 6), "f64"), ((6,), "f64"), INFO),
        flags(mode="V", uplo="U"),
    ),
    "geev": Call(
        "lapack_sgeev_ffi",
        (((6, 6), F),),
        (((6,), F), ((6,), F), ((6, 6), C), ((6, 6), C), INFO),
        flags(compute_left="N", compute_right="V"),
        aliased=None,
    ),
    "trsm": Call(
        "lapack_strsm_ffi",
        (((6, 6), F), ((6, 4), F)),
        (((6, 4), F),),
        flags(diag="N", side="L", trans_x="T", uplo="L"),
        aliased=1,
    ),
}
# Fewer reflections than columns are what LAPACK allows.
FEWER = ("orgqr", "ungqr")
OTHERS = ("lapack_sgees_ffi", "lapack_spotrf", "lapack_sungqr_ffi", "lapack_corgqr_ffi", "Sharding")


def wrong() -> Iterator[tuple[str, Call]]:
    """Yield calls that are right but for one thing, each under what that is."""
    for name, call in GOOD.items():
        yield from _other_buffers(name, call)
        if name in ("potrf", "gesdd", "gesdd_thin", "syevd"):
            yield from _shared(name, call)
        yield f"{name}: other batch", replace(call, batches='{num_batch_dims = "2"}')
        yield f"{name}: free text", replace(call, batches='{num_batch_dims = "0", k = "ENTRY"}')
        yield f"{name}: no such option", replace(call, config=f"{call.config}, more = 65 : ui8")
        yield f"{name}: another alias", replace(call, aliased=None if call.aliased == 0 else 0)
        yield f"{name}: text option", replace(call, config='mode = "A"')
        for extra in (
            'xla_shape = "f32[1]"',
            "has_side_effect = true",
            "called_computations = [@main]",
            'backend_config = "x"',
            'mhlo.sharding = "{manual}"',
        ):
            yield f"{name}: {extra}", replace(call, extra=extra)
    call = GOOD["potrf"]
    rows = ("dense<[1, 0]> : tensor<2xindex>",) * 2
    yield "row by row", replace(call, layouts=(*rows, "dense<> : tensor<0xindex>"))
    split = "#sdy.op_sharding_rule<([i, j])->([i, j], []) {i=6, j=6}, custom>"
    yield "a matrix split by rows", replace(call, extra=f"sdy.sharding_rule = {split}")
    wide = ((5, 6), F)
    yield "wide reflections", replace(GOOD["orgqr"], operands=(wide, ((5,), F)), results=(wide,))
    tall = ((7, 5), F)
    yield (
        "few pivots",
        replace(GOOD["getrf"], operands=(tall,), results=(tall, ((4,), "i32"), INFO)),
    )
    yield "unknown letter", replace(call, config=flags(uplo="X"))
    yield "wide option", replace(call, config="uplo = 76 : i64")
    yield "another side", replace(GOOD["trsm"], config=GOOD["trsm"].config.replace("76", "82", 1))
    yield "full for thin", replace(GOOD["gesdd_thin"], config=flags(mode="A"))
    for target in OTHERS:
        yield target, replace(call, target=target)


def _other_buffers(name: str, call: Call) -> Iterator[tuple[str, Call]]:
    for side in ("operands", "results"):
        buffers = getattr(call, side)
        for at, (dims, element) in enumerate(buffers):
            for change, other in _changed(tuple(dims), element):
                if name in FEWER and (side, at) == ("operands", 1) and other[0] < dims:
                    continue
                changed = (*buffers[:at], other, *buffers[at + 1 :])
                yield f"{name}: {side}[{at}] {change}", replace(call, **{side: changed})
        yield f"{name}: one of the {side} more", replace(call, **{side: (*buffers, buffers[-1])})
        if len(buffers) > 1:
            yield f"{name}: one of the {side} less", replace(call, **{side: buffers[:-1]})


def _shared(name: str, call: Call) -> Iterator[tuple[str, Call]]:
    """Yield calls whose first result and the operand in its place are both of another shape."""
    if call.aliased is None:
        return
    at = call.aliased
    dims, element = call.operands[at]
    for change, other in _changed(tuple(dims), element):
        operands = (*call.operands[:at], other, *call.operands[at + 1 :])
        yield (
            f"{name}: shared {change}",
            replace(call, operands=operands, results=(other, *call.results[1:])),
        )


def _changed(dims: tuple[int, ...], element: str) -> Iterator[tuple[str, tuple[Any, str]]]:
    for at in range(len(dims)):
        for extent in (1, dims[at] + 1):
            yield f"extent {at} is {extent}", ((*dims[:at], extent, *dims[at + 1 :]), element)
    yield "one dimension more", ((*dims, 2), element)
    yield "another type", (dims, "f64" if element in ("f32", "i32") else "f32")


def answer(text: str) -> str:
    """Return what is said about the only custom call of a module, even one that MLIR refuses."""
    with mlir.make_ir_context():
        try:
            module = ir.Module.parse(text)
        except ir.MLIRError:
            return "MLIR"
        main = module.body.operations[0]
        return custom_calls.problem(main.regions[0].blocks[0].operations[0].operation)


def main() -> None:
    """Print what is said about each call, as JSON on one line."""
    batched = {f"{name} in a batch": replace(c, batch=(2, 3)) for name, c in GOOD.items()}
    single = {f"{name} in a row": replace(c, batch=(1,)) for name, c in GOOD.items()}
    good = {name: answer(call.text()) for name, call in {**GOOD, **batched, **single}.items()}
    print(json.dumps({"good": good, "wrong": {n: answer(c.text()) for n, c in wrong()}}))


if __name__ == "__main__":
    main()
