"""The commonest errors of this field as a learner is told them, as this JAX raises them."""

from __future__ import annotations

import functools
import json
from typing import Any

import pytest

from grader.case import absent
from grader.process import Exit, OutputBuffer
from grader.records.evidence import Outcome, Program
from grader.sandbox import outcomes, plainly
from grader.sandbox.frames import read_program
from grader.sandbox.meaning import Raised
from grader.sandbox.near import meant
from grader.sandbox.outcomes import Known
from tests.checks.factory import case
from tests.replay import jax_process

FILE = "mine.py"
GIVEN = """\
import jax, numpy as np, jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(np.array(jax.devices()), ("data",))
rows = NamedSharding(mesh, P("data", None))
x = jax.device_put(np.ones((16, 8), np.float32), rows)
g = jnp.ones(8)
def mapped(function, in_specs=P("data"), out_specs=P("data"), **more):
    specs = dict(in_specs=in_specs, out_specs=out_specs)
    return jax.jit(jax.shard_map(function, mesh=mesh, **specs, **more))
def inside(value):
    return value
"""
TRACED = "while JAX traces a function its arguments have a shape and no numbers yet"
FOUR = "build the mesh from `jax.devices()`, which gives four here"
LATE = (
    "XLA_FLAGS is read once, when JAX starts, and the grader has started it with four devices: ask"
    " for four; in a run of your own, set it before the first `import jax`"
)
FLAGS = 'import os\nos.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"\n'
AXES = "write the name that the mesh was made with, the same in P(…) and in every collective"
INSIDE = (
    "call it inside the function that jax.shard_map is given, and name the axis as the mesh does:"
    " jax.jit alone has no axes"
)
EVEN = (
    "split a dimension whose size is a multiple of the number of devices, or change that size;"
    " print the array's shape before that line"
)
HONEST = (
    "where nothing was summed, sum with psum first; where each device keeps a piece of its own, say"
    " so, as in P('data'); check_vma=False is honest only where you can say why every device"
    " computes the same, as after an all_gather: anywhere else it hides a result that is right on"
    " one device only"
)
REPLICATED = (
    "out_specs say that `inside` returns the same on every device, and JAX cannot see that it does"
)
ALL_OPEN = "fill it in, or put the # back in front of that line until you do"
NONE = "look whether the function that made it ends in a `return`"
SHAPES = "print the shapes of both sides; a `.T` may be missing, or one too many"
AGREE = "see which program the checks below call wrong, and mend that one first"
ARITY = "let it have one parameter for each argument that it is called with, in that order"
PASS_IT = "pass it, or take that parameter out: a program gets the arguments that the prompt names"

