"""Plain words for errors about traced values, shapes, data types, buffers and open TODOs."""

from __future__ import annotations

import re

from grader.sandbox.meaning import Plain, Raised, Rule, shape
from grader.sandbox.words import code

_OPERANDS = "print the shapes of both sides; a `.T` may be missing, or one too many"
_TRACED = "while JAX traces a function its arguments have a shape and no numbers yet"
_SHAPED = re.compile(r"traced array with shape \w+\[([\d,]{0,60})\]")
_JNP = "use jnp in place of np there, or the operators (@, *, .T)"


def _where(raised: Raised) -> str:
    return f" in {code(raised.call)}" if raised.call else ""


def _of(raised: Raised) -> str:
    found = _SHAPED.search(raised.text)
    return f" of shape {shape(found[1])}" if found and found[1] else ""


def _numpy(raised: Raised, _m: re.Match[str]) -> Plain:
    what = f"NumPy was given a traced value{_of(raised)}{_where(raised)}"
    return Plain(f"{what}: {_TRACED}", _JNP)


def _truth(raised: Raised, _m: re.Match[str]) -> Plain:
    return Plain(
        f"an `if`, a `while`, an `and` or an `assert` asks whether a traced value is true:"
        f" {_TRACED}",
        "use jnp.where(condition, a, b), or jax.lax.cond",
    )


def _whole_number(raised: Raised, _m: re.Match[str]) -> Plain:
    return Plain(
        f"a traced value is used as a whole number, as range() and sizes want one: {_TRACED}",
        "take the number from a shape or a constant; jax.lax.fori_loop takes a"
        " traced number of rounds",
    )


def _size(_raised: Raised, _m: re.Match[str]) -> Plain:
    return Plain(
        f"a traced value is used as the size of an array: {_TRACED}",
        "take the size from a shape or a constant of the module",
    )


def _number(raised: Raised, m: re.Match[str]) -> Plain:
    return Plain(
        f"`{m[1]}()` wants the number behind a traced value{_where(raised)}: {_TRACED}",
        f"leave {m[1]}() out and go on with the array; `x.astype(jnp.float32)` changes a type",
    )


def _method(raised: Raised, m: re.Match[str]) -> Plain:
    return Plain(
        f"`.{m[1]}` wants a finished array{_where(raised)}: {_TRACED}",
        f"look at .{m[1]} of the result, outside the function that is traced",
    )


def _concrete(raised: Raised, _m: re.Match[str]) -> Plain:
    return Plain(
        f"the numbers of a traced value are wanted{_where(raised)}: {_TRACED}",
        "compute with jnp and jax.lax on the array, or make that argument static",
    )


def _mask(_raised: Raised, _m: re.Match[str]) -> Plain:
    return Plain(
        "an array is cut by a mask of traced values, so its size would depend on numbers that are"
        " not there yet",
        "keep all entries and put zeros where the mask is false: jnp.where(mask, x, 0)",
    )


def _escaped(_raised: Raised, _m: re.Match[str]) -> Plain:
    return Plain(
        "a value from inside a traced function was kept, in a global or a list, and used outside",
        "return the value from the traced function; do not store it outside",
    )


def _immutable(_raised: Raised, _m: re.Match[str]) -> Plain:
    return Plain(
        "an array of JAX cannot be changed in place",
        "write x = x.at[i].set(value) in place of x[i] = value",
    )


def _gone(raised: Raised, m: re.Match[str]) -> Plain:
    cause, step = "", "use what was returned in its place, or make the array anew"
    if "donate_arg" in raised.source:
        cause = ": donate_argnums hands the memory of an argument to the program's result"
        step = "use the program's result in its place, or leave donate_argnums out"
    elif ".delete(" in raised.source:
        cause = ": .delete() gave it back"
        step = "leave .delete() out, or move it below the last use"
    return Plain(
        f"an array of shape {shape(m[1])} is used after its memory was given away{cause}", step
    )


def _donated_twice(_raised: Raised, _m: re.Match[str]) -> Plain:
    return Plain(
        "one array is given twice to a call that donates it: its memory can be handed over once",
        "leave donate_argnums out, or pass a copy: x.copy()",
    )


def _donated_in_vain(_raised: Raised, _m: re.Match[str]) -> Plain:
    return Plain(
        "an argument is donated, and no result has the shape to take its memory",
        "leave donate_argnums out: a solution needs none",
    )


def _promotion(_raised: Raised, m: re.Match[str]) -> Plain:
    # JAX names them in no order.
    types = " and ".join(sorted(re.findall(r"\w+", m[1])))
    return Plain(
        f"{types} meet in one operation, and with strict promotion JAX does not convert by itself",
        "convert one of them, as in x.astype(jnp.float32), or take the line with"
        " jax_numpy_dtype_promotion out",
    )


def _same_types(_raised: Raised, m: re.Match[str]) -> Plain:
    types = " and ".join(re.findall(r"\w+", m[2]))
    return Plain(
        f"`{m[1]}` wants one data type, and was given {types}",
        "convert one of them, as in x.astype(jnp.float32), or use the operator: a + b converts",
    )


def _wide(_raised: Raised, m: re.Match[str]) -> Plain:
    return Plain(
        f"{m[1]} is asked for, and JAX keeps 32 bits as long as jax_enable_x64 is off",
        "ask for the 32-bit type, jnp.float32: the lesson's arrays are float32",
    )


def _no_type(_raised: Raised, m: re.Match[str]) -> Plain:
    step = "write a type of jnp, such as jnp.float32, without quotes"
    if m[1] == "bfloat16":
        step = "write jnp.bfloat16: NumPy alone does not know that type"
    return Plain(f"there is no data type called {m[1]}", step)