# A module that stops, what is said of it, and what to try. What the exception says itself follows
# in brackets, and is another from one JAX to the next.
STOPS: dict[str, tuple[str, str, str]] = {
    "a mesh of too many devices": (
        'jax.make_mesh((8,), ("data",))',
        "the mesh of shape (8,) needs more devices than the 4 there are",
        FOUR,
    ),
    "XLA_FLAGS too late": (
        FLAGS + 'jax.make_mesh((8,), ("data",))',
        "the mesh of shape (8,) needs more devices than the 4 there are",
        LATE,
    ),
    "a mesh of another shape": (
        'Mesh(np.array(jax.devices()).reshape(8), ("data",))',
        "there are 4 devices, and they do not make up a mesh of shape (8,)",
        FOUR,
    ),
    "a device that is not there": (
        "jax.devices()[4]",
        "there are four devices, numbered 0 to 3, and `jax.devices()[4]` asks for another",
        FOUR,
    ),
    "insisting on eight devices": (
        "assert len(jax.devices()) == 8",
        "the module insists on another number of devices than four: `len(jax.devices()) == 8` does"
        " not hold",
        f"ask for four there; {FOUR}",
    ),
    "eight devices asked for": (
        'jax.config.update("jax_num_cpu_devices", 8)',
        "the module asks for 8 CPU devices, and JAX has started with four",
        "remove that line: the grader always gives four CPU devices",
    ),
    "distributed too late": (
        'jax.distributed.initialize("localhost:1234", 1, 0)',
        "jax.distributed.initialize() comes too late: JAX has started its backend already",
        "remove that line: a solution is one process with four devices",
    ),
    "a platform that is not there": (
        'jax.devices("gpu")',
        "there is no gpu here: the module runs on cpu devices",
        "leave the platform's name out: `jax.devices()` gives the devices there are",
    ),
    "an axis that cannot be split": (
        "jax.device_put(np.ones((15, 8)), rows)",
        "the 15 entries of dimension 0 of an array of shape (15, 8) cannot be dealt out evenly to 4"
        " devices: 3 would be left over",
        EVEN,
    ),
    "an argument that cannot be split": (
        'mapped(inside, P("data", None))(x[:15])',
        "the 15 entries of dimension 0 of `value`, of shape (15, 8), cannot be dealt out evenly to"
        " 4 devices: 3 would be left over, as `P('data', None)` asks",
        EVEN,
    ),
    "a sum that cannot be split": (
        'mapped(lambda v: jax.lax.psum_scatter(v[0, :7], "data", tiled=True))(x)',
        "psum_scatter gives each device an equal piece, and 7 values cannot be dealt out evenly to"
        " 4 devices: 3 would be left over",
        EVEN,
    ),
    "an exchange that cannot be split": (
        'mapped(lambda v: jax.lax.all_to_all(v, "data", 1, 0, tiled=True))(x[:, :6])',
        "all_to_all sends each device an equal piece, and 6 entries cannot be dealt out evenly to 4"
        " devices: 2 would be left over",
        EVEN,
    ),
    "replication claimed": ("mapped(inside, P('data'), P())(x)", REPLICATED, HONEST),
    "an axis psum does not know": (
        'mapped(lambda v: jax.lax.psum(v, "devices"))(x)',
        "`psum` works over the axis 'devices', which the mesh does not have",
        AXES,
    ),
    "an axis psum_scatter does not know": (
        'mapped(lambda v: jax.lax.psum_scatter(v, "devices"))(x)',
        "a collective works over the axis 'devices', and there is no such axis where it is called",
        INSIDE,
    ),
    "an axis axis_index does not know": (
        'mapped(lambda v: v + jax.lax.axis_index("rows"))(x)',
        "`axis_index` works over the axis 'rows', and there is no such axis where it is called",
        INSIDE,
    ),
    "a collective outside shard_map": (
        'jax.jit(lambda v: jax.lax.psum(v, "data"))(x)',
        "`psum` works over the axis 'data', and there is no such axis where it is called",
        INSIDE,
    ),
    "no axis at all": (
        "mapped(lambda v: jax.lax.psum(v))(x)",
        "`psum` is not told over which axis of the mesh to work",
        "give it the axis of the mesh as its second argument",
    ),
    "an axis in_specs invent": (
        'mapped(inside, P("rows"))(x)',
        "in_specs name the axis 'rows', and the mesh has 'data'",
        AXES,
    ),
    "an axis a sharding invents": (
        'NamedSharding(mesh, P("rows", None))',
        "`P('rows', None)` names the axis 'rows', and the mesh has 'data'",
        AXES,
    ),
    "tiled left out": (
        'mapped(lambda v: jax.lax.psum_scatter(v[0], "data"))(x)',
        "psum_scatter without tiled=True wants one entry for each device, 4 in all, and was given"
        " 8",
        "say tiled=True: then each device gets an equal piece of the dimension that is there",
    ),
    "tiled left out of a gather": (
        'whole = lambda v: jax.lax.all_gather(v, "data")\n'
        "got = mapped(whole, out_specs=P(), check_vma=False)(g)\n"
        "np.testing.assert_allclose(got, np.ones(8), rtol=1e-6)",
        "the module's own comparison failed: the shapes (4, 2) and (8,) differ, as they do where"
        " all_gather is used without tiled=True",
        "say tiled=True",
    ),
    "specs for fewer arguments": (
        "mapped(inside, (P('data'), P()))(x)",
        "in_specs has 2 entries, and the function is called with 1 argument",
        "give in_specs one entry for each argument, and call the function with as many",
    ),
    "specs for fewer results": (
        "mapped(lambda v: (v, v), P('data'), (P('data'),))(x)",
        "out_specs has 1 entry, and the function returns 2 values",
        "give out_specs one entry for each value that is returned",
    ),
    "a text for a spec": (
        "mapped(inside, 'data')(x)",
        "in_specs holds a str where a P(…) belongs",
        "write each entry as a PartitionSpec: P('data') for a split, P() for the whole",
    ),
    "a spec too long": (
        "mapped(inside, P('data', None))(g)",
        "in_specs is `P('data', None)`, for 2 dimensions, and the argument has 1 dimension",
        "a P(…) has at most one entry for each dimension: P() describes a single number too",
    ),
    "a sharding too long": (
        "jax.device_put(np.ones(8, np.float32), rows)",
        "`P('data', None)` describes 2 dimensions, and the array has 1",
        "use a sharding with one entry for each dimension of the array",
    ),
    "arrays on other devices": (
        "x + jax.device_put(np.ones(8, np.float32), jax.devices()[1])",
        "arrays on different devices meet in one operation: on [0, 1, 2, 3], and on [1]",
        "place both with jax.device_put on the same mesh",
    ),
    "NumPy in a traced function": (
        "jax.jit(lambda v: np.dot(v, v))(g)",
        f"NumPy was given a traced value of shape (8,) in `np.dot(v, v)`: {TRACED}",
        "use jnp in place of np there, or the operators (@, *, .T)",
    ),
    "an if on a traced value": (
        "@jax.jit\ndef f(v):\n    if v[0] > 0:\n        return v\n    return -v\nf(g)",
        "an `if`, a `while`, an `and` or an `assert` asks whether a traced value is true:"
        f" {TRACED}",
        "use jnp.where(condition, a, b), or jax.lax.cond",
    ),
    "float of a traced value": (
        "jax.jit(lambda v: float(v[0]) * v)(g)",
        f"`float()` wants the number behind a traced value in `float(v[0])`: {TRACED}",
        "leave float() out and go on with the array; `x.astype(jnp.float32)` changes a type",
    ),
    "item of a traced value": (
        "jax.jit(lambda v: v[0].item() * v)(g)",
        f"`item()` wants the number behind a traced value in `v[0].item()`: {TRACED}",
        "leave item() out and go on with the array; `x.astype(jnp.float32)` changes a type",
    ),
    "range of a traced value": (
        "jax.jit(lambda n: sum(range(n)))(3)",
        f"a traced value is used as a whole number, as range() and sizes want one: {TRACED}",
        "take the number from a shape or a constant; jax.lax.fori_loop takes a traced number of"
        " rounds",
    ),
    "a size of a traced value": (
        "jax.jit(lambda n: jnp.zeros(n))(3)",
        f"a traced value is used as the size of an array: {TRACED}",
        "take the size from a shape or a constant of the module",
    ),
    "a mask of traced values": (
        "jax.jit(lambda v: v[v > 0])(g)",
        "an array is cut by a mask of traced values, so its size would depend on numbers that are"
        " not there yet",
        "keep all entries and put zeros where the mask is false: jnp.where(mask, x, 0)",
    ),
    "shards of a traced value": (
        "jax.jit(lambda v: v.addressable_shards)(g)",
        f"`.addressable_shards` wants a finished array in `v.addressable_shards`: {TRACED}",
        "look at .addressable_shards of the result, outside the function that is traced",
    ),
    "a value that escaped": (
        "kept = []\njax.jit(lambda v: kept.append(v) or v)(g)\nkept[0] + 1",
        "a value from inside a traced function was kept, in a global or a list, and used outside",
        "return the value from the traced function; do not store it outside",
    ),
    "an array changed in place": (
        "g[0] = 1",
        "an array of JAX cannot be changed in place",
        "write x = x.at[i].set(value) in place of x[i] = value",
    ),
    "an array that was donated": (
        "jax.jit(lambda v: v + 1, donate_argnums=0)(g)\ng + 1",
        "an array of shape (8,) is used after its memory was given away: donate_argnums hands the"
        " memory of an argument to the program's result",
        "use the program's result in its place, or leave donate_argnums out",
    ),
    "an array that was deleted": (
        "g.delete()\ng + 1",
        "an array of shape (8,) is used after its memory was given away: .delete() gave it back",
        "leave .delete() out, or move it below the last use",
    ),
    "an array donated twice": (
        "jax.jit(lambda a, b: a + b, donate_argnums=0)(g, g)",
        "one array is given twice to a call that donates it: its memory can be handed over once",
        "leave donate_argnums out, or pass a copy: x.copy()",
    ),
    "strict promotion": (
        "with jax.numpy_dtype_promotion('strict'):\n    g + jnp.arange(8)",
        "float32 and int32 meet in one operation, and with strict promotion JAX does not convert by"
        " itself",
        "convert one of them, as in x.astype(jnp.float32), or take the line with"
        " jax_numpy_dtype_promotion out",
    ),
    "types that lax does not convert": (
        "jax.lax.add(g, jnp.arange(8))",
        "`lax.add` wants one data type, and was given float32 and int32",
        "convert one of them, as in x.astype(jnp.float32), or use the operator: a + b converts",
    ),
    "float64 asked for": (
        "import warnings\nwarnings.simplefilter('error')\ng.astype('float64')",
        "float64 is asked for, and JAX keeps 32 bits as long as jax_enable_x64 is off",
        "ask for the 32-bit type, jnp.float32: the lesson's arrays are float32",
    ),
    "bfloat16 in NumPy": (
        "np.bfloat16",
        "`numpy` has no `bfloat16`; there is `jax.numpy.bfloat16`",
        "write `jax.numpy.bfloat16`",
    ),
    "a type that is none": (
        "g.astype('float65')",
        "there is no data type called float65",
        "write a type of jnp, such as jnp.float32, without quotes",
    ),
    "a TODO called": (
        "program = ...\nprogram(x)",
        "a TODO is still open: `...` stands where a value belongs",
        ALL_OPEN,
    ),
    "a TODO in the specs": (
        "mapped(inside, ...)(x)",
        "a TODO is still open: `...` stands where a value belongs",
        ALL_OPEN,
    ),
    "a TODO that raises": (
        "def f():\n    raise NotImplementedError('part 1, step 1a')\nf()",
        "a part that is needed here is not filled in yet: part 1, step 1a",
        "fill it in, or put the # back in front of the lines that need it",
    ),
    "a return forgotten": (
        "def f(v):\n    v + 1\nf(g) - 1.0",
        "a value is None, as a function without `return` gives it",
        NONE,
    ),
    "a result that is called": (
        "g(x)",
        "an array is called like a function: a name was bound again to a result",
        "give the result a name of its own, as in g = program(x)",
    ),
    "a product that does not fit": (
        "x @ jnp.ones(4)",
        "a product runs along dimensions of 8 and 4 entries, which must be equal",
        SHAPES,
    ),
    "a NumPy product that does not fit": (
        "np.ones((2, 3)) @ np.ones(4)",
        "a product runs along dimensions of 4 and 3 entries, which must be equal",
        SHAPES,
    ),
    "shapes that do not fit": (
        "x + jnp.ones(3)",
        "arrays of the shapes (16, 8) and (3,) do not fit together",
        SHAPES,
    ),
    "NumPy shapes that do not fit": (
        "np.ones((2, 3)) + np.ones(4)",
        "arrays of the shapes (2, 3) and (4,) do not fit together",
        SHAPES,
    ),
    "values that differ": (
        "np.testing.assert_allclose(g, np.ones(8) * 1.5)",
        "the module's own comparison failed: 8 of 8 values differ, by up to 0.5",
        AGREE,
    ),
    "np without its import": (
        "del np\nnp.ones(8)",
        "`np` is used, and nothing has imported it",
        "write `import numpy as np` at the top",
    ),
    "P without its import": (
        "del P\nP()",
        "`P` is used, and nothing has imported it",
        "write `from jax.sharding import PartitionSpec as P` at the top",
    ),
    "a name misspelt": (
        "new_v = g\nnev_v * 2",
        "`nev_v` is not defined; there is a `new_v`",
        "write `new_v` there, or define `nev_v` above that line",
    ),
    "a name in another case": (
        "R2 = g\nr2 * 2",
        "`r2` is not defined; there is a `R2`",
        "write `R2` there, or define `r2` above that line",
    ),
    "a function of another module": (
        "jax.psum(g, 'data')",
        "`jax` has no `psum`; there is `jax.lax.psum`",
        "write `jax.lax.psum`",
    ),
    "a function misspelt": (
        "np.linspase(0, 1)",
        "`numpy` has no `linspase`; there is `numpy.linspace`",
        "write `numpy.linspace`",
    ),
    "a method misspelt": (
        "[].apend(1)",
        "a list has no `.apend`; it has `.append`",
        "write `.append`",
    ),
    "shard_map where it was": (
        "jax.experimental.shard_map",
        "`jax.experimental` has no `shard_map`; there is `jax.shard_map`",
        "write `jax.shard_map`",
    ),
    "an import misspelt": (
        "from jax.sharding import Meshh",
        "`jax.sharding` has no `Meshh` to import; there is `Mesh`",
        "write `from jax.sharding import Mesh`",
    ),
    "too many arguments": (
        "def f(a, b):\n    return a\nf(1, 2, 3)",
        "`f` takes 2 arguments, and is given 3",
        ARITY,
    ),
    "too few arguments": (
        "def f(a, b):\n    return a\nf(1)",
        "`f` is called without `b`",
        PASS_IT,
    ),
    "an argument misspelt": (
        "jax.shard_map(inside, mesh=mesh, in_spec=P(), out_specs=P())",
        "`shard_map` has no argument called `in_spec`",
        "write `in_specs=`",
    ),
    "an argument of an older JAX": (
        "jax.shard_map(inside, mesh=mesh, in_specs=P(), out_specs=P(), check_rep=False)",
        "`shard_map` has no argument called `check_rep`",
        "write `check_vma=`",
    ),
}
NO_PURE = "compute with jax.numpy and jax.lax only; take prints and NumPy out of the program"
# A program that cannot be exported, and what a check says of it.
REFUSED: dict[str, tuple[str, str, str, str | None]] = {
    "nothing returned": (
        "def program(x):\n    x + 1",
        "returns nothing, not one array",
        "end the function in `return` and the array: without it Python gives None",
        None,
    ),
    "a body of dots": (
        "def program(x):\n    ...",
        "returns nothing, not one array",
        "end the function in `return` and the array: without it Python gives None",
        None,
    ),
    "a tuple": (
        "def program(x):\n    return x, x",
        "returns a tuple of 2, not one array",
        "return the array alone: no comma, no brackets round it",
        None,
    ),
    "a list": (
        "def program(x):\n    return [x]",
        "returns a list, not one array",
        "return the array alone: no comma, no brackets round it",
        None,
    ),
    "a dict": (
        "def program(x):\n    return {'g': x}",
        "returns a dict, not one array",
        "return the array alone",
        None,
    ),
    "a text": (
        "def program(x):\n    return 'done'",
        "returns a str, not one array",
        "return an array of JAX",
        None,
    ),
    "a part that is open": (
        "def program(x):\n    raise NotImplementedError('step 1b')",
        "is not filled in yet: step 1b",
        "fill in this part; the steps stand in the starter, the idea in the prompt",
        None,
    ),
    "an error of its own": (
        "def program(x):\n    raise ValueError('out_specs which require replication')",
        "raises an error of its own: ValueError: out_specs which require replication",
        "mend what makes it raise, or take that `raise` out",
        None,
    ),
    "a parameter too few": (
        "def program():\n    return g",
        "cannot be traced: `program` takes 0 arguments, and is given 1 (TypeError)",
        ARITY,
        None,
    ),
    "a helper called callback": (
        "def callback(a):\n    return a\ndef program(x):\n    return callback(x, x)",
        "cannot be traced: `callback` takes 1 argument, and is given 2 (TypeError)",
        ARITY,
        None,
    ),
    "a callback": (
        "def program(x):\n    return jax.pure_callback(lambda a: a, jax.typeof(x), x)",
        "calls back into Python, so it is not a pure JAX program: NotImplementedError:"
        " serialization of host_callbacks is not yet implemented",
        NO_PURE,
        "host-round-trip",
    ),
    "NumPy": (
        "def program(x):\n    return np.asarray(x) * 2",
        f"cannot be traced: NumPy was given a traced value of shape (8,): {TRACED}"
        " (TracerArrayConversionError)",
        "use jnp in place of np there, or the operators (@, *, .T)",
        "host-round-trip",
    ),
    "an if": (
        "def program(x):\n    if x[0] > 0:\n        return x\n    return -x",
        "cannot be traced: an `if`, a `while`, an `and` or an `assert` asks whether a traced value"
        f" is true: {TRACED} (TracerBoolConversionError)",
        "use jnp.where(condition, a, b), or jax.lax.cond",
        None,
    ),
    "an axis": (
        'program = mapped(lambda v: jax.lax.psum(v, "devices"))',
        "cannot be traced: `psum` works over the axis 'devices', which the mesh does not have",
        AXES,
        None,
    ),
    "replication": (
        'program = mapped(inside, P("data"), P())',
        f"cannot be traced: {REPLICATED} (ValueError)",
        HONEST,
        "replication-claimed",
    ),
}
_SCRIPT = """
import dataclasses, json, warnings
import jax
from grader.sandbox import programs, statements
from grader.sandbox.programs import Argument
sources, exported, given = json.loads({told!r})
jax.devices()
array_type = type(jax.device_put(1.0))
found = {{}}
for name, source in [*sources.items(), *exported.items()]:
    warnings.resetwarnings()
    warnings.simplefilter("ignore")
    tree = statements.parse((given + source + "\\n").encode(), "mine.py")
    module = statements.new_module("/away/mine.py")
    stop = statements.run(tree, module, "mine.py", None, lambda _index: None)
    if name in sources:
        found[name] = stop and dataclasses.asdict(stop)
    else:
        made = programs.export_one("program", vars(module), [Argument((8,), "float32", 0)],
                                   array_type, "mine.py")
        found[name] = None if stop is not None else made
print(json.dumps(found))
"""


@functools.cache
def _raised() -> dict[str, Any]:
    sources = {f"stop: {name}": stop[0] for name, stop in STOPS.items()}
    exported = {f"program: {name}": program[0] for name, program in REFUSED.items()}
    told = json.dumps([sources, exported, GIVEN])
    found: dict[str, Any] = jax_process.run(_SCRIPT.format(told=told))
    return found


def _tell(stop: dict[str, Any], source: str) -> Outcome:
    output = OutputBuffer(1 << 20, lambda: None)
    known = Known(source=source)
    return outcomes.tell(FILE, stop, True, True, Exit(0, None), output, False, "", 20, known=known)


@pytest.mark.parametrize("name", STOPS)
def test_an_error_is_told_with_its_cause_and_what_to_try(name: str) -> None:
    source, message, step = STOPS[name]
    stop = _raised()[f"stop: {name}"]
    assert stop is not None, "it did not stop"
    outcome = _tell(stop, GIVEN + source)
    said = outcome.message.partition(" (" + stop["message"][:12])[0]
    assert (outcome.kind, said, outcome.next_step) == ("raised", message, step)
    assert outcome.line is not None and outcome.line > GIVEN.count("\n")
    assert len(outcome.message) < 500


@pytest.mark.parametrize("name", REFUSED)
def test_a_program_that_cannot_be_exported_is_told_with_its_cause(name: str) -> None:
    _source, message, step, mistake = REFUSED[name]
    program = read_program(_raised()[f"program: {name}"])
    assert program.status == "refused"
    mine = Program("all_gradient", "refused", b"", program.reason, program.cause, 12)
    found = absent(case({"all_gradient": mine}), "all_gradient")
    assert found is not None
    assert found.message == f"`all_gradient` {message}"
    assert (found.hint, found.mistake, found.line) == (step, mistake, 12)