def _open(_raised: Raised, _m: re.Match[str]) -> Plain:
    return Plain(
        "a TODO is still open: `...` stands where a value belongs",
        "fill it in, or put the # back in front of that line until you do",
    )


def _unfilled(raised: Raised, m: re.Match[str]) -> Plain | None:
    if not raised.by_hand:
        return None
    part = m[1].strip()
    return Plain(
        "a part that is needed here is not filled in yet" + (f": {part[:160]}" if part else ""),
        "fill it in, or put the # back in front of the lines that need it",
        quoted=False,
    )


def _nothing(_raised: Raised, _m: re.Match[str]) -> Plain:
    return Plain(
        "a value is None, as a function without `return` gives it",
        "look whether the function that made it ends in a `return`",
    )


def _called(_raised: Raised, m: re.Match[str]) -> Plain:
    what = {"ArrayImpl": "an array", "ndarray": "an array"}.get(m[1], f"a {m[1]}")
    return Plain(
        f"{what} is called like a function: a name was bound again to a result",
        "give the result a name of its own, as in g = program(x)",
    )


def _contracted(_raised: Raised, m: re.Match[str]) -> Plain:
    return Plain(
        f"a product runs along dimensions of {m[1]} and {m[2]} entries, which must be equal",
        _OPERANDS,
    )


def _broadcast(_raised: Raised, m: re.Match[str]) -> Plain:
    first, second = shape(m[1]), shape(m[2])
    return Plain(f"arrays of the shapes {first} and {second} do not fit together", _OPERANDS)


def _compared_shapes(_raised: Raised, m: re.Match[str]) -> Plain:
    first, second = shape(m[1]), shape(m[2])
    what = f"the module's own comparison failed: the shapes {first} and {second} differ"
    ours, theirs = ([int(n) for n in re.findall(r"\d+", text)] for text in (m[1], m[2]))
    if len(ours) == len(theirs) + 1 and ours[0] * ours[1] == theirs[0]:
        return Plain(
            f"{what}, as they do where all_gather is used without tiled=True", "say tiled=True"
        )
    return Plain(what, "print both shapes, and mend the program that gives the first")


def _compared(_raised: Raised, m: re.Match[str]) -> Plain:
    by = re.search(
        r"Max absolute difference among violations: ([\w.+\-]{1,30}?)\.?(?=\s|$)", m.string
    )
    far = f", by up to {by[1]}" if by else ""
    return Plain(
        f"the module's own comparison failed: {m[1]} of {m[2]} values differ{far}",
        "see which program the checks below call wrong, and mend that one first",
    )


_DIMS = r"\(([\d, ]{0,60})\)"


def _branches(_raised: Raised, m: re.Match[str]) -> Plain:
    return Plain(
        f"the branches of a {m[1]} give different things: a {m[2]} here, a {m[3]} there",
        "let both return arrays of equal shape and type, in the same order",
    )


RULES: tuple[Rule, ...] = (
    (r"^NotImplementedError(?:: (.*))?()", _unfilled),
    (r"'ellipsis'|<class 'ellipsis'>|is Ellipsis of type|of type ellipsis", _open),
    (r"^TracerArrayConversionError", _numpy),
    (r"^TracerBoolConversionError", _truth),
    (r"^TracerIntegerConversionError", _whole_number),
    (r"^NonConcreteBooleanIndexError", _mask),
    (r"Shapes must be 1D sequences of concrete values", _size),
    (r"^ConcretizationTypeError.*problem arose with the `(\w{1,20})` function", _number),
    (r"^ConcretizationTypeError.*the (item|tolist)\(\) method", _number),
    (r"'(\w{1,40})' (?:attribute|method) is not available on traced array", _method),
    (r"^ConcretizationTypeError", _concrete),
    (
        r"(cond|switch) branches must have equal output types.*?"
        r"has type (\S{1,60}) but the corresponding output of \S{1,80} has type (\S{1,60}),",
        _branches,
    ),
    (r"^UnexpectedTracerError", _escaped),
    (r"JAX arrays are immutable", _immutable),
    (r"Array has been deleted with shape=\w+\[([\d,]{0,60})\]", _gone),
    (r"buffer that was previously donated in the same call", _donated_twice),
    (r"Some donated buffers were not usable", _donated_in_vain),
    (r"^TypePromotionError: Input dtypes \(([\w', ]{1,120})\)", _promotion),
    (
        r"(lax\.\w{1,40}) requires arguments to have the same dtypes, got ([\w, ]{1,120})\.",
        _same_types,
    ),
    (r"Explicitly requested dtype (\w{1,20})", _wide),
    (r"data type ['\"](\w{1,40})['\"] not understood", _no_type),
    (
        r"operand type\(s\) for .{1,10}'NoneType'|operand type\(s\) for .{1,80} and 'NoneType'"
        r"|'NoneType' object |None is not a valid value for jnp\.array",
        _nothing,
    ),
    (r"'(?:[\w.]{1,60}\.)?(\w{1,40})' object is not callable", _called),
    (
        r"contracting dimensions to have the same shape, got \((\d{1,9}),\) and \((\d{1,9}),\)",
        _contracted,
    ),
    (
        r"mismatch in its core dimension.*\(size (\d{1,9}) is different from (\d{1,9})\)",
        _contracted,
    ),
    (r"for broadcasting: shapes=\[" + _DIMS + ", " + _DIMS, _broadcast),
    (r"could not be broadcast together with shapes " + _DIMS + " " + _DIMS, _broadcast),
    (
        r"Not equal to tolerance .{0,60}?\(shapes " + _DIMS + ", " + _DIMS + r" mismatch\)",
        _compared_shapes,
    ),
    (r"Not equal to tolerance .{0,60}?Mismatched elements: (\d{1,9}) / (\d{1,9})", _compared),
)