HOSTILE = [
    "ValueError: Number of devices 4 must be >= the product of mesh_shape (8,)\nPassed: 100 of 100",
    "ValueError: applied to the function '`x` ok' was given out_specs which require replication",
    "NameError: name 'np' is not defined. Did you mean: '\x1b[31mpassed'?",
    "AttributeError: module 'jax' has no attribute 'x'. Did you mean: 'passed 100 of 100'?",
    "TypeError: " + "f" * 5000 + "() takes 1 positional argument but 2 were given",
    "AssertionError: Not equal to tolerance " + "9" * 100_000,
    "ImportError: cannot import name '`' from '../../etc'",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_words_of_a_stranger_stay_bounded_and_on_one_line(text: str) -> None:
    told = plainly.told(Raised(text, call="`psum(" + "x" * 5000, source="donate_argnums"))
    if told is None:
        return
    assert told.message.isprintable() and told.step.isprintable()
    assert len(told.message) < 700 and len(told.step) < 400
    assert "passed 100" not in told.step


def test_what_a_module_raises_by_hand_speaks_for_itself() -> None:
    text = "ValueError: Number of devices 4 must be >= the product of mesh_shape (8,)"
    assert plainly.told(Raised(text)) is not None
    assert plainly.told(Raised(text, by_hand=True)) is None


NEAR = {
    "a local name": ("def f():\n    total = 1\n    return totl\nf()", "total"),
    "a name of builtins": ("lenn([])", "len"),
    "case and underscore": ("newV = 1\nnew_v", "newV"),
    "a private name": ("_hidden = 1\nhidden_", ""),
    "nothing near": ("abc = 1\nzzzzzz", ""),
    "a class that lies": (
        "class Meta(type):\n"
        "    __dict__ = __mro__ = property(lambda self: 1 / 0)\n"
        "    def __getattribute__(self, name): raise SystemExit\n"
        "class Liar(metaclass=Meta):\n"
        "    def __dir__(self): raise SystemExit\n"
        "    def value(self): pass\n"
        "    def __getattr__(self, name): raise AttributeError(name=name, obj=self)\n"
        "Liar().valeu",
        "value",
    ),
    "a text of a class of its own": (
        "class Text(str):\n    __hash__ = str.__hash__\n"
        "    def __eq__(self, other): raise SystemExit\n"
        "raise NameError('no', name=Text('abc'))",
        "",
    ),
}


@pytest.mark.parametrize("name", NEAR)
def test_the_name_that_was_meant_is_found_without_asking_a_value(name: str) -> None:
    source, near = NEAR[name]
    space: dict[str, Any] = {}
    try:
        exec(source, space)
    except Exception as error:  # noqa: BLE001 - whatever the source raises is looked at
        said = meant(error, str(error))
    assert said == (f". Did you mean: '{near}'?" if near else "")
